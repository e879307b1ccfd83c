"""lint, render, export, recipes, init, schema as a user meets them."""

from __future__ import annotations

import io
import json
import stat
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from ruamel.yaml import YAML

from kschedpatch import __version__
from kschedpatch.report.plans import coloured
from kschedpatch.report.terminal import Paint, paint_for
from tests.artefacts import docker_members, oci_members, program, write_tar
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
    assert "migrate -f FILE --to 1.34" in " ".join(ran.out.split())
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


def test_export_offline(patch_file: str, tmp_path: Path) -> None:
    out = tmp_path / "kubeadm"
    words = ("export", "-f", patch_file, "--manifest", KUBEADM, "--out", str(out))
    ran = run(*words)
    assert (ran.code, ran.err) == (0, "")
    names = ["cluster-configuration.yaml", "README.md"]
    names.insert(1, "patches/kube-scheduler50-kschedpatch+strategic.yaml")
    assert ran.out.splitlines() == [str(out / name) for name in names]
    scheduler = YAML(typ="safe").load((out / names[0]).read_text())["scheduler"]
    assert {"name": "v", "value": "5"} in scheduler["extraArgs"]
    again = run(*words)
    assert again.code == 2
    assert "is not empty" in again.err
    document = json.loads(run(*words, "--force", "-o", "json").out)
    assert set(document["files"]) == set(names)


def test_export_of_what_can_t_be_planned_writes_nothing(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text(PATCH.replace("parallelism: 8", "parallelism: -8"))
    out = tmp_path / "kubeadm"
    ran = run("export", "-f", str(bad), "--manifest", KUBEADM, "--out", str(out))
    assert ran.code == 2
    assert "Nothing was written." in ran.err
    assert not out.exists()


@pytest.mark.parametrize(
    "words, told",
    [
        (("cp1", "--manifest", KUBEADM), "either a node or --manifest"),
        (("cp1", "--kubernetes-version", "1.34"), "go with --manifest"),
    ],
)
def test_export_by_a_node_or_offline(
    patch_file: str, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    ran = run("export", "-f", patch_file, *words, "--out", str(tmp_path / "out"))
    assert ran.code == 2
    assert told in ran.err


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


def test_the_diff_is_against_what_stands_there(patch_file: str, tmp_path: Path) -> None:
    run("render", "-f", patch_file, "--manifest", KUBEADM, "--out", str(tmp_path / "a"))
    patched = str(tmp_path / "a" / "kube-scheduler.yaml")
    arguments = ("--manifest", patched, "--base", KUBEADM)
    assert "\n-" not in run("render", "-f", patch_file, *arguments).out
    empty = tmp_path / "empty.yaml"
    empty.write_text("apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: x}\n")
    back = json.loads(run("render", "-f", str(empty), *arguments, "-o", "json").out)
    assert back["changed"] is True
    assert back["manifest"] == Path(KUBEADM).read_text("utf-8")
    assert "\n-    - --v=5\n" in run("render", "-f", str(empty), *arguments).out


def test_a_terminal_gets_a_coloured_diff() -> None:
    paint = Paint(enabled=True)
    lines = [coloured(line, paint) for line in ("+a", "-b", " c", "@@ 1 @@")]
    assert lines == ["\x1b[32m+a\x1b[0m", "\x1b[31m-b\x1b[0m", " c", "\x1b[36m@@ 1 @@\x1b[0m"]


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colours_only_where_they_are_wanted(environment: dict[str, str], wanted: bool) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    assert paint_for(Terminal(), environment).enabled is wanted
    assert paint_for(io.StringIO(), environment).enabled is False


def test_help_loads_no_heavy_library() -> None:
    script = (
        "import sys; sys.argv = ['kschedpatch', '--help']\n"
        "from kschedpatch.cli.entry import main\n"
        "try: main()\nexcept SystemExit: pass\n"
        "print([m for m in ('paramiko', 'ruamel.yaml', 'rich', 'pydantic') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


ARCHIVES = {"docker save": docker_members(), "OCI layout": oci_members()}


@pytest.mark.parametrize("members", ARCHIVES.values(), ids=ARCHIVES)
def test_the_image_of_an_archive(members: dict[str, bytes], tmp_path: Path) -> None:
    path = write_tar(tmp_path / "image.tar", members)
    ran = run("render", "--image-archive", str(path), "--manifest", KUBEADM)
    assert ran.code == 0
    assert "\n+    image: registry.internal/own:v1.34.2\n" in ran.out


def test_a_binary_must_be_a_program(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("hello")
    (tmp_path / "kube-scheduler").write_bytes(program())
    refused = run("render", "--binary", str(tmp_path / "notes"), "--manifest", KUBEADM)
    assert refused.code == 2
    assert "is no Linux program" in " ".join(refused.err.split())
    out = str(tmp_path / "out")
    arguments = ("--binary", str(tmp_path / "kube-scheduler"), "--manifest", KUBEADM)
    assert run("render", *arguments, "--out", out).code == 0
    (staged,) = (tmp_path / "out" / "generations").rglob("kube-scheduler")
    assert staged.read_bytes() == program()
    assert stat.S_IMODE(staged.stat().st_mode) == 0o755


def test_a_broken_manifest_does_not_hide_the_mistakes_of_the_patch(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(PATCH.replace("inline", "inlne"))
    missing = run("lint", "-f", str(path), "--manifest", "nowhere.yaml")
    assert "error P001" in missing.out
    assert "nowhere.yaml: error P006" in missing.out


def test_a_file_that_came_with_a_flag_is_not_blamed_on_the_patch(patch_file: str) -> None:
    ran = run("lint", "-f", patch_file, "--rbac", "/nope.yaml")
    assert ran.code == 2
    assert "command line: error P006" in ran.out


def test_errors_write_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    broken = str(MANIFESTS / "broken" / "misspelt-field.yaml")
    ran = run("render", "--arg", "v=5", "--manifest", broken, "--out", str(out))
    assert ran.code == 2
    assert "Nothing was written." in ran.err
    assert not out.exists()
    assert ran.out == ""
    document = json.loads(run("render", "--arg", "v=5", "--manifest", broken, "-o", "json").out)
    assert (document["exitCode"], document["changed"]) == (2, False)
    assert "manifest" not in document


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
    ran = run("recipes")
    assert (ran.code, ran.err) == (130, "Interrupted before it was done.\n")


def test_schema_is_valid_and_takes_the_example() -> None:
    schema = json.loads(run("schema").out)
    jsonschema.Draft202012Validator.check_schema(schema)
    value = YAML(typ="safe", pure=True).load(PATCH)
    jsonschema.validate(value, schema)
    value["spec"]["confg"] = {}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(value, schema)
