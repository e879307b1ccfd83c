"""Pods, Services, DNS and pulls of the rig are real."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .cluster import registry
from .cluster.cluster import Cluster
from .cluster.console import wait_for, wait_until
from .cluster.images import BUSYBOX_IMAGE, busybox_image

PODS = "/api/v1/namespaces/default/pods"
SECRETS = "/api/v1/namespaces/default/secrets"


@contextmanager
def pod(cluster: Cluster, name: str, spec: dict[str, Any]) -> Iterator[str]:
    """A pod for the time of the block; gives its path."""
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 0, **spec}
    # Not its business, and its token may take a while.
    spec["automountServiceAccountToken"] = False
    path = f"{PODS}/{name}"
    cluster.api.create(
        PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    )
    try:
        yield path
    finally:
        cluster.api.delete(path, grace=0)
        wait_until(f"the end of {name}", lambda: not cluster.api.exists(path), 60)


def wait_phase(cluster: Cluster, path: str, *phases: str) -> str:
    def reached() -> str | None:
        phase = str(cluster.api.get(path)["status"].get("phase"))
        return phase if phase in phases else None

    return wait_for(f"{path} in {phases}", reached, 60)


def wait_waiting(cluster: Cluster, path: str, *reasons: str) -> str:
    """The message of a container that waits for one of these reasons."""

    def reached() -> str | None:
        for status in cluster.api.get(path)["status"].get("containerStatuses", []):
            waiting = status["state"].get("waiting", {})
            if waiting.get("reason") in reasons:
                return str(waiting.get("message") or waiting["reason"])
        return None

    return wait_for(f"{path} waiting for {reasons}", reached, 60)


def sleeper(image: str) -> dict[str, Any]:
    container = {
        "name": "c",
        "image": image,
        "imagePullPolicy": "Always",
        "command": ["/bin/sleep", "600"],
    }
    return {"containers": [container]}


@pytest.fixture(scope="module")
def images(cluster: Cluster) -> Cluster:
    image = busybox_image(cluster.base_tree)
    registry.push(f"{registry.PUBLIC}/tools/busybox:1", image)
    registry.push(f"{registry.PRIVATE}/tools/busybox:1", image)
    return cluster


def test_service_name_resolves_from_the_host_network(cluster: Cluster) -> None:
    cluster.wait_dns()
    name = "kube-dns.kube-system.svc.cluster.local"
    lookup = f"for i in 1 2 3 4 5; do nslookup {name} && exit 0; sleep 1; done; exit 1"
    spec = {
        "hostNetwork": True,
        "dnsPolicy": "ClusterFirstWithHostNet",
        "containers": [{"name": "c", "image": BUSYBOX_IMAGE, "command": ["/bin/sh", "-c", lookup]}],
    }
    with pod(cluster, "resolve", spec) as path:
        phase = wait_phase(cluster, path, "Succeeded", "Failed")
        said = cluster.api.text(f"{path}/log")
    assert phase == "Succeeded", said
    assert "10.96.0.10" in said.split(name)[-1]


def test_pod_is_pulled_from_the_registry_and_runs(images: Cluster) -> None:
    with pod(images, "pulled", sleeper(f"{registry.PUBLIC}/tools/busybox:1")) as path:
        assert wait_phase(images, path, "Running") == "Running"


def test_missing_image_is_not_found(images: Cluster) -> None:
    with pod(images, "missing", sleeper(f"{registry.PUBLIC}/tools/nothing:1")) as path:
        message = wait_waiting(images, path, "ErrImagePull", "ImagePullBackOff")
    assert "tools/nothing:1" in message


def test_image_behind_credentials(images: Cluster) -> None:
    spec = sleeper(f"{registry.PRIVATE}/tools/busybox:1")
    with pod(images, "unauthorized", spec) as path:
        assert "busybox:1" in wait_waiting(images, path, "ErrImagePull", "ImagePullBackOff")
    images.api.create(SECRETS, registry.pull_secret("puller"))
    try:
        with pod(images, "authorized", {**spec, "imagePullSecrets": [{"name": "puller"}]}) as path:
            assert wait_phase(images, path, "Running") == "Running"
    finally:
        images.api.delete(f"{SECRETS}/puller")
