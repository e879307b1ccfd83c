#compdef kschedpatch
# Completion of kschedpatch for zsh: the program itself is asked, and looks at local files only.

_kschedpatch() {
    local -a answer choices
    local line directive meaning
    answer=("${(@f)$("${(Q)words[1]}" __complete zsh "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    directive=${answer[-1]#:}
    answer[-1]=()
    for line in "${answer[@]}"; do
        meaning=
        [[ $line == *$'\t'* ]] && meaning=${line#*$'\t'}
        line=${line%%$'\t'*}
        choices+=("${line//:/\\:}${meaning:+:$meaning}")
    done
    if (( $#choices )); then
        _describe -V 'kschedpatch' choices
    elif [[ $directive == (0|16) ]]; then
        [[ $PREFIX == --*=* ]] && compset -P '*='
        if [[ $directive == 16 ]]; then _files -/; else _files; fi
    fi
}

# Sourced, it registers itself; as a file of $fpath it is the function.
if [[ ${funcstack[1]} == _kschedpatch ]]; then
    _kschedpatch "$@"
else
    compdef _kschedpatch kschedpatch
fi
