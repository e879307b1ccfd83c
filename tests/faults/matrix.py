"""One injection and its verdict; and the countdown over all boundaries until a run passes clean."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import NamedTuple
from unittest.mock import patch as replaced

from kschedpatch.model import exitcodes
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.rollout import FailureReason, RolloutResult
from kschedpatch.rollout import turn
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.rollout import roll_out
from kschedpatch.sandbox.node import SandboxNode
from kschedpatch.sandbox.sandbox import Sandbox
from tests.faults.boundaries import Boundaries
from tests.faults.faults import Fault, Heal, Scene
from tests.faults.operators import Killed, Way
from tests.integration.rollout.rig import (
    WITH_CANARY,
    Rig,
    patch,
    skip_to_deadline,
    stray_files,
    transaction,
)

MARGIN = 120.0
"""Simulated seconds from the deadline until the scheduler must be ready again."""
_LONGEST = 90.0
ON_NODE, BETWEEN_CALLS = "on the node", "between calls"


class Injection(NamedTuple):
    fault: str
    side: str
    number: int
    moment: str
    hit: str
    """What was about to happen or had just happened; empty: the run had ended before."""
    code: int | None
    """The exit code; None: the operator did not live to tell one."""
    violations: tuple[str, ...]
    seconds: float

    def __str__(self) -> str:
        what = "survived" if not self.violations else "VIOLATED: " + "; ".join(self.violations)
        where = f"{self.moment} {self.side} {self.number} ({self.hit[:90]})"
        return f"{self.fault:26} {where}: exit {self.code}, {what} [{self.seconds:.1f} s]"


class Matrix:
    """On one sandbox, whose first node is the one that everything happens to."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.rig = Rig(sandbox)
        self.boundaries = Boundaries(sandbox.nodes[0])

    @property
    def node(self) -> SandboxNode:
        return self.rig.node

    def countdown(
        self, fault: Fault, side: str, *, start: int = 1, stride: int = 1
    ) -> Iterator[Injection]:
        number = start
        while True:
            moments = ("before", "after") if side == BETWEEN_CALLS else ("before",)
            for moment in moments:
                done = self.inject(fault, side, number, moment)
                if not done.hit:
                    if done.violations:
                        yield done
                    return
                yield done
            number += stride

    def inject(
        self, fault: Fault, side: str, number: int, moment: str, only: str = ""
    ) -> Injection:
        """``only``: of all commands, or verbs, just this one counts."""
        began = time.monotonic()
        rig, way, cancel = self.rig, Way(self.rig.sandbox), Cancel()
        rig.opened = way.opened
        heals: list[Heal] = []
        hit: list[str] = []

        def strike(pid: int) -> None:
            heals.append(fault.strike(Scene(self.node, way, cancel, pid)))

        seen = 0

        def at(when: str, what: str) -> None:
            nonlocal seen
            seen += when == "before" and what.startswith(only)
            if (seen, when) == (number, moment) and not hit and what.startswith(only):
                hit.append(what)
                strike(0)

        old, alive = rig.manifests(), [node.live() for node in rig.nodes]
        with rig.fleet() as fleet:
            plan = rig.plan(fleet, patch(rig.fresh_v()))
            new = {item.label: item.after.encode() for item in plan.nodes}
            way.counting = True
            if side == ON_NODE:
                self.boundaries.count_down(number, moment, strike, only)
            else:
                way.at = at
            result, violations = _operated(fleet, plan, cancel)
            way.counting = False
            if result is None:
                way.kill()
            if side == ON_NODE:
                self.boundaries.stop()
        found = self.boundaries.hit if side == ON_NODE else "".join(hit)
        violations += self._settled()
        for heal in heals:
            heal()
        planned = tuple(new[n.name] for n in rig.nodes)
        violations += self._verdict(old, planned, result, seen_late=fault.needs_disks)
        touched = alive != [node.live() for node in rig.nodes]
        if result and result.exit_code == exitcodes.REFUSED and touched and not fault.ends_pods:
            violations.append("exit code 3, and the live scheduler is not the same process")
        if not found and (result is None or result.exit_code != exitcodes.OK):
            violations.append(f"without a fault it did not pass: {result}")
        violations += self._next_run()
        code = result.exit_code if result else None
        spent = time.monotonic() - began
        return Injection(fault.name, side, number, moment, found, code, tuple(violations), spent)

    def _settled(self) -> Iterator[str]:
        """The deadline comes, the fault is still there: is every scheduler ready in time?"""
        for node in self.rig.nodes:
            skip_to_deadline(node)
        for node in self.rig.nodes:
            since = node._simulation.now()
            ended = node.wait(partial(_has_settled, node), MARGIN / 2)
            if not ended:
                # A call that its operator left behind may just now have set a deadline anew.
                skip_to_deadline(node)
                ended = node.wait(partial(_has_settled, node), MARGIN / 2)
            left = MARGIN - (node._simulation.now() - since)
            if not node.wait_ready(max(10.0, left)):
                yield f"{node.name}: no scheduler is ready {MARGIN:.0f} s after the deadline"
            elif not ended and node.disks.are_mounted is False:
                yield f"{node.name}: the transaction is open {MARGIN:.0f} s after the deadline"

    def _verdict(
        self,
        old: tuple[bytes | None, ...],
        new: tuple[bytes, ...],
        result: RolloutResult | None,
        *,
        seen_late: bool,
    ) -> Iterator[str]:
        for node in self.rig.nodes:
            if not node.wait(partial(_has_settled, node), MARGIN):
                yield f"{node.name}: the transaction does not end: {_state(node)}"
        now = self.rig.manifests()
        for node, present, before, after in zip(self.rig.nodes, now, old, new, strict=True):
            if present not in (before, after):
                yield f"{node.name}: the manifest is neither the old nor the new one"
            if not transaction(node).exists() and stray_files(node):
                yield f"{node.name}: left behind {stray_files(node)}"
            if not node.wait_ready(MARGIN):
                yield f"{node.name}: no scheduler is ready in the end"
            if not node.wait(lambda: node.live_canary() is None, MARGIN):  # noqa: B023 (at once)
                yield f"{node.name}: the canary is still there"
        if now not in (old, new):
            yield "the nodes are not on one revision"
        if result is not None:
            yield from _told_untruth(result, is_new=now == new, is_old=now == old)
            if result.exit_code == exitcodes.NOT_RESTORED and now == old and not seen_late:
                yield f"exit code 5, and all is restored: {result.nodes}"

    def _next_run(self) -> Iterator[str]:
        """Another operator's, by a way without faults: it must work and leave nothing."""
        self.rig.opened = self.rig._opened
        with suppress(AssertionError):
            result = self.rig.apply(patch(self.rig.fresh_v()))
            if result.failure and result.failure.reason is FailureReason.LOCKED:
                # A call that its operator left behind came to the node after the deadline had been
                # brought near, and set it anew: that one's time is waited for as well.
                self._cure()
                result = self.rig.apply(patch(self.rig.fresh_v()))
            if result.exit_code != exitcodes.OK:
                yield f"the next apply does not work: {result.exit_code} {result.failure}"
                self._cure()
            for node in self.rig.nodes:
                if stray_files(node) or transaction(node).exists():
                    yield f"{node.name}: the next apply leaves {stray_files(node)} {_state(node)}"
            return
        yield "the next apply could not even be planned"

    def _cure(self) -> None:
        """So that the next injection starts from a sound node."""
        for node in self.rig.nodes:
            skip_to_deadline(node)
            node.wait(partial(_has_settled, node), 60)


def _operated(
    fleet: Fleet, plan: FleetPlan, cancel: Cancel
) -> tuple[RolloutResult | None, list[str]]:
    """The roll-out's result, None where the operator died; and what went wrong with him."""
    results: list[RolloutResult] = []
    raised: list[BaseException] = []

    def operator() -> None:
        try:
            results.append(roll_out(fleet, plan, WITH_CANARY, cancel))
        except BaseException as error:  # noqa: BLE001 (told below)
            raised.append(error)

    with replaced.object(turn, "_PAUSE", 0.1):
        thread = threading.Thread(target=operator, daemon=True)
        thread.start()
        thread.join(_LONGEST)
    wrong = [f"{type(e).__name__}: {e}" for e in raised if not isinstance(e, Killed)]
    if thread.is_alive():
        wrong.append(f"the operator hangs for {_LONGEST:.0f} s")
    return (results[0] if results else None), wrong


def _has_settled(node: SandboxNode) -> bool:
    """No transaction, or one that never touched the manifest and that nobody is left to end (its
    dead man could not be started): the next run takes that over, with what was written beside."""
    open_one = transaction(node)
    if not open_one.exists():
        return True
    if [name for name in stray_files(node) if not name.endswith(".new")]:
        return False
    if not (open_one / "manifest").exists():
        return True
    try:
        planned_from = (open_one / "old").read_text().strip()
    except OSError:
        return False  # ended meanwhile
    standing = hashlib.sha256(node.manifest_bytes() or b"").hexdigest()
    unit = node.systemd.units.get("kschedpatch-deadman.service")
    return planned_from == standing and (unit is None or unit.state != "active")


def _state(node: SandboxNode) -> str:
    files = sorted(p.name for p in transaction(node).glob("*"))
    return f"{files} {stray_files(node)}"


def _told_untruth(result: RolloutResult, *, is_new: bool, is_old: bool) -> Iterator[str]:
    code = result.exit_code
    if code == exitcodes.OK and not is_new:
        yield "exit code 0, and the new manifest is not everywhere"
    said_old = (exitcodes.REFUSED, exitcodes.ROLLED_BACK, exitcodes.INTERRUPTED)
    if code in said_old and not is_old:
        yield f"exit code {code}, and the old manifest is not everywhere"
    if code not in (exitcodes.OK, *said_old, exitcodes.NOT_RESTORED):
        yield f"exit code {code}"
