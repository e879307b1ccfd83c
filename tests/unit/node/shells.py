"""The shells that a node may have, each as the start of a command line."""

from __future__ import annotations

import shutil

import pytest

_SHELLS = {
    "dash": ["dash"],
    "bash": ["bash"],
    "bash-posix": ["bash", "--posix"],
    "busybox": ["busybox", "sh"],
}

EVERY_SHELL = [
    pytest.param(
        command,
        id=name,
        marks=pytest.mark.skipif(
            shutil.which(command[0]) is None, reason=f"{command[0]} is not installed"
        ),
    )
    for name, command in _SHELLS.items()
]
