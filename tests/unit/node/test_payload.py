"""A file that is streamed is the one that was planned, or the node never gets the whole of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from kschedpatch.node.errors import PayloadChanged
from kschedpatch.node.payload import bytes_payload, file_payload, frame

CONTENT = bytes(range(256)) * 4096


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kube-scheduler"
    path.write_bytes(CONTENT)
    return path


def test_a_file_is_framed_and_its_progress_told(file: Path) -> None:
    told: list[tuple[int, int]] = []
    digest = hashlib.sha256(CONTENT).hexdigest()
    payload = file_payload(file, len(CONTENT), digest, lambda *at: told.append(at))
    assert b"".join(frame(payload)) == b"%d\n" % len(CONTENT) + CONTENT + b"\n"
    assert told == sorted(told)
    assert told[-1] == (len(CONTENT), len(CONTENT))


@pytest.mark.parametrize("offset", [1, 256 * 1024 - 1, 256 * 1024, 700_001, len(CONTENT)])
def test_only_the_rest_of_a_file_is_sent_and_all_of_it_checked(file: Path, offset: int) -> None:
    told: list[tuple[int, int]] = []
    digest = hashlib.sha256(CONTENT).hexdigest()
    payload = file_payload(file, len(CONTENT), digest, lambda *at: told.append(at), offset=offset)
    rest = CONTENT[offset:]
    assert b"".join(frame(payload)) == b"%d\n" % len(rest) + rest + b"\n"
    assert told[-1] == (len(CONTENT), len(CONTENT))
    assert all(sent >= offset for sent, _ in told)
    # What the node has already comes from the same file, or nothing is sent to its end.
    file.write_bytes(b"\xff" + CONTENT[1:])
    sent: list[bytes] = []
    with pytest.raises(PayloadChanged):
        sent.extend(frame(payload))
    assert not rest or len(b"".join(sent[1:])) < len(rest)


def test_bytes_are_framed() -> None:
    assert b"".join(frame(bytes_payload(b""))) == b"0\n\n"
    assert b"".join(frame(bytes_payload(CONTENT))) == b"%d\n" % len(CONTENT) + CONTENT + b"\n"


@pytest.mark.parametrize("change", ["content", "shorter", "longer", "gone", "directory"])
def test_a_file_that_changed_is_never_sent_whole(file: Path, change: str) -> None:
    payload = file_payload(file, len(CONTENT), hashlib.sha256(CONTENT).hexdigest())
    file.unlink()
    if change == "directory":
        file.mkdir()
    elif change != "gone":
        new = {"content": CONTENT[:-1] + b"!", "shorter": CONTENT[:-1], "longer": CONTENT + b"!"}
        file.write_bytes(new[change])
    sent: list[bytes] = []
    with pytest.raises(PayloadChanged) as raised:
        sent.extend(frame(payload))
    assert len(b"".join(sent)) < len(CONTENT)
    assert "kube-scheduler" in raised.value.message
