"""``--report FILE.html``: the run as a page, whatever becomes of the run.

What a command comes to know it notes where it knows it, as one writes to a log: the record is
ambient, instead of being handed through every call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ParamSpec, TypeVar

import typer

from kschedpatch.cli import options
from kschedpatch.model import exitcodes

if TYPE_CHECKING:
    from kschedpatch.model.events import Listener
    from kschedpatch.report.page.record import RunRecord

P = ParamSpec("P")
T = TypeVar("T")

ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report", metavar="FILE", help="Also write all of it as a page for a browser (HTML)."
    ),
]
_IN_THE_MIDDLE = (
    "Internal error in the middle of a run. Nodes that are not confirmed go back by themselves at "
    "their deadline; kschedpatch status shows how they stand."
)
_open: ContextVar[RunRecord | None] = ContextVar("report", default=None)


def reported(command: Callable[P, T]) -> Callable[P, T]:
    """A command with a parameter ``report``; its name is what the page is about."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        path = kwargs.get("report")
        if not isinstance(path, Path):
            return command(*args, **kwargs)
        with _reporting(path, command.__name__):
            return command(*args, **kwargs)

    return run


def record() -> RunRecord:
    """What is noted goes to the report; where nobody asked for one, nowhere."""
    from kschedpatch.report.page.record import RunRecord

    return _open.get() or RunRecord("")


@contextmanager
def recorded(listener: Listener) -> Iterator[Listener]:
    now = _open.get()
    if now is None:
        yield listener
        return
    with now.recorder.beside(listener) as both:
        yield both


@contextmanager
def _reporting(path: Path, command: str) -> Iterator[None]:
    from kschedpatch.report.page.record import RunRecord

    made = RunRecord(command)
    problem = _problem(path) or _written(path, made)
    if problem:
        options.refuse(f"--report: {problem}. Nothing was changed.")
    token = _open.set(made)
    try:
        yield
    except BaseException as error:
        _end(made, error)
        raise
    else:
        made.end(exitcodes.OK)
    finally:
        _open.reset(token)
        problem = _written(path, made)
        if problem:
            from kschedpatch.report.terminal import complain, printable

            complain(f"Warning: the report could not be written: {printable(problem)}")


def _problem(path: Path) -> str:
    """A page takes the place of what lies there: never that of a device or a pipe."""
    try:
        if path.exists() and not path.is_file():
            return f"{path} is no file"
    except OSError as error:
        return f"{path}: {(error.strerror or str(error)).lower()}"
    return ""


def _written(path: Path, made: RunRecord) -> str:
    """Why not; empty where it is. The first page is written before the run: so a directory that
    is not there or a full disk is noticed while nothing has happened, and a run that is killed
    leaves a page that says so, not that of the run before."""
    from kschedpatch.report.directory import WriteError, write_private
    from kschedpatch.report.page.page import page

    try:
        write_private(path, page(made))
    except WriteError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001  a bug in the page must not change the run's end
        return ascii(f"{type(error).__name__}: {error}")[1:-1]
    return ""


def _end(made: RunRecord, error: BaseException) -> None:
    """How the command ended, from the exception that ends it."""
    if isinstance(error, options.Ended):
        made.findings = made.findings or error.outcome.findings
    if isinstance(error, typer.Exit):
        made.end(error.exit_code)
    else:
        stopped = isinstance(error, KeyboardInterrupt)
        made.end(exitcodes.INTERRUPTED if stopped else exitcodes.INTERNAL)
    with suppress(Exception):  # as above: the code is what counts
        made.words = _words(error, made.exit_code)


def _words(error: BaseException, code: int | None) -> str:
    from kschedpatch.report.terminal import Paint

    if isinstance(error, options.Ended):
        return error.words or error.text(Paint(enabled=False))
    if isinstance(error, options.Refused):
        return error.message
    if code == exitcodes.INTERRUPTED:
        return "Interrupted before it was done."
    if isinstance(error, typer.Exit):
        return _IN_THE_MIDDLE if code == exitcodes.INTERNAL else ""
    return f"Internal error, a bug of this program: {type(error).__name__}: {error}"
