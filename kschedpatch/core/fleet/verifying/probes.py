"""Probe pods: made of the patch's manifests, and judged by what became of them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any

from kschedpatch.core.fleet.verifying.checking import checked, several, unchecked
from kschedpatch.core.fleet.verifying.expectations import profiles_of, score_plugins
from kschedpatch.core.fleet.verifying.feasibility import Feasible, feasible_nodes
from kschedpatch.core.objects.marks import MANAGED_BY
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.probing import ProbeAsked, ProbeLook, ProbeReport

PROBE_LABEL = "kschedpatch.io/probe"
_SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_CONTROL_PLANE = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)


def probes_of(given: PatchInput) -> tuple[ProbeAsked, ...]:
    return tuple(
        _asked(given, pod.manifest)._replace(
            expect_node=pod.expect_node or "", expect_annotations=pod.expect_annotations
        )
        for pod in given.patch.spec.verify.pods
    )


def _asked(given: PatchInput, name: str) -> ProbeAsked:
    source = given.sources.get(name)
    if source is None or source.content is None:
        return ProbeAsked(name, None, "its manifest is not at hand: give the patch with -f")
    reading = read(source.content)
    bodies = [value_of(document) for document in reading.documents]
    if reading.findings and not bodies:
        return ProbeAsked(name, None, reading.findings[0].message)
    body = bodies[0] if len(bodies) == 1 else None
    if not isinstance(body, dict) or (body.get("apiVersion"), body.get("kind")) != ("v1", "Pod"):
        return ProbeAsked(name, None, "a probe is one v1 Pod")
    title = (body.get("metadata") or {}).get("name")
    if not isinstance(title, str) or not isinstance(body.get("spec"), dict):
        return ProbeAsked(name, None, "the pod has no name, or no spec")
    return ProbeAsked(title, body)


def probe_body(asked: ProbeAsked, run: str, number: int) -> dict[str, Any]:
    """The pod as it is created: under a name of its own, and labelled as ours."""
    body = copy.deepcopy(asked.body or {})
    metadata = {k: v for k, v in body["metadata"].items() if k not in _SERVERS_OWN}
    # Short enough for a host name, which a pod's name becomes.
    head = f"kschedpatch-{asked.title}"[:44].rstrip("-.")
    metadata["name"] = f"{head}-{run}-{number}"
    metadata.pop("generateName", None)
    metadata.setdefault("namespace", "default")
    own = {MANAGED_BY: "kschedpatch", PROBE_LABEL: run}
    metadata["labels"] = {**(metadata.get("labels") or {}), **own}
    body.pop("status", None)
    # It has nothing to do in a hurry at its end.
    spec = {"terminationGracePeriodSeconds": 0, **body["spec"]}
    spec.pop("nodeName", None)  # nobody schedules what is bound already
    return {**body, "metadata": metadata, "spec": spec}


def probe_checks(
    report: ProbeReport, config: dict[str, Any], hosts: Sequence[str]
) -> Iterator[Check]:
    """``hosts`` are those of the nodes that were looked at."""
    if report.problem:
        yield unchecked("", "probe pods", report.problem)
    for look in report.looks:
        yield from _probe(look, report, config, hosts)
    if report.removed:
        message = f"{report.removed} of an earlier run"
        yield checked("", "left-over probe pods", f"removed: {message}", [found("N149", message)])
    if report.left:
        message = "they could not be deleted"
        finding = found("N146", message, hint=report.left)
        yield checked("", "probe pods cleaned up", message, [finding])
    elif any(look.node or look.condition for look in report.looks):
        yield checked("", "probe pods cleaned up", "deleted")


def _probe(
    look: ProbeLook, report: ProbeReport, config: dict[str, Any], hosts: Sequence[str]
) -> Iterator[Check]:
    asked = look.asked
    subject = f"probe pod {asked.title}"
    if asked.body is None or look.problem:
        message = asked.problem or look.problem
        yield checked("", subject, message, [found("N140", f"{asked.title}: {message}")])
        return
    unasked = _unexercised(look, report, config)
    if not look.node:
        message = look.condition or f"{asked.scheduler} did not look at it"
        message = f"not bound within {look.seconds:.0f} s: {message}"
        findings = [found("N141", f"{asked.title}: {message}"), *_served(look, config)]
        yield checked("", subject, message, findings)
        return
    yield checked("", subject, _bound(look), [*_served(look, config), *_others(look, hosts)])
    yield from _expectations(look, unasked)
    if unasked is not None:
        yield checked("", f"score plugins on {asked.title}", unasked.message, [unasked])


def _bound(look: ProbeLook) -> str:
    host = look.instance.removeprefix(f"{look.bound_by}-") if look.bound_by else ""
    by = f"by {look.bound_by}" if look.bound_by else f"for {look.asked.scheduler} (no event seen)"
    return f"bound to {look.node} {by}" + (f" on {host}" if host else "")


def _served(look: ProbeLook, config: dict[str, Any]) -> Iterator[Finding]:
    wanted = look.asked.scheduler
    names = [profile["schedulerName"] for profile in profiles_of(config)]
    if wanted not in names:
        message = f"{look.asked.title}: its schedulerName is {wanted}, served are {several(names)}"
        yield found("N142", message, hint="spec.schedulerName of the probe's manifest")
    elif look.bound_by and look.bound_by != wanted:
        yield found("N142", f"{look.asked.title}: bound by {look.bound_by}, not by {wanted}")


def _others(look: ProbeLook, hosts: Sequence[str]) -> Iterator[Finding]:
    host = look.instance.removeprefix(f"{look.bound_by}-") if look.bound_by else ""
    # The instance is cut off at 128 characters.
    if host and hosts and not any(known.startswith(host[:63]) for known in hosts):
        message = f"{look.asked.title}: the scheduler on {host} bound it, which was not looked at"
        yield found("N150", message, hint="name all control-plane nodes")


def _expectations(look: ProbeLook, unasked: Finding | None) -> Iterator[Check]:
    """Where scores were not asked for, what they should have done is no failure."""
    asked = look.asked
    if asked.expect_node:
        subject = f"node of {asked.title}"
        if look.node == asked.expect_node:
            yield checked("", subject, f"{look.node}, as expected")
        else:
            message = f"{look.node}, expected {asked.expect_node}"
            yield _missed(subject, "N143", f"{asked.title}: {message}", message, unasked)
    for wanted in asked.expect_annotations:
        name, equals, value = wanted.partition("=")
        subject = f"annotation {name} of {asked.title}"
        found_value = look.annotations.get(name)
        if found_value is None or (equals and found_value != value):
            message = "it is not there" if found_value is None else f"{found_value}, not {value}"
            yield _missed(subject, "N144", f"{asked.title}: {name}: {message}", message, unasked)
        else:
            yield checked("", subject, found_value or "there")


def _missed(subject: str, code: str, told: str, evidence: str, unasked: Finding | None) -> Check:
    if unasked is None:
        return checked("", subject, evidence, [found(code, told)])
    why = f"{evidence}; the score phase was skipped"
    return Check("", subject, CheckState.WARNING, why)


def _unexercised(look: ProbeLook, report: ProbeReport, config: dict[str, Any]) -> Finding | None:
    plugins = score_plugins(config, look.asked.scheduler)
    if report.nodes is None or not plugins:
        return None
    feasible = feasible_nodes(look.asked.body or {}, report.nodes)
    if len(feasible.names) >= 2:
        return None
    where = f"only {feasible.names[0]} is" if feasible.names else "no node is"
    away = "; ".join(f"{why} keeps {several(names)} away" for why, names in feasible.away)
    message = (
        f"{look.asked.title}: {where} feasible for it, so that the score phase is skipped and "
        f"{several(plugins)} is not asked" + (f". {away}" if away else "")
    )
    return found("N145", message, hint=_way_out(feasible))


def _way_out(feasible: Feasible) -> str:
    for why, names in feasible.away:
        key = why.removeprefix("taint ").partition(":")[0].partition("=")[0]
        if key in _CONTROL_PLANE:
            taint = why.removeprefix("taint ")
            return (
                f"kubectl taint nodes {' '.join(names)} {taint}- opens them for all pods; a "
                f"toleration of {key} in the probe's manifest, for the probe alone"
            )
    for why, names in feasible.away:
        if "unschedulable" in why:
            return f"kubectl uncordon {' '.join(names)}"
    return "add a node that fits, or widen what the probe's manifest asks for"
