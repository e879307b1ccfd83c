"""Calls on this machine: what comes back, and every way in which a call can end."""

from __future__ import annotations

import hashlib
import os
import signal
import threading
import time
from pathlib import Path

import pytest

from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.errors import (
    CallTimeout,
    ConnectionLost,
    NodeSpokeGarbage,
    OutputTooLarge,
    PayloadChanged,
)
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.payload import Payload, bytes_payload, file_payload
from kschedpatch.node.process import ProcessChannel
from kschedpatch.node.session import Session
from tests.nodescript import FRAMES, session_script


def session(body: str) -> Session:
    return Session(LocalTransport("cp1"), NO_BECOME, session_script(body))


def test_facts_blobs_steps_code_and_stderr_come_back(tmp_path: Path) -> None:
    steps: list[str] = []
    body = (
        'frame_to "$DIR/a" && frame_to "$DIR/b" || exit 1\n'
        'emit_fact verb "$VERB"; emit_fact key one; emit_fact key two; emit_step "half way"\n'
        'emit_blob a "$DIR/a"; printf "bad\\033[1m\\n" >&2; emit_end 3'
    )
    reply = session(body).call(
        "stage",
        {"dir": str(tmp_path)},
        [bytes_payload(b"\0rm -rf /\n"), bytes_payload(b"")],
        on_step=steps.append,
        timeout=20,
    )
    assert reply.code == 3
    assert reply.facts == (("verb", "stage"), ("key", "one"), ("key", "two"))
    assert reply.all("key") == ("one", "two")
    assert reply.first("key") == "one"
    assert reply.first("none", "-") == "-"
    assert reply.blobs == {"a": b"\0rm -rf /\n"}
    assert reply.stderr == "bad\\x1b[1m"
    assert steps == ["half way"]
    assert (tmp_path / "b").read_bytes() == b""


def test_a_node_that_talks_before_it_listens_is_no_dead_lock(tmp_path: Path) -> None:
    big = tmp_path / "big"
    big.write_bytes(b"b" * (3 << 20))
    digest = hashlib.sha256(big.read_bytes()).hexdigest()
    body = f'emit_blob echo {big}; cat {big} >&2; frame_to "$DIR/copy"; emit_end 0'
    reply = session(body).call(
        "talk", {"dir": str(tmp_path)}, [file_payload(big, 3 << 20, digest)], timeout=30
    )
    assert reply.blobs["echo"] == (tmp_path / "copy").read_bytes() == big.read_bytes()
    assert 0 < len(reply.stderr) < 70_000


def test_a_script_may_end_without_reading_its_payloads() -> None:
    reply = session("emit_end 7").call("x", payloads=[bytes_payload(b"x" * (4 << 20))], timeout=20)
    assert reply.code == 7


def test_what_stays_in_the_background_does_not_hold_the_call() -> None:
    reply = session("sleep 30 & emit_fact pid $!; emit_end 0").call("x", timeout=20)
    assert Path(f"/proc/{reply.first('pid')}").exists()
    session(f"kill {reply.first('pid')}; emit_end 0").call("x", timeout=20)


def test_two_calls_at_once_on_one_session(tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    both = session(
        f"case $VERB in wait) mkfifo {fifo}; emit_step made; read -r said <{fifo};;"
        f' *) said=yes; echo hello >{fifo};; esac; emit_fact said "$said"; emit_end 0'
    )
    made = threading.Event()
    replies = []
    waiting = threading.Thread(
        target=lambda: replies.append(both.call("wait", on_step=lambda _: made.set(), timeout=20))
    )
    waiting.start()
    assert made.wait(20)
    assert both.call("beat", timeout=20).first("said") == "yes"
    waiting.join(20)
    assert replies[0].first("said") == "hello"


def test_a_file_that_changed_ends_the_call(tmp_path: Path) -> None:
    file = tmp_path / "binary"
    file.write_bytes(b"new")
    payload = file_payload(file, 3, hashlib.sha256(b"old").hexdigest())
    body = 'if frame_to "$DIR/copy"; then emit_end 0; else emit_end 5; fi'
    with pytest.raises(PayloadChanged):
        session(body).call("stage", {"dir": str(tmp_path)}, [payload], timeout=20)
    assert not (tmp_path / "copy").exists()


@pytest.mark.parametrize(
    "body, error, words",
    [
        ("echo the disk is on fire >&2; exit 4", NodeSpokeGarbage, ["exit code 4", "on fire"]),
        ("kill -9 $$", NodeSpokeGarbage, ["without saying how it went"]),
        ('printf "@%s what\\n" "$KSP_MARK"; sleep 5', NodeSpokeGarbage, ["unknown record"]),
        ("yes; emit_end 0", OutputTooLarge, ["8 MiB"]),
        ("yes | tr -d '\\n'; emit_end 0", OutputTooLarge, ["8 MiB"]),
    ],
)
def test_every_bad_end_is_told(body: str, error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as raised:
        session(body).call("switch", timeout=20)
    assert str(raised.value).startswith("cp1: ")
    assert all(word in str(raised.value) for word in words)
    assert not raised.value.nothing_happened  # type: ignore[attr-defined]  # a NodeError


def test_the_whole_call_has_its_time() -> None:
    with pytest.raises(CallTimeout) as raised:
        session("while :; do emit_step beat; sleep 0.1; done").call("watch", timeout=2)
    assert "«watch» did not end within 2 s" in raised.value.message
    assert not raised.value.nothing_happened


def test_silence_is_taken_for_a_lost_connection() -> None:
    with pytest.raises(ConnectionLost) as raised:
        session("sleep 30").call("watch", timeout=20, idle_timeout=0.5)
    assert "nothing was heard" in raised.value.message
    assert "kschedpatch status" in raised.value.hint


def test_steps_keep_a_call_alive() -> None:
    body = "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; emit_step $i; done; emit_end 0"
    assert session(body).call("watch", timeout=20, idle_timeout=2).code == 0


class Counting(LocalTransport):
    opened = 0

    def open(self, command: str) -> ProcessChannel:
        self.opened += 1
        return super().open(command)


@pytest.mark.parametrize(
    "body, payloads, shells",
    [
        ("emit_end 0", (), 1),
        ("emit_end 10", (), 1),
        ('frame_to "$DIR/a"; emit_end 0', (bytes_payload(b"x"),), 1),
        # What was left unread stands before the next request.
        ("emit_end 0", (bytes_payload(b"x"),), 3),
        ('frame_to "$DIR/a"; emit_end 0', (bytes_payload(b"x"), bytes_payload(b"y")), 3),
        ('read -r n <&3; cat <&3 >"$DIR/a"; emit_end 0', (Payload(1, b"x", to_the_end=True),), 3),
    ],
)
def test_a_shell_is_kept_for_the_next_call(
    body: str, payloads: tuple[Payload, ...], shells: int, tmp_path: Path
) -> None:
    transport = Counting("cp1")
    calls = Session(transport, NO_BECOME, session_script('echo "for $VERB" >&2\n' + body))
    for verb in ("one", "two", "three"):
        reply = calls.call(verb, {"dir": str(tmp_path)}, payloads, timeout=20)
        assert reply.stderr in {f"for {verb}", ""}
        assert reply.stderr or reply.code == 0
    calls.close()
    assert transport.opened == shells


def test_a_kept_shell_ends_with_its_session() -> None:
    calls = session('emit_fact pid "$$"; emit_end 0')
    shells = {calls.call("x", timeout=20).first("pid") for _ in range(2)}
    assert len(shells) == 1
    calls.close()
    assert not Path(f"/proc/{shells.pop()}").exists()


def test_a_shell_that_has_ended_meanwhile_is_not_used() -> None:
    calls = session('emit_fact pid "$$"; emit_end 0')
    first = int(calls.call("x", timeout=20).first("pid"))
    os.kill(first, signal.SIGKILL)
    deadline = time.monotonic() + 10
    while not calls._idle[0].channel.has_ended():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert int(calls.call("x", timeout=20).first("pid")) != first
    calls.close()


def test_a_session_that_is_closed_keeps_no_shell() -> None:
    calls = session("emit_step here; emit_end 0")
    calls.call("x", on_step=lambda _: calls.close(), timeout=20)
    assert calls._idle == []


class Broken(LocalTransport):
    """A machine whose shell does something else."""

    def __init__(self, instead: str) -> None:
        super().__init__("cp1")
        self.instead = instead

    def open(self, command: str) -> ProcessChannel:
        return super().open(self.instead)


@pytest.mark.parametrize(
    "instead, timeout, error",
    [
        ("echo This account is not available.; exit 1", 20, NodeSpokeGarbage),
        ("yes", 20, OutputTooLarge),
        ("sleep 20", 1, CallTimeout),
    ],
)
def test_before_the_script_is_sent_nothing_happened(
    instead: str, timeout: float, error: type[Exception]
) -> None:
    with pytest.raises(error) as raised:
        Session(Broken(instead), NO_BECOME, FRAMES).call("switch", timeout=timeout)
    assert raised.value.nothing_happened  # type: ignore[attr-defined]  # a NodeError
