"""Runs commands in this process, as a shell would: arguments in, exit code and output out."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from kschedpatch.cli.entry import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


class _Input(io.TextIOWrapper):
    def __init__(self, data: bytes) -> None:
        super().__init__(io.BytesIO(data))


def run(*arguments: str, stdin: bytes = b"", program: str = "kschedpatch") -> Ran:
    out, err = io.StringIO(), io.StringIO()
    code: object = 0
    with (
        mock.patch.object(sys, "argv", [program, *arguments]),
        mock.patch.object(sys, "stdin", _Input(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    return Ran(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
