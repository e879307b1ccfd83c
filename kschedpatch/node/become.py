"""How the script gets root's rights, and the password that this may need.

``sudo -S`` that does not ask leaves the password on the command's stdin, where it would be taken
for a frame and end up in a file. So it is sent only after sudo's own, random prompt was seen, and
once.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from kschedpatch.node.quoting import quote


class Secret:
    """A value that shows itself only where it is asked to."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def redacted(self, text: str) -> str:
        return text.replace(self._value, "(hidden)") if self._value else text

    def __repr__(self) -> str:
        return "Secret(hidden)"

    def __str__(self) -> str:
        return "(hidden)"

    def __reduce__(self) -> str:
        raise TypeError("a secret is not written anywhere")


class Elevation(Enum):
    NONE = "none"
    WHERE_NEEDED = "where needed"
    """sudo, unless the user is root already (there may be no sudo then)."""
    ALWAYS = "always"


class Become(NamedTuple):
    elevation: Elevation = Elevation.WHERE_NEEDED
    password: Secret | None = None


NO_BECOME = Become(Elevation.NONE)


def new_prompt() -> str:
    return f"[kschedpatch-{secrets.token_hex(12)}] "


def elevated(become: Become, words: Sequence[str], prompt: str | None) -> Sequence[str]:
    """The command (``sh -c TEXT NAME …``) behind sudo, which may ask for a password only where
    there is a prompt."""
    if become.elevation is Elevation.NONE:
        return words
    skip = ""
    if become.elevation is Elevation.WHERE_NEEDED:
        # This shell is as good as another one, and knows already whose it is.
        skip = (
            'if [ "$(id -u)" = 0 ]; then KSP_USER=0; KSP_TEXT=$3; shift 4; eval "$KSP_TEXT"; '
            "exit; fi; "
        )
    how = "-n" if prompt is None else f"-S -p {quote(prompt)}"
    # What sudo says is looked at: have it in English.
    line = f'LC_ALL=C; export LC_ALL; {skip}exec sudo {how} -- "$@"'
    return ("sh", "-c", line, "kschedpatch", *words)


# sudo, sudo-rs, doas as sudo: «a password is required», «interactive authentication is required».
_WANTS_PASSWORD = re.compile(rb"password|authentication|askpass|terminal|\btty\b", re.IGNORECASE)


def wants_password(stderr: bytes) -> bool:
    return _WANTS_PASSWORD.search(stderr) is not None


def times_asked(stderr: bytes, prompt: str) -> int:
    return stderr.count(prompt.strip().encode())
