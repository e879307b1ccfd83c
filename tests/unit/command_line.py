"""Runs commands in this process, as a shell would: arguments in, exit code and output out.

Every document that is printed is held against the published schema.
"""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock

from kschedpatch.cli.entry import main
from tests.printed import check_printed


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
        # Runs are remembered for the shell of whoever types; nobody does.
        mock.patch("kschedpatch.cli.seenruns.remember"),
        mock.patch.object(sys, "argv", [program, *arguments]),
        mock.patch.object(sys, "stdin", _Input(stdin)),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as end:
            code = end.code
    ran = Ran(code if isinstance(code, int) else 0, out.getvalue(), err.getvalue())
    check_printed(arguments, ran.out, ran.err)
    return ran
