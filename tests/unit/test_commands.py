"""lint, render, recipes, init, schema as a user meets them."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from kschedpatch import __version__
from tests.unit.command_line import run

ROOT = Path(__file__).parents[2]
MANIFESTS = ROOT / "fixtures" / "manifests"
KUBEADM = str(MANIFESTS / "kubeadm" / "v1.34.yaml")
PATCH = """\
apiVersion: kschedpatch.io/v1
kind: SchedulerPatch
metadata: {name: mine}
spec:
  scheduler: {args: {v: "5"}}
  config: {inline: {parallelism: 8}}
  rbac: {rules: [{apiGroups: [example.com], resources: [jobs], verbs: [get]}]}
"""


@pytest.fixture
def patch_file(tmp_path: Path) -> str:
    path = tmp_path / "patch.yaml"
    path.write_text(PATCH)
    return str(path)


def test_help_and_version() -> None:
    assert "lint" in run("--help").out
    assert run("--version").out == f"kschedpatch {__version__}\n"
    assert run("render", "-h").code == 0


def test_as_a_kubectl_plugin_it_names_itself_so() -> None:
    assert run("lint", "--nope", program="kubectl-schedpatch").err.endswith(
        "Try 'kubectl schedpatch lint -h' for help.\n"
    )


def test_lint_of_a_good_patch(patch_file: str) -> None:
    ran = run("lint", "-f", patch_file, "--manifest", KUBEADM)
    assert (ran.code, ran.out, ran.err) == (0, "ok: nothing found\n", "")


def test_lint_of_a_bad_patch_says_where_and_exits_2(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(PATCH.replace("inline", "inlne"))
    ran = run("lint", "-f", str(path))
    assert ran.code == 2
    assert f"{path}:6:12: error P001" in ran.out
    assert "did you mean inline?" in ran.out
    assert ran.out.endswith("2 errors\n")


def test_lint_goes_by_the_kind() -> None:
    config = "apiVersion: kubescheduler.config.k8s.io/v1beta3\nkind: KubeSchedulerConfiguration\n"
    ran = run("lint", "-f", "-", "--kubernetes-version", "v1.34.2", stdin=config.encode())
    assert ran.code == 2
    assert "standard input:1:13: error C001" in ran.out
    manifest = (MANIFESTS / "broken" / "misspelt-field.yaml").read_bytes()
    assert "error M003" in run("lint", "-f", "-", stdin=manifest).out
    assert "SchedulerPatch" in run("lint", "-f", "-", stdin=b"kind: Deployment\n").out
    assert "error Y014" in run("lint", "-f", "-", stdin=b"# nothing\n").out


def test_lint_of_a_manifests_directory(tmp_path: Path) -> None:
    text = Path(KUBEADM).read_text("utf-8")
    (tmp_path / "kube-scheduler.yaml").write_text(text)
    assert run("lint", "-f", str(tmp_path)).code == 0
    (tmp_path / "kube-scheduler.yaml.orig").write_text(text)
    ran = run("lint", "-f", str(tmp_path))
    assert ran.code == 2
    assert "kube-scheduler.yaml.orig: error M026" in ran.out


def test_lint_as_json_and_yaml_say_the_same(patch_file: str) -> None:
    arguments = ("lint", "-f", patch_file, "--arg", "profiling=false", "--manifest", KUBEADM)
    document = json.loads(run(*arguments, "-o", "json").out)
    assert YAML(typ="safe", pure=True).load(run(*arguments, "-o", "yaml").out) == document
    assert document["apiVersion"] == "kschedpatch.io/v1"
    assert document["kind"] == "LintResult"
    assert (document["exitCode"], document["changed"]) == (0, False)
    (finding,) = document["findings"]
    assert set(finding) == {
        "code", "severity", "message", "file", "line", "column", "path", "hint",
    }  # fmt: skip
    assert finding["code"] == "C003"


def test_render_shows_a_diff_and_everything_new(patch_file: str) -> None:
    ran = run("render", "-f", patch_file, "--manifest", KUBEADM)
    assert (ran.code, ran.err) == (0, "")
    assert "\n+    - --v=5\n" in ran.out
    assert "\n+parallelism: 8\n" in ran.out
    assert "+++ RBAC: ClusterRole kschedpatch:mine (from rbac.rules)" in ran.out
    assert "\x1b" not in ran.out


def test_render_as_json_holds_the_bytes(patch_file: str) -> None:
    document = json.loads(run("render", "-f", patch_file, "--manifest", KUBEADM, "-o", "json").out)
    assert document["changed"] is True
    assert document["manifest"].startswith("apiVersion: v1\n")
    assert document["generation"]["files"][0]["name"] == "scheduler-config.yaml"
    assert [body["kind"] for body in document["rbac"]] == ["ClusterRole", "ClusterRoleBinding"]


def test_render_into_a_directory(patch_file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    ran = run("render", "-f", patch_file, "--manifest", KUBEADM, "--out", str(out))
    assert ran.code == 0
    written = sorted(str(p.relative_to(out)) for p in out.rglob("*") if p.is_file())
    generation = next((out / "generations").iterdir()).name
    assert written == [
        f"generations/{generation}/scheduler-config.yaml", "kube-scheduler.yaml", "rbac.yaml",
    ]  # fmt: skip
    assert ran.out.splitlines()[-1] == str(out / "kube-scheduler.yaml")
    mode = stat.S_IMODE((out / "kube-scheduler.yaml").stat().st_mode)
    assert mode == 0o600
    again = run("render", "-f", patch_file, "--manifest", KUBEADM, "--out", str(out))
    assert again.code == 2
    assert "is not empty" in again.err
    forced = run("render", "-f", patch_file, "--manifest", KUBEADM, "--out", str(out), "--force")
    assert forced.code == 0


def test_a_patched_manifest_needs_its_base(patch_file: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run("render", "-f", patch_file, "--manifest", KUBEADM, "--out", str(out))
    patched = str(out / "kube-scheduler.yaml")
    refused = run("render", "-f", patch_file, "--manifest", patched)
    assert refused.code == 2
    assert "error M024" in refused.err
    assert "--base" in refused.err
    other = str(MANIFESTS / "kubeadm" / "v1.33.yaml")
    wrong = run("render", "-f", patch_file, "--manifest", patched, "--base", other)
    assert wrong.code == 2
    assert "error M025" in wrong.err
    right = ("render", "-f", patch_file, "--manifest", patched, "--base", KUBEADM, "-o", "json")
    document = json.loads(run(*right).out)
    assert document["manifest"] == Path(patched).read_text("utf-8")


def test_errors_write_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    broken = str(MANIFESTS / "broken" / "misspelt-field.yaml")
    ran = run("render", "--arg", "v=5", "--manifest", broken, "--out", str(out))
    assert ran.code == 2
    assert "Nothing was written." in ran.err
    assert not out.exists()
    assert ran.out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["render", "--manifest", KUBEADM], "nothing to work on"),
        (["render", "-f", "a", "--recipe", "b", "--manifest", KUBEADM], "exclude each other"),
        (["render", "--recipe", "gpump", "--manifest", KUBEADM], "did you mean gpumps"),
        (["render", "-f", "nowhere.yaml", "--manifest", KUBEADM], "there is no such file"),
        (["render", "--arg", "v=5", "--manifest", "nowhere.yaml"], "there is no such file"),
        (["render", "--arg", "v=5"], "--manifest"),
        (["lint"], "nothing to work on"),
        (["lint", "-f", KUBEADM, "--kubernetes-version", "newest"], "no version"),
        (["lint", "--recipe", "gpumps", "--kubernetes-version", "1.99"], "V001"),
        (["init", "nosuch"], "there is no recipe"),
        (["lintt"], "No such command"),
        (["render", "-f", "-", "--manifest", "-"], "standard input"),
    ],
)
def test_wrong_usage_exits_2_with_words(arguments: list[str], words: str) -> None:
    ran = run(*arguments)
    assert ran.code == 2
    assert words in ran.out + ran.err


def test_an_exception_is_exit_code_70_and_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise RuntimeError("boom \x1b[2J")

    monkeypatch.setattr("kschedpatch.inputs.recipes.all_recipes", broken)
    ran = run("recipes")
    assert ran.code == 70
    assert "internal error" in ran.err
    assert "Traceback" not in ran.err
    assert "\x1b" not in ran.err


def test_ctrl_c_is_exit_code_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("kschedpatch.inputs.recipes.all_recipes", interrupted)
    assert run("recipes").code == 130


def test_schema_is_valid_and_takes_the_example() -> None:
    schema = json.loads(run("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    value = YAML(typ="safe", pure=True).load(PATCH)
    jsonschema.validate(value, schema)
    value["spec"]["confg"] = {}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema)
