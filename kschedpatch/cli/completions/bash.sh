# shellcheck shell=bash
# Completion of kschedpatch for bash: the program itself is asked, and looks at local files only.

_kschedpatch() {
    local program=${1/#\~\//$HOME/} rest=${COMP_LINE:0:COMP_POINT}
    local blank word current head line directive breaks i
    local -a words=() answer=()
    COMPREPLY=()

    # Bash splits words at signs like = : and @ as well; the program wants them as they were typed.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        blank=${rest%%[![:space:]]*}
        rest=${rest#"$blank"}
        # The cursor may stand in the middle of the last one.
        ((i < COMP_CWORD)) || word=$rest
        rest=${rest#"$word"}
        if ((i == 0)) || [[ -n $blank ]]; then
            words[${#words[@]}]=$word
        else
            words[${#words[@]} - 1]+=$word
        fi
    done
    current=${words[${#words[@]} - 1]}

    while IFS= read -r line; do
        answer[${#answer[@]}]=$line
    done < <("$program" __complete bash "${words[@]:1}" 2>/dev/null)
    ((${#answer[@]})) || return 0
    directive=${answer[${#answer[@]} - 1]#:}
    unset "answer[${#answer[@]}-1]"

    # Names of files are the shell's own matter: `complete -o default` below.
    case $directive in
    0) ;;
    16) compopt +o default -o dirnames 2>/dev/null ;;
    *) compopt +o default 2>/dev/null ;;
    esac

    # What stands before the last of those signs is not replaced, and must not be there twice.
    head=
    breaks=${COMP_WORDBREAKS//[!=:@]/}
    if [[ -n $breaks && $current == *[$breaks]* ]]; then
        head=${current%"${current##*["$breaks"]}"}
        head=${head%@} # readline counts this one to the word behind it
    fi
    for line in "${answer[@]}"; do
        COMPREPLY[${#COMPREPLY[@]}]=${line#"$head"}
    done
    return 0
}

complete -o default -F _kschedpatch kschedpatch
