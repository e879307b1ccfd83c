"""plan_fleet(patch, facts of all nodes) → the exact bytes for every node, in order. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kschedpatch.core.deployment.served import could_be_second
from kschedpatch.core.fleet.bringing import archive_for, supply_of
from kschedpatch.core.fleet.canary import (
    Without,
    canary_for,
    live_scheduler,
    planned_scheduler,
)
from kschedpatch.core.fleet.clusterrules import (
    cluster_findings,
    in_rollout_order,
    leads,
    lease_holders,
)
from kschedpatch.core.fleet.election import election_findings
from kschedpatch.core.fleet.hosttypes import MISSING, type_problem
from kschedpatch.core.fleet.keptpatch import kept_text
from kschedpatch.core.fleet.merging import merged
from kschedpatch.core.fleet.noderules import about, node_findings, planned_findings
from kschedpatch.core.fleet.objects import joined
from kschedpatch.core.fleet.questions import located
from kschedpatch.core.fleet.serving import always_pulls, health_of, image_of, preflight_of
from kschedpatch.core.kubeadm.unpatching import (
    base_below,
    is_kept_by_kubeadm,
    says_the_same,
)
from kschedpatch.core.manifest.base import choose_base
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.core.manifest.validate import validate
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.core.schedconfig.read import config_text
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.fleetplan import FleetPlan, NodePlan
from kschedpatch.model.plan import Plan


def plan_fleet(given: PatchInput, facts: Sequence[NodeFacts], *, partial: bool) -> FleetPlan:
    ordered = in_rollout_order(facts)
    holders = lease_holders(facts)
    planned = [_Planned(node, given, leads=leads(node, holders), of=len(facts)) for node in ordered]
    plans = [item.plan for item in planned if item.plan is not None]
    rbac = joined(plan.rbac for plan in plans)
    objects = joined(plan.objects for plan in plans)
    needs_api = bool(rbac.objects or objects.objects)
    config, _ = config_text(given)
    findings = (
        *(could_be_second(given, config.value) if config is not None else ()),
        *merged({item.facts.label: item.findings for item in planned}),
        *cluster_findings(facts, partial=partial, needs_api=needs_api),
        *rbac.findings,
        *objects.findings,
    )
    return FleetPlan(
        patch_name=given.patch.metadata.name,
        patch_text=kept_text(given),
        nodes=tuple(item.node for item in planned if item.node is not None),
        rbac=rbac.objects,
        objects=objects.objects,
        findings=in_reading_order(findings),
    )


class _Read(NamedTuple):
    current: Manifest
    base: Manifest

    @property
    def derived(self) -> bool:
        """The base is nowhere but here."""
        return is_kept_by_kubeadm(self.current) and self.base is not self.current


class _Planned:
    """One node on its way to a plan; ``node`` is None where nothing can be planned."""

    def __init__(self, facts: NodeFacts, given: PatchInput, *, leads: bool, of: int) -> None:
        self.facts = facts
        self.given = given
        self.findings: list[Finding] = [*node_findings(facts), *self._mount_findings()]
        self.plan: Plan | None = None
        self.node: NodePlan | None = None
        read = self._read()
        if read is not None:
            self._plan(read, leads=leads, of=of)

    def _read(self) -> _Read | None:
        file = self.facts.manifest
        if file is None:
            return None
        reading = read_manifest(file.content, located(self.facts, file.path))
        current = reading.manifest
        if current is None or has_errors(reading.findings):
            self.findings += validate(reading)
            return None
        base = self._base(current)
        return _Read(current, base) if base is not None else None

    def _base(self, current: Manifest) -> Manifest | None:
        kept = None
        if current.is_patched:
            self.findings += self._edited()
            if self.facts.base is not None:
                name = located(self.facts, "the kept base")
                kept = read_manifest(self.facts.base, name).manifest
            if kept is None:
                message = "it is patched, and the node does not keep what it was made from"
                hint = "put the un-patched manifest back, then apply again"
                self.findings.append(about(self.facts, "N003", message, hint, self._path))
                return None
        derived = base_below(current, self.facts)
        if derived is not None:
            return derived
        choice = choose_base(current, kept)
        self.findings += choice.findings
        return choice.base

    @property
    def _path(self) -> str:
        return self.facts.manifest.path if self.facts.manifest else ""

    def _edited(self) -> Iterator[Finding]:
        left = {item.after for item in self.facts.revisions if item.outcome == "confirmed"}
        if self.facts.manifest and left and self.facts.manifest.sha256 not in left:
            message = "it is not what the last run left here"
            yield about(self.facts, "N028", message, path=self._path)

    def _plan(self, read: _Read, *, leads: bool, of: int) -> None:
        facts = self.facts
        there = facts.path_types
        types = {path: "Directory" if kind == MISSING else kind for path, kind in there.items()}
        plan = plan_static_pod(
            self.given, read.base, current=read.current, version=facts.kubelet, host_types=types
        )
        if read.derived and says_the_same(read.current, plan.after):
            plan = plan._replace(after=plan.before)
        self.plan = plan
        self.findings += plan.findings
        after = read_manifest(plan.after.encode(), read.current.file).manifest
        if after is None:
            return
        config, _ = config_text(self.given)
        value = config.value if config is not None else {}
        waits = value.get("delayCacheUntilActive") is True
        live = live_scheduler(read.current, facts)
        self.findings += election_findings(live, after, value, nodes=of)
        new = planned_scheduler(after, plan.generation, live)
        canary = canary_for(live, new, facts.kubelet, facts.room)
        archive = archive_for(self.given.archive, facts)
        self.node = NodePlan(
            label=facts.label,
            node_name=facts.node_name,
            machine_id=facts.machine_id,
            manifest_path=self._path,
            before=plan.before,
            after=plan.after,
            generation=plan.generation,
            health=health_of(after, facts.kubelet, cache_waits=waits),
            health_before=health_of(
                read.current, facts.kubelet, cache_waits=waits and read.current.is_patched
            ),
            preflight=preflight_of(after),
            image_before=image_of(read.current),
            leads=leads,
            kubelet=facts.kubelet,
            canary=None if isinstance(canary, Without) else canary,
            no_canary=canary.reason if isinstance(canary, Without) else "",
            lease=live.lease,
            path_types=tuple(sorted(there.items())),
            archive=archive,
            supply=supply_of(facts, image_of(after), archive),
            always_pulls=always_pulls(after),
            base=read.base.text,
            base_is_derived=read.derived,
        )
        self.findings += planned_findings(facts, self.node)

    def _mount_findings(self) -> Iterator[Finding]:
        for index, mount in enumerate(self.given.patch.spec.mounts):
            there = self.facts.path_types.get(mount.host_path)
            problem = type_problem(mount.type or there or "", there)
            if problem:
                path = ("spec", "mounts", index, "hostPath")
                message = f"on the node, {mount.host_path} {problem}"
                yield self.given.places.at("N013", path, message)
