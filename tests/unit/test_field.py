"""The cases of the field that can be decided offline, by their numbers (1-25).

Each is a failure that somebody reported; the test shows that it is caught, or can't happen.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.kubeversions import best_config_version
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.core.manifest.validate import competing_findings, validate
from kschedpatch.core.offline import lint_config
from kschedpatch.core.planner import plan_static_pod
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import GENERATIONS, Plan
from kschedpatch.report.directory import write_plan
from tests.unit.patches import patch_input

FIXTURES = Path(__file__).parents[2] / "fixtures"


def manifest(name: str = "kubeadm/v1.34.yaml") -> Manifest:
    reading = read_manifest((FIXTURES / "manifests" / name).read_bytes(), name)
    assert reading.manifest is not None
    return reading.manifest


def planned(spec: dict[str, Any], base: Manifest | None = None) -> Plan:
    return plan_static_pod(patch_input(spec, name="field"), base or manifest())


def codes(plan: Plan) -> list[str]:
    return [finding.code for finding in plan.findings]


def config_codes(text: str, minor: int = 34, base: Manifest | None = None) -> list[str]:
    version = best_config_version(minor)
    config = f"apiVersion: {version}\nkind: KubeSchedulerConfiguration\n{text}"
    findings = lint_config(config.encode(), "c.yaml", base, KubeVersion(minor))
    return [finding.code for finding in findings]


def extender(**fields: Any) -> dict[str, Any]:
    return {"config": {"inline": {"extenders": [{"filterVerb": "filter", **fields}]}}}


def test_field_01_a_backup_in_the_manifests_directory_is_named() -> None:
    text = manifest().text.encode()
    directory = {
        "kube-scheduler.yaml": text,
        "kube-scheduler.yaml.bak": text,
        ".kube-scheduler.yaml.swp": text,
        "etcd.yaml": text.replace(b"name: kube-scheduler", b"name: etcd"),
    }
    (finding,) = competing_findings(directory)
    assert (finding.code, finding.file) == ("M026", "kube-scheduler.yaml.bak")
    assert "runs kube-scheduler.yaml.bak" in finding.message


@pytest.mark.parametrize(
    ("name", "code"),
    [("mount-without-volume", "M007"), ("duplicate-mount-path", "M009"),
     ("upper-case-volume-name", "M006"), ("bool-as-string", "M004")],
)  # fmt: skip
def test_field_02_an_invalid_manifest_is_refused(name: str, code: str) -> None:
    data = (FIXTURES / "manifests/broken" / f"{name}.yaml").read_bytes()
    assert code in [finding.code for finding in validate(read_manifest(data, name))]


def test_field_03_a_misspelt_field_is_an_error_with_the_right_name() -> None:
    data = (FIXTURES / "manifests/broken/misspelt-field.yaml").read_bytes()
    (finding,) = [f for f in validate(read_manifest(data, "m")) if f.is_error]
    assert finding.code == "M003"
    assert "volumeMounts" in finding.hint


def test_field_04_files_are_written_under_a_dot_name_and_renamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    renamed: list[tuple[str, str]] = []
    rename = Path.replace

    def seen(self: Path, target: Path) -> Path:
        renamed.append((self.name, target.name))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", seen)
    write_plan(planned({"scheduler": {"args": {"v": "5"}}}), tmp_path)
    ((temporary, final),) = renamed
    assert temporary.startswith(".kube-scheduler.yaml.")
    assert final == "kube-scheduler.yaml"


def test_field_06_and_07_a_changed_config_changes_the_manifest() -> None:
    plans = [planned({"config": {"inline": {"parallelism": n}}}) for n in (8, 16)]
    first, second = (plan.generation for plan in plans)
    assert first is not None
    assert second is not None
    assert first.id != second.id
    assert f"{GENERATIONS}/{first.id}/" in plans[0].after
    assert plans[0].after != plans[1].after


def test_field_08_config_gets_the_kubeconfig_and_names_flags_without_effect() -> None:
    spec = {"config": {"inline": {}}, "scheduler": {"args": {"kube-api-qps": "100"}}}
    plan = planned(spec)
    assert plan.generation is not None
    content = plan.generation.files[0].file.content or b""
    assert b"kubeconfig: /etc/kubernetes/scheduler.conf" in content
    (finding,) = plan.findings
    assert finding.code == "C003"
    assert "--kube-api-qps=100" in finding.message


@pytest.mark.parametrize(
    ("minor", "version"),
    [(22, "v1beta2"), (23, "v1beta3"), (24, "v1beta3"), (25, "v1"), (28, "v1"), (36, "v1")],
)
def test_field_09_the_apiversion_is_chosen_by_the_minor(minor: int, version: str) -> None:
    plan = planned({"config": {"inline": {}}}, manifest(f"kubeadm/v1.{minor}.yaml"))
    assert plan.generation is not None
    content = plan.generation.files[0].file.content or b""
    assert content.startswith(f"apiVersion: kubescheduler.config.k8s.io/{version}\n".encode())


def test_field_09_lint_looks_ahead_before_an_upgrade() -> None:
    config = b"apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    today = lint_config(config, "c", None, KubeVersion(28))
    ahead = lint_config(config, "c", None, KubeVersion(29))
    assert [finding.code for finding in today] == ["C004"]
    assert [finding.code for finding in ahead] == ["C001"]
    command = "kschedpatch migrate -f c --to 1.29"
    assert ahead[0].hint == f"apiVersion: kubescheduler.config.k8s.io/v1; {command} rewrites it"
    assert "kschedpatch migrate -f c --to 1.28" in today[0].hint


@pytest.mark.parametrize(
    ("flag", "minor", "gone"),
    [("policy-config-file", 22, False), ("policy-config-file", 23, True), ("port", 23, False),
     ("port", 24, True), ("lock-object-name", 27, False), ("lock-object-name", 28, True),
     ("logtostderr", 25, False), ("logtostderr", 26, True)],
)  # fmt: skip
def test_field_10_removed_flags_are_refused(flag: str, minor: int, gone: bool) -> None:
    base = manifest(f"kubeadm/v1.{minor}.yaml")
    plan = planned({"scheduler": {"args": {flag: "0"}}}, base)
    assert ("M019" in codes(plan)) is gone


def test_field_11_an_unknown_plugin_is_an_error_for_the_stock_image() -> None:
    profiles = [{"plugins": {"score": {"enabled": [{"name": "NodeResourceFit"}]}}}]
    plan = planned({"config": {"inline": {"profiles": profiles}}})
    (finding,) = plan.findings
    assert finding.code == "C005"
    assert "NodeResourcesFit" in finding.hint
    own = {"config": {"inline": {"profiles": profiles}}, "scheduler": {"image": "own/x:v1.34.2"}}
    assert codes(planned(own)) == ["C035"]  # a note: the preflight asks the image


@pytest.mark.parametrize(
    ("lock", "last"), [("leases", 36), ("endpointsleases", 26), ("endpoints", 23), ("nonsense", 0)]
)
def test_field_12_locks_that_are_left(lock: str, last: int) -> None:
    text = f"leaderElection:\n  resourceLock: {lock}\n"
    for minor in (23, 24, 26, 27, 34, 36):
        assert ("C006" in config_codes(text, minor=minor)) is (minor > last)


@pytest.mark.parametrize(
    ("minor", "name", "namespace", "granted"),
    [(34, "my-scheduler", "kube-system", True), (30, "my-scheduler", "kube-system", False),
     (34, "my-scheduler", "gpu", False), (28, "kube-scheduler", "gpu", True)],
)  # fmt: skip
def test_field_13_another_lease_gets_its_rights(
    minor: int, name: str, namespace: str, granted: bool
) -> None:
    inline = {"leaderElection": {"resourceName": name, "resourceNamespace": namespace}}
    plan = planned({"config": {"inline": inline}}, manifest(f"kubeadm/v1.{minor}.yaml"))
    assert (plan.rbac == ()) is granted
    if not granted:
        role = plan.rbac[0].body
        assert role["metadata"]["namespace"] == namespace
        assert {"leases"} == {word for rule in role["rules"] for word in rule["resources"]}


def test_field_13_up_to_1_27_the_endpoints_of_that_name_too() -> None:
    inline = {"leaderElection": {"resourceName": "my-scheduler"}}
    plan = planned({"config": {"inline": inline}}, manifest("kubeadm/v1.27.yaml"))
    resources = {word for rule in plan.rbac[0].body["rules"] for word in rule["resources"]}
    assert resources == {"leases", "endpoints"}


@pytest.mark.parametrize(
    ("url", "is_service"),
    [("http://gpu-admission.kube-system:3456/scheduler", True),
     ("http://ext.gpu.svc:80", True), ("https://ext.gpu.svc.cluster.local/x", True),
     ("http://127.0.0.1:3456", False), ("http://[::1]:3456", False),
     ("http://extender.example.com", False), ("http://localhost:80", False)],
)  # fmt: skip
def test_field_15_a_service_name_sets_the_dns_policy(url: str, is_service: bool) -> None:
    plan = planned(extender(urlPrefix=url, ignorable=True))
    assert ("dnsPolicy: ClusterFirstWithHostNet" in plan.after) is is_service


def test_field_16_an_extender_that_can_block_everything_is_named() -> None:
    url = "http://127.0.0.1:3456"
    assert "C010" in codes(planned(extender(urlPrefix=url)))
    assert "C010" not in codes(planned(extender(urlPrefix=url, ignorable=True)))
    managed = [{"name": "nvidia.com/vcuda-core"}]
    assert "C010" not in codes(planned(extender(urlPrefix=url, managedResources=managed)))


@pytest.mark.parametrize(
    ("name", "code"),
    [("two-bind-verbs", "C007"), ("doubled-managed-resources", "C008"),
     ("different-queue-sort", "C009"), ("queue-sort-in-one-profile", "C009")],
)  # fmt: skip
def test_field_18_rules_across_extenders_and_profiles(name: str, code: str) -> None:
    data = (FIXTURES / "configs/bad" / f"{name}.yaml").read_bytes()
    findings = lint_config(data, name, None, KubeVersion(34))
    assert code in [finding.code for finding in findings]


def test_field_19_what_the_tool_brings_is_never_created_by_the_kubelet() -> None:
    spec: dict[str, Any] = {"config": {"inline": {}}}
    after = planned(spec).after
    base_types = manifest().text.count("OrCreate")
    assert after.count("OrCreate") == base_types
    assert "type: File\n" in after


@pytest.mark.parametrize("name", ["configmap-volume", "secret-env", "service-account"])
def test_field_22_api_objects_in_a_static_pod_are_refused_with_the_reason(name: str) -> None:
    data = (FIXTURES / "manifests/broken" / f"{name}.yaml").read_bytes()
    (finding,) = [f for f in validate(read_manifest(data, name)) if f.is_error]
    assert finding.code == "M013"
    assert "static pod" in finding.message
