"""What `objects` may hold, as far as the files alone tell; and which run made a state."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedpatch.core.clusterobjects import object_files
from kschedpatch.core.fleet.rollbacks import NoTarget, Wanted, wanted_of
from kschedpatch.core.offline import lint_patch
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.loading import load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model.revision import Revision
from tests.unit.fleet.nodes import Node, node

HEAD = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: trial}\n"
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n"


def given(tmp_path: Path, *files: str) -> PatchInput:
    names = []
    for number, text in enumerate(files):
        names.append(f"./{number}.yaml")
        (tmp_path / f"{number}.yaml").write_text(text)
    text = f"{HEAD}spec: {{objects: [{', '.join(names)}]}}\n"
    loaded = load_patch(NamedText("patch.yaml", text.encode(), tmp_path), QuickFlags()).given
    assert loaded is not None
    return loaded


def test_a_list_counts_as_what_it_holds(tmp_path: Path) -> None:
    items = "".join(
        f"- {{apiVersion: v1, kind: ConfigMap, metadata: {{name: {name}}}}}\n" for name in "ab"
    )
    read = object_files(given(tmp_path, f"apiVersion: v1\nkind: List\nitems:\n{items}"))
    assert [item.title for item in read.objects] == ["ConfigMap a", "ConfigMap b"]
    assert read.findings == ()


@pytest.mark.parametrize(
    "text, words",
    [
        ("apiVersion: v1\nkind: Pod\nmetadata: {generateName: x-}\n", "generateName makes another"),
        (
            "apiVersion: v1\nkind: ConfigMapList\nmetadata: {name: x}\nitems: []\n",
            "can't be applied",
        ),
        ("apiVersion: v1\nkind: List\nitems: [{kind: Pod}]\n", "needs apiVersion and kind"),
        ("apiVersion: v1\nkind: Pod\nmetadata: {name: x, labels: [a]}\n", "labels is no mapping"),
    ],
)
def test_what_can_t_be_applied_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    (problem,) = object_files(given(tmp_path, text)).findings
    assert (problem.code, problem.is_error, words in problem.message) == ("P004", True, True)


@pytest.mark.parametrize("other, doubled", [("kube-system", True), ("default", False)])
def test_one_object_twice_is_refused(tmp_path: Path, other: str, doubled: bool) -> None:
    patch = given(tmp_path, CONFIG % ("x", "kube-system"), CONFIG % ("x", other))
    findings = [f for f in lint_patch(patch, None, None) if f.is_error]
    assert [f.code for f in findings] == ["P004"] * doubled
    assert all("also in ./0.yaml" in f.message for f in findings)


def at(patched: Node, *runs: tuple[str, str, bool]) -> Node:
    """Newest last: (id, kind, whether the manifest changed with it)."""
    now = patched.facts.manifest.sha256 if patched.facts.manifest else ""
    revisions = [
        Revision(
            run,
            kind,
            0,
            "",
            "",
            "trial",
            "0" * 64 if changed else now,
            now,
            "confirmed",
            "",
            "settled",
        )
        for run, kind, changed in runs
    ]
    return patched.but(revisions=tuple(reversed(revisions)))


@pytest.mark.parametrize(
    "runs, made, only_objects",
    [
        ([("1", "apply", True)], "1", False),
        ([("1", "apply", True), ("2", "apply", False)], "2", True),
        ([("1", "apply", True), ("2", "apply", False), ("3", "rollback", False)], "1", False),
        ([("1", "apply", True), ("2", "apply", False), ("3", "rollback", True)], "2", True),
    ],
    ids=["a change", "objects only", "and taken back", "and come back to"],
)
def test_one_step_back_knows_runs_that_changed_only_objects(
    runs: list[tuple[str, str, bool]], made: str, only_objects: bool
) -> None:
    wanted = wanted_of(at(node("cp1"), *runs).facts, None)
    assert isinstance(wanted, Wanted)
    assert (wanted.run, wanted.side, wanted.objects) == (made, "before", only_objects)


def test_the_original_is_there_only_when_the_objects_are_gone_too() -> None:
    left = at(node("cp1"), ("1", "apply", False))
    wanted = wanted_of(left.facts, "original")
    assert isinstance(wanted, Wanted)
    assert wanted.objects
    (revision,) = left.facts.revisions
    clean = left.but(revisions=(revision._replace(objects=""),))
    assert isinstance(wanted_of(clean.facts, "original"), NoTarget)
