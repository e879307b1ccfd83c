"""The ledger of a run as bytes, and which of the ledgers that the nodes keep counts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from kschedpatch.model.clusterplan import ClusterPlan, Entry, Ledger, ObjectChange, Ref
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.revision import Revision

FORMAT = 1
MAX_BYTES = 2 * 1024 * 1024
"""Each of the kept runs may have one on each node."""
OPEN, SETTLED, GONE = "open", "settled", "gone"
_CONFIRMED = "confirmed"
_FIELDS = ("body", "original", "before")


def encode(ledger: Ledger) -> bytes:
    entries = []
    for entry in ledger.entries:
        item: dict[str, Any] = {"ref": list(entry.ref), "footprint": entry.footprint}
        item["source"] = entry.source
        item |= {name: getattr(entry, name) for name in _FIELDS}
        entries.append(item)
    body = {"format": FORMAT, "run": ledger.run, "patch": ledger.patch, "entries": entries}
    return json.dumps(body, separators=(",", ":")).encode()


def decode(data: bytes | None) -> Ledger | None:
    """None where it is none of ours, or of a newer format: then nothing is done by it."""
    if not data or len(data) > MAX_BYTES:
        return None
    try:
        body = json.loads(data)
        if body["format"] != FORMAT:
            return None
        entries = tuple(_entry(item) for item in body["entries"])
        return Ledger(str(body["run"]), str(body["patch"]), entries)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _entry(item: dict[str, Any]) -> Entry:
    body, original, before = (item[name] for name in _FIELDS)
    if not all(part is None or isinstance(part, dict) for part in (body, original, before)):
        raise ValueError
    api_version, kind, namespace, name = (str(part) for part in item["ref"])
    ref = Ref(api_version, kind, namespace, name)
    return Entry(ref, body, original, before, str(item["footprint"]), str(item["source"]))


# Which ledger counts. A run has one id on all nodes, and ids sort by time.


def _by_run(facts: Iterable[NodeFacts]) -> dict[str, list[tuple[str, Revision]]]:
    runs: dict[str, list[tuple[str, Revision]]] = {}
    for node in facts:
        for revision in node.revisions:
            if revision.kind:
                runs.setdefault(revision.run, []).append((node.label, revision))
    return dict(sorted(runs.items(), reverse=True))


def _is_confirmed(kept: Iterable[tuple[str, Revision]]) -> bool:
    return any(revision.outcome == _CONFIRMED for _, revision in kept)


def last_confirmed_run(facts: Iterable[NodeFacts], before: str = "") -> str:
    """The newest, or the newest before that run; empty where there is none."""
    for run, kept in _by_run(facts).items():
        if _is_confirmed(kept) and (not before or run < before):
            return run
    return ""


def keepers(facts: Iterable[NodeFacts], run: str) -> tuple[str, ...]:
    """The nodes that keep the ledger of this run. None: it left no objects behind."""
    kept = _by_run(facts).get(run, [])
    return tuple(label for label, revision in kept if revision.objects)


def dangling_runs(facts: Iterable[NodeFacts]) -> Iterator[str]:
    """Runs that keep a ledger and were confirmed nowhere: what they brought is nobody's. Newest
    first. Older ones than the last confirmed run have been dealt with by it."""
    nodes = tuple(facts)
    open_ones = {node.transaction.run for node in nodes if node.transaction is not None}
    last = last_confirmed_run(nodes)
    for run, kept in _by_run(nodes).items():
        has_ledger = any(revision.objects for _, revision in kept)
        if run > last and has_ledger and not _is_confirmed(kept) and run not in open_ones:
            yield run


def opened(run: str, plan: ClusterPlan) -> Ledger:
    """Before anything is done: what is to be, and what there was."""
    brought = (_entry_of(change, change.body) for change in plan.brought)
    removed = (_entry_of(change, None) for change in plan.removed)
    return Ledger(run, plan.patch, (*brought, *removed))


def _entry_of(change: ObjectChange, body: dict[str, Any] | None) -> Entry:
    return Entry(change.ref, body, change.original, change.live, change.footprint, change.source)
