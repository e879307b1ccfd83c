"""What a run changes, or would: a diff for each file and object, the same on several nodes once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kschedpatch.model.fleetplan import NodePlan
from kschedpatch.report.fleetplans import diff_of
from kschedpatch.report.objects import WORDS, difference_of
from kschedpatch.report.page.record import RunRecord
from kschedpatch.report.persisting import CONFIG, config_diff, patch_diff
from kschedpatch.report.plans import file_lines
from kschedpatch.report.terminal import Paint

_PLAIN = Paint(enabled=False)


class Difference(NamedTuple):
    title: str
    where: str
    """On which nodes, or what becomes of it."""
    lines: tuple[str, ...]
    """As in a unified diff."""


def differences(record: RunRecord) -> tuple[Difference, ...]:
    return (*_manifests(record), *_files(record), *_objects(record), *_persisted(record))


def untouched(record: RunRecord) -> tuple[str, ...]:
    """Nodes with nothing to change."""
    return tuple(node.label for node in _plans(record) if not node.changed)


def _plans(record: RunRecord) -> list[NodePlan]:
    if record.plan is not None:
        return list(record.plan.nodes)
    return [t.plan for t in record.targets if t.plan is not None and not t.ends_transaction]


def _folded(diffs: Iterable[tuple[str, str, tuple[str, ...]]]) -> Iterator[Difference]:
    """Of title, node and lines; where the last are the same, the nodes are named together."""
    groups: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for title, node, lines in diffs:
        if lines:
            groups.setdefault((title, lines), []).append(node)
    for (title, lines), nodes in groups.items():
        yield Difference(title, "on " + ", ".join(nodes), lines)


def _manifests(record: RunRecord) -> Iterator[Difference]:
    for target in record.targets:
        if target.ends_transaction:
            words = f"takes back the open run {target.run}"
            yield Difference("Open run", f"{target.label}: {words}", ())
    # The first two lines name the file, as the title does.
    yield from _folded((n.manifest_path, n.label, diff_of(n)[2:]) for n in _plans(record))


def _files(record: RunRecord) -> Iterator[Difference]:
    nodes = record.plan.nodes if record.plan is not None else ()

    def staged() -> Iterator[tuple[str, str, tuple[str, ...]]]:
        for node in nodes:
            generation = node.generation
            for file in generation.files if generation is not None and node.changed else ():
                assert generation is not None  # noqa: S101  it has this file
                path = f"{generation.directory}/{file.name}"
                _, head, *lines = file_lines(path, file, _PLAIN)
                yield head.removeprefix("+++ "), node.label, tuple(lines)

    yield from _folded(staged())


def _objects(record: RunRecord) -> Iterator[Difference]:
    for change in record.cluster.steps:
        why = f": {change.why}" if change.why else ""
        source = f", from {change.source}" if change.source else ""
        told = f"{WORDS[change.action]}{why}{source}"
        yield Difference(change.ref.title, told, tuple(difference_of(change)))


def _persisted(record: RunRecord) -> Iterator[Difference]:
    plan = record.persist
    if not plan.changed:
        return
    told = "for kubeadm's next rendering"
    if lines := config_diff(plan)[2:]:
        yield Difference(CONFIG, told, lines)
    yield from _folded(
        (f"kubeadm-patches, {told}", node.label, patch_diff(node)[2:]) for node in plan.nodes
    )
