"""What the script on a node says when it can't do what it is asked for. It runs on this machine, in
a directory that looks like a node on which something is wrong."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from kschedpatch.node.agent import Agent, VerbFailed
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.payload import bytes_payload
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session
from kschedpatch.sandbox.needs import PROGRAMS
from tests.errors.nodewords import heard
from tests.unit.errors.brokennode import (
    GENERATIONS,
    KEPT,
    MANIFEST,
    NEW,
    OLD,
    PATCH,
    PATCHES,
    RUN,
    STATE,
    TXN,
    UPLOAD,
    Node,
    asleep,
    deadline,
    denied,
    digest,
    importing,
    killed,
    leading,
    listening,
    lying,
    replaced,
    spoilt,
    too_long,
    upgrading,
)


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Node:
    made = Node(tmp_path)
    monkeypatch.setenv("KSCHEDPATCH_ROOT", str(made.root))
    monkeypatch.setenv("PATH", f"{made.programs}:{os.environ['PATH']}")
    return made


def said(verb: str, arguments: str = "", *payloads: str, script: str = "") -> str:
    agent = Agent(Session(LocalTransport("cp1"), NO_BECOME, script or agent_script()))
    pairs = [word.partition("=")[::2] for word in arguments.split()]
    sent = [bytes_payload(text.encode()) for text in payloads]
    if verb == "upload":
        sent = [payload._replace(to_the_end=True) for payload in sent]
    with pytest.raises(VerbFailed) as raised:
        agent.call(verb, ("run", RUN), *pairs, payloads=sent, timeout=20)
    return raised.value.detail


ARM = f"old={digest('old')} new={digest('new')}"
STAGE = f"generation=g1 file=0644:{digest('x')}:1:f"
STAGED = ("'new' '' ''", "x")
IMPORT = f"image=i:v1 sha256={digest('archive')} timeout=9"
WATCH = "want=new timeout=900"
SAYS_NO = "echo boom; exit 1"
Setting = Callable[[Node], object]

CASES: list[tuple[str, str, tuple[str, ...], Setting]] = [
    ("unknown verb", "dance", (), Node.locked),
    ("unknown argument colour", "renew", ("colour=red",), Node.locked),
    ("this is no hash", "offer", ("sha256=xyz",), Node.locked),
    ("written by a newer", "lock", (), lambda n: n.file(f"{STATE}/format", "9")),
    ("can't write to", "lock", (), lambda n: n.file(f"{STATE}/revisions")),
    ("can't make", "lock", (), lambda n: n.file(TXN)),
    ("another run holds this node", "lock", ("extent=9",), lambda n: n.locked("other")),
    ("no longer open on this node", "renew", (), lambda n: n),
    ("/txn/deadline", "renew", (), lambda n: n.locked().directory(f"{TXN}/x") and deadline(n)),
    ("the manifest is switched", "unlock", (), Node.switched),
    (
        "can't write to",
        "stage",
        ("", *STAGED[:1]),
        lambda n: replaced(n.locked(), f"{TXN}/after"),
    ),
    (
        "did not arrive",
        "stage",
        ("", *STAGED[:1]),
        lambda n: n.locked().program("dd", f'[ "$1" != bs={len(STAGED[0])} ] && exec /bin/dd "$@"'),
    ),
    ("can't make", "stage", (STAGE, *STAGED), lambda n: n.locked().file(GENERATIONS)),
    (
        "can't write d/f: no",
        "stage",
        (STAGE.replace(":1:f", ":text:d/f"), *STAGED[:1]),
        Node.locked,
    ),
    ("can't write d/f: no", "stage", (STAGE.replace(":f", ":d/f"), *STAGED), Node.locked),
    ("f arrived damaged", "stage", (STAGE, *STAGED[:1], "y"), Node.locked),
    (
        "can't be read back",
        "stage",
        (STAGE, *STAGED),
        lambda n: n.locked().program("sha256sum", "exit 1"),
    ),
    ("set the mode of f", "stage", (STAGE.replace("0644", "odd"), *STAGED), Node.locked),
    (
        "can't replace",
        "stage",
        (STAGE, *STAGED),
        lambda n: n.locked().directory(f"{GENERATIONS}/g1").file(f"{GENERATIONS}/.damaged-{RUN}"),
    ),
    ("can't make", "stage", (STAGE, *STAGED), lambda n: n.locked().file(f"{GENERATIONS}/g1")),
    ("can't remove", "persist", (), lambda n: n.locked().directory(PATCH)),
    ("can't write to", "persist", ("sha256=aa", "x"), lambda n: n.locked().file(PATCHES)),
    ("for kubeadm arrived damaged", "persist", ("sha256=aa", "x"), Node.locked),
    (
        "can't write",
        "persist",
        (f"sha256={digest('x')}", "x"),
        lambda n: n.locked().directory(f"{PATCH}/{Path(PATCH).name}.new"),
    ),
    (
        "can't write to",
        "upload",
        (f"sha256={UPLOAD}",),
        lambda n: n.locked().file(f"{STATE}/uploads"),
    ),
    ("no space?", "upload", (f"sha256={UPLOAD} offset=x size=1", "x"), Node.locked),
    ("1 of 9 bytes have arrived", "upload", (f"sha256={UPLOAD} offset=0 size=9", "x"), Node.locked),
    ("the archive arrived damaged", "import", (f"sha256={UPLOAD} timeout=9",), Node.locked),
    (
        "i:v1 was pulled, and is not there",
        "pull",
        ("image=i:v1",),
        lambda n: n.locked().program("crictl", "test $1 = pull"),
    ),
    (
        "i:v1 can't be pulled",
        "pull",
        ("image=i:v1",),
        lambda n: n.locked().program("crictl", "exit 1"),
    ),
    (
        "i:v1 was not pulled within 9 s",
        "pull",
        ("image=i:v1 timeout=9",),
        lambda n: n.locked().program("crictl", f"test $1 = pull && {too_long(n)}"),
    ),
    ("ctr could not import i:v1: boom", "import", (IMPORT,), lambda n: importing(n, SAYS_NO)),
    ("not imported within 9 s", "import", (IMPORT,), lambda n: importing(n, too_long(n))),
    (
        "i:v1 is not on the node any more",
        "preflight",
        ("image=i:v1",),
        lambda n: n.locked().program("crictl", "exit 1"),
    ),
    (
        "did not end its trial run within 30 s",
        "preflight",
        ("image=i:v1 word=kube-scheduler",),
        lambda n: (
            n.locked()
            .program("crictl", "exit 0")
            .program("ctr", 'case "$*" in *images*) echo i:v1 ;; *) exit 124 ;; esac')
        ),
    ),
    ("is gone or no plain file", "arm", (ARM,), lambda n: (n.locked().root / MANIFEST).unlink()),
    ("changed since it was planned", "arm", (ARM,), lambda n: n.locked().file(MANIFEST, "mine")),
    ("manifest arrived damaged", "arm", (ARM,), lambda n: n.locked().file(f"{TXN}/after", "ne")),
    ("can't write to", "arm", (ARM,), lambda n: n.locked().file(KEPT)),
    ("can't write to", "arm", (ARM,), lambda n: n.locked().file(f"{STATE}/revisions/.original")),
    ("can't write to", "arm", (ARM,), lambda n: n.locked().program("mv", "exit 1")),
    ("the backup is not what was", "arm", (ARM,), lambda n: lying(n.locked(), 2, 3)),
    ("can't write", "arm", (ARM,), lambda n: n.locked().directory(NEW)),
    ("is not what was written", "arm", (ARM,), lambda n: lying(n.locked(), 2)),
    ("can't write to", "arm", (ARM,), lambda n: n.locked().directory(f"{TXN}/old")),
    (
        "systemd does not start",
        "arm",
        (ARM,),
        lambda n: n.locked().directory("run/systemd/system").program("systemctl", "exit 1"),
    ),
    ("does not count", "arm", (ARM,), lambda n: n.locked().program("sleep", "exit 0")),
    ("changed since it was planned", "note", ("outcome=open old=aa", "{}"), Node.locked),
    (
        "can't write to",
        "note",
        ("outcome=open", "{}"),
        lambda n: n.locked().file(f"{KEPT}/meta").directory(f"{KEPT}/.objects"),
    ),
    ("is locked, not armed", "switch", (), Node.locked),
    ("the dead man is gone", "switch", (), lambda n: (n.armed().root / TXN / "armed").unlink()),
    ("kubeadm is at work: kubeadm", "switch", (), lambda n: upgrading(n.armed())),
    ("can't write to", "switch", (), lambda n: n.armed().directory(f"{TXN}/cursor")),
    ("is not what was staged", "switch", (), lambda n: n.armed().file(NEW, "other")),
    ("changed since it was planned", "switch", (), lambda n: n.armed().file(MANIFEST, "other")),
    ("can't rename in", "switch", ("in_place=1",), lambda n: n.armed().program("mv", "exit 1")),
    ("at the moment of the switch", "switch", (), lambda n: lying(n.armed(), 2)),
    ("is putting the old manifest", "switch", (), lambda n: asleep(n, f"rm -f {n.root / OLD}")),
    ("has put the old manifest", "switch", (), lambda n: asleep(n, f"echo >{n.root / MANIFEST}")),
    ("can't write in", "switch", (), lambda n: asleep(n, "").program("ln", "exit 1")),
    ("is locked, not armed", "canary", (), Node.locked),
    (
        "the node runs 200 pods",
        "canary",
        (),
        lambda n: n.armed().program("crictl", "seq 200"),
    ),
    (
        "the dead man has ended the run",
        "canary",
        ("", "a", "b"),
        lambda n: (
            n.armed()
            .program("crictl", "exit 0")
            .program("mv", f'echo other >{n.root / TXN / "run"}; exec /bin/mv "$@"')
        ),
    ),
    ("no port from 10269", "canary", (), lambda n: n.armed().file("proc/net/tcp", listening())),
    ("can't write", "canary", ("", "a", "b"), lambda n: replaced(n.armed(), f"{TXN}/canary.yaml")),
    ("knows nothing of the run", "watch", (), lambda n: n),
    ("it exited (code and reason: 137 OOMKilled)", "watch", (WATCH,), killed),
    ("Pod admission denied, OutOfcpu: no room", "watch", (WATCH,), denied),
    ("do not elect on the same lease", "canary", ("timeout=9", "a", "b"), leading),
    ("is armed, not switched", "stands", (), Node.armed),
    ("not the one that was switched", "stands", (), lambda n: n.switched().file(MANIFEST, "mine")),
    (
        "g1 is gone or not complete",
        "stands",
        (),
        lambda n: n.switched().file(f"{TXN}/generation", "g1"),
    ),
    ("g1: f: FAILED", "stands", (), lambda n: spoilt(n.switched())),
    (
        "/txn/deadline",
        "stands",
        (),
        lambda n: n.switched().directory(f"{TXN}/x") and deadline(n),
    ),
    ("ended the transaction already", "confirm", (), lambda n: n),
    ("is armed, not switched", "confirm", (), Node.armed),
    ("not the one that was switched", "confirm", (), lambda n: n.switched().file(MANIFEST, "mine")),
    ("the dead man was quicker", "confirm", (), lambda n: n.switched().program("rm", "exit 1")),
    ("confirm or restore it first", "finish", (), Node.switched),
    (
        "could not be put back",
        "restore",
        (),
        lambda n: (n.switched().file(f"{TXN}/manifest", "x").root / TXN / "armed").unlink(),
    ),
    ("there is no /etc/kubernetes", "api", ("word=get",), lambda n: n.program("kubectl", "exit 0")),
    (
        "no space for temporary files",
        "api",
        ("word=get",),
        lambda n: (
            n.program("kubectl", "exit 0")
            .program("mktemp", "exit 1")
            .file("etc/kubernetes/admin.conf")
        ),
    ),
    ("is armed, not locked", "purge", (), Node.armed),
    ("a copy of the manifests", "purge", (), lambda n: n.locked().file("run/kschedpatch/bound")),
    ("kubeadm is at work", "purge", (), lambda n: upgrading(n.locked())),
    ("may be all there is of it", "purge", (), lambda n: (n.locked().root / MANIFEST).unlink()),
    (
        "is patched, or names files",
        "purge",
        (),
        lambda n: n.locked().file(MANIFEST, "kschedpatch.io/base"),
    ),
    ("not everything could be taken", "purge", (), lambda n: n.locked().program("rm", "exit 1")),
]


@pytest.mark.parametrize(
    "words, verb, given, setting", CASES, ids=[f"{case[1]}: {case[0]}" for case in CASES]
)
def test_it_says_what_is_wrong(
    words: str, verb: str, given: tuple[str, ...], setting: Setting, node: Node
) -> None:
    before = (node.root / MANIFEST).read_text()
    setting(node)
    told = said(verb, *given)
    assert words in told
    assert heard(told), "it is one of the messages on the page"
    if "nothing was changed" in told:
        assert (node.root / MANIFEST).read_text() == before


@pytest.mark.parametrize(
    "words, verb, arguments",
    [
        ("there is no kubectl on this node", "api", "word=get"),
        ("i:v1 is not on the node, and there is no crictl", "pull", "image=i:v1"),
    ],
)
def test_a_node_without_a_tool(
    words: str, verb: str, arguments: str, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever this machine has: the node's PATH leads to what the script always needs, alone."""
    for name in (*PROGRAMS, "date", "id", "timeout"):
        found = shutil.which(name)
        assert found is not None
        (node.programs / name).symlink_to(found)
    node.locked().program("ctr", "exit 0")
    monkeypatch.setenv("PATH", str(node.programs))
    script = re.sub(r"(?m)^PATH=\$PATH:.*$", "", agent_script())
    assert words in said(verb, arguments, script=script)


def test_a_run_s_id_is_no_path(node: Node) -> None:
    agent = Agent(Session(LocalTransport("cp1"), NO_BECOME, agent_script()))
    with pytest.raises(VerbFailed, match="no run has this id"):
        agent.call("renew", ("run", "../etc"), timeout=20)


def test_without_root_s_rights(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("KSCHEDPATCH_ROOT", raising=False)
    (tmp_path / "id").write_text("#!/bin/sh\necho 1000\n")
    (tmp_path / "id").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert said("status") == "root's rights are needed on the node"
