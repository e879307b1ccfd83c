"""The job as kschedpatch does it, with every safety step but those that wait for a kubelet.

It is the product's own ``Run``: locked, staged, the dead man armed and seen armed, switched node by
node, read back and confirmed over fresh connections, finished. Left out are canary, preflight and
probe, and the watch after a switch, which have to do with a scheduler that runs.

``python -m tests.bench.ourjob SSH_CONFIG NODE …`` does it once (``ourprocess`` starts that as the
program is started); ``--phases`` tells where the time goes, ``--profile`` where the processor's
does.
"""

from __future__ import annotations

import argparse
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kschedpatch.core.fleet.runids import new_run_id
from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Listener, State, nobody
from kschedpatch.model.fleetplan import Health
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.rollout import RolloutSettings
from kschedpatch.node.become import Become
from kschedpatch.node.connectoptions import ConnectOptions, TransportKind
from kschedpatch.node.script import agent_script
from kschedpatch.rollout import fleet as rollout_fleet
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.run import Run
from kschedpatch.rollout.turn import Reached, Turn
from tests.bench.jobspec import AFTER, BEFORE, GENERATION, sha256

_SETTINGS = RolloutSettings(who="bench", preflight=False, canary=False, probe=False)
_HEALTH = Health("127.0.0.1", 10259, "/readyz", proves_readiness=True)


#: The pause in `switch` is the kubelet's, and there is none; every other one is made.
_PAUSE = "  sleep $switch_rest\n"


def _script_without_pause() -> str:
    before, pause, behind = agent_script().partition(_PAUSE)
    if not pause:
        raise RuntimeError("the pause of `switch` is not where it was")
    return before + behind


def leave_out_the_kubelet_s_part() -> None:
    """The pause of `switch` and the watch behind it; for good, in this process."""

    def watch(self: Turn) -> None:
        self.reached = Reached.PROVEN

    rollout_fleet.agent_script = _script_without_pause  # type: ignore[assignment,attr-defined]
    Turn.behind_switch = lambda _: ()  # type: ignore[assignment,method-assign]
    Turn.watch = watch  # type: ignore[method-assign]


def do_job(names: Sequence[str], options: ConnectOptions, listener: Listener = nobody) -> None:
    addresses = [NodeAddress(name, label=name) for name in names]
    leave_out_the_kubelet_s_part()
    with rollout_fleet.open_fleet(addresses, options, Become(), listener=listener) as fleet:
        fleet.look()
        if fleet.failures:
            raise RuntimeError(f"not reached: {fleet.failures}")
        changes = [_change(facts.label, facts.machine_id) for facts in fleet.facts]
        run = new_run_id(time.time(), secrets.randbits(16))
        result = Run(run, "apply", fleet, changes, _SETTINGS, Cancel()).execute()
        if result.exit_code != exitcodes.OK:
            raise RuntimeError(f"the job failed: {result}")


def _change(label: str, machine_id: str) -> Change:
    return Change(
        label=label,
        node_name=label,
        machine_id=machine_id,
        before_sha256=sha256(BEFORE),
        after=AFTER.decode(),
        after_sha256=sha256(AFTER),
        generation=GENERATION,
        health=_HEALTH,
        health_before=_HEALTH,
        preflight=None,
        image_before="",
        leads=False,
        patch_name="bench",
        patch_text="# a benchmark\n",
    )


class Phases:
    """A listener that notes when each phase began and ended, over all nodes."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.stretches: list[tuple[str, float, float]] = []
        """The same phase once more, after another, is a stretch of its own."""

    def __call__(self, event: Event) -> None:
        now, phase = time.perf_counter() - self._began, event.phase.value
        if event.state is State.STARTED and (not self.stretches or self.stretches[-1][0] != phase):
            self.stretches.append((phase, now, now))
        elif self.stretches:
            phase, begin, _ = self.stretches[-1]
            self.stretches[-1] = (phase, begin, now)

    def told(self) -> str:
        lines, last = [], 0.0
        for phase, begin, end in self.stretches:
            lines.append(
                f"{phase:10} {(end - begin) * 1000:7.0f} ms   after a pause of "
                f"{(begin - last) * 1000:5.0f} ms"
            )
            last = end
        total = (time.perf_counter() - self._began) * 1000
        return "\n".join([*lines, f"{'all':10} {total:7.0f} ms"])


def _profiled(work: Callable[[], None], file: Path) -> None:
    """Most of it is done by other threads: each gets a profile, and they are added up."""
    import cProfile
    import pstats
    import threading

    profiles: list[cProfile.Profile] = []

    def begin(*_: object) -> None:
        profile = cProfile.Profile(time.thread_time)
        profiles.append(profile)
        profile.enable()

    threading.setprofile(begin)
    begin()
    work()
    profiles[0].disable()
    threading.setprofile(None)
    # A thread that still waits would be charged with what the main thread has used meanwhile.
    for thread in threading.enumerate():
        if thread is not threading.main_thread():
            thread.join(2)
    stats = pstats.Stats(*profiles)
    stats.dump_stats(file)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.ourjob")
    parser.add_argument("ssh_config", type=Path)
    parser.add_argument("nodes", nargs="+")
    parser.add_argument("--transport", type=TransportKind, default=TransportKind.PARAMIKO)
    parser.add_argument("--phases", action="store_true")
    parser.add_argument("--profile", type=Path, metavar="FILE", help="processor time, for pstats")
    given = parser.parse_args()
    options = ConnectOptions(kind=given.transport, ssh_config=given.ssh_config)
    phases = Phases()

    def work() -> None:
        do_job(given.nodes, options, phases)

    if given.profile is None:
        work()
    else:
        _profiled(work, given.profile)
    if given.phases:
        print(phases.told(), file=sys.stderr)


if __name__ == "__main__":
    main()
