"""What is looked at again and again, on the screen: redrawn in place on a terminal, elsewhere one
block with every change, as documents one a round."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol, TextIO

from kschedpatch.core.fleet.standing import NodeStatus
from kschedpatch.model.outcome import Outcome
from kschedpatch.report.documents import as_yaml, envelope
from kschedpatch.report.findings import finding_lines, summary
from kschedpatch.report.statuses import status_text
from kschedpatch.report.terminal import Paint, paint_for, write


class Sight(NamedTuple):
    """What one round has shown."""

    nodes: tuple[NodeStatus, ...]
    outcome: Outcome


class Screen(Protocol):
    def __call__(self, sight: Sight, /) -> None: ...


def _text(sight: Sight, paint: Paint) -> str:
    findings = sight.outcome.findings
    told = finding_lines(findings, paint) + summary(findings, paint) if findings else ""
    return status_text(sight.nodes, paint) + told


def _now() -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S %Z")


class Changes:
    """A block for each change; what only counts on (ages, deadlines) is none."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._last: object = None

    def __call__(self, sight: Sight, /) -> None:
        seen = (_standing(sight.nodes), [(f.code, f.file) for f in sight.outcome.findings])
        if seen == self._last:
            return
        first, self._last = self._last is None, seen
        paint = paint_for(self._stream)
        write(self._stream, ("" if first else "\n") + f"{_now()}\n" + _text(sight, paint))


def _standing(nodes: Sequence[NodeStatus]) -> list[NodeStatus]:
    return [
        node._replace(
            age=None,
            transaction=node.transaction._replace(deadline_in=0) if node.transaction else None,
        )
        for node in nodes
    ]


class Documents:
    """A line for each round, for programs; YAML documents begin with their own mark."""

    def __init__(self, stream: TextIO, *, yaml: bool) -> None:
        self._stream = stream
        self._yaml = yaml

    def __call__(self, sight: Sight, /) -> None:
        if self._yaml:
            write(self._stream, f"---\n{as_yaml(sight.outcome)}")
        else:
            write(self._stream, json.dumps(envelope(sight.outcome)) + "\n")


@contextmanager
def screen(stream: TextIO, interval: float) -> Iterator[Screen]:
    """For people."""
    if not stream.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        yield Changes(stream)
        return
    from rich.console import Console  # noqa: PLC0415  rich takes its time
    from rich.live import Live  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    console = Console(file=stream, highlight=False, markup=False, emoji=False)
    with Live(
        console=console,
        auto_refresh=False,
        vertical_overflow="ellipsis",
        redirect_stdout=False,
        redirect_stderr=False,
    ) as live:

        def redraw(sight: Sight, /) -> None:
            paint = paint_for(stream)
            foot = paint("dim", f"{_now()}, every {interval:g} s; Ctrl-C ends")
            # Colours of our own only: what nodes said has been made printable before.
            live.update(Text.from_ansi(_text(sight, paint) + foot), refresh=True)

        yield redraw
