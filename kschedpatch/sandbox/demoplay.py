"""Plays the demo's steps on a stage: the commands as a user types them, and what each led to.

The stage is a sandbox's, or that of real nodes: the steps and what must come of them are the same.
The text goes to standard output; the commands keep both streams, live view and all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from kschedpatch.report.terminal import Paint, complain, paint_for, width, write
from kschedpatch.sandbox.demosteps import (
    STEPS,
    Manifests,
    Step,
    command_line,
    paragraph,
    verdict,
)


class Stage(Protocol):
    """Three nodes, and the directory with the way to them and the patches."""

    @property
    def directory(self) -> Path: ...

    @property
    def environment(self) -> Mapping[str, str]:
        """For the commands, beside the user's own."""
        ...

    def manifests(self) -> tuple[bytes, ...]:
        """The scheduler's, of each node."""
        ...


class Surprise(Exception):
    """A step led to something else than it should have."""


class Stood:
    """What the nodes' manifests are called, by what they were after the steps before."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._known = {Manifests.ORIGINAL: stage.manifests()}

    def after(self, step: Step) -> Manifests | None:
        """None: another, or not the same everywhere."""
        found = self._stage.manifests()
        is_new = step.stands not in self._known and found not in self._known.values()
        if is_new and len(set(found)) == 1:
            self._known[step.stands] = found
        return next((name for name, known in self._known.items() if known == found), None)


def play(stage: Stage) -> None:
    """All steps, each with its sentence; ends with the first that surprises."""
    paint, stood = paint_for(sys.stdout), Stood(stage)
    for number, step in enumerate(STEPS, 1):
        say(f"\n{paint('bold', f'{number}/{len(STEPS)}  {step.title}')}")
        say(paragraph(step.why, width()))
        say(f"\n{paint('cyan', command_line(step.words, width()))}")
        surprise = verdict(step, _run(step, stage), stood.after(step))
        if surprise:
            raise Surprise(f"step {number}, {step.title.lower()}: {surprise}")
        say(_outcome(step, paint))


def _outcome(step: Step, paint: Paint) -> str:
    words = f"→ Exit code {step.code}. On all nodes the manifest is {step.stands.value}."
    return paint("green", paragraph(words, width()))


def _run(step: Step, stage: Stage) -> int:
    """The exit code. The command has a session of its own: Ctrl-C is ours, and it ends with us."""
    process = subprocess.Popen(  # noqa: S603 (this very program)
        [sys.executable, "-P", "-m", "kschedpatch", *step.words],
        cwd=stage.directory,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "COLUMNS": str(width()), **stage.environment},
        start_new_session=True,
    )
    try:
        return process.wait()
    except BaseException:
        # Nothing of it needs an orderly way back: the nodes end in the next moment, or, where they
        # are real, go back by themselves.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if sys.stderr.isatty():
            complain("\x1b[?25h")  # the live view had hidden the cursor
        raise


def say(text: str) -> None:
    """At once: the commands write to the same place."""
    write(sys.stdout, text + "\n")
