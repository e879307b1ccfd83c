"""The program's entry: nothing but an exit code of ours may come out of it."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from io import TextIOWrapper
from typing import Any, NoReturn

from kschedpatch.model import exitcodes
from kschedpatch.report import program


def main() -> NoReturn:
    look_less_for_garbage()
    _make_streams_safe()
    if sys.argv[1:2] == ["__complete"]:
        _complete(lambda: _completing().shell_answer(sys.argv[2:]))
    try:
        sys.exit(_run(program.name()))
    except KeyboardInterrupt:
        _say("Interrupted. Nothing was written.")
        sys.exit(exitcodes.INTERRUPTED)
    except Exception as error:  # noqa: BLE001  the last resort: no traceback, no exit code 1
        _say(_explanation(error))
        sys.exit(exitcodes.INTERNAL)


def complete_for_kubectl() -> NoReturn:
    """``kubectl_complete-schedpatch``: kubectl asks it what can follow ``kubectl schedpatch …``."""
    look_less_for_garbage()
    _make_streams_safe()
    _complete(lambda: _completing().kubectl_answer(sys.argv[1:]))


def look_less_for_garbage() -> None:
    """Imports make many objects and no garbage: looking for it takes a twentieth of a short
    command, and as much again at its end, when Python goes through all that it is about to drop."""
    gc.set_threshold(20_000, 20, 20)
    atexit.register(gc.freeze)


def _completing() -> Any:
    from kschedpatch.cli import completing

    return completing


def _complete(answer: Callable[[], str]) -> NoReturn:
    """Whoever types is never disturbed: no word on stderr, no exit code that a shell would show."""
    with suppress(Exception, KeyboardInterrupt):
        sys.stdout.write(answer())
        sys.stdout.flush()
    sys.exit(exitcodes.OK)


def _run(name: str) -> int:
    import typer

    from kschedpatch.cli.app import app_for

    # Before the command there are only flags without values.
    word = next((word for word in sys.argv[1:] if not word.startswith("-")), "")
    try:
        # Not «standalone»: the framework would turn a closed pipe or an end of input into 1.
        code = app_for(word)(prog_name=name, standalone_mode=False)
    except typer.TyperException as error:
        _say(_usage(error, name))
        return exitcodes.INVALID
    if code == exitcodes.INTERRUPTED:  # the framework's answer to Ctrl-C, without a word
        _say("Interrupted before it was done.")
    return code if isinstance(code, int) else exitcodes.OK


def _usage(error: Any, name: str) -> str:
    from kschedpatch.report.program import COMMANDS
    from kschedpatch.report.terminal import printable

    message = error.format_message()
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return str(message)
    # The parser does not always say which command it was at.
    at = [word for word in sys.argv[1:2] if word in COMMANDS]
    command = context.command_path if context is not None else " ".join([name, *at])
    return f"Error: {printable(message)}\nTry '{command} -h' for help."


class _Tolerant(TextIOWrapper):
    """A stream whose reader may go away (``| head``): the exit code still tells how it went."""

    is_lost = False

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except BrokenPipeError:
            return self._lost(text)

    def flush(self) -> None:
        try:
            super().flush()
        except BrokenPipeError:
            self._lost("")

    def _lost(self, text: str) -> int:
        self.is_lost = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        return len(text)


def _make_streams_safe() -> None:
    """What a terminal can't show becomes an escape, not an exception; a stream that was closed by
    whoever started the program leads nowhere."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115
        elif type(stream) is TextIOWrapper and stream is getattr(sys, f"__{name}__"):
            encoding, buffered = stream.encoding, stream.line_buffering
            safe = _Tolerant(stream.detach(), encoding, "backslashreplace", line_buffering=buffered)
            setattr(sys, name, safe)


def _explanation(error: Exception) -> str:
    if os.environ.get("KSCHEDPATCH_DEBUG"):
        raise error
    text = f"{type(error).__name__}: {error}"
    return (
        f"kschedpatch: internal error, a bug of this program: {ascii(text)[1:-1]}\n"
        "Nothing was written. Set KSCHEDPATCH_DEBUG=1 to see where it comes from,\n"
        "and please report it together with the input."
    )


def _say(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(text + "\n")
        sys.stderr.flush()
