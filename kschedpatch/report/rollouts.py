"""How a roll-out or rollback ended: for people with the reason and what to do now; as data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.schedulerwords import meanings
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import Action
from kschedpatch.model.rollout import (
    FailureReason,
    NodeOutcome,
    NodeResult,
    RolloutResult,
)
from kschedpatch.report.failures import failure_lines, wrapped
from kschedpatch.report.program import as_typed
from kschedpatch.report.terminal import Paint, printable

#: Where the node is this machine it has no name for a command line.
LOCAL = "--local"
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
_DONE = {
    Action.CREATE: "created",
    Action.CHANGE: "changed",
    Action.DELETE: "taken away",
    Action.RESTORE: "put back as they were",
}


def result_text(result: RolloutResult, paint: Paint) -> str:
    lines = [_node_line(node, _wide(result), paint) for node in result.nodes]
    if result.failure is not None:
        lines += ["", *failure_lines(result.failure, paint)]
    lines += _objects(result)
    if result.leftovers:
        lines += ["", *wrapped("Still in the cluster: " + ", ".join(result.leftovers) + ".")]
    for note in result.notes:
        lines += wrapped(f"Note: {note}")
    lines += ["", *wrapped(conclusion(result))]
    command = next_command(result)
    if command:
        lines.append(f"  {as_typed(command)}")
    return "".join(line + "\n" for line in lines)


def _objects(result: RolloutResult) -> Iterator[str]:
    if result.objects:
        yield ""
    for sentence in objects_told(result):
        yield from wrapped(sentence)


def objects_told(result: RolloutResult) -> Iterator[str]:
    """What was done in a word each; what stays or is left, with the reason."""
    done: dict[str, list[str]] = {}
    for item in result.objects:
        if item.action in _DONE:
            done.setdefault(_DONE[item.action], []).append(item.title)
    for word, titles in done.items():
        yield f"Objects {word}: {', '.join(titles)}."
    for item in result.objects:
        if item.action is Action.STAYS:
            yield f"{item.title} stays: {item.why}."
        elif item.action is Action.LEFT:
            yield f"{item.title} is left as it is: {item.why}."


def _wide(result: RolloutResult) -> int:
    return max((len(printable(node.label)) for node in result.nodes), default=0)


def _node_line(node: NodeResult, wide: int, paint: Paint) -> str:
    name = printable(node.label).ljust(wide)
    word = outcome_told(node.outcome).ljust(16)
    colour = _COLOURS.get(node.outcome)
    parts = []
    if node.seconds_to_proven is not None:
        parts.append(f"proven after {node.seconds_to_proven:.1f} s")
    if node.seconds_to_restored is not None:
        parts.append(f"back after {node.seconds_to_restored:.1f} s")
    if node.detail:
        parts.append(printable(node.detail))
    return f"{name}  {paint(colour, word) if colour else word}  {'; '.join(parts)}".rstrip()


def outcome_told(outcome: NodeOutcome) -> str:
    return _OUTCOMES.get(outcome, str(outcome))


def conclusion(result: RolloutResult) -> str:
    """One or two sentences that are true whatever the nodes' lines say."""
    what = "Rolled back" if result.kind == "rollback" else "Applied"
    match result.exit_code:
        case _ if result.deployment:
            return _of_deployment(result, what)
        case exitcodes.OK if not result.changed:
            return "No node had to be changed."
        case exitcodes.OK if not result.nodes_changed:
            return "Objects of the cluster were changed; no node had to be."
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


def _of_deployment(result: RolloutResult, what: str) -> str:
    title = f"Deployment {result.deployment}"
    match result.exit_code:
        case exitcodes.OK if not result.nodes_changed:
            return f"Objects of the cluster were changed; {title} had not to be."
        case exitcodes.OK:
            return f"{what}: {title}, proven."
        case exitcodes.REFUSED:
            return f"{title} was not touched: its pods run on as before."
        case exitcodes.ROLLED_BACK:
            return f"{title} is back on what it ran before, and its pods are ready."
        case exitcodes.INTERRUPTED:
            return "Interrupted. " + (
                f"Kubernetes goes on with {title}; its old pods stay until a new one is ready."
                if _labels(result, NodeOutcome.UNPROVEN)
                else f"{title} is as before."
            )
    return f"{title} is not back on what it ran before."


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
    if result.deployment:
        return _next_for_deployment(result)
    lost = result.failure is not None and result.failure.reason is FailureReason.LOST
    bad = _labels(result, NodeOutcome.NOT_RESTORED, NodeOutcome.UNPROVEN)
    unreached = _labels(result, NodeOutcome.NOT_REACHED) if result.kind == "rollback" else ""
    everywhere = _labels(result, *NodeOutcome)
    if bad and lost:
        return "on the node: sudo sh /var/lib/kschedpatch/agent.sh restore"
    if bad:
        return _command("rollback", result, bad)
    if _labels(result, NodeOutcome.LEFT_TO_NODE):
        return _command("status", result, everywhere)
    if unreached:
        return _command("rollback", result, unreached)
    if result.kind == "apply" and result.exit_code == exitcodes.OK and result.changed:
        return _command("rollback", result, everywhere) + "    # takes it back"
    return ""


def _command(verb: str, result: RolloutResult, labels: str) -> str:
    nodes = "" if result.reach == LOCAL else labels.replace(", ", " ")
    return printable(" ".join(filter(None, ("kschedpatch", verb, result.reach, nodes))))


def _next_for_deployment(result: RolloutResult) -> str:
    """``reach`` has the nodes here: a Deployment names none."""
    words = ("kschedpatch rollback", "--deployment", result.deployment, result.reach)
    command = printable(" ".join(filter(None, words)))
    if _labels(result, NodeOutcome.NOT_RESTORED, NodeOutcome.UNPROVEN):
        return command
    if result.kind == "apply" and result.exit_code == exitcodes.OK and result.changed:
        return f"{command}    # takes it back"
    return ""


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
            "meaning": meanings(failure.log),
            "journal": list(failure.journal),
            "lines": list(failure.lines),
        },
        "objects": [
            {"object": item.title, "action": str(item.action), "why": item.why or None}
            for item in result.objects
        ],
        "leftovers": list(result.leftovers),
        "notes": list(result.notes),
        "conclusion": conclusion(result),
        "next": next_command(result),
    }
