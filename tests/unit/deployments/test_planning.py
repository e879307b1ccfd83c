"""What a patch makes of a scheduler that runs as a Deployment."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.deployment.served import Serving, config_source, serving
from kschedpatch.core.deployment.strategy import strategy_findings, unavailable
from kschedpatch.model.kubeversion import KubeVersion
from tests.unit.deployments.values import (
    LIVE,
    PACKING,
    changed,
    codes,
    container,
    live,
    named,
    second,
)

PATH = "/etc/kubernetes/kschedpatch/scheduler-config.yaml"


# A Deployment of somebody's.


def test_only_what_the_patch_asks_for_is_applied() -> None:
    plan = changed({"scheduler": {"image": "registry.example.com/s:v1.34.2", "args": {"v": "5"}}})
    assert plan.ok, plan.findings
    assert plan.document == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "gpu", "namespace": "kube-system"},
        "spec": {
            "template": {
                "spec": {
                    "containers": [
                        {
                            "name": "kube-scheduler",
                            "image": "registry.example.com/s:v1.34.2",
                            "command": ["kube-scheduler", "--config=/etc/own/config.yaml", "--v=5"],
                        }
                    ]
                }
            }
        },
    }
    assert plan.account == "gpu-scheduler"


def test_what_is_there_already_is_not_applied() -> None:
    assert "spec" not in changed({"scheduler": {"args": {"v": "2"}}}).document


def test_a_roll_out_without_an_end_gets_one() -> None:
    plan = changed({"scheduler": {"args": {"v": "5"}}}, live(progressDeadlineSeconds=2147483647))
    assert plan.document["spec"]["progressDeadlineSeconds"] == 600


def test_the_configuration_is_a_config_map_named_by_its_content() -> None:
    plan = changed({"config": PACKING})
    [(name, body)] = named(plan, "ConfigMap").items()
    assert name.startswith("gpu-config-")
    assert body["immutable"] is True
    assert "schedulerName: packing" in body["data"]["scheduler-config.yaml"]
    assert "kubeconfig" not in body["data"]["scheduler-config.yaml"]
    [volume] = plan.document["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]["name"] == name
    [mount] = container(plan.document)["volumeMounts"]
    assert (mount["mountPath"], mount["subPath"]) == (PATH, "scheduler-config.yaml")
    assert f"--config={PATH}" in container(plan.document)["command"]
    other = changed({"config": {"inline": {"profiles": [{"schedulerName": "other"}]}}})
    assert name not in named(other, "ConfigMap")


def test_files_come_with_their_modes() -> None:
    files = [{"source": "a.txt", "mountPath": "/etc/a.txt", "mode": "0600"}]
    plan = changed({"files": files}, files={"a.txt": "hello"})
    [body] = named(plan, "ConfigMap").values()
    assert body["data"] == {"a.txt": "hello"}
    [volume] = plan.document["spec"]["template"]["spec"]["volumes"]
    assert volume["configMap"]["items"] == [{"key": "a.txt", "path": "a.txt", "mode": 0o600}]


def test_rights_go_to_its_service_account() -> None:
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    plan = changed({"rbac": {"rules": [rule]}})
    [binding] = named(plan, "ClusterRoleBinding").values()
    assert binding["metadata"]["name"] == "kschedpatch:kube-system:gpu"
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "gpu-scheduler", "namespace": "kube-system"}
    ]


def test_a_host_path_is_that_of_any_node() -> None:
    mount = {"name": "sock", "hostPath": "/var/lib/kubelet/device-plugins", "type": "Directory"}
    plan = changed({"mounts": [mount]})
    assert codes(plan) == ["P016"]
    [volume] = plan.document["spec"]["template"]["spec"]["volumes"]
    assert volume["hostPath"] == {"path": "/var/lib/kubelet/device-plugins", "type": "Directory"}


def test_an_image_with_a_program_of_its_own_gets_arguments() -> None:
    base = live()
    base["spec"]["template"]["spec"]["containers"] = [{"name": "mine", "image": "x/y:v1"}]
    plan = changed({"scheduler": {"args": {"v": "5"}}}, base)
    assert container(plan.document)["args"] == ["--v=5"]
    assert "command" not in container(plan.document)


def test_a_deployment_without_a_scheduler_is_refused() -> None:
    base = live()
    for item in base["spec"]["template"]["spec"]["containers"]:
        item["name"], item["command"] = item["name"] + "-x", ["sleep"]
    assert codes(changed({"scheduler": {"args": {"v": "5"}}}, base)) == ["N081"]


STRATEGIES: dict[str, tuple[dict[str, Any], bool]] = {
    "Kubernetes' default": ({}, True),
    "one pod by default": ({"replicas": 1}, True),
    "one of two may go": ({"strategy": {"rollingUpdate": {"maxUnavailable": 1}}}, True),
    "both may go": ({"strategy": {"rollingUpdate": {"maxUnavailable": 2}}}, False),
    "all may go, in percent": ({"strategy": {"rollingUpdate": {"maxUnavailable": "100%"}}}, False),
    "old ones first": ({"strategy": {"type": "Recreate"}}, False),
    "the only one may go": (
        {"replicas": 1, "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 0}}},
        False,
    ),
    "no pods": ({"replicas": 0}, False),
    "paused": ({"paused": True}, False),
}


@pytest.mark.parametrize(("spec", "fine"), STRATEGIES.values(), ids=STRATEGIES)
def test_an_old_pod_must_stay_until_a_new_one_is_ready(spec: dict[str, Any], fine: bool) -> None:
    findings = list(strategy_findings(live(**spec), "it"))
    assert [f.code for f in findings] == ([] if fine else ["N082"])


def test_percentages_are_rounded_as_the_controller_does() -> None:
    assert unavailable({}, 3) == 0
    assert unavailable({}, 4) == 1
    assert unavailable({"rollingUpdate": {"maxUnavailable": "50%"}}, 3) == 1


# A second scheduler.


def test_a_second_scheduler_is_hardened() -> None:
    plan = second({})
    assert plan.ok, plan.findings
    pod = plan.document["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    own = container(plan.document)
    assert own["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "privileged": False,
        "readOnlyRootFilesystem": True,
    }
    assert own["resources"]["requests"]
    assert own["image"] == "registry.k8s.io/kube-scheduler:v1.34.2"
    assert plan.document["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    assert plan.document["spec"]["progressDeadlineSeconds"] == 600
    assert "hostNetwork" not in pod
    assert "topologySpreadConstraints" not in pod
    labels = plan.document["metadata"]["labels"]
    assert labels["app.kubernetes.io/managed-by"] == "kschedpatch"
    assert labels["component"] == "packer"


@pytest.mark.parametrize(
    ("minor", "ready", "keys"),
    [(23, "/healthz", 2), (28, "/healthz", 1), (31, "/readyz", 1), (34, "/readyz", 1)],
)
def test_probes_and_tolerations_go_by_the_version(minor: int, ready: str, keys: int) -> None:
    plan = second({}, version=KubeVersion(minor, 1))
    assert plan.ok, plan.findings
    assert container(plan.document)["readinessProbe"]["httpGet"]["path"] == ready
    assert len(plan.document["spec"]["template"]["spec"]["tolerations"]) == keys


def test_it_runs_what_the_cluster_runs() -> None:
    plan = second({}, stock_image="mirror.example.com/kube-scheduler:v1.34.2")
    assert container(plan.document)["image"] == "mirror.example.com/kube-scheduler:v1.34.2"


def test_several_are_spread() -> None:
    plan = second({"scheduler": {"replicas": 2}})
    [spread] = plan.document["spec"]["template"]["spec"]["topologySpreadConstraints"]
    assert spread["topologyKey"] == "kubernetes.io/hostname"
    assert plan.document["spec"]["replicas"] == 2


def test_a_port_of_its_own_is_probed() -> None:
    plan = second({"scheduler": {"args": {"secure-port": "10300"}}})
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        assert container(plan.document)[probe]["httpGet"]["port"] == 10300


def test_its_lease_is_its_own_and_so_are_the_rights_on_it() -> None:
    for minor in (27, 28, 34):
        plan = second({}, version=KubeVersion(minor, 1))
        assert plan.lease == "kube-system/packer"
        assert "--leader-elect-resource-name=packer" in container(plan.document)["command"]
        role = named(plan, "Role")["kschedpatch:kube-system:packer:lease"]
        on_lease = [r for r in role["rules"] if r.get("resourceNames") == ["packer"]]
        assert {r["resources"][0] for r in on_lease} == (
            {"leases", "endpoints"} if minor <= 27 else {"leases"}
        )


def test_a_lease_elsewhere_gets_its_rights_there() -> None:
    section = {"resourceName": "my-scheduler", "resourceNamespace": "leases"}
    plan = second({"config": {"inline": {**PACKING["inline"], "leaderElection": section}}})
    assert plan.lease == "leases/my-scheduler"
    assert not any("resource-name" in word for word in container(plan.document)["command"])
    [role] = named(plan, "Role").values()
    assert role["metadata"]["namespace"] == "leases"


def test_it_gets_the_rights_of_a_scheduler_and_no_others() -> None:
    bound = {
        body["roleRef"]["name"]: (kind, body["metadata"].get("namespace"))
        for kind in ("ClusterRoleBinding", "RoleBinding")
        for body in named(second({}), kind).values()
    }
    assert bound == {
        "system:kube-scheduler": ("ClusterRoleBinding", None),
        "system:volume-scheduler": ("ClusterRoleBinding", None),
        "extension-apiserver-authentication-reader": ("RoleBinding", "kube-system"),
        "kschedpatch:kube-system:packer:lease": ("RoleBinding", "kube-system"),
    }
    assert named(second({}), "ClusterRole") == {}
    assert list(named(second({}), "ServiceAccount")) == ["packer"]


def test_rights_are_left_to_somebody_else_where_the_patch_says_so() -> None:
    plan = second({"rbac": {"manage": False}})
    assert {o.body["kind"] for o in plan.objects} == {"ServiceAccount", "ConfigMap"}


ELECTS_NOT = {**PACKING["inline"], "leaderElection": {"leaderElect": False}}
STOCK_LEASE = {**PACKING["inline"], "leaderElection": {"resourceName": "kube-scheduler"}}
SECONDS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "the default's name": ({"config": {"inline": {"profiles": [{}]}}}, ["P015"]),
    "no profile at all": ({"config": None}, ["P015"]),
    "the stock lease": ({"config": {"inline": STOCK_LEASE}}, ["P015"]),
    "no election": ({"config": {"inline": ELECTS_NOT}}, ["P017"]),
    "no election by flag": ({"scheduler": {"args": {"leader-elect": "false"}}}, ["P017"]),
    "several without election": (
        {"config": {"inline": ELECTS_NOT}, "scheduler": {"replicas": 2}},
        ["P014"],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), SECONDS.values(), ids=SECONDS)
def test_what_a_second_scheduler_must_have_for_itself(
    spec: dict[str, Any], expected: list[str]
) -> None:
    assert [c for c in codes(second(spec)) if not c.startswith(("R", "C"))] == expected


def test_a_version_must_be_known() -> None:
    assert [f.code for f in second({}, version=None).findings if f.is_error] == ["V002"]


# Who else serves a name.

OTHER = Serving("Deployment a/b", ("packing",), "a/b")


def test_a_name_that_another_scheduler_serves_is_refused() -> None:
    plan = second({}, others=(OTHER,))
    [finding] = [f for f in plan.findings if f.is_error]
    assert finding.code == "N083"
    assert "Deployment a/b already serves packing" in finding.message


@pytest.mark.parametrize(
    "other",
    [
        OTHER._replace(profiles=("another",)),
        OTHER._replace(lease="kube-system/packer"),  # they take turns
        OTHER._replace(title="Deployment kube-system/packer"),  # itself
    ],
)
def test_others_do_no_harm(other: Serving) -> None:
    assert second({}, others=(other,)).ok


def test_the_names_that_a_pod_serves_are_read_from_its_config_map() -> None:
    spec = LIVE["spec"]["template"]["spec"]
    assert config_source(spec) == ("own", "config.yaml")
    text = b"kind: KubeSchedulerConfiguration\nprofiles: [{schedulerName: gpu}]\n"
    found = serving("it", spec, text)
    assert found == Serving("it", ("gpu",), "kube-system/kube-scheduler")
    unknown = serving("it", spec, None)
    assert unknown is not None
    assert (unknown.profiles, unknown.known) == (("default-scheduler",), False)
    assert serving("it", {"containers": [{"name": "x", "command": ["sleep"]}]}, None) is None


def test_the_trial_sees_the_files_where_the_pod_will() -> None:
    plan = second({})
    assert plan.preflight is not None
    assert plan.generation is not None
    assert plan.preflight.mounts == ((f"{plan.generation.directory}/scheduler-config.yaml", PATH),)
    assert not any(word.startswith("--leader-elect") for word in plan.preflight.command)


# The lease of somebody's Deployment.

ITSELF = Serving("Deployment kube-system/gpu", ("gpu",), "kube-system/gpu")
PROFILE = {"profiles": [{"schedulerName": "gpu"}]}


def test_a_new_configuration_keeps_the_lease() -> None:
    """With the default it would wait for the stock scheduler's."""
    plan = changed({"config": {"inline": PROFILE}}, others=(ITSELF,))
    assert plan.ok, plan.findings
    assert plan.lease == "kube-system/gpu"
    assert "--leader-elect-resource-name=gpu" in container(plan.document)["command"]
    alone = changed({"config": {"inline": PROFILE}}, others=(ITSELF._replace(lease=""),))
    assert alone.ok, alone.findings
    assert alone.lease == ""
    assert "--leader-elect=false" in container(alone.document)["command"]
    stock = ITSELF._replace(lease="kube-system/kube-scheduler")
    shared = changed({"config": {"inline": PROFILE}}, others=(stock,))
    assert shared.ok
    assert not any("leader-elect" in word for word in container(shared.document)["command"])


def test_another_lease_is_refused() -> None:
    config = {**PROFILE, "leaderElection": {"resourceName": "other"}}
    plan = changed({"config": {"inline": config}}, others=(ITSELF,))
    assert [f.code for f in plan.findings if f.is_error] == ["N090"]
