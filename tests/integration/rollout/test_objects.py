"""A patch's objects on a simulated cluster: brought, waited for, put back, taken away."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.fleet.planning import plan_fleet
from kschedpatch.core.fleet.questions import about_patch
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import Action, ClusterPlan
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.fleetplan import FleetPlan
from kschedpatch.model.rollout import FailureReason, NodeOutcome, RolloutResult
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.clusterlook import leftovers, plan_for_apply
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.rollout import roll_out
from tests.integration.rollout.rig import (
    RBAC,
    SETTINGS,
    Rig,
    assert_clean,
    on_event,
    patch,
    skip_to_deadline,
    transaction,
)

SERVICE = """
apiVersion: v1
kind: Service
metadata: {name: extender, namespace: kube-system}
spec: {selector: {app: extender}, ports: [{port: 3456}]}
"""
DEPLOYMENT = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: extender, namespace: kube-system, labels: {app.kubernetes.io/managed-by: argo}}
spec:
  replicas: 1
  selector: {matchLabels: {app: extender}}
  template:
    metadata: {labels: {app: extender}}
    spec: {containers: [{name: main, image: "IMAGE"}]}
"""
CRD = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: stickyjobs.example.com}
spec: {group: example.com, names: {kind: StickyJob, plural: stickyjobs}, scope: Namespaced}
"""
STICKY = """
apiVersion: example.com/v1
kind: StickyJob
metadata: {name: first, namespace: kube-system}
spec: {node: cp1}
"""
SETTING = """
apiVersion: v1
kind: ConfigMap
metadata: {name: extender-settings, namespace: kube-system}
data: {colour: COLOUR}
"""
KEY = """
apiVersion: v1
kind: Secret
metadata: {name: extender-key, namespace: kube-system}
stringData: {key: "tr0ub4dor-and-3"}
"""
GOOD = DEPLOYMENT.replace("IMAGE", "registry.local/extender:v1")
EXTENDER = "---".join((GOOD, SERVICE))
QUICK = SETTINGS._replace(objects_timeout=30)


class Cluster:
    """A rig whose patch names a file of objects."""

    def __init__(self, rig: Rig, directory: Path) -> None:
        self.rig = rig
        self.directory = directory
        self.told: list[Event] = []

    def text(self, v: int, *objects: str, rest: str = "") -> bytes:
        (self.directory / "objects.yaml").write_text("---".join(objects))
        named = "  objects: [./objects.yaml]\n" if objects else ""
        return patch(v, rest=named + rest)

    def plan(self, fleet: Fleet, text: bytes) -> FleetPlan:
        given = load_patch(NamedText("patch.yaml", text, self.directory), QuickFlags()).given
        assert given is not None
        return plan_fleet(given, fleet.look(*about_patch(given)), partial=False)

    def look(self, text: bytes) -> ClusterPlan:
        with self.rig.fleet() as fleet:
            return plan_for_apply(fleet, self.plan(fleet, text))

    def apply(
        self,
        text: bytes,
        settings: Any = QUICK,
        *,
        cancel: Cancel | None = None,
        listener: Callable[[Event], None] | None = None,
    ) -> RolloutResult:
        self.told.clear()
        with self.rig.fleet(listener or self.told.append) as fleet:
            plan = self.plan(fleet, text)
            cluster = plan_for_apply(fleet, plan)
            assert not [f for f in cluster.findings if f.is_error], cluster.findings
            return roll_out(fleet, plan, settings, cancel or Cancel(), cluster=cluster)

    def find(self, kind: str, name: str, namespace: str = "kube-system") -> dict[str, Any] | None:
        with self.rig.sandbox.simulation.lock:
            return self.rig.sandbox.api.find(kind, name, namespace)

    def edit(self, kind: str, name: str, change: dict[str, Any]) -> None:
        """By somebody else."""
        with self.rig.sandbox.simulation.lock:
            self.rig.sandbox.api.patch(kind, name, "kube-system", change)

    def names(self) -> set[str]:
        """What kschedpatch has in the cluster, but for definitions."""
        kinds = "Deployment Service ConfigMap Secret ClusterRole ClusterRoleBinding StickyJob"
        with self.rig.sandbox.simulation.lock:
            return {
                f"{kind}/{item['metadata']['name']}"
                for kind in [*kinds.split(), "Namespace"]
                for item in self.rig.sandbox.api.all(kind)
                if "kschedpatch.io/patch" in item["metadata"].get("labels", {})
            }

    def ledgers(self) -> list[Path]:
        root = self.rig.node.path("/var/lib/kschedpatch/revisions")
        return sorted(root.glob("*/objects.json"))


@pytest.fixture
def cluster(one: Rig, tmp_path: Path) -> Iterator[Cluster]:
    cluster = Cluster(one, tmp_path)
    yield cluster
    one.rollback("original")
    if cluster.find("CustomResourceDefinition", "stickyjobs.example.com"):
        with one.sandbox.simulation.lock:
            one.sandbox.api.delete("CustomResourceDefinition", "stickyjobs.example.com")
    assert cluster.names() == set()
    assert_clean(one)


def actions(result: RolloutResult) -> dict[str, Action]:
    return {item.title: item.action for item in result.objects}


@pytest.mark.sample
def test_objects_are_ready_before_the_switch_and_go_after_the_rollback(cluster: Cluster) -> None:
    rig = cluster.rig
    before = rig.manifests()
    text = cluster.text(rig.fresh_v(), SERVICE, STICKY, GOOD, CRD, KEY, rest=RBAC)
    ready_at_switch = []

    def listener(event: Event) -> None:
        cluster.told.append(event)
        if (event.phase, event.state) == (Phase.SWITCH, State.STARTED):
            found = cluster.find("Deployment", "extender") or {}
            ready_at_switch.append((found.get("status") or {}).get("availableReplicas"))

    result = cluster.apply(text, listener=listener)
    assert result.exit_code == exitcodes.OK, result
    assert ready_at_switch == [1]
    assert set(actions(result).values()) == {Action.CREATE}
    assert cluster.find("StickyJob", "first") is not None, "its kind came with the same patch"
    deployment = cluster.find("Deployment", "extender")
    assert deployment is not None
    labels = deployment["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "argo", "the user's own label stays"
    assert deployment["metadata"]["annotations"]["kschedpatch.io/run"] == result.run

    *_, ledger = cluster.ledgers()
    assert ledger.parent.name == result.run
    assert stat.S_IMODE(ledger.stat().st_mode) == 0o600
    back = rig.rollback()
    assert back.exit_code == exitcodes.OK
    assert rig.manifests() == before
    assert cluster.names() == set()
    assert cluster.find("CustomResourceDefinition", "stickyjobs.example.com") is not None
    assert actions(back)["CustomResourceDefinition stickyjobs.example.com"] is Action.STAYS


def test_what_is_unchanged_is_not_applied_again(cluster: Cluster) -> None:
    text = cluster.text(cluster.rig.fresh_v(), EXTENDER, KEY, rest=RBAC)
    assert cluster.apply(text).exit_code == exitcodes.OK
    versions = (cluster.find("Deployment", "extender") or {})["metadata"]["generation"]
    again = cluster.look(text)
    assert not again.changed
    assert {change.action for change in again.brought} == {Action.UNCHANGED}
    result = cluster.apply(text)
    assert (result.exit_code, result.changed) == (exitcodes.OK, False)
    assert (cluster.find("Deployment", "extender") or {})["metadata"]["generation"] == versions


def test_a_newer_patch_changes_and_prunes_and_one_step_back_undoes_it(cluster: Cluster) -> None:
    rig, v = cluster.rig, cluster.rig.fresh_v()
    red = SETTING.replace("COLOUR", "red")
    first = cluster.text(v, EXTENDER, red)
    assert cluster.apply(first).exit_code == exitcodes.OK
    second = cluster.text(v, SETTING.replace("COLOUR", "blue"))
    planned = cluster.look(second)
    assert [c.action for c in planned.brought] == [Action.CHANGE]
    assert {c.ref.title for c in planned.removed} == {
        "Service kube-system/extender",
        "Deployment kube-system/extender",
    }
    assert {f.code for f in planned.findings} == {"N065"}
    manifests = rig.manifests()
    result = cluster.apply(second)
    assert result.exit_code == exitcodes.OK, result
    assert [node.outcome for node in result.nodes] == [NodeOutcome.UNCHANGED]
    assert result.changed
    assert rig.manifests() == manifests, "only objects differ: no scheduler is touched"
    assert cluster.names() == {"ConfigMap/extender-settings"}

    assert rig.rollback().exit_code == exitcodes.OK
    assert rig.manifests() == manifests
    assert (cluster.find("ConfigMap", "extender-settings") or {})["data"] == {"colour": "red"}
    assert "Deployment/extender" in cluster.names()
    assert rig.rollback().exit_code == exitcodes.OK
    assert rig.manifests() != manifests
    assert cluster.names() == set()


def test_what_is_not_ready_is_told_with_the_reason_and_put_back(cluster: Cluster) -> None:
    before, kept = cluster.rig.manifests(), cluster.ledgers()
    bad = DEPLOYMENT.replace("IMAGE", "registry.local/unpullable:v1")
    text = cluster.text(cluster.rig.fresh_v(), bad, SERVICE, KEY, CRD, rest=RBAC)
    result = cluster.apply(text, QUICK._replace(objects_timeout=2))
    assert result.exit_code == exitcodes.REFUSED
    assert result.failure is not None
    assert result.failure.reason is FailureReason.OBJECTS
    told = "\n".join(result.failure.lines)
    assert "Deployment kube-system/extender is not ready after 2 s: 0 of 1" in told
    assert "ImagePullBackOff" in told
    assert "event: Failed: Failed to pull image" in told
    assert "Service kube-system/extender is not ready after 2 s: no ready pod is behind it" in told
    assert cluster.rig.manifests() == before
    assert cluster.names() == set()
    assert actions(result) == {"CustomResourceDefinition stickyjobs.example.com": Action.STAYS}
    assert (result.changed, result.leftovers) == (False, ())
    assert cluster.ledgers() == kept
    with cluster.rig.fleet() as fleet:
        fleet.look()
        assert leftovers(fleet) == ()


def test_a_later_failure_restores_what_was_there(cluster: Cluster) -> None:
    """An object of somebody else's gets its content back, ours of an earlier run as well."""
    rig = cluster.rig
    own = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "grey", "mine": "yes"}}
    own["metadata"] = {"name": "extender-settings", "namespace": "kube-system"}
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.create(own)
    assert cluster.apply(cluster.text(rig.fresh_v(), EXTENDER)).exit_code == exitcodes.OK
    before = rig.manifests()
    newer = EXTENDER.replace("extender:v1", "extender:v2")
    text = cluster.text(0, newer, SETTING.replace("COLOUR", "blue"), rest=RBAC)
    text = text.replace(b'{v: "0"}', b'{v: "3", bogus: "1"}')
    assert {f.code for f in cluster.look(text).findings} == {"N063"}
    result = cluster.apply(text, QUICK)
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert rig.manifests() == before
    there = cluster.find("ConfigMap", "extender-settings")
    assert there is not None
    assert there["data"] == {"colour": "grey", "mine": "yes"}
    assert "labels" not in there["metadata"]
    assert "v1" in json.dumps(cluster.find("Deployment", "extender"))
    assert cluster.names() == {"Deployment/extender", "Service/extender"}
    assert rig.rollback().exit_code == exitcodes.OK, "and what is ours is still known as ours"
    assert cluster.names() == set()
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.delete("ConfigMap", "extender-settings", "kube-system")


def test_an_adopted_object_becomes_what_it_was(cluster: Cluster) -> None:
    rig = cluster.rig
    own = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"colour": "grey", "mine": "yes"}}
    own["metadata"] = {"name": "extender-settings", "namespace": "kube-system"}
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.create(own)
    text = cluster.text(rig.fresh_v(), SETTING.replace("COLOUR", "blue"))
    assert cluster.apply(text).exit_code == exitcodes.OK
    assert (cluster.find("ConfigMap", "extender-settings") or {})["data"]["colour"] == "blue"
    result = rig.rollback("original")
    assert actions(result) == {"ConfigMap kube-system/extender-settings": Action.RESTORE}
    assert (cluster.find("ConfigMap", "extender-settings") or {})["data"]["colour"] == "grey"
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.delete("ConfigMap", "extender-settings", "kube-system")


def test_what_somebody_else_changed_since_is_left_and_named(cluster: Cluster) -> None:
    rig = cluster.rig
    text = cluster.text(rig.fresh_v(), EXTENDER, SETTING.replace("COLOUR", "blue"))
    assert cluster.apply(text).exit_code == exitcodes.OK
    cluster.edit("ConfigMap", "extender-settings", {"data": {"by-hand": "1"}})
    result = rig.rollback()
    assert result.exit_code == exitcodes.OK
    assert actions(result)["ConfigMap kube-system/extender-settings"] is Action.LEFT
    assert (cluster.find("ConfigMap", "extender-settings") or {})["data"]["by-hand"] == "1"
    assert cluster.find("Deployment", "extender") is None
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.delete("ConfigMap", "extender-settings", "kube-system")


@pytest.mark.parametrize("down", [True, False])
def test_without_an_api_server_the_manifests_go_back_and_the_rest_later(
    cluster: Cluster, down: bool
) -> None:
    """It is down, and no scheduler can be seen ready; or only kubectl can't get there."""
    rig = cluster.rig
    before = rig.manifests()
    assert cluster.apply(cluster.text(rig.fresh_v(), EXTENDER)).exit_code == exitcodes.OK
    names = ("admin.conf", "super-admin.conf")
    rights = [rig.node.path(f"/etc/kubernetes/{name}") for name in names]
    if down:
        rig.sandbox.api_down()
    else:
        for conf in rights:
            conf.rename(f"{conf}.aside")
    try:
        result = rig.rollback(settings=QUICK._replace(watch_timeout=10))
    finally:
        rig.sandbox.api_up()
        for conf in rights:
            aside = Path(f"{conf}.aside")
            if aside.exists():
                aside.rename(conf)
    assert result.exit_code == (exitcodes.NOT_RESTORED if down else exitcodes.OK)
    assert rig.node.wait_ready(60)
    assert rig.manifests() == before
    assert set(result.leftovers) == {
        "Deployment kube-system/extender",
        "Service kube-system/extender",
    }
    with rig.fleet() as fleet:
        fleet.look()
        (named,) = leftovers(fleet)
    assert named.code == "N069"
    assert "Deployment kube-system/extender" in named.message
    plain = cluster.text(rig.fresh_v())
    assert cluster.apply(plain).exit_code == exitcodes.OK
    assert cluster.names() == set(), "the next apply takes them away"


def test_what_a_dead_operator_left_is_named_and_put_back(cluster: Cluster) -> None:
    rig = cluster.rig
    before = rig.manifests()
    cancel = Cancel()

    def dies() -> None:
        cancel.ask()
        cancel.ask()

    text = cluster.text(rig.fresh_v(), EXTENDER, CRD)
    listener = on_event(Phase.SWITCH, State.STARTED, dies)
    died = cluster.apply(text, cancel=cancel, listener=listener)
    assert died.exit_code == exitcodes.INTERRUPTED
    assert "Deployment kube-system/extender" in died.leftovers
    rig.node.wait((transaction(rig.node) / "switched").exists, 60)
    rig.sandbox.simulation.sleep(5)
    skip_to_deadline(rig.node)
    assert rig.node.wait(lambda: not transaction(rig.node).exists(), 90)
    assert rig.manifests() == before
    assert "Deployment/extender" in cluster.names()
    with rig.fleet() as fleet:
        fleet.look()
        (named,) = leftovers(fleet)
    assert (named.code, died.run in named.message) == ("N069", True)
    result = cluster.apply(cluster.text(rig.fresh_v()))
    assert result.exit_code == exitcodes.OK, result
    assert actions(result)["CustomResourceDefinition stickyjobs.example.com"] is Action.STAYS
    assert cluster.names() == set()
    with rig.fleet() as fleet:
        fleet.look()
        assert leftovers(fleet) == ()


def test_the_same_patch_again_takes_over_what_a_dead_operator_left(cluster: Cluster) -> None:
    rig = cluster.rig
    cancel = Cancel()

    def dies() -> None:
        cancel.ask()
        cancel.ask()

    text = cluster.text(rig.fresh_v(), EXTENDER)
    listener = on_event(Phase.ARM, State.DONE, dies)
    cluster.apply(text, cancel=cancel, listener=listener)
    rig.sandbox.simulation.sleep(5)
    skip_to_deadline(rig.node)
    assert rig.node.wait(lambda: not transaction(rig.node).exists(), 90)
    uid = (cluster.find("Deployment", "extender") or {})["metadata"]["uid"]
    result = cluster.apply(text)
    assert result.exit_code == exitcodes.OK, result
    assert (cluster.find("Deployment", "extender") or {})["metadata"]["uid"] == uid
    assert rig.rollback().exit_code == exitcodes.OK
    assert cluster.names() == set()


@pytest.mark.parametrize(
    "objects, code, words",
    [
        (SETTING.replace("kube-system", "nowhere"), "N060", "there is no namespace nowhere"),
        (STICKY, "N061", "knows no StickyJob in example.com/v1"),
    ],
)
def test_what_can_t_work_is_refused_beforehand(
    cluster: Cluster, objects: str, code: str, words: str
) -> None:
    findings = cluster.look(cluster.text(cluster.rig.fresh_v(), objects)).findings
    assert [f.code for f in findings if f.is_error] == [code]
    assert words in findings[0].message


def test_a_namespace_with_things_of_others_stays(cluster: Cluster) -> None:
    rig = cluster.rig
    space = "apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu}\n"
    mine = SETTING.replace("kube-system", "gpu")
    assert cluster.apply(cluster.text(rig.fresh_v(), mine, space)).exit_code == exitcodes.OK
    theirs = {"apiVersion": "v1", "kind": "ConfigMap", "data": {}}
    theirs["metadata"] = {"name": "theirs", "namespace": "gpu"}
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.create(theirs)
    result = rig.rollback()
    assert actions(result)["Namespace gpu"] is Action.LEFT
    assert cluster.find("ConfigMap", "theirs", "gpu") is not None
    assert cluster.find("ConfigMap", "extender-settings", "gpu") is None
    with rig.sandbox.simulation.lock:
        rig.sandbox.api.delete("Namespace", "gpu")
