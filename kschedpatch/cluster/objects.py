"""Objects of the cluster: what is there, what would become of them, and the acts themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kschedpatch.cluster.kubectl import UNANSWERED, ApiRefused, Kubectl
from kschedpatch.core.objects import marks
from kschedpatch.core.objects.deciding import Seen, Wish, can_be_tried, origin_of
from kschedpatch.core.objects.strangers import ROOT_KINDS, strangers
from kschedpatch.model.clusterplan import (
    Action,
    Key,
    Ledger,
    Object,
    ObjectChange,
    ObjectResult,
    Ref,
    ref_of,
)

_NO_DRY_RUN = "dry run"


def look(kubectl: Kubectl, refs: Iterable[Ref], also: Iterable[str] = ()) -> Seen:
    """What there is of these objects, and which of their namespaces."""
    wanted = {ref.key: ref for ref in refs}
    spaces = {ref.namespace for ref in wanted.values() if ref.namespace} | set(also)
    asked = {ref.key: ref.bare for ref in wanted.values()}
    asked |= {ref.key: ref.bare for ref in (Ref("v1", "Namespace", "", n) for n in sorted(spaces))}
    got = kubectl.get_all(asked.values())
    live = {ref_of(item).key: item for item in got.items}
    there = frozenset(name for name in spaces if Ref("v1", "Namespace", "", name).key in live)
    return Seen({key: live[key] for key in wanted if key in live}, there, got.unknown)


def tried(
    kubectl: Kubectl, wanted: Sequence[Wish], patch: str, before: Ledger | None, seen: Seen
) -> Seen:
    """The same with what would become of the wanted ones, by the API server itself."""
    bodies = {}
    for wish in wanted:
        if can_be_tried(wish, seen):
            origin = origin_of(wish, before, seen.live.get(wish.ref.key))
            bodies[wish.ref.key] = marks.marked(wish.body, patch, "", origin)
    if not bodies:
        return seen
    dry, refused = _dry(kubectl, bodies)
    return seen._replace(dry=dry, refused=refused)


def _dry(kubectl: Kubectl, bodies: dict[Key, Object]) -> tuple[dict[Key, Object], dict[Key, str]]:
    try:
        items = kubectl.apply_all(list(bodies.values()), dry=True)
        return {ref_of(item).key: item for item in items}, {}
    except ApiRefused as error:
        if len(bodies) == 1:
            said = marks.without_secrets(str(error), bodies.values())
            # A webhook that can't be tried says nothing against the object.
            return {}, {} if _NO_DRY_RUN in said else dict.fromkeys(bodies, said)
    # One that is refused leaves the others unshown: one by one it is clear which.
    dry: dict[Key, Object] = {}
    refused: dict[Key, str] = {}
    for key, body in bodies.items():
        one, words = _dry(kubectl, {key: body})
        dry |= one
        refused |= words
    return dry, refused


class Acted(NamedTuple):
    results: tuple[ObjectResult, ...]
    """What was done, what stays and what is left on purpose."""
    left: tuple[ObjectChange, ...] = ()
    """What could not be done."""
    detail: str = ""
    """Why."""


def applied(
    kubectl: Kubectl, changes: Sequence[ObjectChange], patch: str, run: str
) -> dict[Key, str]:
    """Creates and changes; returns the footprints."""
    bodies = []
    for change in changes:
        origin = marks.CREATED if change.original is None else marks.ADOPTED
        bodies.append(marks.marked(change.body or {}, patch, run, origin))
    if not bodies:
        return {}
    try:
        items = kubectl.apply_all(bodies)
    except ApiRefused as error:
        raise ApiRefused(marks.without_secrets(str(error), bodies)) from None
    return {ref_of(item).key: marks.footprint(item) for item in items}


def put_back(
    kubectl: Kubectl, steps: Sequence[ObjectChange], *, spare_strangers: bool = True
) -> Acted:
    """Takes away and restores, what is in namespaces first; each as well as it goes."""
    results = [
        ObjectResult(step.ref.title, step.action, step.why)
        for step in steps
        if step.action in (Action.STAYS, Action.LEFT)
    ]
    left: list[ObjectChange] = []
    said: list[str] = []
    restored = [step for step in steps if step.action is Action.RESTORE]
    spaces = [s for s in steps if s.action is Action.DELETE and marks.is_namespace(s.ref)]
    deleted = [s for s in steps if s.action is Action.DELETE and s not in spaces]
    for group, act in ((restored, _replace), (deleted, _delete)):
        failed, words = _each(kubectl, group, act)
        left += failed
        said += words
        results += [ObjectResult(s.ref.title, s.action) for s in group if s not in failed]
    ours = {step.ref.key for step in steps}
    for step in spaces:
        try:
            others = _strangers(kubectl, step.ref.name, ours) if spare_strangers else ()
            if others:
                why = f"others have things in it: {', '.join(others[:3])}"
                results.append(ObjectResult(step.ref.title, Action.LEFT, why))
                continue
            kubectl.delete_all([step.ref.bare])
            results.append(ObjectResult(step.ref.title, Action.DELETE))
        except UNANSWERED as error:
            left.append(step)
            said.append(str(error))
    return Acted(tuple(results), tuple(left), said[0] if said else "")


def _replace(kubectl: Kubectl, steps: Sequence[ObjectChange]) -> None:
    kubectl.replace_all([marks.as_given(step.body) for step in steps if step.body is not None])


def _delete(kubectl: Kubectl, steps: Sequence[ObjectChange]) -> None:
    kubectl.delete_all([step.ref.bare for step in steps])


def _each(
    kubectl: Kubectl,
    steps: Sequence[ObjectChange],
    act: Callable[[Kubectl, Sequence[ObjectChange]], None],
) -> tuple[list[ObjectChange], list[str]]:
    """All at once; one by one where that is refused."""
    if not steps:
        return [], []
    try:
        act(kubectl, steps)
    except ApiRefused as error:
        if len(steps) == 1:
            bodies = [step.body for step in steps if step.body is not None]
            return list(steps), [marks.without_secrets(str(error), bodies)]
        failed, said = [], []
        for step in steps:
            lost, words = _each(kubectl, [step], act)
            failed += lost
            said += words
        return failed, said
    except UNANSWERED as error:
        return list(steps), [str(error)]
    return [], []


def _strangers(kubectl: Kubectl, namespace: str, ours: set[Key]) -> tuple[str, ...]:
    return strangers(kubectl.names(ROOT_KINDS, namespace), namespace, ours)
