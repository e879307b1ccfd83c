"""The parts of the page, each from its values; one that has nothing to say is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from kschedpatch.core.fleet.standing import NodeStatus
from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.events import Phase
from kschedpatch.model.finding import Finding
from kschedpatch.model.rollout import Failure, NodeOutcome, NodeResult, RolloutResult
from kschedpatch.report.failures import WITHOUT_CANARY, failure_told, what_to_do
from kschedpatch.report.fleetplans import what_happens
from kschedpatch.report.page.chart import MAX_BARS, MAX_LANES, bar_told, chart
from kschedpatch.report.page.differences import Difference, differences, untouched
from kschedpatch.report.page.markup import NOTHING, Child, Markup, element, joined, preformatted
from kschedpatch.report.page.record import RunRecord
from kschedpatch.report.page.timelines import Bar, Lane, longest_absence, was_touched
from kschedpatch.report.rollouts import objects_told, outcome_told

T = TypeVar("T")

MAX_ROWS = 300
"""Of a table."""
MAX_LINES = 1500
"""Of a diff."""
MAX_LOG_LINES = 200

_GOOD = frozenset({NodeOutcome.CHANGED, NodeOutcome.UNCHANGED})
_BAD = frozenset({NodeOutcome.NOT_RESTORED, NodeOutcome.LEFT_TO_NODE, NodeOutcome.UNPROVEN})
_CHECK_CLASSES = {
    CheckState.OK: "good",
    CheckState.FAILED: "bad",
    CheckState.WARNING: "warn",
    CheckState.NOT_CHECKED: "quiet",
}
_SIGNS = {"good": "✓", "bad": "✗", "warn": "!", "quiet": "–"}
_LINE_CLASSES = {"+": "add", "-": "del", "@": "hunk"}


class Section(NamedTuple):
    anchor: str
    title: str
    body: Markup


def sections(record: RunRecord) -> Iterator[Section]:
    lanes = record.lanes
    result = record.result
    if result is not None and result.failure is not None:
        yield Section("failure", "What failed", _failure(result.failure))
    if result is not None and result.nodes:
        yield Section("nodes", "Nodes", _nodes(result, lanes))
    elif record.nodes:
        yield Section("nodes", "Nodes", _standing(record.nodes))
    if lanes:
        yield Section("times", "Time line", _times(record, lanes))
    if result is not None and (result.objects or result.leftovers or result.notes):
        yield Section("cluster", "Objects and notes", _objects(result))
    if record.checks:
        yield Section("checks", "Checks", _checks(record.checks))
    if record.findings:
        yield Section("findings", "Findings", _findings(record.findings))
    changes = differences(record)
    if changes or untouched(record):
        yield Section("changes", "Changes", _changes(changes, untouched(record)))
    if record.command == "plan" and record.plan is not None and changes and record.plan.ok:
        lines = [*what_happens(record.plan, record.cluster)]
        yield Section("next", "What apply will do", preformatted(lines[1:], "plain"))


def badge(class_: str, words: str) -> Markup:
    """A colour is never alone: a sign and words are with it."""
    sign = element("span", _SIGNS[class_], aria_hidden="true")
    return element("span", sign, " ", words, class_=f"badge {class_}")


def table(
    header: Sequence[str], items: Sequence[T], row: Callable[[T], Sequence[Child]], class_: str = ""
) -> Markup:
    """The first cell of a row is its name. On a narrow screen a row becomes a block, in which each
    cell says what it is."""
    head = element("tr", *(element("th", name, scope="col") for name in header))
    body = [_row(header, row(item)) for item in items[:MAX_ROWS]]
    made = element("table", element("thead", head), element("tbody", *body), class_=class_ or None)
    more = len(items) - MAX_ROWS
    return joined([made, _note(f"… and {more} more; -o json shows them all.") if more > 0 else ""])


def _row(header: Sequence[str], cells: Sequence[Child]) -> Markup:
    named = zip(header[1:], cells[1:], strict=True)
    first = element("th", cells[0], scope="row", data_label=header[0])
    return element("tr", first, *(element("td", cell, data_label=name) for name, cell in named))


def _note(words: str) -> Markup:
    return element("p", words, class_="note")


def _failure(failure: Failure) -> Markup:
    parts = [element("p", failure_told(failure), class_="bad lead")]
    if failure.detail:
        parts.append(element("p", failure.detail))
    if failure.lines:
        parts.append(_log("", failure.lines))
    parts += [element("p", "→ ", words, class_="meaning") for words in what_to_do(failure)]
    if failure.phase is Phase.CANARY:
        parts.append(element("p", "→ ", WITHOUT_CANARY, class_="meaning"))
    for title, lines in (
        ("The scheduler said", failure.log),
        ("The kubelet said", failure.journal),
    ):
        if lines:
            parts.append(_log(title, lines))
    return joined(parts)


def _log(title: str, lines: Sequence[str]) -> Markup:
    """The last lines: what killed it is said at the end."""
    less = len(lines) - MAX_LOG_LINES
    return joined(
        [
            element("h3", title) if title else NOTHING,
            _note(f"{less} earlier lines are left out.") if less > 0 else NOTHING,
            preformatted(lines[-MAX_LOG_LINES:]),
        ]
    )


def _nodes(result: RolloutResult, lanes: Sequence[Lane]) -> Markup:
    by_node = {lane.node: lane for lane in lanes}
    nodes = result.nodes
    columns: list[tuple[str, list[Child]]] = [
        ("Deployment" if result.deployment else "Node", [node.label for node in nodes]),
        ("Outcome", [badge(_class_of(n.outcome), outcome_told(n.outcome)) for n in nodes]),
        ("Proven after", [_seconds(node.seconds_to_proven) for node in nodes]),
    ]
    # What is the same dash on every node is no column.
    if any(node.seconds_to_restored is not None for node in nodes):
        columns.append(("Back after", [_seconds(node.seconds_to_restored) for node in nodes]))
    if not result.deployment:
        failure = result.failure
        bounds: list[Child] = [_absence(n, by_node.get(n.label), failure) for n in nodes]
        columns.append(("Without its own scheduler", bounds))
    if any(node.detail for node in nodes):
        columns.append(("Remark", [node.detail for node in nodes]))
    rows = [*zip(*(cells for _, cells in columns), strict=True)]
    made = table([name for name, _ in columns], rows, lambda cells: cells)
    return joined([made, _what_times_mean(result)])


def _class_of(outcome: NodeOutcome) -> str:
    return "good" if outcome in _GOOD else "bad" if outcome in _BAD else "warn"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f} s"


def _absence(node: NodeResult, lane: Lane | None, failure: Failure | None) -> str:
    if node.outcome is NodeOutcome.UNCHANGED and not was_touched(lane):
        return "not touched"
    bound = longest_absence(node, lane, failure)
    return "not known" if bound is None else f"at most {bound:.1f} s"


def _what_times_mean(result: RolloutResult) -> Markup:
    if result.deployment or not any(
        node.seconds_to_proven is not None or node.seconds_to_restored is not None
        for node in result.nodes
    ):
        return NOTHING
    back = any(node.seconds_to_restored is not None for node in result.nodes)
    return _note(
        "Proven after: from the switch until the new scheduler was ready; it stayed so. "
        + ("Back after: from the beginning of the way back until the old one was. " if back else "")
        + "The last figure is a bound, not a measurement: a canary or another node's scheduler may "
        "have led meanwhile."
    )


def _standing(nodes: Sequence[NodeStatus]) -> Markup:
    def row(node: NodeStatus) -> Sequence[Child]:
        leads = "yes" if node.leads else "no"
        run, patch, version = (text or "–" for text in (node.run, node.patch, node.kubelet))
        return node.label, version, leads, patch, node.drift_told, run

    return table(("Node", "Version", "Leads", "Patch", "Drift", "Run"), nodes, row)


def _objects(result: RolloutResult) -> Markup:
    told = [*objects_told(result)]
    if result.leftovers:
        told.append("Still in the cluster: " + ", ".join(result.leftovers) + ".")
    told += [f"Note: {note}" for note in result.notes]
    return element("ul", *(element("li", sentence) for sentence in told[:MAX_ROWS]))


def _checks(checks: Sequence[Check]) -> Markup:
    blocks: dict[str, list[Check]] = {}
    for check in sorted(checks, key=lambda check: not check.node):
        blocks.setdefault(check.node or "cluster", []).append(check)
    header = ("Check", "State", "Evidence")
    parts = []
    for node, listed in list(blocks.items())[:MAX_LANES]:
        parts += [element("h3", node), table(header, listed, _check, "checks")]
    return joined(parts)


def _check(check: Check) -> Sequence[Child]:
    evidence = joined([check.evidence, _changed_lines(check.lines) if check.lines else NOTHING])
    return check.subject, badge(_CHECK_CLASSES[check.state], str(check.state)), evidence


def _findings(findings: Sequence[Finding]) -> Markup:
    classes = {"error": "bad", "warning": "warn", "note": "quiet"}

    def row(finding: Finding) -> Sequence[Child]:
        place = f"{finding.file}:{finding.line}" if finding.line else finding.file
        path = f"{finding.path}: " if finding.path else ""
        hint = element("div", f"→ {finding.hint}", class_="meaning") if finding.hint else NOTHING
        return (
            finding.code,
            badge(classes[finding.severity], str(finding.severity)),
            place or "–",
            joined([path + finding.message, hint]),
        )

    return table(("Code", "Severity", "Where", "What"), findings, row, "findings")


def _times(record: RunRecord, lanes: Sequence[Lane]) -> Markup:
    tables = [_steps(lane) for lane in lanes[:MAX_LANES]]
    return joined([chart(lanes, record.pauses, record.seconds), *tables])


def _steps(lane: Lane) -> Markup:
    def row(bar: Bar) -> Sequence[Child]:
        said = joined(element("div", words) for words in bar.said)
        return f"{bar.begin:.1f} s", f"{bar.seconds:.1f} s", bar_told(bar), said

    count = f"{len(lane.bars)} step{'s' if len(lane.bars) != 1 else ''}"
    return element(
        "details",
        element("summary", f"{lane.node or 'cluster'}: {count}"),
        table(("From", "Took", "Step", "What was said"), lane.bars[:MAX_BARS], row, "steps"),
    )


def _changes(changes: Sequence[Difference], same: Sequence[str]) -> Markup:
    parts = [_difference(change) for change in changes[:MAX_ROWS]]
    if len(changes) > MAX_ROWS:
        parts.append(_note(f"… and {len(changes) - MAX_ROWS} more."))
    if same:
        parts.append(_note(f"Nothing to change on {', '.join(same)}."))
    return joined(parts)


def _difference(change: Difference) -> Markup:
    head: list[Child] = [
        element("code", change.title),
        " ",
        element("span", change.where, class_="where"),
    ]
    if not change.lines:
        return element("p", *head, class_="difference")
    # Open: a closed one would be missing on paper and in a picture.
    return element(
        "details",
        element("summary", *head),
        _changed_lines(change.lines),
        class_="difference",
        open="open",
    )


def _changed_lines(lines: Sequence[str]) -> Markup:
    """A block each, so that the colour goes from edge to edge; the sign says the same."""
    more = len(lines) - MAX_LINES
    blocks = [
        element("span", line or " ", class_=_LINE_CLASSES.get(line[:1], "same"))
        for line in lines[:MAX_LINES]
    ]
    note = _note(f"… and {more} more lines.") if more > 0 else NOTHING
    return joined([preformatted([joined(blocks)], "diff"), note])
