"""Whether everything of ours may go from a node."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kschedpatch.core.fleet.purging import kubeadm_finding, purge_findings, traces
from kschedpatch.model import exitcodes
from kschedpatch.model.clusterplan import Action, ObjectResult
from kschedpatch.report.purges import done_data, done_text, plan_text
from kschedpatch.report.terminal import Paint
from kschedpatch.rollout.nodepurge import NodePurged, NodesPurge, NodesPurged
from tests.printed import check_data
from tests.unit.fleet.nodes import DIRECTORY, PATH, Node, kubeadm_manifest, node, three
from tests.unit.fleet.test_verifying import content, patched

Change = Callable[[Node], Node]
PLAIN = Paint(enabled=False)


def un_patched() -> Node:
    return patched().rolled_back_to(kubeadm_manifest(34), "20261117-100000-0001")


def without_marks(item: Node) -> Node:
    """By hand: the annotations are gone, a path of ours is not."""
    lines = [line for line in content(item).splitlines(True) if b"kschedpatch.io/" not in line]
    text = b"".join(lines).replace(b"--v=5", b"--config=/etc/kubernetes/kschedpatch/c.yaml")
    return item.with_manifest(text)


CASES: list[tuple[str, str, Change]] = [
    ("N401", f"cp1:{PATH}", lambda _: patched()),
    ("N401", f"cp1:{PATH}", lambda _: without_marks(patched())),
    ("N401", f"cp1:{DIRECTORY}/old.yaml", lambda n: n.beside("old.yaml", content(patched()))),
    ("N001", f"cp1:{DIRECTORY}", lambda n: n.without_manifest()),
    ("N007", "cp1", lambda n: n.but(kubeadm_at_work="kubeadm upgrade apply")),
    ("N008", "cp1", lambda n: n.open_run()),
    ("N008", "cp1", lambda n: n.open_run(state="locked", deadline_in=3, dead_man=False)),
    ("N008", "cp1", lambda n: n.open_run(state="switched", deadline_in=-3, dead_man=False)),
    ("N008", "cp1", lambda n: n.open_run(state="locked", deadline_in=-3, dead_man=True)),
    ("N009", "cp1", lambda n: n.but(state_format=2)),
]


@pytest.mark.parametrize("code, where, change", CASES)
def test_refused(code: str, where: str, change: Change) -> None:
    [finding] = purge_findings([change(un_patched()).facts], partial=False)
    assert (finding.code, finding.file, finding.is_error) == (code, where, True)


@pytest.mark.parametrize(
    "change",
    [
        lambda n: n,
        lambda n: n.open_run(state="locked", deadline_in=-3, dead_man=False),
        lambda n: n.but(leftovers=("kschedpatch-canary.yaml",), debris=("/x",)),
        lambda n: n.at("1.35.1"),
    ],
)
def test_allowed(change: Change) -> None:
    assert purge_findings([change(un_patched()).facts], partial=False) == ()


def test_other_nodes_of_the_cluster_have_to_be_named() -> None:
    first, *_ = three()
    assert [f.code for f in purge_findings([first.facts], partial=False)] == ["N005"]
    [finding] = purge_findings([first.facts], partial=True)
    assert (finding.code, finding.is_error) == ("N006", False)


def test_kubeadm_would_write_it_anew() -> None:
    assert [*kubeadm_finding("hostPath: /etc/kubernetes/pki")] == []
    [finding] = kubeadm_finding("hostPath: /etc/kubernetes/kschedpatch/generations/1f")
    assert finding.code == "N402"


def test_what_goes_is_shown_once_for_nodes_that_are_alike() -> None:
    paths = ("/etc/kubernetes/kschedpatch", "/var/lib/kschedpatch\x1b[2J")
    nodes = [un_patched().but(label=name, traces=paths).facts for name in ("cp1", "cp2")]
    plan = NodesPurge(traces([*nodes, node("cp3").facts]))
    text = plan_text(plan, PLAIN)
    assert text.startswith("cp1, cp2:\n  /etc/kubernetes/kschedpatch\n  /var/lib/kschedpatch\\x1b")
    assert "what is kept of 2 runs" in text
    assert "cp3" not in text
    assert NodesPurge(traces([node("cp3").facts])).empty


@pytest.mark.parametrize(
    "done, words",
    [
        (NodesPurged(0, (NodePurged("cp1", ("/x",)),)), "Nothing of kschedpatch is left"),
        (NodesPurged(3, detail="another run holds this node"), "Nothing was changed: another"),
        (NodesPurged(5, left=("Role a/b",), detail="no"), "Still there: Role a/b. no"),
        (NodesPurged(5, (NodePurged("cp1", problem="full"),)), "cp1  NOT PURGED: full"),
    ],
)
def test_every_end_has_words(done: NodesPurged, words: str) -> None:
    assert words in done_text(done, PLAIN)
    assert done_data(done)["detail"] == (done.detail or None)
    check_data("PurgeResult", done_data(done), done.exit_code)


def test_what_was_done_to_objects_is_told() -> None:
    left = ObjectResult("ClusterRole x", Action.LEFT, "somebody else has changed it since")
    done = NodesPurged(exitcodes.OK, (), (left,))
    assert "ClusterRole x: left: somebody else has changed it since" in done_text(done, PLAIN)
    assert done.changed
