"""The running container against the manifest: flags, mounts, image."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import image_of, scheduler_container
from kschedpatch.core.fleet.verifying.processes import mounted_paths, process_checks
from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.inspection import Inspection
from tests.unit.fleet.nodes import node

CONF = "/etc/kubernetes/scheduler.conf"
MOUNTS = (
    "1201 1150 0:190 / / rw,relatime - overlay overlay rw\n"
    f"1203 1201 252:0 {CONF} {CONF} ro,relatime - ext4 /dev/vda rw\n"
)
MANIFEST = manifest_of(node("cp1").facts)
assert MANIFEST is not None
IMAGE = image_of(MANIFEST)
WORDS = tuple(scheduler_container(MANIFEST)["command"])


def running(**fields: Any) -> Inspection:
    seen = Inspection(
        "cp1",
        pid=7,
        tools=frozenset({"crictl"}),
        words=WORDS,
        mountinfo=MOUNTS,
        same_file={CONF: "same"},
        image=IMAGE,
        image_ref="sha256:aa",
        wanted_image=("sha256:aa",),
    )
    return seen._replace(**fields)


def seen(**fields: Any) -> dict[str, Check]:
    checks = process_checks(node("cp1").facts, running(**fields))
    return {check.subject: check for check in checks}


def test_all_three_as_the_manifest_says() -> None:
    assert {check.state for check in seen().values()} == {CheckState.OK}


OTHER = tuple(word.replace("leader-elect=true", "leader-elect=false") for word in WORDS)
CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    ("flags", "N120", "runs with --leader-elect=false, the manifest says true", {"words": OTHER}),
    ("flags", "N120", "runs without --leader-elect=true",
     {"words": tuple(w for w in WORDS if "leader" not in w)}),
    ("flags", "N120", "runs with --v=9, which the manifest has not", {"words": (*WORDS, "-v=9")}),
    ("flags", "N120", "runs my-scheduler, the manifest says kube-scheduler",
     {"words": ("/bin/my-scheduler", *WORDS[1:])}),
    ("mounts", "N121", f"{CONF} is not mounted", {"mountinfo": MOUNTS.splitlines()[0] + "\n"}),
    ("mounts", "N121", f"{CONF} can be written", {"mountinfo": MOUNTS.replace("ro,", "rw,")}),
    ("mounts", "N122", f"{CONF} shows a former file", {"same_file": {CONF: "other"}}),
    ("image", "N123", "it runs mine:1",
     {"image": "mine:1", "image_ref": "sha256:bb"}),
    ("image", "N124", "is another image now", {"image_ref": "x@sha256:bb"}),
]  # fmt: skip


@pytest.mark.parametrize("subject, code, words, fields", CASES)
def test_one_thing_differs(subject: str, code: str, words: str, fields: dict[str, Any]) -> None:
    check = seen(**fields)[subject]
    assert words in check.evidence
    assert [finding.code for finding in check.findings] == [code]
    warns = code in {"N122", "N124"}
    assert check.state is (CheckState.WARNING if warns else CheckState.FAILED)


def test_another_tag_of_the_same_image_is_the_same_image() -> None:
    """A runtime that knows an image by two names tells the first."""
    assert seen(image="registry.test/other:v1")["image"].state is CheckState.OK


UNSEEN: list[tuple[str, dict[str, Any]]] = [
    ("flags", {"words": ()}),
    ("mounts", {"mountinfo": ""}),
    ("image", {"tools": frozenset()}),
    ("image", {"image": "", "image_ref": ""}),
]


@pytest.mark.parametrize("subject, fields", UNSEEN)
def test_what_can_not_be_seen_is_not_called_good(subject: str, fields: dict[str, Any]) -> None:
    assert seen(**fields)[subject].state is CheckState.NOT_CHECKED


def test_references_to_the_environment_are_expanded_as_the_kubelet_does() -> None:
    item = node("cp1")
    assert item.facts.manifest is not None
    text = item.facts.manifest.content.replace(
        b"    - --leader-elect=true\n", b"    - --leader-elect=$(ELECT)\n"
    )
    text = text.replace(b"    image: ", b'    env: [{name: ELECT, value: "true"}]\n    image: ')
    checks = {c.subject: c for c in process_checks(item.with_manifest(text).facts, running())}
    assert checks["flags"].state is CheckState.OK


def test_mountinfo_as_the_kernel_escapes_it() -> None:
    line = "1 2 0:1 /a /with\\040blank\\134 ro - ext4 x rw\n2 1 0:1 /b /x rw,ro - e x rw\n"
    assert mounted_paths(line) == {"/with blank\\": True, "/x": True}
