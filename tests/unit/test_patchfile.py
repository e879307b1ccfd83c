"""The patch file: every mistake at once, each with line, column and a way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.patchfile import read_patch
from kschedpatch.inputs.quickflags import QuickFlags, override, patch_from_flags
from kschedpatch.inputs.references import read_references
from kschedpatch.model.patch import SchedulerPatch

HEAD = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: x}\nspec:\n"


def problems(spec: str, head: str = HEAD) -> list[tuple[str, int, int]]:
    reading = read_patch((head + spec).encode(), "p.yaml")
    assert reading.patch is None
    return [(finding.code, finding.line, finding.column) for finding in reading.findings]


def patch(spec: str) -> SchedulerPatch:
    reading = read_patch((HEAD + spec).encode(), "p.yaml")
    assert reading.patch is not None, reading.findings
    return reading.patch


# spec → (code, line, column) of the findings; the spec starts in line 5
WRONG = {
    "unknown key": ("  confg: {}\n", [("P001", 5, 3)]),
    "unknown key deep down": ("  scheduler:\n    imge: a\n", [("P001", 6, 5)]),
    "unknown key in a list": (
        "  mounts:\n  - {name: a, hostpath: /a}\n",
        [("P002", 6, 5), ("P001", 6, 15)],
    ),
    "missing key": ("  files:\n  - source: a\n", [("P002", 6, 5)]),
    "mode without quotes": (
        "  files:\n  - source: a\n    mountPath: /a\n    mode: 0644\n",
        [("P003", 8, 11)],
    ),
    "mode of nonsense": (
        "  files:\n  - {source: a, mountPath: /a, mode: rwx}\n",
        [("P004", 6, 38)],
    ),
    "number as a flag's value": ("  scheduler: {args: {v: 5}}\n", [("P003", 5, 25)]),
    "yes as a flag's value": ("  scheduler: {args: {profiling: no}}\n", [("P003", 5, 33)]),
    "text for a boolean": ('  rbac: {manage: "false"}\n', [("P003", 5, 18)]),
    "mapping for a list": ("  mounts: {a: b}\n", [("P003", 5, 11)]),
    "image and binary": ("  scheduler: {image: a, binary: b}\n", [("P005", 5, 22)]),
    "config inline and file": ("  config: {inline: {}, file: a}\n", [("P005", 5, 11)]),
    "config without anything": ("  config: {}\n", [("P002", 5, 11)]),
    "config and its flag": (
        "  config: {inline: {}}\n  scheduler: {args: {config: /x}}\n",
        [("P005", 6, 30)],
    ),
    "two targets": ("  target: {staticPod: kube-scheduler, deployment: a/b}\n", [("P005", 5, 11)]),
    "target without a namespace": ("  target: {deployment: x}\n", [("P004", 5, 24)]),
    "target with another name": ("  target: {newDeployment: a/B}\n", [("P004", 5, 27)]),
    "binary for a Deployment": (
        "  target: {deployment: a/b}\n  scheduler: {binary: b}\n",
        [("P014", 6, 23)],
    ),
    "archive for a new Deployment": (
        "  target: {newDeployment: a/b}\n  scheduler: {imageArchive: b}\n",
        [("P014", 6, 29)],
    ),
    "replicas of a static pod": ("  scheduler: {replicas: 2}\n", [("P014", 5, 25)]),
    "replicas of somebody's Deployment": (
        "  target: {deployment: a/b}\n  scheduler: {replicas: 2}\n",
        [("P014", 6, 25)],
    ),
    "too many replicas": (
        "  target: {newDeployment: a/b}\n  scheduler: {replicas: 10}\n",
        [("P004", 6, 25)],
    ),
    "the stock scheduler's name": (
        "  target: {newDeployment: kube-system/kube-scheduler}\n",
        [("P015", 5, 27)],
    ),
    "volume twice": (
        "  mounts:\n  - {name: a, hostPath: /a}\n  - {name: a, hostPath: /b}\n",
        [("P007", 7, 12)],
    ),
    "path twice": (
        "  mounts:\n  - {name: a, hostPath: /a}\n  - {name: b, hostPath: /a}\n",
        [("P007", 7, 25)],
    ),
    "relative host path": ("  mounts: [{name: a, hostPath: a/b}]\n", [("P004", 5, 32)]),
    "host path upwards": ("  mounts: [{name: a, hostPath: /a/../b}]\n", [("P004", 5, 32)]),
    "shell in a name": ("  mounts: [{name: 'a;$(x)', hostPath: /a}]\n", [("P004", 5, 19)]),
    "line break in a path": ('  mounts: [{name: a, hostPath: "/a\\nb"}]\n', [("P004", 5, 32)]),
    "escape sequence in a value": ('  scheduler: {args: {v: "\\e[2J"}}\n', [("P004", 5, 25)]),
    "NUL in a path": ('  objects: ["a\\0b"]\n', [("P004", 5, 13)]),
    "flag with dashes": ("  scheduler: {args: {--v: '5'}}\n", [("P004", 5, 22)]),
    "unknown hostPath type": (
        "  mounts: [{name: a, hostPath: /a, type: dir}]\n",
        [("P004", 5, 42)],
    ),
    "several at once": (
        "  scheduler: {imge: a}\n  mounts: [{name: A, hostPath: /a}]\n  x: 1\n",
        [("P001", 5, 15), ("P004", 6, 19), ("P001", 7, 3)],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), WRONG.values(), ids=WRONG)
def test_mistakes_have_their_place(spec: str, expected: list[tuple[str, int, int]]) -> None:
    assert sorted(problems(spec)) == sorted(expected)


def test_the_nearest_key_is_named() -> None:
    (finding,) = read_patch((HEAD + "  scheduler: {imageArchiv: a}\n").encode(), "p.yaml").findings
    assert finding.hint == "did you mean imageArchive?"
    assert finding.path == "spec.scheduler.imageArchiv"
    assert finding.file == "p.yaml"


def test_the_mode_hint_says_why() -> None:
    text = HEAD + "  files: [{source: a, mountPath: /a, mode: 0644}]\n"
    (finding,) = read_patch(text.encode(), "p.yaml").findings
    assert "420" in finding.message
    assert '"0644"' in finding.hint


@pytest.mark.parametrize(
    "head", ["apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n", "metadata: {name: x}\n"]
)
def test_another_kind_of_file(head: str) -> None:
    assert {code for code, _, _ in problems("", head)} >= {"P008"}


def test_relative_paths_start_at_the_patch_file(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "policy.json").write_text("{}")
    reading = read_patch(
        (HEAD + "  files: [{source: ./sub/policy.json, mountPath: /a}]\n").encode(), "p.yaml"
    )
    assert reading.patch is not None
    found = read_references(reading.patch, reading.places, tmp_path)
    assert found.findings == ()
    assert found.sources["./sub/policy.json"].content == b"{}"
    (missing,) = read_references(reading.patch, reading.places, tmp_path / "sub").findings
    assert (missing.code, missing.line, missing.column) == ("P006", 5, 20)


def test_missing_files_are_told_beside_wrong_keys(tmp_path: Path) -> None:
    text = HEAD + "  confg: {}\n  objects: [./gone.yaml]\n  rbac: {manifests: [./gone-too.yaml]}\n"
    loaded = load_patch(NamedText("p.yaml", text.encode(), tmp_path), QuickFlags())
    assert loaded.given is None
    found = sorted((finding.code, finding.line) for finding in loaded.findings)
    assert found == [("P001", 5), ("P006", 6), ("P006", 7)]


FLAGS = QuickFlags(
    image="registry.internal/own:v1.34.2",
    mounts=("/etc/localtime", "/opt/data:/data:rw"),
    device_plugins=True,
    args=("v=5", "--feature-gates=A=true"),
)


def test_flags_build_the_same_value_as_a_file() -> None:
    built, findings = patch_from_flags(FLAGS)
    assert findings == ()
    written = patch(
        """\
  scheduler:
    image: registry.internal/own:v1.34.2
    args: {v: "5", feature-gates: A=true}
  mounts:
  - {name: device-plugin-sock, hostPath: /var/lib/kubelet/device-plugins, type: Directory}
  - {name: kschedpatch-etc-localtime, hostPath: /etc/localtime}
  - {name: kschedpatch-data, hostPath: /opt/data, mountPath: /data, readOnly: false}
"""
    )
    assert built is not None
    assert built.spec == written.spec


def test_flags_override_a_file() -> None:
    file = patch(
        """\
  scheduler: {binary: ./kube-scheduler, args: {v: "2", profiling: "false"}}
  config: {inline: {}, mountPath: /etc/kubernetes/x.yaml, name: x}
  mounts: [{name: a, hostPath: /a, mountPath: /data}, {name: b, hostPath: /b}]
"""
    )
    flags, _ = patch_from_flags(FLAGS._replace(config="own.yaml"))
    assert flags is not None
    spec = override(file, flags).spec
    assert spec.scheduler.image == "registry.internal/own:v1.34.2"
    assert spec.scheduler.binary is None
    assert spec.scheduler.args == {"v": "5", "profiling": "false", "feature-gates": "A=true"}
    assert spec.config is not None
    assert spec.config.inline is None
    assert spec.config.file == str(Path.cwd() / "own.yaml")
    assert spec.config.mount_path == "/etc/kubernetes/x.yaml"
    assert [mount.host_path for mount in spec.mounts] == [
        "/b", "/var/lib/kubelet/device-plugins", "/etc/localtime", "/opt/data",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("flags", "code"),
    [({"mounts": ("relative",)}, "P004"), ({"mounts": ("/a:/b:/c",)}, "P004"),
     ({"mounts": ("/a::ro",)}, "P004"), ({"args": ("v",)}, "P004"),
     ({"image": "a b"}, "P004"), ({"image": "a", "binary": "b"}, "P005")],
)  # fmt: skip
def test_wrong_flags(flags: dict[str, Any], code: str) -> None:
    built, findings = patch_from_flags(QuickFlags(**flags))
    assert built is None
    assert code in [finding.code for finding in findings]
    assert all(finding.file == "command line" for finding in findings)
