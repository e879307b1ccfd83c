"""Runs the demo in a sandbox that lives as long as it does."""

from __future__ import annotations

import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from kschedpatch.model import exitcodes
from kschedpatch.report.terminal import complain, width
from kschedpatch.sandbox import residence
from kschedpatch.sandbox.demoplay import Surprise, play, say
from kschedpatch.sandbox.demosteps import INTRODUCTION, NODES, SPEED, paragraph
from kschedpatch.sandbox.starting import Held, check

_MANIFEST = "root/etc/kubernetes/manifests/kube-scheduler.yaml"


class SandboxStage(NamedTuple):
    directory: Path

    @property
    def environment(self) -> dict[str, str]:
        return {residence.COMMAND_OF: str(self.directory)}

    def manifests(self) -> tuple[bytes, ...]:
        nodes = (self.directory / residence.NODES / name for name in NODES)
        return tuple((node / _MANIFEST).read_bytes() for node in nodes)


@contextmanager
def sandbox_stage() -> Iterator[SandboxStage]:
    """Whatever happens, nothing is left behind."""
    directory = Path(tempfile.mkdtemp(prefix="kschedpatch-demo-")).resolve()
    try:
        check(directory)
        with Held(directory, len(NODES), SPEED) as held:
            held.wait_ready()
            yield SandboxStage(directory)
    finally:
        if directory.exists():
            residence.remove(directory)


def run_demo() -> int:
    """The exit code."""
    began = time.monotonic()
    try:
        with _ended_by_signals(), sandbox_stage() as stage:
            say(paragraph(INTRODUCTION, width()))
            play(stage)
    except KeyboardInterrupt:
        complain("\nInterrupted: the nodes and their files are gone.")
        return exitcodes.INTERRUPTED
    except Surprise as error:
        complain(
            f"\nThe demo did not go as it should: {error}.\n"
            "Nothing outside of the sandbox was touched, and the sandbox is gone. It can happen\n"
            "on a machine that is very busy: try again. If it stays so, please report it."
        )
        return exitcodes.INTERNAL
    say(f"\nDone in {time.monotonic() - began:.0f} s; the nodes and their files are gone.")
    say("Nodes to try things on yourself: kschedpatch sandbox up")
    return exitcodes.OK


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP mean the same as Ctrl-C."""

    def handler(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    former = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, old in former.items():
            signal.signal(number, old)
