"""The one place where a value becomes a word of a shell's command line."""

from __future__ import annotations

from collections.abc import Iterable

#: Linux takes 128 KiB in one argument, and sshd hands the whole line to the shell as one.
MAX_LINE = 96 * 1024


class Unquotable(ValueError):
    """No shell can be given this."""


def quote(value: str) -> str:
    """The value as one word. Single quotes mean the same to sh, bash, zsh and fish, as long as
    there is no backslash inside them (fish)."""
    if "\0" in value:
        raise Unquotable("a value with a NUL byte can't be an argument")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        raise Unquotable("a value that is no valid text can't be an argument") from None
    return "'" + value.replace("'", "'\\''") + "'"


def command_line(words: Iterable[str]) -> str:
    line = " ".join(quote(word) for word in words)
    if len(line.encode("utf-8")) > MAX_LINE:
        raise Unquotable(f"a command line of more than {MAX_LINE} bytes: send it as a payload")
    return line
