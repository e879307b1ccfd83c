"""Why a run failed: where, in which step, for which reason, and what to do about it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from kschedpatch.core.schedulerwords import meanings
from kschedpatch.model.events import Phase
from kschedpatch.model.rollout import Failure, FailureReason
from kschedpatch.report.program import as_typed
from kschedpatch.report.terminal import Paint, printable, width

MAX_LOG_LINES = 20
WITHOUT_CANARY = (
    "If it fails only beside the live one (a port or a file that two can't share), "
    "--no-canary leaves the canary out."
)
REASONS = {
    FailureReason.CRASH: "the scheduler crashed",
    FailureReason.MOUNT: "a path of the host could not be mounted",
    FailureReason.IMAGE: "the image could not be had",
    FailureReason.REFUSED: "the kubelet does not take the manifest",
    FailureReason.DENIED: "the pod was not admitted",
    FailureReason.NOT_READY: "the scheduler did not become ready",
    FailureReason.LOST: "the connection was lost",
    FailureReason.FOREIGN: "somebody else has changed the manifest, or a file of the change",
    FailureReason.DISK: "the node could not write",
    FailureReason.LOCKED: "another run is open there",
    FailureReason.TOO_LATE: "the node had gone back by itself before it was confirmed",
    FailureReason.PREFLIGHT: "the scheduler does not take its configuration",
    FailureReason.ROOM: "there is no room for it on the node",
    FailureReason.RBAC: "the API server refused",
    FailureReason.OBJECTS: "the objects did not become ready",
    FailureReason.PROBE: "the new scheduler did not handle the probe",
    FailureReason.TOOL: "something that is needed is missing on the node",
    FailureReason.INTERRUPTED: "interrupted",
    FailureReason.OTHER: "an error",
}
#: What to do, by the reason. Of what is said here nothing depends on how the run ended.
ADVICE = {
    FailureReason.CRASH: "Read its last words; correct the patch, its image or its configuration.",
    FailureReason.MOUNT: "Make the path on the node, or correct spec.mounts (its type, too).",
    FailureReason.IMAGE: "Check the image's name, the registry and the room on the node; without a "
    "registry, spec.scheduler.imageArchive brings it.",
    FailureReason.REFUSED: "Read what the kubelet says, and correct the patch.",
    FailureReason.DENIED: "Read what the kubelet says: no room, or a rule against the pod.",
    FailureReason.NOT_READY: "Read its last words; --timeout gives it longer.",
    FailureReason.LOST: "See how the nodes stand with kschedpatch status, then try again.",
    FailureReason.FOREIGN: "Find out who changed it (kubeadm, Ansible, a person), then plan again.",
    FailureReason.DISK: "Make room on the node, and see that it is not mounted read-only.",
    FailureReason.LOCKED: "Wait until that run has ended, or end it with kschedpatch rollback.",
    FailureReason.TOO_LATE: "Try again; --confirm-timeout gives the nodes more patience.",
    FailureReason.PREFLIGHT: "Correct the configuration, or take an image that has the plugin.",
    FailureReason.ROOM: "Make room on the node, or ask for less in the manifest.",
    FailureReason.RBAC: "Look at what the API server says, and at the rights of the patch.",
    FailureReason.OBJECTS: "Correct the objects, or their images; --objects-timeout waits longer.",
    FailureReason.PROBE: "Read the scheduler's log: it is ready, and does not schedule.",
    FailureReason.TOOL: "Install it, or repair it, on the node that is named.",
    FailureReason.INTERRUPTED: "",
    FailureReason.OTHER: "See how the nodes stand with kschedpatch status, then try again.",
}
_PHASES = {
    Phase.CONNECT: "connecting",
    Phase.FACTS: "looking at the node",
    Phase.INSPECT: "looking at the scheduler",
    Phase.RIGHTS: "checking the scheduler's rights",
    Phase.PLAN: "planning",
    Phase.LOCK: "locking",
    Phase.IMAGE: "bringing the image",
    Phase.STAGE: "staging the files",
    Phase.PREFLIGHT: "trying the scheduler once",
    Phase.OBJECTS: "applying objects",
    Phase.ARM: "arming the dead man",
    Phase.CANARY: "starting the canary",
    Phase.SWITCH: "switching",
    Phase.WATCH: "waiting for the new scheduler",
    Phase.PROBE: "probing",
    Phase.PERSIST: "telling kubeadm",
    Phase.CONFIRM: "confirming",
    Phase.FINISH: "cleaning up",
    Phase.RESTORE: "restoring",
}


def failure_told(failure: Failure) -> str:
    where = f" on {failure.node}" if failure.node else ""
    return f"Failed{where} while {_PHASES[failure.phase]}: {REASONS[failure.reason]}."


def what_to_do(failure: Failure) -> list[str]:
    """What the scheduler's own words mean; where they are none that are known, advice."""
    advice = ADVICE[failure.reason]
    return meanings(failure.log) or ([advice] if advice else [])


def failure_lines(failure: Failure, paint: Paint) -> Iterator[str]:
    for line in wrapped(failure_told(failure)):
        yield paint("red", line)
    if failure.detail:
        yield from wrapped(failure.detail, indent="  ")
    for line in failure.lines:
        indent = line[: len(line) - len(line.lstrip())]
        yield from wrapped(line.strip(), indent=f"  {indent}")
    if failure.phase is Phase.CANARY:
        yield from wrapped(WITHOUT_CANARY, indent="  ")
    for title, lines in (("The scheduler", failure.log), ("The kubelet", failure.journal)):
        if lines:
            yield f"{title} said:"
            yield from (f"  | {printable(line)}" for line in lines[-MAX_LOG_LINES:])
    for sentence in what_to_do(failure):
        yield from wrapped(f"→ {sentence}", indent="  ")


def wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        printable(as_typed(text)),
        width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
