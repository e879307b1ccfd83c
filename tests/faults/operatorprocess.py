"""An operator in a process of its own, to be killed: one apply on one sandbox node.

python -m tests.faults.operatorprocess NODE_NAME V KEY=VALUE ...: the node's environment. Tells its
events, a line each, and ends with the roll-out's exit code.
"""

from __future__ import annotations

import sys
from pathlib import Path

from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import about_patch
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model.events import Event
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.node.agent import Agent
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.process import ProcessChannel
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.rollout import roll_out
from tests.integration.rollout.rig import SETTINGS, patch


class _Transport:
    def __init__(self, label: str, environment: list[str]) -> None:
        self.label = label
        self._environment = environment

    def open(self, command: str) -> ProcessChannel:
        return ProcessChannel(self.label, ["env", *self._environment, "sh", "-c", command])

    def close(self) -> None:
        """Each command is a process of its own."""


def main() -> int:
    name, v, *environment = sys.argv[1:]

    def opened(_: NodeAddress) -> Agent:
        return Agent(Session(_Transport(name, environment), NO_BECOME, agent_script()))

    def told(event: Event) -> None:
        sys.stdout.write(f"{event.phase} {event.state} {event.text}\n")
        sys.stdout.flush()

    given = load_patch(NamedText("patch.yaml", patch(v), Path()), QuickFlags()).given
    assert given is not None
    with Fleet([NodeAddress(name, None, None, name)], opened, told) as fleet:
        facts = fleet.look(*about_patch(given))
        plan = plan_fleet(given, facts, partial=False)
        return roll_out(fleet, plan, SETTINGS, Cancel()).exit_code


if __name__ == "__main__":
    sys.exit(main())
