"""Expected log lines. Only the leader schedules: one node whose log has the line is enough."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from kschedpatch.core.fleet.verifying.checking import checked, shortened, unchecked
from kschedpatch.model.checks import Check
from kschedpatch.model.codes import found
from kschedpatch.model.inspection import Inspection

#: Of a line that is matched: an expression of the user's may be slow on a longer one.
_LONGEST = 4096
_HEAD = re.compile(r"^\S+ (?:stdout|stderr) ([FP]) ?")


def log_lines(log: bytes) -> list[str]:
    """The scheduler's own lines, without what the runtime puts before them and joined where it
    has cut them."""
    lines: list[str] = []
    whole = True
    for raw in log.decode("utf-8", "replace").splitlines():
        head = _HEAD.match(raw)
        text = raw[head.end() :] if head else raw
        if whole or not lines:
            lines.append(text)
        elif len(lines[-1]) < _LONGEST:
            lines[-1] += text
        whole = head is None or head[1] == "F"
    return [line[:_LONGEST] for line in lines]


def log_checks(
    patterns: Sequence[str],
    seen: Mapping[str, Inspection],
    *,
    leaders: Sequence[str],
    unseen_leader: str,
    could_probe: bool,
) -> Iterator[Check]:
    """``leaders`` are labels of nodes that lead; ``unseen_leader`` one that was not looked at.
    ``could_probe``: the patch has probe pods, and they were not asked for."""
    lines = {label: log_lines(item.log) for label, item in seen.items() if item.log}
    order = sorted(lines, key=lambda label: label not in leaders)
    for pattern in patterns:
        yield _log(pattern, lines, order, seen, unseen_leader, could_probe=could_probe)


def _log(
    pattern: str,
    lines: Mapping[str, Sequence[str]],
    order: Sequence[str],
    seen: Mapping[str, Inspection],
    unseen_leader: str,
    *,
    could_probe: bool,
) -> Check:
    subject = f"log line {shortened(pattern, 60)}"
    wanted = re.compile(pattern)
    for label in order:
        hits = [line for line in lines[label] if wanted.search(line)]
        if hits:
            return checked("", subject, f"{label}: {shortened(hits[-1], 160)}")
    if not order:
        return unchecked("", subject, "no log of a running scheduler could be read")
    if unseen_leader:
        message = f"{unseen_leader} leads and was not looked at; the others have not logged it"
        finding = found("N150", f"{pattern}: {message}", hint="name all control-plane nodes")
        return checked("", subject, message, [finding])
    cut = [label for label in order if seen[label].log_is_cut]
    message = f"nothing in the logs of {', '.join(order)} since their containers started"
    if cut:
        message += f" (of {', '.join(cut)} only the beginning and the end was read)"
    if could_probe:
        hint = "verify --probe sends the patch's pods through the scheduler first"
        return checked("", subject, message, [found("N148", f"{pattern}: {message}", hint=hint)])
    hint = "a plugin's line comes with the first pod that goes through it, often only with --v=5"
    return checked("", subject, message, [found("N135", f"{pattern}: {message}", hint=hint)])
