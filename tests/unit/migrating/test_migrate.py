"""The command: texts on stdout, words on stderr, files replaced only when asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.unit.command_line import run

FIXTURES = Path(__file__).parents[3] / "fixtures"
CONFIGS = FIXTURES / "configs" / "migrate"
POLICY = FIXTURES / "policies" / "scheduler-policy-config.json"
WEIGHTS = CONFIGS / "v1beta2-weights.yaml"
PATCH = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: mine}\nspec:\n"


def copied(source: Path, directory: Path) -> Path:
    return Path(shutil.copy(source, directory))


def test_the_new_text_goes_to_stdout_and_the_reasons_to_stderr() -> None:
    ran = run("migrate", "-f", str(WEIGHTS), "--to", "1.35")
    assert ran.code == 0
    assert ran.out.startswith("# Written for 1.22")
    assert "apiVersion: kubescheduler.config.k8s.io/v1\n" in ran.out
    assert "images are everywhere here" in ran.out
    assert "the weights of v1beta2 are written out" in ran.err
    assert ran.out != WEIGHTS.read_text()


def test_a_diff_instead() -> None:
    ran = run("migrate", "-f", str(WEIGHTS), "--to", "v1.35.2", "--diff")
    assert "+apiVersion: kubescheduler.config.k8s.io/v1\n" in ran.out
    assert "-# Written" not in ran.out


def test_standard_input_and_a_document() -> None:
    ran = run("migrate", "-f", "-", "--to", "1.35", "-o", "json", stdin=WEIGHTS.read_bytes())
    document = json.loads(ran.out)
    assert (document["kind"], document["changed"]) == ("MigrateResult", True)
    assert document["files"][0]["text"].count("TaintToleration") == 2
    assert {finding["code"] for finding in document["findings"]} == {"U001"}


def test_write_replaces_the_file_and_keeps_its_mode(tmp_path: Path) -> None:
    path = copied(WEIGHTS, tmp_path)
    path.chmod(0o640)
    link = tmp_path / "link.yaml"
    link.symlink_to(path)
    ran = run("migrate", "-f", str(link), "--to", "1.35", "--write", "--backup")
    assert (ran.code, ran.out) == (0, f"{link}: rewritten (the old text: {link}.orig)\n")
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "link.yaml.orig").read_text() == WEIGHTS.read_text()
    assert "/v1\n" in path.read_text()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "link.yaml", "link.yaml.orig", "v1beta2-weights.yaml",
    ]  # fmt: skip
    again = run("migrate", "-f", str(link), "--to", "1.35", "--write")
    assert again.out == f"{link}: nothing to change\n"


def test_a_backup_is_never_overwritten(tmp_path: Path) -> None:
    path = copied(WEIGHTS, tmp_path)
    (tmp_path / f"{path.name}.orig").write_text("older")
    ran = run("migrate", "-f", str(path), "--to", "1.35", "--write", "--backup")
    assert ran.code == 2
    assert "exists already" in ran.err
    assert path.read_text() == WEIGHTS.read_text()


def test_without_a_successor_nothing_is_written(tmp_path: Path) -> None:
    path = copied(CONFIGS / "v1beta3-selectorspread.yaml", tmp_path)
    before = path.read_bytes()
    ran = run("migrate", "-f", str(path), "--to", "1.35", "--write")
    assert (ran.code, ran.out) == (2, "")
    assert "Nothing was written." in ran.err
    assert path.read_bytes() == before
    accepted = run("migrate", "-f", str(path), "--to", "1.35", "--write", "--accept-changes")
    assert accepted.code == 0
    assert b"SelectorSpread" not in path.read_bytes()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--to", "1.99"), "--to: Kubernetes 1.99 is not supported"),
        (("--to", "next"), "--to 'next' is no version"),
        (("--to", "1.35", "--from", "1.5"), "--from: Kubernetes 1.5 is not supported"),
        (("--to", "1.35", "--backup"), "--backup goes with --write"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], words: str) -> None:
    ran = run("migrate", "-f", str(WEIGHTS), *arguments)
    assert ran.code == 2
    assert words in ran.err


def test_other_kinds_are_refused() -> None:
    ran = run("migrate", "-f", str(FIXTURES / "manifests/kubeadm/v1.34.yaml"), "--to", "1.35")
    assert ran.code == 2
    assert "P013" in ran.err


def test_json_stays_json() -> None:
    ran = run("migrate", "-f", str(POLICY), "--to", "1.35")
    assert json.loads(ran.out)["kind"] == "KubeSchedulerConfiguration"


def test_a_policy_with_a_name_that_nobody_knows() -> None:
    names = FIXTURES / "policies" / "names-in-circulation.json"
    ran = run("migrate", "-f", str(names), "--to", "1.35")
    assert ran.code == 2
    assert "RequestedToCapacityRatioPriority" in ran.err
    assert "PodFitsHost is taken for HostName" in ran.err


# Patches.


def test_an_inline_configuration_is_changed_where_it_stands(tmp_path: Path) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text(
        PATCH
        + """\
  config:
    inline:   # ours
      apiVersion: kubescheduler.config.k8s.io/v1beta2
      profiles:
      - schedulerName: default-scheduler   # everybody's
  verify: {plugins: [NodeAffinity]}
"""
    )
    ran = run("migrate", "-f", str(path), "--to", "1.35", "--diff")
    assert ran.code == 0
    taken = [line for line in ran.out.splitlines() if line.startswith("-") and line[1] != "-"]
    assert taken == ["-      apiVersion: kubescheduler.config.k8s.io/v1beta2"]


def test_without_an_api_version_it_is_the_targets_unless_from_tells(tmp_path: Path) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text(PATCH + "  config: {inline: {profiles: [{schedulerName: a}]}}\n")
    ran = run("migrate", "-f", str(path), "--to", "1.35")
    assert (ran.code, ran.out) == (0, path.read_text())
    assert "U006" in ran.err
    told = run("migrate", "-f", str(path), "--to", "1.35", "--from", "1.22")
    assert "TaintToleration" in told.out
    assert "apiVersion: kubescheduler" not in told.out


def test_the_configuration_file_of_a_patch_is_rewritten_too(tmp_path: Path) -> None:
    copied(WEIGHTS, tmp_path)
    path = tmp_path / "patch.yaml"
    path.write_text(PATCH + "  config: {file: v1beta2-weights.yaml}\n")
    ran = run("migrate", "-f", str(path), "--to", "1.35", "--write")
    assert ran.out == f"{path}: nothing to change\nv1beta2-weights.yaml: rewritten\n"
    assert "/v1\n" in (tmp_path / "v1beta2-weights.yaml").read_text()


def test_flags_that_are_gone(tmp_path: Path) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text(
        PATCH
        + """\
  scheduler:
    args:
      v: "5"   # talk
      port: "0"
      logtostderr: "true"
      lock-object-name: mine
"""
    )
    ran = run("migrate", "-f", str(path), "--to", "1.35")
    assert (
        ran.out
        == PATCH
        + """\
  scheduler:
    args:
      v: "5"   # talk
      leader-elect-resource-name: mine
"""
    )
    kept = run("migrate", "-f", str(path), "--to", "1.22")
    assert kept.out == path.read_text()


def test_a_flag_that_said_something_has_to_be_given_up(tmp_path: Path) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text(PATCH + "  scheduler: {args: {log-dir: /var/log/scheduler}}\n")
    assert run("migrate", "-f", str(path), "--to", "1.25").code == 0
    ran = run("migrate", "-f", str(path), "--to", "1.26")
    assert ran.code == 2
    assert "1.26 has no flag log-dir" in ran.err


def test_the_policy_that_a_flag_names_becomes_the_configuration(tmp_path: Path) -> None:
    copied(POLICY, tmp_path)
    path = tmp_path / "patch.yaml"
    path.write_text(
        PATCH
        + f"""\
  scheduler:
    args:
      policy-config-file: /etc/kubernetes/policy.json
  # Read by the flag above.
  files:
  - {{source: {POLICY.name}, mountPath: /etc/kubernetes/policy.json}}
  mounts:
  - {{name: localtime, hostPath: /etc/localtime, type: File}}
"""
    )
    ran = run("migrate", "-f", str(path), "--to", "1.35")
    assert ran.code == 0, ran.err
    assert "policy" not in ran.out
    assert "urlPrefix: http://gpu-admission.kube-system:3456/scheduler" in ran.out
    assert "  - {name: localtime, hostPath: /etc/localtime, type: File}\n" in ran.out
    again = tmp_path / "again.yaml"
    again.write_text(ran.out)
    assert run("lint", "-f", str(again), "--kubernetes-version", "1.35").code == 0


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ("{policy-config-file: /etc/kubernetes/policy.json}", "fetch it from a node"),
        ("{policy-configmap: mine}", "kubectl -n kube-system get configmap mine"),
    ],
)
def test_a_policy_that_is_not_at_hand(tmp_path: Path, args: str, words: str) -> None:
    path = tmp_path / "patch.yaml"
    path.write_text(PATCH + f"  scheduler: {{args: {args}}}\n")
    ran = run("migrate", "-f", str(path), "--to", "1.35")
    assert ran.code == 2
    assert words in " ".join(ran.err.split())


# What lint says of a Policy.


@pytest.mark.parametrize(("version", "code"), [("1.22", 0), ("1.23", 2), ("1.35", 2)])
def test_lint_knows_what_a_policy_is_worth(version: str, code: int) -> None:
    ran = run("lint", "-f", str(POLICY), "--kubernetes-version", version)
    assert ran.code == code
    assert ("kschedpatch migrate -f" in ran.out) is (code == 2)
    unknown = run("lint", "-f", str(POLICY))
    assert unknown.code == 0
    assert "L010" in unknown.out
