"""What every way to a node has to do, over SSH twice and on this machine."""

from __future__ import annotations

import gc
import hashlib
import os
import tempfile
import threading
import time
from pathlib import Path

import pytest

from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.connect import connect
from kschedpatch.node.connectoptions import TransportKind
from kschedpatch.node.errors import CallTimeout, NodeSpokeGarbage, OutputTooLarge
from kschedpatch.node.payload import bytes_payload, file_payload
from kschedpatch.node.session import Session
from tests.integration.ssh.conftest import Lab

pytestmark = pytest.mark.parametrize("kind", list(TransportKind))

LIKE_COMMANDS = b"touch pwned\nexit 7\n\0$(touch pwned)\n\n\n"


def test_a_call_carries_everything_there_and_back(kind: TransportKind, lab: Lab) -> None:
    steps: list[str] = []
    progress: list[tuple[int, int]] = []
    big = lab.directory / "big"
    big.write_bytes(os.urandom(6 << 20))
    digest = hashlib.sha256(big.read_bytes()).hexdigest()
    session = lab.session(
        'cd "$DIR" && frame_to odd && frame_to big.copy || exit 1\n'
        'emit_fact verb "$VERB"; emit_fact dir "$DIR"; emit_step half; emit_blob odd odd\n'
        'emit_fact sha256 "$(sha256sum <big.copy)"; echo said >&2; emit_end 3',
        lab.options(kind),
    )
    directory = lab.directory / "it's $HOME; `id` ü"
    directory.mkdir()
    payloads = [
        bytes_payload(LIKE_COMMANDS),
        file_payload(big, 6 << 20, digest, lambda *at: progress.append(at)),
    ]
    args = {"dir": str(directory)}
    reply = session.call("stage", args, payloads, on_step=steps.append, timeout=30)
    assert reply.code == 3
    assert reply.first("verb") == "stage"
    assert reply.first("dir") == str(directory)
    assert reply.first("sha256").split()[0] == digest
    assert reply.blobs == {"odd": LIKE_COMMANDS}
    assert reply.stderr.splitlines()[-1] == "said"
    assert steps == ["half"]
    assert progress[-1] == (6 << 20, 6 << 20)
    assert sorted(path.name for path in directory.iterdir()) == ["big.copy", "odd"]
    session.close()


def test_a_heartbeat_runs_beside_a_long_call(kind: TransportKind, lab: Lab) -> None:
    fifo = lab.directory / "fifo"
    body = (
        f"case $VERB in wait) mkfifo {fifo}; emit_step made; read -r said <{fifo};;"
        f' *) said=beat; echo hello >{fifo};; esac; emit_fact said "$said"; emit_end 0'
    )
    session = lab.session(body, lab.options(kind))
    before = lab.server.connections()
    made = threading.Event()
    replies = []
    long_call = threading.Thread(
        target=lambda: replies.append(
            session.call("wait", on_step=lambda _: made.set(), timeout=30)
        )
    )
    long_call.start()
    assert made.wait(20)
    assert session.call("beat", timeout=20).first("said") == "beat"
    long_call.join(20)
    assert replies[0].first("said") == "hello"
    assert lab.server.connections() == before  # both on the one that was there
    session.close()


def test_a_talkative_node_is_no_dead_lock(kind: TransportKind, lab: Lab) -> None:
    body = (
        "head -c 3000000 /dev/zero | tr '\\0' x >&2; head -c 3000000 /dev/zero | tr '\\0' y\n"
        'frame_to "$DIR/copy"; emit_end 0'
    )
    session = lab.session(body, lab.options(kind))
    payload = bytes_payload(b"p" * (5 << 20))
    args = {"dir": str(lab.directory)}
    assert session.call("talk", args, [payload], timeout=30).code == 0
    assert (lab.directory / "copy").stat().st_size == 5 << 20
    session.close()


@pytest.mark.parametrize(
    "body, error",
    [
        ("exit 0", NodeSpokeGarbage),
        ("echo on fire >&2; exit 255", Exception),
        ("while head -c 1000000 /dev/zero; do :; done", OutputTooLarge),
        ("sleep 5", CallTimeout),
    ],
)
def test_no_bad_end_is_taken_for_a_good_one(
    kind: TransportKind, body: str, error: type[Exception], lab: Lab
) -> None:
    session = lab.session(body, lab.options(kind))
    with pytest.raises(error) as raised:
        session.call("switch", timeout=2.5 if error is CallTimeout else 20)
    assert not getattr(raised.value, "nothing_happened", True)
    assert session.label in str(raised.value)
    session.close()


def test_the_connection_outlives_a_call_that_failed(kind: TransportKind, lab: Lab) -> None:
    session = lab.session('[ "$VERB" = good ] && emit_end 0', lab.options(kind))
    with pytest.raises(NodeSpokeGarbage):
        session.call("bad", timeout=20)
    assert session.call("good", timeout=20).code == 0
    session.close()


def test_the_label_is_what_the_operator_wrote(kind: TransportKind, lab: Lab) -> None:
    address = parse_address(lab.address())._replace(label="cp1")
    transport = connect(address, lab.options(kind))
    assert Session(transport, NO_BECOME, "true\n").label == "cp1"
    transport.close()


@pytest.mark.parametrize("forgotten", [False, True])
def test_closing_leaves_nothing_behind(kind: TransportKind, forgotten: bool, lab: Lab) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as directory,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr("tempfile.tempdir", directory)
        session = lab.session("emit_end 0", lab.options(kind))
        session.call("x", timeout=20)
        if not forgotten:
            session.close()
        del session
        gc.collect()
        assert list(Path(directory).iterdir()) == []
    deadline = time.monotonic() + 20
    while any(shows(path, directory) for path in Path("/proc").glob("[0-9]*/cmdline")):
        assert time.monotonic() < deadline, "a master connection was left behind"
        time.sleep(0.05)


def test_a_long_temporary_directory_is_no_place_for_sockets(
    kind: TransportKind, lab: Lab, tmp_path: Path
) -> None:
    temporary = tmp_path / ("x" * 80)
    temporary.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tempfile.tempdir", str(temporary))
        session = lab.session("emit_end 0", lab.options(kind))
        assert session.call("x", timeout=20).code == 0
        assert list(temporary.iterdir()) == []
        session.close()


def shows(cmdline: Path, text: str) -> bool:
    try:
        return text.encode() in cmdline.read_bytes()
    except OSError:
        return False
