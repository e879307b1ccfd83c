"""What becomes of each object: by what is wanted, what the nodes keep, and what is there. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from kschedpatch.core.objects import marks
from kschedpatch.core.objects.order import backwards, in_order
from kschedpatch.model.clusterplan import (
    Action,
    ClusterPlan,
    Entry,
    Key,
    Ledger,
    Object,
    ObjectChange,
    Ref,
    ref_of,
)
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.plan import ClusterObject

_STAYS = "everything of its kind would be lost with it"
_CHANGED = "somebody else has changed it since"
_NOTHING = Ledger("", "")


class Seen(NamedTuple):
    """What the API server told."""

    live: Mapping[Key, Object]
    namespaces: frozenset[str] = frozenset()
    unknown: frozenset[tuple[str, str]] = frozenset()
    """apiVersion and kind of what it does not know."""
    dry: Mapping[Key, Object] = {}
    """What would become of the wanted ones."""
    refused: Mapping[Key, str] = {}
    loose: Mapping[Key, Entry] = {}
    """What runs have brought that were never confirmed, and that is still theirs."""

    def given(self, key: Key) -> Object | None:
        live = self.live.get(key)
        return marks.as_given(live) if live is not None else None

    def is_touched(self, key: Key, footprint: str) -> bool:
        """Has anybody else written into it since it was left with this footprint?"""
        live = self.live.get(key)
        if live is None or key in self.loose:
            return False
        return footprint not in ("", marks.footprint(live))


class Wish(NamedTuple):
    """A wanted object, resolved as far as it can be before anybody is asked."""

    ref: Ref
    body: Object
    source: str


def wishes(objects: Iterable[ClusterObject]) -> tuple[Wish, ...]:
    found_ones = [Wish(ref_of(item.body), item.body, item.source) for item in objects]
    return tuple(in_order((wish.ref, wish) for wish in found_ones))


def origin_of(wish: Wish, before: Ledger | None, live: Object | None) -> str:
    """Did kschedpatch make it? The ledger knows, else the object itself tells."""
    kept = (before or _NOTHING).find(wish.ref.key)
    if live is None or (kept is not None and kept.original is None):
        return marks.CREATED
    said = marks.note_of(live, marks.ORIGIN)
    return said if said in (marks.CREATED, marks.ADOPTED) else marks.ADOPTED


def can_be_tried(wish: Wish, seen: Seen) -> bool:
    """A dry run needs the namespace and the kind to be there already."""
    there = not wish.ref.namespace or wish.ref.namespace in seen.namespaces
    return there and not _unknown(wish.ref, seen)


def _unknown(ref: Ref, seen: Seen) -> bool:
    return (ref.api_version, ref.kind) in seen.unknown


def decide(wanted: tuple[Wish, ...], patch: str, before: Ledger | None, seen: Seen) -> ClusterPlan:
    """``before`` is the ledger in force."""
    findings: list[Finding] = []
    brought = []
    coming = frozenset(w.ref.name for w in wanted if marks.is_namespace(w.ref))
    kinds = marks.defined_kinds(w.body for w in wanted)
    for wish in wanted:
        problem = _obstacle(wish, seen, coming, kinds)
        findings += [problem] if problem is not None else []
        change = _wanted(wish, before, seen)
        findings += _about(change, before, seen)
        brought.append(change)
    names = {wish.ref.key for wish in wanted}
    removed = _leaving((e for e in (before or _NOTHING).entries if e.ref.key not in names), seen)
    findings += _about_removed(removed)
    return ClusterPlan(patch, tuple(brought), removed, findings=tuple(findings))


def _obstacle(
    wish: Wish, seen: Seen, coming: frozenset[str], kinds: frozenset[tuple[str, str]]
) -> Finding | None:
    ref = wish.ref
    if ref.namespace and ref.namespace not in seen.namespaces | coming:
        message = f"{ref.title}: there is no namespace {ref.namespace}"
        return found("N060", message, file=wish.source, hint="put it among the objects")
    if _unknown(ref, seen) and (ref.group, ref.kind) not in kinds:
        message = f"{ref.title}: the API server knows no {ref.kind} in {ref.api_version}"
        hint = "its CustomResourceDefinition must be there, or among the objects"
        return found("N061", message, file=wish.source, hint=hint)
    if ref.key in seen.refused:
        message = f"{ref.title}: {seen.refused[ref.key]}"
        hint = "a field that can't be changed: delete the object, or give it another name"
        immutable = "immutable" in message or "cannot change roleRef" in message
        return found("N062", message, file=wish.source, hint=hint if immutable else "")
    return None


def _wanted(wish: Wish, before: Ledger | None, seen: Seen) -> ObjectChange:
    key = wish.ref.key
    live, dry = seen.live.get(key), seen.dry.get(key)
    kept = (before or _NOTHING).find(key) or seen.loose.get(key)
    ref = wish.ref if live is None else wish.ref._replace(namespace=ref_of(live).namespace)
    change = ObjectChange(Action.CREATE, ref, wish.body, source=wish.source)
    if kept is not None:
        change = change._replace(original=kept.original, footprint=kept.footprint)
    if live is None:
        # What was there when kschedpatch came, and is gone since, is not brought back.
        return change._replace(original=None, footprint="")
    if kept is None and origin_of(wish, before, live) == marks.ADOPTED:
        change = change._replace(original=marks.as_given(live))
    change = change._replace(live=marks.as_given(live), action=Action.CHANGE)
    if key in seen.loose:
        # Applied again, so that it names this run; and the way back leads to before both.
        former = seen.loose[key].before
        action = Action.CHANGE if former is not None else Action.CREATE
        return change._replace(live=former, action=action, footprint="")
    if dry is None:
        return change
    after = marks.comparable(dry)
    if after == marks.comparable(live):
        mark = change.footprint or marks.footprint(live)
        return change._replace(action=Action.UNCHANGED, after=after, footprint=mark)
    return change._replace(after=after)


def _about(change: ObjectChange, before: Ledger | None, seen: Seen) -> Iterator[Finding]:
    live = seen.live.get(change.ref.key)
    if live is None or change.action is not Action.CHANGE:
        return
    kept = (before or _NOTHING).find(change.ref.key)
    if kept is None and not marks.is_ours(live):
        message = f"{change.ref.title} is there already, and not by kschedpatch"
        yield found("N063", message, file=change.source)
    elif kept is not None and seen.is_touched(change.ref.key, kept.footprint):
        message = (
            f"{change.ref.title} is not as the last run left it; the plan shows the difference"
        )
        yield found("N064", message, file=change.source)


def _about_removed(removed: Iterable[ObjectChange]) -> Iterator[Finding]:
    for change in removed:
        title = change.ref.title
        if change.action is Action.STAYS:
            yield found("N066", f"{title} stays: {change.why}")
        elif change.action is Action.LEFT:
            yield found("N067", f"{title} is left as it is: {change.why}", hint=removal(change.ref))
        else:
            message = f"{title}, from run {change.source}, is no longer in the patch"
            yield found("N065", message)


def removal(ref: Ref) -> str:
    """The command that takes an object away by hand."""
    kind = f"{ref.kind.lower()}.{ref.group}" if ref.group else ref.kind.lower()
    where = f" -n {ref.namespace}" if ref.namespace else ""
    return f"kubectl delete {kind} {ref.name}{where}"


# What goes.


def _leaving(entries: Iterable[Entry], seen: Seen) -> tuple[ObjectChange, ...]:
    changes = [leave(entry, seen) for entry in entries]
    return tuple(backwards((c.ref, c) for c in changes if c is not None))


def leave(entry: Entry, seen: Seen) -> ObjectChange | None:
    """What is no longer wanted: it goes, or becomes what it was before kschedpatch came."""
    live = seen.live.get(entry.ref.key)
    if live is None:
        return None
    given = marks.as_given(live)
    known = marks.note_of(live, marks.RUN)
    change = ObjectChange(
        Action.DELETE,
        entry.ref,
        None,
        live=given,
        original=entry.original,
        source=known,
        footprint=entry.footprint,
    )
    if seen.is_touched(entry.ref.key, entry.footprint) or not marks.is_ours(live):
        return change._replace(action=Action.LEFT, why=_CHANGED)
    if entry.original is not None:
        return change._replace(action=Action.RESTORE, body=entry.original)
    if marks.is_definition(entry.ref):
        return change._replace(action=Action.STAYS, why=_STAYS)
    return change


def undone(ledger: Ledger, seen: Seen) -> tuple[ObjectChange, ...]:
    """Back to what was there before the run, as far as it is still the run's: what does not name
    it was never applied by it, or is somebody else's by now."""
    steps = []
    for entry in ledger.entries:
        live = seen.live.get(entry.ref.key)
        step = ObjectChange(Action.DELETE, entry.ref, entry.before, source=ledger.run)
        if live is None or entry.body is None or marks.note_of(live, marks.RUN) != ledger.run:
            continue
        step = step._replace(live=marks.as_given(live))
        if entry.footprint not in ("", marks.footprint(live)):  # known only while the run lives
            steps.append(step._replace(action=Action.LEFT, why=_CHANGED))
        elif entry.before is not None:
            steps.append(step._replace(action=Action.RESTORE))
        elif marks.is_definition(entry.ref):
            steps.append(step._replace(action=Action.STAYS, why=_STAYS))
        else:
            steps.append(step)
    return tuple(backwards((step.ref, step) for step in steps))


def go_to(target: Ledger, before: Ledger | None, seen: Seen) -> ClusterPlan:
    """A rollback: from the ledger in force to that of an earlier run."""
    wanted = {entry.ref.key for entry in target.entries if entry.body is not None}
    brought = [_again(entry, before, seen) for entry in target.entries if entry.ref.key in wanted]
    removed = _leaving((e for e in (before or _NOTHING).entries if e.ref.key not in wanted), seen)
    findings = [
        found("N067", f"{c.ref.title} is left as it is: {c.why}", hint=removal(c.ref))
        for c in (*brought, *removed)
        if c.action is Action.LEFT
    ]
    findings += [
        found("N066", f"{c.ref.title} stays: {c.why}") for c in removed if c.action is Action.STAYS
    ]
    ordered = in_order((change.ref, change) for change in brought)
    return ClusterPlan(target.patch, tuple(ordered), removed, findings=tuple(findings))


def _again(entry: Entry, before: Ledger | None, seen: Seen) -> ObjectChange:
    """An object as an earlier run had left it."""
    live = seen.live.get(entry.ref.key)
    kept = (before or _NOTHING).find(entry.ref.key)
    original = kept.original if kept is not None else entry.original
    change = ObjectChange(
        Action.CREATE, entry.ref, entry.body, original=original, source=entry.source
    )
    if live is None:
        return change._replace(original=None)
    change = change._replace(live=marks.as_given(live), action=Action.CHANGE)
    mark = marks.footprint(live)
    known = entry.footprint if kept is None else kept.footprint
    if entry.ref.key in seen.loose:
        return change
    if known != mark and (kept is None or known):
        return change._replace(action=Action.LEFT, why=_CHANGED, footprint=mark)
    if kept is None or kept.body == entry.body:
        return change._replace(action=Action.UNCHANGED, footprint=mark)
    return change


def unseen(target: Ledger, before: Ledger | None) -> ClusterPlan:
    """Without an API server: what will have to be done, by the ledgers alone. The next command that
    reaches it looks, and decides anew."""
    wanted = {entry.ref.key: entry for entry in target.entries if entry.body is not None}
    brought = []
    for entry in wanted.values():
        kept = (before or _NOTHING).find(entry.ref.key)
        same = kept is not None and kept.body == entry.body
        action = Action.UNCHANGED if same else Action.CHANGE
        brought.append(
            ObjectChange(
                action,
                entry.ref,
                entry.body,
                original=kept.original if kept is not None else entry.original,
                source=entry.source,
                footprint=kept.footprint if kept is not None else "",
            )
        )
    removed = []
    for entry in (before or _NOTHING).entries:
        if entry.ref.key in wanted:
            continue
        stays = marks.is_definition(entry.ref) and entry.original is None
        action = Action.DELETE if entry.original is None else Action.RESTORE
        removed.append(
            ObjectChange(
                Action.STAYS if stays else action,
                entry.ref,
                entry.original,
                original=entry.original,
                source=entry.source,
                footprint=entry.footprint,
                why=_STAYS if stays else "",
            )
        )
    return ClusterPlan(target.patch, tuple(brought), tuple(removed))


def loose_ones(ledgers: Iterable[Ledger], seen: Seen) -> dict[Key, Entry]:
    """Of the runs that were never confirmed, what they have really applied. Newest first: what an
    older one had brought, the newer has found there."""
    found_ones: dict[Key, Entry] = {}
    for ledger in ledgers:
        for entry in ledger.entries:
            live = seen.live.get(entry.ref.key)
            if entry.body is None or marks.note_of(live, marks.RUN) != ledger.run:
                continue
            found_ones.setdefault(entry.ref.key, entry)
    return found_ones
