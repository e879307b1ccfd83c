"""What `stage` brings, and that it is on the disk before a manifest points to it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kschedpatch.core.generation import make_generation
from kschedpatch.model.events import nobody
from kschedpatch.model.fleetplan import Health
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.plan import Generation, StagedFile
from kschedpatch.model.rollout import RolloutSettings
from kschedpatch.model.sources import SourceFile
from kschedpatch.node import verbs
from kschedpatch.node.agent import Agent
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.fleet import Member
from kschedpatch.rollout.turn import Turn
from tests.unit.errors.brokennode import GENERATIONS, KEPT, MANIFEST, RUN, TXN, Node, digest

NEW_MANIFEST = "# it's öäü\n$(touch pwned)\n\n\n"
CONTENTS = {
    "plain.yaml": (0o644, b"a: 1\n"),
    "secret.conf": (0o600, b'it\'s "$HOME" \\ `id` !\n\n\n'),
    "binary": (0o755, bytes(range(256)) * 9),
    "empty": (0o644, b""),
    "long.json": (0o640, b"x" * 70_000),
    "tabs": (0o644, b"\ta\tb"),
    "utf8": (0o644, "ä\n".encode()),
    "returns": (0o644, b"a\r\n"),
}


def generation(**contents: tuple[int, bytes]) -> Generation:
    staged = []
    for name, (mode, content) in contents.items():
        sha256 = hashlib.sha256(content).hexdigest()
        staged.append(StagedFile(name, mode, SourceFile(name, name, sha256, len(content), content)))
    made = make_generation(staged)
    assert made is not None
    return made


def noting(node: Node, program: str) -> Path:
    """What this program is called with, a word a line."""
    noted = node.programs / "noted"
    node.program(program, f'printf "%s\\n" "$@" >>{noted}\nexec /bin/{program} "$@"')
    return noted


def test_texts_and_others_arrive_as_they_were(node: Node, agent: Agent) -> None:
    made = generation(**CONTENTS)
    agent.lock(RUN, "apply", "ops", 60)
    agent.do(verbs.stage(RUN, NEW_MANIFEST, "patch: 'ä'\n", made, base="\n"))
    there = node.root / GENERATIONS / made.id
    for name, (mode, content) in CONTENTS.items():
        assert (there / name).read_bytes() == content
        assert (there / name).stat().st_mode & 0o777 == mode
    for name, text in (("after", NEW_MANIFEST), ("patch.yaml", "patch: 'ä'\n"), ("base", "\n")):
        assert (node.root / TXN / name).read_bytes().decode() == text
        assert (node.root / TXN / name).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("odd", ["\0" * 300, "a: \udcff\n", "a\0\udc80"])
def test_what_no_words_can_hold_arrives_as_well(odd: str, node: Node, agent: Agent) -> None:
    """A manifest that a power cut has filled with zeros: a run may change nothing but objects."""
    agent.lock(RUN, "rollback", "ops", 60)
    agent.do(
        verbs.stage(RUN, odd, "patch", generation(one=(0o644, b"1"), two=(0o644, b"\0")), base=odd)
    )
    for name, text in (("after", odd), ("patch.yaml", "patch"), ("base", odd)):
        assert (node.root / TXN / name).read_bytes() == text.encode("utf-8", "surrogateescape")


def test_a_secret_is_never_open_to_others(node: Node, agent: Agent) -> None:
    """Not even in the moment before its mode is set."""
    seen = node.programs / "seen"
    node.program("chmod", f'stat -c "%a %n" * >>{seen}\nexec /bin/chmod "$@"')
    agent.lock(RUN, "apply", "ops", 60)
    made = generation(open=(0o644, b"a"), secret=(0o600, b"s"), also=(0o600, b"\0"))
    agent.do(verbs.stage(RUN, "new", "", made))
    modes = {tuple(line.split()[::-1]) for line in seen.read_text().splitlines()}
    assert {mode for name, mode in modes if name in ("secret", "also")} == {"600"}


@pytest.mark.parametrize("other", [b"text", b"\0"])
def test_what_the_manifest_will_point_to_is_on_the_disk_when_it_is_armed(
    other: bytes, node: Node, agent: Agent
) -> None:
    made = generation(one=(0o644, b"1"), two=(0o755, other))
    noted = noting(node, "sync")
    agent.lock(RUN, "apply", "ops", 60)
    agent.do(verbs.stage(RUN, "new", "", made, arms=True))
    agent.do(verbs.arm(RUN, digest("old"), digest("new"), "p", ""))
    there = node.root / GENERATIONS / made.id
    flushed = noted.read_text().splitlines()
    agent.restore(RUN)
    wanted = [there / "one", there / "two", there / ".sha256", there, there.parent]
    assert [path for path in wanted if str(path) not in flushed] == []
    assert str(node.root / KEPT / "before") in flushed


@pytest.mark.parametrize("spoilt", [True, False], ids=["damaged", "new"])
@pytest.mark.parametrize("arms", [True, False], ids=["before an arm", "alone"])
def test_what_something_points_to_already_is_on_the_disk_first(
    arms: bool, spoilt: bool, node: Node, agent: Agent
) -> None:
    """The manifest to a damaged one; to what is staged alone, the one that kubeadm renders."""
    made = generation(one=(0o644, b"1"))
    there = node.root / GENERATIONS / made.id
    if spoilt:
        node.file(f"{GENERATIONS}/{made.id}/one", "spoilt")
    noted = noting(node, "sync")
    agent.lock(RUN, "apply", "ops", 60)
    agent.do(verbs.stage(RUN, "new", "", made, arms=arms))
    scratch = there.with_name(f".new-{RUN}")
    flushed = noted.read_text().splitlines() if noted.exists() else []
    wanted = [scratch / "one", scratch / ".sha256", scratch, there.parent]
    assert flushed == ([] if arms and not spoilt else [str(path) for path in wanted])
    assert (there / "one").read_text() == "1"
    assert sorted(path.name for path in there.parent.iterdir()) == [made.id]


def test_what_a_run_that_switches_nothing_puts_right_is_on_the_disk(
    node: Node, agent: Agent
) -> None:
    """Only objects change, and what the manifest points to is gone: nobody will arm this node."""
    made = generation(one=(0o644, b"1"))
    change = Change(
        label="cp1",
        node_name="cp1",
        machine_id="1",
        before_sha256=digest("old"),
        after="old",
        after_sha256=digest("old"),
        generation=made,
        health=Health("127.0.0.1", 10259, "/readyz", proves_readiness=True),
        health_before=Health("127.0.0.1", 10259, "/readyz", proves_readiness=True),
        preflight=None,
        image_before="",
        leads=False,
        patch_name="",
        patch_text="",
    )
    noted = noting(node, "sync")
    agent.lock(RUN, "apply", "ops", 60)
    member = Member(NodeAddress("cp1"), lambda _: agent)
    Turn(RUN, "apply", member, change, RolloutSettings(who="ops"), nobody, Cancel()).stage()
    flushed = noted.read_text().splitlines()
    assert str(node.root / GENERATIONS) in flushed
    assert str(node.root / GENERATIONS / f".new-{RUN}" / "one") in flushed


def test_what_a_run_keeps_does_not_change_with_its_transaction(node: Node, agent: Agent) -> None:
    agent.lock(RUN, "apply", "ops", 60)
    agent.do(verbs.stage(RUN, "new", "patch", None))
    agent.do(verbs.arm(RUN, digest("old"), digest("new"), "p", ""))
    agent.do(verbs.stage(RUN, "other", "other", None))
    kept = {name: (node.root / KEPT / name).read_text() for name in ("after", "patch.yaml")}
    agent.restore(RUN)
    assert kept == {"after": "new", "patch.yaml": "patch"}
    assert (node.root / MANIFEST).read_text() == "old"


@pytest.mark.parametrize(
    ("said", "cursor"),
    [
        ("echo a message; echo '-- cursor: s=1;i=2'", "s=1;i=2"),
        ("echo '-- cursor: of a message'; echo '-- cursor: s=3'", "s=3"),
        ("echo '-- cursor: s=4'; exit 1", "s=4"),
        ("echo no entries", ""),
        ("exit 1", ""),
    ],
)
def test_a_switch_notes_where_the_journal_ends(
    said: str, cursor: str, node: Node, agent: Agent
) -> None:
    """In the transaction, and for who looks when the dead man has ended that."""
    node.armed().program("journalctl", said).program("sleep", "exit 0")
    pod = "0" * 32
    node.file(f"var/log/pods/kube-system_kube-scheduler-cp1_{pod}/kube-scheduler/3.log")
    node.file(f"{TXN}/uid", f"{pod}\n")
    agent.do(verbs.switch(RUN))
    for place in (TXN, KEPT):
        told = {name: (node.root / place / name).read_text() for name in ("cursor", "logs", "uid")}
        assert told == {"cursor": f"{cursor}\n", "logs": f"{pod} 3\n", "uid": f"{pod}\n"}
