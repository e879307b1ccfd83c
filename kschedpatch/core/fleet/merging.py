"""The same finding on several nodes is told once, with the nodes' names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kschedpatch.model.finding import Finding, in_reading_order


def merged(by_node: Mapping[str, Iterable[Finding]]) -> tuple[Finding, ...]:
    """``by_node`` are findings by the node's label. What is about a file of the node names its
    nodes before the path; what is about a local file names them only if it holds for some."""
    nodes: dict[Finding, list[str]] = {}
    for label, findings in by_node.items():
        for finding in dict.fromkeys(findings):
            nodes.setdefault(_without(label, finding), []).append(label)
    everywhere = len(by_node)
    return in_reading_order(
        _named(finding, labels, everywhere=len(labels) == everywhere)
        for finding, labels in nodes.items()
    )


def _without(label: str, finding: Finding) -> Finding:
    head = f"{label}:"
    if not finding.file.startswith(head):
        return finding
    # The colon stays: it tells a node's file from a local one.
    message = finding.message.replace(head, "")
    return finding._replace(file=finding.file[len(label) :], message=message)


def _named(finding: Finding, labels: list[str], *, everywhere: bool) -> Finding:
    names = ", ".join(labels)
    if finding.file.startswith(":"):
        path = finding.file.removeprefix(":")
        return finding._replace(file=f"{names}:{path}" if path else names)
    if everywhere:
        return finding
    return finding._replace(message=f"{finding.message} (on {names})")
