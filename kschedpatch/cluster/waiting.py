"""Waits until objects are ready, telling what is missing; when the time is over, why."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kschedpatch.cluster.kubectl import UNANSWERED, Kubectl
from kschedpatch.core.objects.readiness import Verdict, may_change, needs_endpoints, verdict, waits
from kschedpatch.core.objects.troubles import last_warnings, pod_trouble, selector_of
from kschedpatch.model.clusterplan import Key, Object, Ref, ref_of

_LOOK = 1.0
_TOLD = 3
_MANY_PODS = 3
_GONE = Verdict(False, "it is gone again", failed=True)


class NotReady(Exception):
    """What is not ready, and why: a line for each, and one for each of its troubles."""

    def __init__(self, lines: Sequence[str]) -> None:
        super().__init__(lines[0] if lines else "")
        self.lines = tuple(lines)


def wait(
    kubectl: Kubectl,
    refs: Sequence[Ref],
    seconds: float,
    say: Callable[[str], None],
    still_wanted: Callable[[], None],
) -> None:
    """``still_wanted`` raises where nobody waits any more."""
    waiting = {ref.key: ref for ref in refs if waits(ref)}
    began = time.monotonic()
    while waiting:
        still_wanted()
        over = time.monotonic() - began > seconds
        try:
            live, verdicts = _look(kubectl, waiting)
        except UNANSWERED as error:
            if over:
                raise NotReady([f"the API server can't be asked: {error}"]) from error
            say(f"the API server does not answer: {str(error).splitlines()[0]}")
        else:
            open_ones = {key: said for key, said in verdicts.items() if not said.ready}
            if not open_ones:
                return
            waiting = {key: r for key, r in waiting.items() if key in open_ones or may_change(r)}
            failed = any(said.failed for said in open_ones.values())
            if over or failed:
                raise NotReady(_why(kubectl, waiting, live, open_ones, seconds, over=not failed))
            say(_told(kubectl, waiting, live, open_ones))
        time.sleep(_LOOK)


def _look(
    kubectl: Kubectl, waiting: dict[Key, Ref]
) -> tuple[dict[Key, Object], dict[Key, Verdict]]:
    got = kubectl.get_all(ref.bare for ref in waiting.values())
    live = {ref_of(item).key: item for item in got.items}
    slices = None
    names = [item["metadata"]["name"] for item in live.values() if needs_endpoints(item)]
    if names:
        chosen = f"kubernetes.io/service-name in ({','.join(sorted(set(names)))})"
        slices = kubectl.listed("endpointslices.discovery.k8s.io", "", "-l", chosen)
    return live, {key: verdict(live[key], slices) if key in live else _GONE for key in waiting}


def _told(
    kubectl: Kubectl,
    waiting: dict[Key, Ref],
    live: dict[Key, Object],
    open_ones: dict[Key, Verdict],
) -> str:
    """One line for people who watch: what is missing, and the trouble of the first of them."""
    parts = [f"{waiting[key].title}: {said.told}" for key, said in open_ones.items()]
    more = f"; and {len(parts) - _TOLD} more" if len(parts) > _TOLD else ""
    troubles = _troubles(kubectl, live, list(open_ones)[:1])
    trouble = f" ({troubles[0]})" if troubles else ""
    return f"waiting for {'; '.join(parts[:_TOLD])}{trouble}{more}"


def _troubles(kubectl: Kubectl, live: dict[Key, Object], keys: Sequence[Key]) -> list[str]:
    found: dict[str, None] = {}
    for key in keys:
        try:
            found |= dict.fromkeys(filter(None, map(pod_trouble, _pods(kubectl, live.get(key)))))
        except UNANSWERED:
            continue
    return list(found)


def _pods(kubectl: Kubectl, body: Object | None) -> tuple[Object, ...]:
    if body is None:
        return ()
    if body.get("kind") == "Pod":
        return (body,)
    selector = selector_of(body)
    namespace = str(body["metadata"].get("namespace") or "default")
    return kubectl.listed("pods", namespace, "-l", selector) if selector else ()


def _why(
    kubectl: Kubectl,
    waiting: dict[Key, Ref],
    live: dict[Key, Object],
    open_ones: dict[Key, Verdict],
    seconds: float,
    *,
    over: bool,
) -> list[str]:
    lines = []
    for key, said in open_ones.items():
        when = f" after {seconds:.0f} s" if over else ""
        lines.append(f"{waiting[key].title} is not ready{when}: {said.told}")
        body = live.get(key)
        if len(lines) > 30 or body is None:
            continue
        try:
            lines += [f"  {text}" for text in _details(kubectl, body)]
        except UNANSWERED as error:
            lines.append(f"  nobody could ask why: {str(error).splitlines()[0]}")
    return lines


def _details(kubectl: Kubectl, body: Object) -> list[str]:
    pods = _pods(kubectl, body)
    told = [text for text in map(pod_trouble, pods) if text]
    if not pods and selector_of(body):
        told.append("it has no pods")
    metadata = body["metadata"]
    names = [str(metadata["name"]), *(str(p["metadata"]["name"]) for p in pods[:_MANY_PODS])]
    namespace = str(metadata.get("namespace") or "")
    if namespace:
        events = kubectl.listed("events", namespace, "--field-selector", "type=Warning")
        told += [f"event: {text}" for text in last_warnings(events, names)]
    return told[: 2 * _MANY_PODS]
