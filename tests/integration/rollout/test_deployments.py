"""Schedulers as Deployments on a simulated cluster: changed, made, proven, rolled back, purged; and
what goes wrong heals by itself while the stock scheduler notices nothing."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model import exitcodes
from kschedpatch.model.checks import CheckState, Verdict
from kschedpatch.model.clusterplan import Action
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.rollout import FailureReason, NodeOutcome, RolloutResult
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.deployment import roll_back_deployment, roll_out_deployment
from kschedpatch.rollout.deploymentlook import DeploymentLook, look_for_apply, look_for_rollback
from kschedpatch.rollout.deploymentverify import stands, verify_deployment
from kschedpatch.rollout.purging import Purged, plan_purge, purge
from kschedpatch.rollout.verification import Wish
from tests.integration.rollout.rig import SETTINGS, Rig, assert_clean, lives, on_event
from tests.unit.deployments.values import LIVE

QUICK = SETTINGS._replace(probe=True, settle=0.2, watch_timeout=6, pull_timeout=6)
HEAD = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: mine}\nspec:\n"
PACKER = DeploymentTarget("kube-system", "packer")
GPU = DeploymentTarget("kube-system", "gpu")
CREATOR = "kubectl-create"


def second(
    v: int = 2, *, config: str = "profiles: [{schedulerName: packing}]", rest: str = ""
) -> str:
    return f"""{HEAD}
  target: {{newDeployment: kube-system/packer}}
  scheduler: {{args: {{v: "{v}"}}}}
  config: {{inline: {{{config}}}}}
{rest}"""


def changed(rest: str) -> str:
    return f"{HEAD}  target: {{deployment: kube-system/gpu}}\n{rest}"


class Cluster:
    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.told: list[Event] = []

    def given(self, text: str) -> PatchInput:
        loaded = load_patch(NamedText("patch.yaml", text.encode(), Path()), QuickFlags())
        assert loaded.given is not None, loaded.findings
        return loaded.given

    def look(self, text: str, *take_over: str) -> DeploymentLook:
        with self.rig.fleet() as fleet:
            fleet.look(api=True)
            return look_for_apply(fleet, self.given(text), take_over)

    def apply(
        self, text: str, *take_over: str, settings: Any = QUICK, listener: Any = None
    ) -> RolloutResult:
        self.told.clear()
        with self.rig.fleet(listener or self.told.append) as fleet:
            fleet.look(api=True)
            given = self.given(text)
            look = look_for_apply(fleet, given, take_over)
            assert look.ok, look.findings
            return roll_out_deployment(fleet, look, given, settings, Cancel())

    def rollback(self, target: DeploymentTarget, to: str | None = None) -> RolloutResult:
        with self.rig.fleet() as fleet:
            fleet.look(api=True)
            look = look_for_rollback(fleet, target, to)
            assert look.ok, look.findings
            return roll_back_deployment(fleet, look, QUICK, Cancel())

    def verify(self, target: DeploymentTarget, text: str = "") -> Verdict:
        with self.rig.fleet() as fleet:
            fleet.look(api=True)
            wish = Wish(self.given(text) if text else None)
            return verify_deployment(fleet, target, wish)

    def runs(self, target: DeploymentTarget) -> list[tuple[str, str]]:
        with self.rig.fleet() as fleet:
            fleet.look(api=True)
            return [(r.kind, r.outcome) for r in stands(fleet, target).runs]

    def purge(self, target: DeploymentTarget) -> Purged:
        with self.rig.fleet() as fleet:
            fleet.look(api=True)
            plan = plan_purge(fleet, target)
            assert not plan.findings, plan.findings
            return purge(fleet, plan)

    def find(self, kind: str, name: str) -> dict[str, Any] | None:
        with self.rig.sandbox.simulation.lock:
            return self.rig.sandbox.api.find(kind, name, "kube-system")

    def ours(self) -> set[str]:
        """All that bears our name in the cluster."""
        kinds = "Deployment ConfigMap Secret ServiceAccount Role RoleBinding ClusterRole Lease"
        with self.rig.sandbox.simulation.lock:
            return {
                f"{kind}/{item['metadata']['name']}"
                for kind in [*kinds.split(), "ClusterRoleBinding"]
                for item in self.rig.sandbox.api.all(kind)
                if any(
                    "kschedpatch" in key + str(value)
                    for key, value in (item["metadata"].get("labels") or {}).items()
                )
            }

    def command(self, target: DeploymentTarget) -> list[str]:
        found = self.find("Deployment", target.name)
        assert found is not None
        words: list[str] = found["spec"]["template"]["spec"]["containers"][0]["command"]
        return words


@pytest.fixture
def cluster(one: Rig) -> Iterator[Cluster]:
    """However a test ends, nothing of it is left; and the stock scheduler has noticed nothing."""
    alive = lives(one.node)
    yield Cluster(one)
    api = one.sandbox.api
    with one.sandbox.simulation.lock:
        one.sandbox._kubectl.denied.clear()
        for kind in ("Deployment", "ConfigMap", "Secret", "Lease", "ServiceAccount", "Role"):
            for item in list(api.all(kind)):
                if item["metadata"]["name"] != "kube-scheduler":
                    api.delete(kind, item["metadata"]["name"], item["metadata"]["namespace"])
        for kind in ("RoleBinding", "ClusterRole", "ClusterRoleBinding"):
            for item in list(api.all(kind)):
                api.delete(kind, item["metadata"]["name"], item["metadata"].get("namespace", ""))
    assert lives(one.node) == alive
    assert_clean(one)


@pytest.fixture
def gpu(cluster: Cluster) -> Cluster:
    """A scheduler that somebody runs as a Deployment, with a lease and a name of its own."""
    body = copy.deepcopy(LIVE)
    spec = body["spec"]["template"]["spec"]
    spec["containers"] = spec["containers"][:1]
    spec["containers"][0]["command"].append("--leader-elect-resource-name=gpu")
    body["spec"]["replicas"] = 1
    config = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "profiles: [{schedulerName: gpu}]\n"
    )
    rules = [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "resourceNames": ["gpu"],
            "verbs": ["get", "update"],
        }
    ]
    subjects = [{"kind": "ServiceAccount", "name": "gpu-scheduler", "namespace": "kube-system"}]
    space = {"namespace": "kube-system"}
    others: list[dict[str, Any]] = [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "own", **space},
            "data": {"config.yaml": config},
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "gpu", **space},
            "rules": rules,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "gpu", **space},
            "roleRef": {"kind": "Role", "name": "gpu"},
            "subjects": subjects,
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "gpu"},
            "roleRef": {"kind": "ClusterRole", "name": "system:kube-scheduler"},
            "subjects": subjects,
        },
    ]
    api = cluster.rig.sandbox.api
    with cluster.rig.sandbox.simulation.lock:
        for item in others:
            api.create(item)
        api._store(body, None, CREATOR)
    return cluster


# A second scheduler.


def test_a_second_scheduler_is_made_proven_and_purged(cluster: Cluster) -> None:
    result = cluster.apply(second())
    assert result.exit_code == exitcodes.OK, result
    assert result.nodes[0].outcome is NodeOutcome.CHANGED
    lease = cluster.find("Lease", "packer")
    assert lease is not None
    assert lease["spec"]["holderIdentity"].startswith("packer-")
    assert cluster.runs(PACKER) == [("apply", "confirmed")]
    assert not cluster.look(second()).changed
    assert all(c.state is not CheckState.FAILED for c in cluster.verify(PACKER).checks)
    assert all(c.state is not CheckState.FAILED for c in cluster.verify(PACKER, second()).checks)
    done = cluster.purge(PACKER)
    assert done.left == ()
    assert cluster.ours() == set()
    assert cluster.find("Lease", "packer") is None


def test_one_step_back_and_to_the_beginning(cluster: Cluster) -> None:
    assert cluster.apply(second(2)).exit_code == exitcodes.OK
    other = second(4, config="profiles: [{schedulerName: packing}, {schedulerName: more}]")
    assert cluster.apply(other).exit_code == exitcodes.OK
    assert "--v=4" in cluster.command(PACKER)
    result = cluster.rollback(PACKER)
    assert result.exit_code == exitcodes.OK, result
    assert "--v=2" in cluster.command(PACKER)
    assert not cluster.look(second(2)).changed
    assert cluster.rollback(PACKER, "original").exit_code == exitcodes.OK
    assert cluster.find("Deployment", "packer") is None
    kept = {name.partition("/")[0] for name in cluster.ours()}
    assert kept <= {"Secret", "ConfigMap"}  # what is kept of its runs
    assert [outcome for _, outcome in cluster.runs(PACKER)] == ["confirmed"] * 4
    cluster.purge(PACKER)
    assert cluster.ours() == set()


def test_drift_is_found(cluster: Cluster) -> None:
    assert cluster.apply(second()).exit_code == exitcodes.OK
    body = cluster.find("Deployment", "packer")
    assert body is not None
    body["spec"]["template"]["spec"]["containers"][0]["command"][-1] = "--v=9"
    with cluster.rig.sandbox.simulation.lock:
        cluster.rig.sandbox.api.replace(body)
    for text in ("", second()):
        verdict = cluster.verify(PACKER, text)
        assert "N152" in {f.code for f in verdict.findings}, verdict.findings


def test_a_name_that_is_served_already_is_refused(gpu: Cluster) -> None:
    look = gpu.look(second(config="profiles: [{schedulerName: gpu}]"))
    assert [f.code for f in look.findings if f.is_error] == ["N083"]
    assert "Deployment kube-system/gpu already serves gpu" in str(look.findings)


def test_a_deployment_of_somebody_else_is_not_taken_for_the_second(gpu: Cluster) -> None:
    text = second().replace("kube-system/packer", "kube-system/gpu")
    assert "N086" in {f.code for f in gpu.look(text).findings}
    with gpu.rig.fleet() as fleet:
        fleet.look(api=True)
        assert [f.code for f in plan_purge(fleet, GPU).findings] == ["N086"]


# Somebody's Deployment.

V5 = '  scheduler: {args: {v: "5"}}\n'


def test_fields_of_others_are_named_and_not_forced(gpu: Cluster) -> None:
    look = gpu.look(changed(V5))
    [finding] = [f for f in look.findings if f.is_error]
    assert finding.code == "N080"
    assert f'{CREATOR} has set .spec.template.spec.containers[name="kube-scheduler"].command' in (
        finding.message
    )
    assert "--v=2" in gpu.command(GPU)


def test_a_deployment_is_changed_and_taken_back(gpu: Cluster) -> None:
    before = gpu.find("Deployment", "gpu")
    assert before is not None
    text = changed(
        V5 + "  config: {inline: {profiles: [{schedulerName: gpu}, {schedulerName: more}]}}\n"
    )
    result = gpu.apply(text, CREATOR)
    assert result.exit_code == exitcodes.OK, result
    assert "--v=5" in gpu.command(GPU)
    assert not gpu.look(text).changed
    # Another patch is for what was there before, not for what the last one has made of it.
    less = changed('  scheduler: {args: {v: "6"}}\n')
    assert gpu.apply(less).exit_code == exitcodes.OK
    assert gpu.command(GPU) == [w.replace("--v=2", "--v=6") for w in before_command(before)]
    result = gpu.rollback(GPU, "original")
    assert result.exit_code == exitcodes.OK, result
    after = gpu.find("Deployment", "gpu")
    assert after is not None
    assert after["spec"] == before["spec"]
    assert not gpu.ours() - {n for n in gpu.ours() if n.startswith(("Secret/", "ConfigMap/"))}


def before_command(body: dict[str, Any]) -> list[str]:
    words: list[str] = body["spec"]["template"]["spec"]["containers"][0]["command"]
    return words


# What goes wrong.

BROKEN: dict[str, tuple[str, FailureReason]] = {
    "no such image": (
        '  scheduler: {image: "registry.local/unpullable:v1.34.2"}\n',
        FailureReason.IMAGE,
    ),
    "an image that crashes": (
        '  scheduler: {image: "registry.local/crashing:v1.34.2"}\n',
        FailureReason.CRASH,
    ),
    "a flag that it refuses": (
        "  scheduler: {image: registry.k8s.io/kube-scheduler:v1.34.2, args: {bogus: x}}\n",
        FailureReason.CRASH,
    ),
}


@pytest.mark.parametrize(("rest", "reason"), BROKEN.values(), ids=BROKEN)
def test_what_fails_goes_back_by_itself(gpu: Cluster, rest: str, reason: FailureReason) -> None:
    before = gpu.find("Deployment", "gpu")
    assert before is not None
    result = gpu.apply(changed(rest), CREATOR)
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert result.failure is not None
    assert result.failure.reason is reason
    assert result.nodes[0].outcome is NodeOutcome.RESTORED
    after = gpu.find("Deployment", "gpu")
    assert after is not None
    assert after["spec"] == before["spec"]
    assert gpu.runs(GPU) == [("apply", "restored")]


def test_the_scheduler_says_why_it_refuses_its_configuration(cluster: Cluster) -> None:
    """An image of another registry may have any plugin: only its scheduler can tell."""
    plugins = "{score: {enabled: [{name: Nowhere}]}}"
    text = second(config=f"profiles: [{{schedulerName: packing, plugins: {plugins}}}]")
    stock = 'scheduler: {image: "registry.k8s.io/kube-scheduler:v1.34.2", args'
    assert not cluster.look(text.replace("scheduler: {args", stock)).ok  # lint knows those
    mirror = stock.replace("registry.k8s.io", "registry.local")
    result = cluster.apply(text.replace("scheduler: {args", mirror))
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert result.failure is not None
    assert result.failure.reason is FailureReason.CRASH
    assert any('"Nowhere' in line for line in result.failure.log), result.failure
    assert cluster.find("Deployment", "packer") is None
    assert {n.partition("/")[0] for n in cluster.ours()} == {"Secret"}  # the record of the run


def test_missing_rights_show_before_anything_runs(cluster: Cluster) -> None:
    cluster.rig.sandbox._kubectl.denied.add(("update", "leases"))
    result = cluster.apply(second())
    assert result.exit_code == exitcodes.REFUSED, result
    assert result.failure is not None
    assert result.failure.reason is FailureReason.RBAC
    assert "system:serviceaccount:kube-system:packer" in result.failure.detail
    assert cluster.find("Deployment", "packer") is None
    assert cluster.find("ServiceAccount", "packer") is None


def test_rights_that_nobody_gives_keep_it_from_being_ready(cluster: Cluster) -> None:
    result = cluster.apply(second(rest="  rbac: {manage: false}\n"))
    assert result.exit_code == exitcodes.ROLLED_BACK, result
    assert result.failure is not None
    assert result.failure.reason is FailureReason.NOT_READY
    assert cluster.find("Deployment", "packer") is None


def test_a_trial_on_a_node_finds_it_before_anything_is_applied(cluster: Cluster) -> None:
    text = second(rest="").replace('args: {v: "2"}', "args: {bogus: x}")
    result = cluster.apply(text, settings=QUICK._replace(preflight=True))
    assert result.exit_code == exitcodes.REFUSED, result
    assert result.failure is not None
    assert result.failure.reason is FailureReason.PREFLIGHT
    assert "unknown flag: --bogus" in result.failure.detail
    assert cluster.find("ServiceAccount", "packer") is None


def test_an_operator_who_dies_leaves_a_run_that_the_next_one_ends(cluster: Cluster) -> None:
    class Dies(BaseException):
        pass

    def die() -> None:
        raise Dies

    with pytest.raises(Dies):
        cluster.apply(second(), listener=on_event(Phase.WATCH, State.STARTED, die))
    assert cluster.runs(PACKER) == [("apply", "open")]
    assert cluster.find("Deployment", "packer") is not None  # Kubernetes goes on with it
    look = cluster.look(second())
    assert "N089" in {f.code for f in look.findings}
    # The lock of the dead is taken over when its time is over.
    lease = cluster.find("Lease", "kschedpatch-lock-packer")
    assert lease is not None
    busy = cluster.apply(second())
    assert busy.failure is not None
    assert busy.failure.reason is FailureReason.LOCKED
    lease["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
    with cluster.rig.sandbox.simulation.lock:
        cluster.rig.sandbox.api.replace(lease)
    result = cluster.apply(second())
    assert result.exit_code == exitcodes.OK, result
    assert [o for _, o in cluster.runs(PACKER)] == ["confirmed", "failed"]
    assert cluster.rollback(PACKER).exit_code == exitcodes.OK
    assert cluster.find("Deployment", "packer") is None


def test_an_operator_who_died_can_be_rolled_back(gpu: Cluster) -> None:
    before = gpu.find("Deployment", "gpu")
    assert before is not None

    class Dies(BaseException):
        pass

    def die() -> None:
        raise Dies

    with pytest.raises(Dies):
        gpu.apply(changed(V5), CREATOR, listener=on_event(Phase.WATCH, State.STARTED, die))
    with gpu.rig.sandbox.simulation.lock:
        gpu.rig.sandbox.api.delete("Lease", "kschedpatch-lock-gpu", "kube-system")
    result = gpu.rollback(GPU)
    assert result.exit_code == exitcodes.OK, result
    after = gpu.find("Deployment", "gpu")
    assert after is not None
    assert after["spec"] == before["spec"]


def test_what_somebody_else_changes_meanwhile_is_left_alone(gpu: Cluster) -> None:
    def edit() -> None:
        body = gpu.find("Deployment", "gpu")
        assert body is not None
        body["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.local/crashing:v2"
        with gpu.rig.sandbox.simulation.lock:
            gpu.rig.sandbox.api.replace(body)

    result = gpu.apply(changed(V5), CREATOR, listener=on_event(Phase.WATCH, State.STARTED, edit))
    assert result.exit_code == exitcodes.NOT_RESTORED, result
    assert "somebody else" in result.nodes[0].detail
    body = gpu.find("Deployment", "gpu")
    assert body is not None
    assert "crashing:v2" in body["spec"]["template"]["spec"]["containers"][0]["image"]


def test_ctrl_c_takes_it_back(gpu: Cluster) -> None:
    before = gpu.find("Deployment", "gpu")
    assert before is not None
    cancel = Cancel()
    with gpu.rig.fleet(on_event(Phase.WATCH, State.STARTED, cancel.ask)) as fleet:
        fleet.look(api=True)
        given = gpu.given(changed('  scheduler: {image: "registry.local/crashing:v1"}\n'))
        look = look_for_apply(fleet, given, (CREATOR,))
        result = roll_out_deployment(fleet, look, given, QUICK, cancel)
    assert result.exit_code == exitcodes.INTERRUPTED, result
    assert result.nodes[0].outcome is NodeOutcome.RESTORED
    after = gpu.find("Deployment", "gpu")
    assert after is not None
    assert after["spec"] == before["spec"]


def test_only_objects_change_without_touching_the_pods(gpu: Cluster) -> None:
    rule = '  rbac: {rules: [{apiGroups: [""], resources: [pods], verbs: [get]}]}\n'
    look = gpu.look(changed(rule))
    assert look.change is not None
    assert [c.action for c in look.cluster.brought] == [Action.CREATE, Action.CREATE]
