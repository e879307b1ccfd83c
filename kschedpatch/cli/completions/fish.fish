# Completion of kschedpatch for fish: the program itself is asked, and looks at local files only.

function __kschedpatch_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l answer ($words[1] __complete fish $words[2..-1] "$current" 2>/dev/null)
    set -q answer[1]; or return
    set -l directive $answer[-1]
    set -e answer[-1]
    if set -q answer[1]
        printf '%s\n' $answer
        return
    end
    # --flag=FILE: fish knows no flags of ours, so the names get it back.
    set -l flag (string match -r '^--[^=]+=' -- $current)
    set -l path (string replace -r '^--[^=]+=' '' -- $current)
    switch $directive
        case ':0'
            __fish_complete_path "$path" | string replace -r '^' -- "$flag"
        case ':16'
            __fish_complete_directories "$path" '' | string replace -r '^' -- "$flag"
    end
end

complete -c kschedpatch -f -k -a '(__kschedpatch_complete)'
