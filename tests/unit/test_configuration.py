"""The scheduler configuration: completed for its target, and checked against what surrounds it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kschedpatch.core.kubeversions import (
    best_config_version,
    config_versions,
    image_is_stock,
    stock_plugins,
)
from kschedpatch.core.manifest.document import read_manifest
from kschedpatch.core.manifest.validate import validate
from kschedpatch.core.offline import lint_config
from kschedpatch.core.schedconfig.checks import Surroundings
from kschedpatch.core.schedconfig.complete import complete
from kschedpatch.core.schedconfig.election import seconds
from kschedpatch.core.schedconfig.judge import judge
from kschedpatch.core.schedconfig.read import read_config
from kschedpatch.model.kubeversion import KubeVersion, version_of_image

FIXTURES = Path(__file__).parents[2] / "fixtures"
CONFIGS = FIXTURES / "configs"
VERDICTS: dict[str, str] = json.loads((CONFIGS / "scheduler-verdicts.json").read_text("utf-8"))


def completed(text: str, kubeconfig: str, minor: int = 34) -> str:
    reading = read_config(text.encode(), "c.yaml")
    assert reading.config is not None
    return complete(reading.config, minor, kubeconfig)


def test_for_a_deployment_the_kubeconfig_stays_empty() -> None:
    text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    assert completed(text, kubeconfig="") == text
    assert "kubeconfig: /x" in completed(text, kubeconfig="/x")


def test_a_kubeconfig_of_the_users_is_kept() -> None:
    text = (
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        "clientConnection: {kubeconfig: /mine}\n"
    )
    assert completed(text, kubeconfig="/etc/kubernetes/scheduler.conf") == text


def test_the_apiversion_of_a_file_is_filled_in_without_moving_anything() -> None:
    text = "# mine\nkind: KubeSchedulerConfiguration # yes\nparallelism: 8"
    assert completed(text, kubeconfig="", minor=23) == (
        "# mine\napiVersion: kubescheduler.config.k8s.io/v1beta3\n"
        "kind: KubeSchedulerConfiguration # yes\nparallelism: 8"
    )


def test_in_1_22_one_address_is_filled_in_to_match_the_other() -> None:
    text = "kind: KubeSchedulerConfiguration\nmetricsBindAddress: 10.0.0.1:9\n"
    config = read_config(completed(text, kubeconfig="", minor=22).encode(), "c").config
    assert config is not None
    assert config.value["healthzBindAddress"] == "10.0.0.1:9"


@pytest.mark.parametrize(
    ("minor", "versions"),
    [(22, ("v1beta1", "v1beta2")), (23, ("v1beta2", "v1beta3")), (25, ("v1beta2", "v1beta3", "v1")),
     (27, ("v1beta2", "v1beta3", "v1")), (28, ("v1beta3", "v1")), (29, ("v1",)), (36, ("v1",))],
)  # fmt: skip
def test_versions_by_minor(minor: int, versions: tuple[str, ...]) -> None:
    assert config_versions(minor) == versions
    assert best_config_version(minor).endswith(f"/{versions[-1]}")


@pytest.mark.parametrize(
    ("minor", "count"),
    [(22, 28), (23, 22), (25, 22), (26, 24), (28, 24), (29, 23), (31, 23), (32, 19), (34, 19),
     (35, 21), (36, 23)],
)  # fmt: skip
def test_the_number_of_stock_plugins(minor: int, count: int) -> None:
    assert len(stock_plugins(minor)) == count


@pytest.mark.parametrize(
    ("image", "version", "stock"),
    [("registry.k8s.io/kube-scheduler:v1.34.2", "1.34.2", True),
     ("registry.internal:5000/mirror/kube-scheduler:v1.34.2-1", "1.34.2", False),
     ("registry.internal:5000/kube-scheduler", "None", False),
     ("own/gpumps:latest", "None", False),
     ("own/gpumps:v1.34.2@sha256:" + "a" * 64, "1.34.2", False),
     ("own/scheduler-plugins:v0.30.6", "None", False)],
)  # fmt: skip
def test_what_an_image_tells(image: str, version: str, stock: bool) -> None:
    assert str(version_of_image(image)) == version
    assert image_is_stock(image) is stock


@pytest.mark.parametrize(
    ("text", "value"),
    [("15s", 15), ("1m30s", 90), ("200ms", 0.2), ("1.5h", 5400), ("15", None), ("", None),
     ("15 s", None), (15, None)],
)  # fmt: skip
def test_durations(text: object, value: float | None) -> None:
    assert seconds(text) == value


GOOD = sorted((CONFIGS / "good").glob("*.yaml"))


@pytest.mark.parametrize("path", GOOD, ids=lambda p: p.stem)
def test_good_configurations_are_no_errors_for_their_version(path: Path) -> None:
    minor = 22 if "1.22" in path.name else 23 if "v1beta3" in path.name else 34
    findings = lint_config(path.read_bytes(), path.name, None, KubeVersion(minor))
    assert [finding for finding in findings if finding.is_error] == []


NAMED = {
    "args-out-of-range": "C030",
    "args-unknown-field": "C021",
    "args-wrong-plugin": "C031",
    "backoff-reversed": "C028",
    "different-queue-sort": "C009",
    "duplicate-plugin-config": "C032",
    "duplicate-profile": "C029",
    "duration-number": "C018",
    "doubled-managed-resources": "C008",
    "duplicate-key": "Y008",
    "empty": "Y014",
    "extender-blocks-all": "C010",
    "extender-https-without-ca": "C039",
    "extender-native-resource": "C033",
    "extender-no-verb": "C011",
    "extender-policy-spelling": "C021",
    "extender-prioritize-without-weight": "C033",
    "gpu-admission-lease-case": "C021",
    "gpu-admission-lease-duration": "C017",
    "health-bind-address": "C021",
    "gpu-admission-as-written": "C005",
    "gpu-admission-unknown-plugin": "C005",
    "missing-api-version": "C002",
    "missing-kind": "C002",
    "misspelt-field": "C021",
    "multipoint-all-disabled": "C025",
    "nameless-profile": "C029",
    "no-bind-plugin": "C026",
    "no-default-profile": "C015",
    "pre-filter-starved": "C038",
    "queue-sort-in-one-profile": "C009",
    "removed-plugin": "C027",
    "resource-lock-endpoints": "C006",
    "retry-not-below-renew": "C041",
    "score-percentage": "C028",
    "tab-indentation": "Y007",
    "two-bind-verbs": "C007",
    "two-documents": "Y013",
    "unknown-plugin": "C005",
    "unknown-plugin-disabled": "C034",
    "v1beta2": "C001",
    "v1beta3": "C001",
    "weight-as-string": "C018",
    "wrong-point": "C023",
}


@pytest.mark.parametrize(("name", "code"), NAMED.items(), ids=NAMED)
def test_bad_configurations_are_named(name: str, code: str) -> None:
    data = (CONFIGS / "bad" / f"{name}.yaml").read_bytes()
    manifest = read_manifest((FIXTURES / "manifests/kubeadm/v1.34.yaml").read_bytes(), "m").manifest
    findings = lint_config(data, name, manifest, None)
    assert code in [finding.code for finding in findings]


def test_leader_election_of_the_command_line_wins() -> None:
    """The write-up's durations pass alone and fail beside kubeadm's --leader-elect=true."""
    data = (CONFIGS / "bad" / "gpu-admission-lease-duration.yaml").read_bytes()
    manifest = read_manifest((FIXTURES / "manifests/kubeadm/v1.34.yaml").read_bytes(), "m").manifest
    alone = lint_config(data, "c", None, KubeVersion(34))
    beside = lint_config(data, "c", manifest, None)
    assert "C017" not in [finding.code for finding in alone]
    assert {"C014", "C017"} <= {finding.code for finding in beside}


def test_a_retry_period_that_only_the_elector_refuses_is_found_in_flags_too() -> None:
    """kube-scheduler takes it with --write-config-to, and ends with it at run time."""
    text = (FIXTURES / "manifests/kubeadm/v1.34.yaml").read_text()
    slow = text.replace(
        "    - --leader-elect=true\n",
        "    - --leader-elect=true\n    - --leader-elect-retry-period=9s\n",
    )
    [found] = validate(read_manifest(slow.encode(), "m"))
    assert (found.code, found.is_error) == ("C041", True)
    assert "renewDeadline (10 s) must exceed 1.2 × retryPeriod (9 s)" in found.message
    assert validate(read_manifest(slow.replace("=9s", "=8s").encode(), "m")) == ()
    off = slow.replace("--leader-elect=true", "--leader-elect=false")
    assert validate(read_manifest(off.encode(), "m")) == ()


def test_a_kubeconfig_elsewhere_needs_a_mount() -> None:
    data = (CONFIGS / "bad" / "kubeconfig-elsewhere.yaml").read_bytes()
    manifest = read_manifest((FIXTURES / "manifests/kubeadm/v1.34.yaml").read_bytes(), "m").manifest
    assert "C013" in [finding.code for finding in lint_config(data, "c", manifest, None)]


def test_lint_says_what_the_real_scheduler_says() -> None:
    """kube-scheduler 1.34 with every fixture. What it lacks in that run, and lint can't know, are
    files; what only lint finds are a second document and durations that end the elector."""
    no_file = ("no configuration has been provided", "no such file or directory")
    for name, verdict in VERDICTS.items():
        around = Surroundings(34, stock_image=True)
        errors = {f.code for f in judge((CONFIGS / name).read_bytes(), name, around) if f.is_error}
        refused = bool(verdict) and not any(text in verdict for text in no_file)
        assert bool(errors - {"C041", "Y013"}) is refused, (name, errors, verdict)
