"""The exec line of a shell, a small loader that reads the script as a frame and runs it, and the
requests that the script then takes.

`sh -s` with script and payload on one stdin does not work: shells read ahead and swallow the
payload, or run it as commands. The loader therefore comes as an argument, and reads exactly.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kschedpatch.node.quoting import Unquotable, command_line

# One line, and neither backslash, single quote nor exclamation mark: the remote user's login shell
# reads it first, and that may be fish or csh. The script is ASCII, so its length in characters is
# its length in bytes. «x» keeps the command substitution from taking the last line breaks away.
LOADER = (
    # Some bashes are told to give up a `read` after some minutes.
    "LC_ALL=C; export LC_ALL; unset TMOUT; KSP_MARK=$1; "
    'echo; echo "@$1 ready"; '
    "read -r n || exit 98; "
    '[ "$n" -gt 0 ] 2>/dev/null || exit 98; '
    # A dd that does not know these words has read nothing when it says so.
    "KSP_DD=quiet; "
    's=$(dd bs="$n" count=1 iflag=fullblock status=none 2>/dev/null && echo x); '
    'case $s in *x) ;; *) KSP_DD=; s=$(dd bs=1 count="$n" 2>/dev/null; echo x) ;; esac; '
    # The script keeps itself, for who is on the node without this program.
    "KSP_SCRIPT=${s%x}; s=; "
    'if [ "${#KSP_SCRIPT}" = "$n" ]; then eval "$KSP_SCRIPT"; else '
    'echo "kschedpatch: ${#KSP_SCRIPT} of $n bytes of the script arrived" >&2; exit 98; fi'
)

Arguments = Mapping[str, str] | Sequence[tuple[str, str]]

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


def loader_words(mark: str) -> tuple[str, ...]:
    """Starts a shell that takes the script, and then requests behind this mark."""
    return ("sh", "-c", LOADER, "kschedpatch", mark)


def request(shell: str, call: str, verb: str, args: Arguments) -> bytes:
    """The line that makes the shell behind the first mark run a call: the script sees the second
    mark as $1, the verb as $2, and key=value from $3 on."""
    pairs = tuple(args.items() if isinstance(args, Mapping) else args)
    for name in (verb, *(key for key, _ in pairs)):
        if not _NAME.fullmatch(name):
            raise Unquotable(f"{name!r} is no name of a verb or an argument")
    words = [verb, *(f"{key}={value}" for key, value in pairs)]
    # A line break would end the line; the script has one by that name.
    line = command_line(words).replace("\n", "'\"$KSP_BREAK\"'")
    return f"{shell} {call} {line}\n".encode()
