"""Probe pods: created, waited for, looked at, and deleted whatever happens."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.core.fleet.verifying.probes import PROBE_LABEL, probe_body
from kschedpatch.core.objects.marks import MANAGED_BY
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.probing import ClusterNode, ProbeAsked, ProbeLook, ProbeReport
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError

SECONDS = 60.0
_UNANSWERED = (ApiRefused, NodeError, VerbFailed, ValueError)
#: What a plugin writes may come a moment after the binding; so may the event.
_LATE = 5.0
#: A pod of another run that is older than this is nobody's any more.
_FORGOTTEN = timedelta(minutes=10)
Say = Callable[[str], None]


def probe_pods(
    kubectls: Sequence[Kubectl],
    asked: Sequence[ProbeAsked],
    say: Say,
    go_on: Callable[[], None],
    seconds: float = SECONDS,
) -> ProbeReport:
    """``kubectls`` are ways to one API server: the next is taken where one is lost. ``go_on``
    raises where the operator has asked to stop."""
    probing = _Probing(kubectls, secrets.token_hex(4), say, go_on, seconds)
    left = ""
    try:
        report = probing.report(asked)
    finally:
        left = probing.clean_up()
        if left:
            say(f"probe pods are left behind: {left}")
    return report._replace(left=left)


class _Probing:
    def __init__(
        self,
        kubectls: Sequence[Kubectl],
        run: str,
        say: Say,
        go_on: Callable[[], None],
        seconds: float,
    ) -> None:
        self._kubectls = list(kubectls)
        self._run = run
        self._say = say
        self._go_on = go_on
        self._seconds = seconds
        self._own = f"{PROBE_LABEL}={run}"
        self._made = False

    def report(self, asked: Sequence[ProbeAsked]) -> ProbeReport:
        nodes = self._nodes()
        bodies: dict[int, Object] = {}
        problems: dict[int, str] = {}
        for number, item in enumerate(asked):
            if item.body is None:
                continue
            self._go_on()
            body = probe_body(item, self._run, number)
            self._say(f"creating {item.title}")
            self._made = True  # before the call: one that was cut off may have worked
            try:
                self._kubectls[0].create(body)
            except _UNANSWERED as error:
                problems[number] = _first_line(error)
            else:
                bodies[number] = body
        removed = self._sweep()
        looks = self._wait(asked, bodies)
        return ProbeReport(
            looks=tuple(
                looks.get(number, ProbeLook(item, problems.get(number, "")))
                for number, item in enumerate(asked)
            ),
            nodes=nodes,
            removed=removed,
        )

    def _nodes(self) -> tuple[ClusterNode, ...] | None:
        paths = (
            ".metadata.name",
            ".spec.unschedulable",
            ".spec.taints",
            ".metadata.labels",
            ".status.allocatable",
        )
        try:
            rows = self._kubectls[0].columns("nodes", *paths)
            return tuple(_node(row) for row in rows if len(row) == len(paths))
        except _UNANSWERED:
            return None

    def _sweep(self) -> int:
        """What an earlier run left: by the API server's clock, as its own pods show it."""
        try:
            pods = self._kubectls[0].labelled_pods(f"{MANAGED_BY}=kschedpatch,{PROBE_LABEL}")
            born = {str(pod["metadata"].get("name")): _born(pod) for pod in pods}
            now = max((when for when in born.values() if when is not None), default=None)
            old = {
                str(pod["metadata"]["labels"][PROBE_LABEL])
                for pod in pods
                if (when := _born(pod)) and now is not None and now - when > _FORGOTTEN
            } - {self._run}
            for run in sorted(old):
                self._kubectls[0].delete_pods(f"{PROBE_LABEL}={run}")
            return sum(pod["metadata"]["labels"][PROBE_LABEL] in old for pod in pods)
        except (*_UNANSWERED, KeyError, TypeError):
            return 0

    def _wait(
        self, asked: Sequence[ProbeAsked], bodies: Mapping[int, Object]
    ) -> dict[int, ProbeLook]:
        began = time.monotonic()
        looks: dict[int, ProbeLook] = {}
        bound_since: dict[int, float] = {}
        while bodies:
            self._go_on()
            pods = self._pods()
            spent = time.monotonic() - began
            for number, body in bodies.items():
                pod = pods.get(body["metadata"]["name"])
                if pod is not None:
                    looks[number] = _look(asked[number], pod, spent)
                    if looks[number].node:
                        bound_since.setdefault(number, spent)
            open_ones = [n for n in bodies if not _is_done(looks.get(n), bound_since.get(n), spent)]
            self._say(f"{len(bodies) - len(open_ones)} of {len(bodies)} pods done")
            if not open_ones or spent > self._seconds:
                break
            time.sleep(min(1.0, max(0.1, spent / 4)))
        for number, body in bodies.items():
            look = looks.get(number) or ProbeLook(asked[number], seconds=self._seconds)
            looks[number] = self._with_event(look, body) if look.node else look
        return looks

    def _pods(self) -> dict[str, Object]:
        try:
            pods = self._kubectls[0].labelled_pods(self._own)
        except (NodeError, VerbFailed):
            self._next_way()
            return {}
        except (ApiRefused, ValueError):
            return {}
        return {str(pod["metadata"]["name"]): pod for pod in pods}

    def _next_way(self) -> None:
        if len(self._kubectls) > 1:
            self._kubectls.pop(0)

    def _with_event(self, look: ProbeLook, body: Object) -> ProbeLook:
        metadata = body["metadata"]
        end = time.monotonic() + _LATE
        while True:
            try:
                events = self._kubectls[0].events_of(
                    metadata["namespace"], metadata["name"], "Scheduled"
                )
            except _UNANSWERED:
                events = []
            for event in events:
                source = event.get("source") or {}
                by = event.get("reportingComponent") or source.get("component") or ""
                where = event.get("reportingInstance") or source.get("host") or ""
                return look._replace(bound_by=str(by), instance=str(where))
            if time.monotonic() > end:
                return look
            self._go_on()
            time.sleep(0.5)

    def clean_up(self) -> str:
        """Empty, or the command that does it where every way is lost."""
        if not self._made:
            return ""
        for kubectl in (*self._kubectls, *self._kubectls):
            try:
                kubectl.delete_pods(self._own)
                pods = kubectl.labelled_pods(self._own)
            except _UNANSWERED:
                continue
            if all(pod["metadata"].get("deletionTimestamp") for pod in pods):
                return ""
        return f"kubectl delete pods -A -l {self._own}"


def _node(row: Sequence[str]) -> ClusterNode:
    name, unschedulable, taints, labels, allocatable = row
    return ClusterNode(
        name,
        unschedulable == "true",
        tuple(item for item in _json(taints, []) if isinstance(item, dict)),
        _json(labels, {}),
        _json(allocatable, {}),
    )


def _json(text: str, otherwise: Any) -> Any:
    value = json.loads(text) if text else otherwise
    return value if isinstance(value, type(otherwise)) else otherwise


def _born(pod: Object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(pod["metadata"].get("creationTimestamp")))
    except ValueError:
        return None


def _look(asked: ProbeAsked, pod: Object, spent: float) -> ProbeLook:
    condition = next(
        (
            f"{item.get('reason')}: {item.get('message')}"
            for item in (pod.get("status") or {}).get("conditions") or ()
            if item.get("type") == "PodScheduled" and item.get("status") == "False"
        ),
        "",
    )
    annotations = pod["metadata"].get("annotations") or {}
    return ProbeLook(
        asked,
        node=str((pod.get("spec") or {}).get("nodeName") or ""),
        condition=condition,
        annotations={str(key): str(value)[:200] for key, value in annotations.items()},
        seconds=spent,
    )


def _is_done(look: ProbeLook | None, since: float | None, spent: float) -> bool:
    if look is None or since is None:
        return False
    names = {wanted.partition("=")[0] for wanted in look.asked.expect_annotations}
    return names <= look.annotations.keys() or spent - since > _LATE


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
