"""status and verify for a scheduler's Deployment: looks, and changes nothing but probe pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kschedpatch.cluster import deployments
from kschedpatch.cluster.access import ask_rights
from kschedpatch.cluster.deploymentwatch import Look, Watch
from kschedpatch.cluster.kubectl import UNANSWERED, Kubectl
from kschedpatch.cluster.probepods import probe_pods
from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.planning import Around, plan_deployment
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.deployment.served import beside_stock, lease_of
from kschedpatch.core.deployment.standing import (
    DeploymentStatus,
    asked_checks,
    kept_checks,
    lease_checks,
    standing_checks,
    status_of,
)
from kschedpatch.core.fleet.verifying.checking import unchecked
from kschedpatch.core.fleet.verifying.expectations import Expected
from kschedpatch.core.fleet.verifying.extenders import extenders_of
from kschedpatch.core.fleet.verifying.logs import log_checks
from kschedpatch.core.fleet.verifying.probes import probe_checks, probes_of
from kschedpatch.core.fleet.verifying.profiles import profile_checks
from kschedpatch.core.fleet.verifying.rights import account_user, right_checks, rights_of
from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.core.manifest.flags import effective
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.inputs.keptpatches import UnreadablePatch, read_kept_patch
from kschedpatch.model.checks import Check, Verdict
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.codes import found
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.inspection import Inspection, InspectionAsked
from kschedpatch.model.kubeversion import parse_version
from kschedpatch.model.probing import ProbeReport
from kschedpatch.node.agent import VerbFailed
from kschedpatch.node.errors import NodeError
from kschedpatch.rollout.deploymentlook import about_open, look_for_apply
from kschedpatch.rollout.objects import Reach
from kschedpatch.rollout.verification import Wish

_NO_NODE = "/configz is for administrators, and only a control-plane node has their key"


class Standing(NamedTuple):
    status: DeploymentStatus
    runs: tuple[Record, ...]
    findings: tuple[Finding, ...] = ()


def stands(reach: Reach, target: DeploymentTarget) -> Standing:
    try:
        kubectl = reach.kubectl()
        runs = deployments.kept_runs(kubectl, target)
        look = _watch(kubectl, target).look()
        live = look.deployment if look is not None else None
        holder = _holder(kubectl, _lease(live, None)) or ""
        status = status_of(target, live, look.verdict if look else None, runs, holder)
    except UNANSWERED as error:
        words = (str(error).strip().splitlines() or ["no answer"])[0][:300]
        problem = found("N088", f"{target.title}: {words}")
        return Standing(DeploymentStatus(target, there=False, state="unknown"), (), (problem,))
    return Standing(status, runs, tuple(about_open(runs)))


def _watch(kubectl: Kubectl, target: DeploymentTarget) -> Watch:
    return Watch(kubectl, target, lambda _: None, lambda: None)


def verify_deployment(reach: Reach, target: DeploymentTarget, wish: Wish) -> Verdict:
    """Against the patch that is given, or against what the last run has kept."""
    try:
        return _Verifying(reach, target, wish).verdict()
    except UNANSWERED as error:
        words = (str(error).strip().splitlines() or ["no answer"])[0][:300]
        return Verdict((), (found("N088", f"{target.title}: {words}"),))


class _Verifying:
    def __init__(self, reach: Reach, target: DeploymentTarget, wish: Wish) -> None:
        self.reach, self.target, self.wish = reach, target, wish
        self.kubectl = reach.kubectl()
        self.runs = deployments.kept_runs(self.kubectl, target)
        self.look: Look | None = _watch(self.kubectl, target).look()
        self.findings: list[Finding] = [*about_open(self.runs)]
        self.given = wish.given or self._kept()

    @property
    def live(self) -> Object | None:
        return self.look.deployment if self.look is not None else None

    @property
    def pods(self) -> tuple[Object, ...]:
        return self.look.pods if self.look is not None else ()

    def _kept(self) -> PatchInput | None:
        last = records.in_force(self.runs)
        if last is None or not last.patch_text:
            return None
        try:
            return read_kept_patch(last.patch_text.encode(), f"run {last.run}")
        except UnreadablePatch as error:
            self.findings.append(found("N147", str(error), hint="verify -f PATCH"))
            return None

    def verdict(self) -> Verdict:
        checks = [*self._checks()]
        findings = (*self.findings, *(f for check in checks for f in check.findings))
        return Verdict(tuple(checks), in_reading_order(findings))

    def _checks(self) -> Iterator[Check]:
        verdict = self.look.verdict if self.look is not None else None
        if self.wish.given is not None:
            seen = look_for_apply(self.reach, self.wish.given, _everybody(self.live))
            self.findings += seen.findings
            yield from asked_checks(seen.change, seen.cluster)
        yield from standing_checks(self.target, self.live, verdict, self.pods)
        if self.live is None:
            return
        if self.wish.given is None:
            yield from kept_checks(self.target, self.live, records.in_force(self.runs))
        lease = _lease(self.live, self.given)
        yield from lease_checks(lease, _holder(self.kubectl, lease), self.pods)
        if self.given is None:
            return
        report = self._probes(self.given) if self.wish.probe else None
        yield from self._rights(self.given)
        yield from self._pods(self.given, could_probe=report is None)
        yield from _not_from_here(self.given, self._config(self.given))
        if report is not None:
            yield from probe_checks(report, beside_stock(self._config(self.given)), ())

    def _config(self, given: PatchInput) -> dict[str, object]:
        version = parse_version(self.kubectl.server_version())
        return plan_deployment(given, Around(version=version)).config

    def _rights(self, given: PatchInput) -> Iterator[Check]:
        asked = rights_of(given)
        spec = ((self.live or {}).get("spec") or {}).get("template", {}).get("spec") or {}
        user = account_user(self.target.namespace, str(spec.get("serviceAccountName") or "default"))
        try:
            answers = ask_rights(self.kubectl, asked, user)
        except UNANSWERED as error:
            yield from right_checks(asked, None, str(error), user)
            return
        yield from right_checks(asked, answers, "", user)

    def _pods(self, given: PatchInput, *, could_probe: bool) -> Iterator[Check]:
        """What each pod says of its own configuration, and what it has logged."""
        expected = Expected(given, None, self._config(given))
        seen: dict[str, Inspection] = {}
        for pod in self.pods:
            label = f"pod {pod['metadata']['name']}"
            seen[label] = self._inspection(label, pod)
            if given.patch.spec.config is not None:
                yield from profile_checks(_as_node(label), expected, seen[label])
        yield from log_checks(
            given.patch.spec.verify.logs,
            seen,
            leaders=tuple(seen),
            unseen_leader="",
            could_probe=could_probe and bool(given.patch.spec.verify.pods),
        )

    def _inspection(self, label: str, pod: Object) -> Inspection:
        index = scheduler_index(pod) or 0
        container = pod["spec"]["containers"][index]
        lines: Sequence[str] = ()
        try:
            name = str(pod["metadata"]["name"])
            lines = self.kubectl.log(self.target.namespace, name, str(container["name"]))
        except UNANSWERED:
            lines = ()
        seen = Inspection(label, pid=1, log="\n".join(lines).encode(), configz_problem=_NO_NODE)
        address = str((pod.get("status") or {}).get("podIP") or "")
        port = effective(container).get("secure-port", "10259")
        if not self.reach.members or not address or not port.isdecimal():
            return seen
        asked = InspectionAsked(address, int(port), "")
        try:
            told = self.reach.members[0].agent.inspect(asked)
        except (NodeError, VerbFailed) as error:
            return seen._replace(configz_problem=str(error).splitlines()[0])
        return seen._replace(configz=told.configz, configz_problem=told.configz_problem)

    def _probes(self, given: PatchInput) -> ProbeReport:
        pods = probes_of(given)
        if not pods:
            return ProbeReport(problem="the patch has none (spec.verify.pods)")
        return probe_pods(
            [self.kubectl], pods, lambda _: None, self.wish.go_on, self.wish.probe_seconds
        )


def _not_from_here(given: PatchInput, config: dict[str, object]) -> Iterator[Check]:
    """What can only be asked from inside of a static pod."""
    why = "pods of a Deployment run on any node, and are not looked into"
    for socket in given.patch.spec.verify.sockets:
        yield unchecked("", f"socket {socket.path}", why)
    for extender in extenders_of(config):
        yield unchecked("", f"extender {extender.url}", why)


def _everybody(live: Object | None) -> tuple[str, ...]:
    """A comparison takes nothing from anybody."""
    entries = ((live or {}).get("metadata") or {}).get("managedFields") or ()
    return tuple(str(entry.get("manager")) for entry in entries)


def _lease(live: Object | None, given: PatchInput | None) -> str:
    """By the flags of the pods, and by the patch's configuration where there is one."""
    template = ((live or {}).get("spec") or {}).get("template") or {}
    index = scheduler_index(template)
    if index is None:
        return ""
    flags = effective(template["spec"]["containers"][index])
    config = plan_deployment(given, Around()).config if given is not None else {}
    if "config" in flags and not config and "leader-elect-resource-name" not in flags:
        return ""  # only its configuration knows
    return lease_of(config, flags)


def _holder(kubectl: Kubectl, lease: str) -> str | None:
    namespace, _, name = lease.partition("/")
    if not name:
        return None
    try:
        found_one = kubectl.get("lease", name, namespace) or {}
    except UNANSWERED:
        return None
    return str((found_one.get("spec") or {}).get("holderIdentity") or "")


def _as_node(label: str) -> NodeFacts:
    """What is said of a pod is told where otherwise a node's label stands."""
    return NodeFacts(
        label=label,
        node_name="",
        machine_id="",
        hostname="",
        kubelet=None,
        has_systemd=False,
        tools=frozenset(),
        runtime="",
        manifests_directory="",
        manifest_problem="",
        manifest=None,
    )
