"""How a roll-out or rollback ended: for people with the reason and what to do now; as data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Phase
from kschedpatch.model.rollout import (
    Failure,
    FailureReason,
    NodeOutcome,
    NodeResult,
    RolloutResult,
)
from kschedpatch.report.terminal import Paint, printable, width

MAX_LOG_LINES = 20
_COLOURS = {
    NodeOutcome.CHANGED: "green",
    NodeOutcome.RESTORED: "yellow",
    NodeOutcome.NOT_RESTORED: "red",
    NodeOutcome.LEFT_TO_NODE: "red",
    NodeOutcome.UNPROVEN: "red",
    NodeOutcome.NOT_REACHED: "yellow",
}
_OUTCOMES = {
    NodeOutcome.NOT_RESTORED: "NOT RESTORED",
    NodeOutcome.NOT_REACHED: "not reached",
    NodeOutcome.LEFT_TO_NODE: "left to the node",
}
_REASONS = {
    FailureReason.CRASH: "the scheduler crashed",
    FailureReason.MOUNT: "a path of the host could not be mounted",
    FailureReason.IMAGE: "the image could not be had",
    FailureReason.REFUSED: "the kubelet does not take the manifest",
    FailureReason.DENIED: "the pod was not admitted",
    FailureReason.NOT_READY: "the scheduler did not become ready",
    FailureReason.TIMEOUT: "it took too long",
    FailureReason.LOST: "the connection was lost",
    FailureReason.FOREIGN: "somebody else has changed the manifest in the meantime",
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
_PHASES = {
    Phase.CONNECT: "connecting",
    Phase.FACTS: "looking at the node",
    Phase.LOCK: "locking",
    Phase.STAGE: "staging the files",
    Phase.PREFLIGHT: "trying the scheduler once",
    Phase.OBJECTS: "applying objects",
    Phase.ARM: "arming the dead man",
    Phase.CANARY: "starting the canary",
    Phase.SWITCH: "switching",
    Phase.WATCH: "waiting for the new scheduler",
    Phase.PROBE: "probing",
    Phase.CONFIRM: "confirming",
    Phase.FINISH: "cleaning up",
    Phase.RESTORE: "restoring",
}


def result_text(result: RolloutResult, paint: Paint) -> str:
    lines = [_node_line(node, _wide(result), paint) for node in result.nodes]
    if result.failure is not None:
        lines += ["", *_failure(result.failure, paint)]
    if result.leftovers:
        lines += ["", *_wrapped("Still in the cluster: " + ", ".join(result.leftovers) + ".")]
    for note in result.notes:
        lines += _wrapped(f"Note: {note}")
    lines += ["", *_wrapped(conclusion(result))]
    command = next_command(result)
    if command:
        lines.append(f"  {command}")
    return "".join(line + "\n" for line in lines)


def _wide(result: RolloutResult) -> int:
    return max((len(printable(node.label)) for node in result.nodes), default=0)


def _node_line(node: NodeResult, wide: int, paint: Paint) -> str:
    name = printable(node.label).ljust(wide)
    word = _OUTCOMES.get(node.outcome, str(node.outcome)).ljust(16)
    colour = _COLOURS.get(node.outcome)
    parts = []
    if node.seconds_to_proven is not None:
        parts.append(f"proven after {node.seconds_to_proven:.1f} s")
    if node.seconds_to_restored is not None:
        parts.append(f"back after {node.seconds_to_restored:.1f} s")
    if node.detail:
        parts.append(printable(node.detail))
    return f"{name}  {paint(colour, word) if colour else word}  {'; '.join(parts)}".rstrip()


def _failure(failure: Failure, paint: Paint) -> Iterator[str]:
    where = f" on {printable(failure.node)}" if failure.node else ""
    step = _PHASES.get(failure.phase, str(failure.phase))
    yield paint("red", f"Failed{where} while {step}: {_REASONS[failure.reason]}.")
    if failure.detail:
        yield from _wrapped(failure.detail, indent="  ")
    if failure.phase is Phase.CANARY:
        yield from _wrapped(
            "If it fails only beside the live one (a port or a file that two can't share), "
            "--no-canary leaves the canary out.",
            indent="  ",
        )
    for title, lines in (("The scheduler", failure.log), ("The kubelet", failure.journal)):
        if lines:
            yield f"{title} said:"
            yield from (f"  | {printable(line)}" for line in lines[-MAX_LOG_LINES:])


def conclusion(result: RolloutResult) -> str:
    """One or two sentences that are true whatever the nodes' lines say."""
    what = "Rolled back" if result.kind == "rollback" else "Applied"
    match result.exit_code:
        case exitcodes.OK if not result.changed:
            return "No node had to be changed."
        case exitcodes.OK:
            return f"{what}, proven and confirmed on {_labels(result, NodeOutcome.CHANGED)}."
        case exitcodes.REFUSED:
            return "Nothing live was touched: every scheduler runs on as before."
        case exitcodes.ROLLED_BACK:
            return "Every node is back on what it ran before, and its scheduler is ready."
        case exitcodes.NOT_RESTORED:
            return _not_restored(result)
        case exitcodes.INTERRUPTED:
            return _interrupted(result)
    return f"Ended with exit code {result.exit_code}."


def _labels(result: RolloutResult, *outcomes: NodeOutcome) -> str:
    return ", ".join(node.label for node in result.nodes if node.outcome in outcomes)


def _not_restored(result: RolloutResult) -> str:
    waiting = _labels(result, NodeOutcome.LEFT_TO_NODE)
    failed = _labels(result, NodeOutcome.NOT_RESTORED, NodeOutcome.UNPROVEN)
    told = []
    if failed:
        told.append(f"Not back on a proven scheduler: {failed}.")
    if waiting:
        told.append(f"Left to themselves, and going back at their deadline: {waiting}.")
    unreached = _labels(result, NodeOutcome.NOT_REACHED)
    if unreached:
        told.append(f"Not reached, and as before: {unreached}.")
    changed = _labels(result, NodeOutcome.CHANGED)
    if changed:
        done = "Rolled back" if result.kind == "rollback" else "On the new one"
        told.append(f"{done}: {changed}.")
    return " ".join(told) or "Not everything is back as it was."


def _interrupted(result: RolloutResult) -> str:
    waiting = _labels(result, NodeOutcome.LEFT_TO_NODE, NodeOutcome.NOT_RESTORED)
    if waiting:
        return f"Interrupted. {waiting} will go back by themselves at their deadline."
    if _labels(result, NodeOutcome.RESTORED):
        return "Interrupted. Every node is back on what it ran before, and its scheduler is ready."
    return "Interrupted. Nothing live was touched."


def next_command(result: RolloutResult) -> str:
    """What to type now; on the node itself where nothing else is left."""
    labels = " ".join(printable(node.label) for node in result.nodes)
    bad = _labels(result, NodeOutcome.NOT_RESTORED, NodeOutcome.UNPROVEN).replace(", ", " ")
    if bad and result.failure is not None and result.failure.reason is FailureReason.LOST:
        return "on the node: sudo sh /var/lib/kschedpatch/agent.sh restore"
    if bad:
        return f"kschedpatch rollback {printable(bad)}"
    if _labels(result, NodeOutcome.LEFT_TO_NODE):
        return f"kschedpatch status {labels}"
    unreached = _labels(result, NodeOutcome.NOT_REACHED).replace(", ", " ")
    if result.kind == "rollback" and unreached:
        return f"kschedpatch rollback {printable(unreached)}"
    if result.kind == "apply" and result.exit_code == exitcodes.OK and result.changed:
        return f"kschedpatch rollback {labels}    # takes it back"
    return ""


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        printable(text),
        width(),
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def result_data(result: RolloutResult) -> dict[str, Any]:
    failure = result.failure
    return {
        "run": result.run,
        "action": result.kind,
        "nodes": [
            {
                "node": node.label,
                "name": node.node_name,
                "outcome": str(node.outcome),
                "secondsToProven": node.seconds_to_proven,
                "secondsToRestored": node.seconds_to_restored,
                "detail": node.detail,
            }
            for node in result.nodes
        ],
        "failure": None
        if failure is None
        else {
            "node": failure.node,
            "phase": str(failure.phase),
            "reason": str(failure.reason),
            "detail": failure.detail,
            "log": list(failure.log),
            "journal": list(failure.journal),
        },
        "leftovers": list(result.leftovers),
        "notes": list(result.notes),
        "conclusion": conclusion(result),
        "next": next_command(result),
    }
