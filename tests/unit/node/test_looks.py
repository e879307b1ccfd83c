"""Small looks that the verbs share, under every shell."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from kschedpatch.model.facts import Room
from kschedpatch.node.agent import Agent, VerbFailed
from kschedpatch.node.script import agent_script, confirming_script
from tests.unit.errors.brokennode import (
    GENERATIONS,
    MANIFEST,
    MANIFESTS,
    NEW,
    OLD,
    RUN,
    STATE,
    TXN,
    Node,
    digest,
    lying,
)
from tests.unit.node.shells import EVERY_SHELL


def said(
    shell: list[str],
    root: Path | str,
    lines: str,
    path: str = os.environ["PATH"],
    script: str | None = None,
) -> str:
    """What these lines print when they have the script's functions."""
    script = (script or agent_script()).removesuffix('ksp_main "$@"\n') + lines
    done = subprocess.run(
        [*shell, "-c", script],
        env={"PATH": path, "KSCHEDPATCH_ROOT": str(root), "LC_ALL": "C"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.stdout.decode()


@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize(
    "hashes, verdict",
    [
        ((digest("a"), digest("b")), "yes"),
        ((digest("a"), digest("a")), "no"),
        # Of such a line sha256sum only warns, as long as another one is right.
        ((digest("a"), ""), "no"),
        (("", digest("b")), "no"),
        ((digest("a"), "none"), "no"),
    ],
)
def test_all_of_them_hold_or_none(
    shell: list[str], hashes: tuple[str, str], verdict: str, tmp_path: Path
) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
    files = [f'"{digest_}" {tmp_path}/{name}' for digest_, name in zip(hashes, "ab", strict=True)]
    lines = f"if all_hold {' '.join(files)}; then echo yes; else echo no; fi"
    assert said(shell, tmp_path, lines) == f"{verdict}\n"


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_scheduler_among_many_containers_is_found(shell: list[str], tmp_path: Path) -> None:
    uid = "c" * 32
    logs = tmp_path / f"var/log/pods/kube-system_kube-scheduler-cp1_{uid}/kube-scheduler"
    logs.mkdir(parents=True)
    for number in range(100, 700):
        own = f"/pods/{uid}/containers/kube-scheduler/x" if number == 555 else "/pods/x/y"
        mounts = tmp_path / f"proc/{number}/mountinfo"
        mounts.parent.mkdir(parents=True)
        mounts.write_text(f"1 2 3 {own} - ext4\n")
    lines = 'find_manifest; find_live; echo "$LIVE_PID $LIVE_UID $LIVE_LOGS"'
    assert said(shell, tmp_path, lines) == f"555 {uid} {logs}\n"


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux shows its listeners")
@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize("ss", ["as it is", "fails", "is not there"])
def test_who_listens_on_this_machine_is_seen_with_and_without_ss(
    shell: list[str], ss: str, tmp_path: Path
) -> None:
    if ss == "fails":
        (tmp_path / "ss").write_text("#!/bin/sh\nexit 255\n")
        (tmp_path / "ss").chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    # The script adds the usual places to what it is given: a function hides what lies there.
    hidden = "ss() { return 127; }; " if ss == "is not there" else ""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as other:
        other.bind(("127.0.0.1", 0))  # taken, and nobody listens
        ports = (server.getsockname()[1], other.getsockname()[1])
        asks = (f"if listens {port}; then echo yes; else echo no; fi; " for port in ports)
        assert said(shell, "", hidden + "".join(asks), path) == "yes\nno\n"


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_node_in_a_directory_is_not_asked_by_ss(shell: list[str], tmp_path: Path) -> None:
    """It has its own listeners, and this machine's are not among them."""
    (tmp_path / "proc/net").mkdir(parents=True)
    line = "   0: 0100007F:2813 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0\n"
    (tmp_path / "proc/net/tcp").write_text(line)
    lines = "ss() { echo nonsense; }; listens 10259 && echo yes; listens 10260 || echo no"
    assert said(shell, tmp_path, lines) == "yes\nno\n"


@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize("there", [True, False])
def test_the_directory_of_manifests_is_the_one_behind_links(
    shell: list[str], there: bool, tmp_path: Path
) -> None:
    (tmp_path / "etc/kubernetes").mkdir(parents=True)
    behind = tmp_path / "real/manifests"
    link = tmp_path / "etc/kubernetes/manifests"
    if there:
        behind.mkdir(parents=True)
        link.symlink_to(behind)
    found = behind if there else link
    lines = 'find_manifest; echo "$DIRECTORY"; pwd'
    here = "/" if there else str(Path.cwd())
    assert said(shell, tmp_path, lines) == f"{found}\n{here}\n"


@pytest.mark.parametrize(
    "content",
    [
        b"a\0b: x\nfoo\n",
        b"\0" * 1700,
        b"no: end",
        b"",
        b"a: 1\r\n\tb: \xc3\xa9\n",
        b"apiVersion: v1\nkind: Pod\n",
        b"# " + b"x" * 20_000 + b"\n",
    ],
)
def test_a_manifest_is_told_byte_for_byte(content: bytes, node: Node, agent: Agent) -> None:
    """After a loss of power it may be nothing but zeros, and has to be replaced all the same."""
    (node.root / MANIFEST).write_bytes(content)
    found = agent.facts(api=False).manifest
    assert found is not None
    assert found.content == content


def test_a_dead_man_who_ends_the_run_while_the_switch_begins(node: Node, agent: Agent) -> None:
    """His last word is spoken before the first rename: nothing may be moved any more."""
    node.armed().program(
        "journalctl",
        f"rm -rf {node.root / TXN} {node.root / NEW}; echo '-- cursor: c'",
    )
    with pytest.raises(VerbFailed):
        agent.call("switch", ("run", RUN), timeout=20)
    assert (node.root / MANIFEST).read_text() == "old"
    assert not (node.root / OLD).exists()


@pytest.mark.parametrize("staged", [True, False])
def test_a_disk_that_was_read_wrong_once_takes_no_change_back(
    staged: bool, node: Node, agent: Agent
) -> None:
    node.switched()
    if staged:
        node.file(f"{TXN}/generation", "g1").file(f"{GENERATIONS}/g1/f", "x")
        node.file(f"{GENERATIONS}/g1/.sha256", f"{digest('x')}  f\n")
    lying(node, 1)
    agent.stands(RUN)
    assert (node.root / TXN / "deadline").read_text() == "1060\n"  # the operator is alive


def test_a_confirm_takes_no_other_run_s_token(node: Node, agent: Agent) -> None:
    """The run was ended and another one has switched, in the moment between two looks."""
    node.switched()
    other = node.root / OLD.replace(RUN, "other")
    node.program(
        "sha256sum",
        f'echo other >{node.root / TXN / "run"}; touch {other}\nexec /usr/bin/sha256sum "$@"',
    )
    agent.call("confirm", ("run", RUN), timeout=20)
    assert other.exists()


@pytest.mark.parametrize("wanted", [True, False])
def test_room_is_looked_for_where_somebody_wants_to_know(
    wanted: bool, node: Node, agent: Agent
) -> None:
    node.file("proc/meminfo", "MemAvailable:    1000 kB\n")
    room = agent.facts(api=False, room=wanted).room
    assert room == (Room(10269, 1000, 0) if wanted else None)


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_half_made_lock_that_is_ended_by_hand_takes_nothing_else_away(
    shell: list[str], node: Node
) -> None:
    """Killed after its first step, it has no run yet."""
    node.directory(TXN).file("run/kschedpatch/manifests/kube-scheduler.yaml", "shown")
    said(shell, node.root, "ksp_main restore")
    assert not (node.root / TXN).exists()
    assert (node.root / "run/kschedpatch/manifests/kube-scheduler.yaml").exists()


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_by_hand_it_says_why_it_can_t_restore_yet(shell: list[str], node: Node) -> None:
    node.switched().file(f"{TXN}/manifest", f"{node.root / MANIFEST}\n").file(f"{TXN}/armed", "x")
    node.program("sh", "exit 1")  # the dead man's own script can't do it
    told = said(shell, node.root, "ksp_main restore", f"{node.programs}:{os.environ['PATH']}")
    assert "not restored yet: the old manifest could not be put back" in told


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_the_part_that_only_confirms_keeps_no_scripts(shell: list[str], node: Node) -> None:
    """It does not have them: empty files would take the place of good ones."""
    for name in ("restore.sh", "agent.sh"):
        node.file(f"{STATE}/{name}", "good")
    call = f"ksp_main m lock run={RUN} kind=apply who=ops extent=60"
    told = said(shell, node.root, call, script=confirming_script())
    assert "@m end 14" in told
    assert not (node.root / TXN).exists()
    for name in ("restore.sh", "agent.sh"):
        assert (node.root / STATE / name).read_text() == "good"


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_place_whose_room_can_t_be_told_leaves_the_others(shell: list[str], node: Node) -> None:
    """A broken mount below one of them: df then fails as a whole."""
    node.file("var/lib/x")
    broken = 'df() { case "$*" in */var/lib*) return 1 ;; esac; command df "$@"; }; '
    told = said(shell, node.root, f"{broken}find_manifest; KSP_MARK=m; facts_space")
    free = [line.split()[-1] for line in told.splitlines() if " free_kib " in line]
    assert free == ["/etc/kubernetes/manifests"]


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_canary_that_is_a_standby_is_gone_before_the_next_node_has_its_turn(
    shell: list[str], node: Node
) -> None:
    """Its manifest is away, and still it might take the lease that the next leader lets go."""
    canary = f"{MANIFESTS}/kschedpatch-canary.yaml"
    node.file(canary, f"kschedpatch.io/run: {RUN}\n").file("proc/777/x")
    ends = f"sleep() {{ rm -r {node.root}/proc/777; }}; find_live() {{ LIVE_PID=777 LIVE_LOGS=x; }}"
    lines = f"arg_run={RUN} arg_lease=; find_manifest; {ends}; canary_goes; echo went"
    assert said(shell, node.root, lines) == "went\n"
    assert not (node.root / "proc/777").exists()
    assert not (node.root / canary).exists()
