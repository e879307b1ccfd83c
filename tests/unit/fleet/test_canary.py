"""The canary: what it keeps of the planned pod, what it must not have, and when there is none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kschedpatch.core.fleet.canary import NAME
from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.manifest.flags import effective
from kschedpatch.core.manifest.validate import validate
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.facts import Room
from kschedpatch.model.fleetplan import PORT_MARK, RUN_MARK, Canary, NodePlan
from tests.unit.fleet.nodes import Node, kubeadm_manifest, node
from tests.unit.fleet.test_planning import VERBOSE, planned

PACKING = {"config": {"inline": {"profiles": [{"schedulerName": "default-scheduler"}]}}}
MINORS = [23, 25, 28, 31, 34, 36]


def plan_for(spec: dict[str, Any], at: Node) -> NodePlan:
    [found] = planned(spec, at).nodes
    return found


def canary_of(spec: dict[str, Any], at: Node) -> Canary:
    canary = plan_for(spec, at).canary
    assert canary is not None
    return canary


def pod_of(canary: Canary, port: int = 10269) -> dict[str, Any]:
    """As the kubelet reads it when the node has chosen the port."""
    text = canary.manifest.replace(PORT_MARK, str(port)).replace(RUN_MARK, "20261116-204512-3fa9")
    [document] = read(text.encode()).documents
    pod: dict[str, Any] = value_of(document)
    return pod


def container_of(pod: dict[str, Any]) -> dict[str, Any]:
    [container] = pod["spec"]["containers"]
    return dict(container)


def edited(at: Node, old: str, new: str) -> Node:
    assert at.facts.manifest is not None
    text = at.facts.manifest.content.decode()
    assert old in text
    return at.with_manifest(text.replace(old, new).encode())


@pytest.mark.parametrize("minor", MINORS)
def test_it_is_the_planned_pod_under_another_name(minor: int) -> None:
    at = node("cp1").at(f"1.{minor}.1")
    plan = plan_for({**PACKING, "scheduler": {"image": "example.org/mine:v1"}}, at)
    assert plan.canary is not None
    pod = pod_of(plan.canary)
    after = read_manifest(plan.after.encode(), "after").manifest
    assert after is not None
    spec, wanted = pod["spec"], after.pod["spec"]
    container, main = container_of(pod), wanted["containers"][0]
    assert (pod["metadata"]["name"], container["name"]) == (NAME, NAME)
    assert pod["metadata"]["namespace"] == "kube-system"
    for key in ("hostNetwork", "priorityClassName", "priority", "volumes", "securityContext"):
        assert spec.get(key) == wanted.get(key), key
    assert (container["image"], container["volumeMounts"]) == (main["image"], main["volumeMounts"])


@pytest.mark.parametrize("minor", MINORS)
def test_nobody_counts_it_and_it_takes_nothing_from_others(minor: int) -> None:
    pod = pod_of(canary_of(VERBOSE, node("cp1").at(f"1.{minor}.1")), 10270)
    container = container_of(pod)
    assert not {"component", "tier"} & pod["metadata"]["labels"].keys()
    assert not NAME.startswith("kube-scheduler")
    assert "ports" not in container
    assert "resources" not in container
    assert effective(container)["secure-port"] == "10270"
    asked = [container[probe]["httpGet"]["port"] for probe in container if "Probe" in probe]
    assert asked
    assert set(asked) == {10270}


@pytest.mark.parametrize("minor", MINORS)
def test_the_kubelet_takes_it(minor: int) -> None:
    text = canary_of(PACKING, node("cp1").at(f"1.{minor}.1")).manifest
    text = text.replace(PORT_MARK, "10269").replace(RUN_MARK, "r")
    findings = validate(read_manifest(text.encode(), "canary"))
    # It is no kube-scheduler pod by its name, and is not meant to be one.
    assert [f.message for f in findings if f.is_error and f.code != "M002"] == []


def test_a_uid_of_its_own_with_every_run() -> None:
    pod = canary_of(VERBOSE, node("cp1")).manifest
    assert pod.count(RUN_MARK) == 1
    assert f"kschedpatch.io/run: {RUN_MARK}" in pod


def test_limits_stay_without_becoming_requests() -> None:
    at = edited(
        node("cp1"),
        "        cpu: 100m\n",
        "        cpu: 100m\n      limits:\n        memory: 512Mi\n        example.org/gpu: 1\n",
    )
    resources = container_of(pod_of(canary_of(VERBOSE, at)))["resources"]
    assert resources == {"limits": {"memory": "512Mi"}, "requests": {"memory": "0"}}


def test_it_stands_by_on_the_lease_of_the_live_one() -> None:
    flags = effective(container_of(pod_of(canary_of(VERBOSE, node("cp1")))))
    assert {name: value for name, value in flags.items() if name.startswith("leader-elect")} == {
        "leader-elect": "true",
        "leader-elect-resource-name": "kube-scheduler",
        "leader-elect-resource-namespace": "kube-system",
        "leader-elect-resource-lock": "leases",
        "leader-elect-lease-duration": "15000ms",
        "leader-elect-renew-deadline": "10000ms",
        "leader-elect-retry-period": "200ms",
    }


LEASE = {
    "leaderElection": {
        "leaderElect": True,
        "resourceName": "mine",
        "resourceNamespace": "other",
        "leaseDuration": "1m30s",
        "renewDeadline": "0.3s",
        "retryPeriod": "0.2s",
    }
}


def live_with(config: dict[str, Any]) -> Node:
    """A live scheduler with a configuration of somebody's, mounted by hand."""
    at = edited(
        node("cp1"), "    - --leader-elect=true\n", "    - --config=/etc/kubernetes/mine.yaml\n"
    )
    at = edited(
        at,
        "    volumeMounts:\n",
        "    volumeMounts:\n    - {mountPath: /etc/kubernetes/mine.yaml, name: mine}\n",
    )
    volume = "  - {hostPath: {path: /etc/kubernetes/mine.yaml, type: File}, name: mine}\n"
    at = edited(at, "  volumes:\n", "  volumes:\n" + volume)
    whole = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **config,
    }
    return at.but(live_config=json.dumps(whole).encode())


def test_the_live_ones_configuration_decides_the_lease_and_its_durations() -> None:
    plan = plan_for(VERBOSE, live_with(LEASE))
    assert plan.lease == "other/mine"
    assert plan.canary is not None
    flags = effective(container_of(pod_of(plan.canary)))
    assert flags["leader-elect-resource-name"] == "mine"
    assert flags["leader-elect-resource-namespace"] == "other"
    assert flags["leader-elect-lease-duration"] == "90000ms"
    assert flags["leader-elect-renew-deadline"] == "300ms"
    # What the elector would refuse: 1.2 retries must stay below the deadline.
    assert flags["leader-elect-retry-period"] == "150ms"


def test_a_patch_over_a_patch_knows_the_lease_of_the_first() -> None:
    first = planned({"config": {"inline": LEASE}}, without_election_flag())
    again = plan_for({"config": {"inline": LEASE}, **VERBOSE}, without_election_flag().after(first))
    assert again.lease == "other/mine"
    assert again.canary is not None


def without_election_flag() -> Node:
    return edited(node("cp1"), "    - --leader-elect=true\n", "")


def test_its_configuration_does_not_delay_the_cache() -> None:
    delayed = {"delayCacheUntilActive": True, "parallelism": 8}
    canary = canary_of({"config": {"inline": delayed}}, node("cp1"))
    [document] = read(canary.config.encode()).documents
    config = value_of(document)
    assert (config["delayCacheUntilActive"], config["parallelism"]) == (False, 8)
    pod = pod_of(canary)
    flag = effective(container_of(pod))["config"]
    [mount] = [m for m in container_of(pod)["volumeMounts"] if m["mountPath"] == flag]
    [volume] = [v for v in pod["spec"]["volumes"] if v["name"] == mount["name"]]
    assert volume["hostPath"]["path"] == "/var/lib/kschedpatch/txn/canary-config.yaml"
    assert canary.health.path == "/readyz"
    # Elsewhere it reads the very file that the main pod will read.
    assert canary_of(PACKING, node("cp1")).config == ""


def test_without_a_readyz_its_log_has_to_speak() -> None:
    assert canary_of(VERBOSE, node("cp1").at("1.31.1")).health.proves_readiness
    assert not canary_of(VERBOSE, node("cp1").at("1.30.1")).health.proves_readiness


SIDECAR = "  containers:\n  - {name: other, image: example.org/other:v1}\n"
WITHOUT = {
    "no election": (
        edited(node("cp1"), "leader-elect=true", "leader-elect=false"),
        "runs without leader election",
    ),
    "no election by its configuration": (
        live_with({"leaderElection": {"leaderElect": False}}),
        "runs without leader election",
    ),
    "nobody has read its configuration": (
        live_with({}).but(live_config=None),
        "on which lease",
    ),
    "no port": (node("cp1").but(room=Room(0, 6_000_000, 52_000)), "no free port"),
    "little memory": (
        node("cp1").but(room=Room(10269, 100_000, 52_000)),
        "97 MiB of memory available, and a second scheduler may need 127 MiB",
    ),
    "another container": (edited(node("cp1"), "  containers:\n", SIDECAR), "other containers"),
}


@pytest.mark.parametrize("case", WITHOUT)
def test_where_there_can_be_none_the_plan_says_so_and_what_follows(case: str) -> None:
    at, words = WITHOUT[case]
    plan = planned(VERBOSE, at)
    assert plan.nodes[0].canary is None
    [told] = [finding for finding in plan.findings if finding.code == "N031"]
    assert words in told.message
    assert "without its scheduler" in told.hint
    assert plan.ok


def test_a_new_scheduler_that_elects_nobody_has_none() -> None:
    plan = planned({"scheduler": {"args": {"leader-elect": "false"}}}, node("cp1"))
    assert "both would be at work" in plan.nodes[0].no_canary


def test_another_lease_has_none() -> None:
    own = {"profiles": [{"schedulerName": "mine"}], **LEASE}
    plan = planned({"config": {"inline": own}}, without_election_flag())
    assert "elects on other/mine" in plan.nodes[0].no_canary


def test_what_nothing_is_changed_for_needs_none() -> None:
    first = planned(VERBOSE, node("cp1"))
    at = node("cp1").after(first).but(room=Room(0, 0, 0))
    assert [f.code for f in planned(VERBOSE, at).findings] == []


def test_more_requests_are_noticed() -> None:
    """The patch's base asks for more than what was made of it by hand."""
    first = planned(VERBOSE, node("cp1"))
    lowered = first.nodes[0].after.replace("cpu: 100m", "cpu: 10m")
    at = node("cp1").after(first).with_manifest(lowered.encode())
    assert canary_of(VERBOSE, at).more_requests == (("cpu", "0.090"),)
    assert canary_of(VERBOSE, node("cp1")).more_requests == ()


def test_kubeadms_manifests_all_have_one() -> None:
    for minor in range(22, 37):
        assert kubeadm_manifest(minor)
        assert plan_for(VERBOSE, node("cp1").at(f"1.{minor}.1")).canary is not None
    assert "10251" in plan_for(PACKING, node("cp1").at("1.22.17")).no_canary
