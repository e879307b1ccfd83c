"""known_hosts, line by line."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path

import pytest

from kschedpatch.node.errors import HostKeyChanged, HostKeyUnknown
from kschedpatch.node.hostkeys import HostKey, HostKeys, known_lines
from kschedpatch.node.sshconfig import Destination

KEY = HostKey("ssh-ed25519", b"the key")
OTHER = HostKey("ssh-ed25519", b"another key")


def text_of(key: HostKey) -> str:
    return f"{key.kind} {base64.b64encode(key.blob).decode()}"


def destination(host: str, port: int = 22, *files: Path) -> Destination:
    return Destination(host, port, "root", (), False, False, (), None, files, (), None, None)


@pytest.mark.parametrize(
    "pattern, host, port, known",
    [
        ("cp1", "cp1", 22, True),
        ("cp1", "CP1", 22, True),
        ("cp1", "cp11", 22, False),
        ("other,cp1", "cp1", 22, True),
        ("cp*", "cp1", 22, True),
        ("cp?", "cp1", 22, True),
        ("cp*,!cp1", "cp1", 22, False),
        ("*,!cp1", "cp2", 22, True),
        ("[cp1]:2222", "cp1", 2222, True),
        ("[cp1]:2222", "cp1", 22, False),
        ("[cp1]:2222", "cp1", 2223, False),
        ("[cp*]:2222", "cp1", 2222, True),
        ("cp1", "cp1", 2222, True),  # ssh takes a key that is known without the port
        ("[ac]p1", "ap1", 22, False),  # no ranges of characters
        ("::1", "::1", 22, True),
        ("[::1]:2222", "::1", 2222, True),
        ("|1|broken", "cp1", 22, False),
    ],
)
def test_patterns(pattern: str, host: str, port: int, known: bool, tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"{pattern} {text_of(KEY)}\n")
    keys = HostKeys(destination(host, port, file), "node")
    if known:
        keys.check(KEY)
    else:
        with pytest.raises(HostKeyUnknown):
            keys.check(KEY)


def test_a_hash_is_the_one_that_ssh_makes(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    public = tmp_path / "key"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(public)]
    subprocess.run(command, check=True)
    kind, blob, *_ = public.with_suffix(".pub").read_text().split()
    file.write_text(f"[cp1]:2222 {kind} {blob}\n")
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", file], check=True)
    assert len(list(known_lines(file, ["[cp1]:2222"]))) == 1
    assert list(known_lines(file, ["cp1"])) == []


def test_lines_that_say_nothing_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_bytes(b"# cp1 x\n\ncp1\ncp1 ssh-ed25519\ncp1 ssh-ed25519 ***\n\xff\xfe\n")
    with file.open("a") as stream:
        stream.write(f"cp1 {text_of(KEY)} comment\n")
    (line,) = known_lines(file, ["cp1"])
    assert (line.number, line.key) == (7, KEY)
    assert list(known_lines(tmp_path / "none", ["cp1"])) == []


def test_any_of_several_files_may_know_the_key(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_text(f"cp1 {text_of(OTHER)}\n")
    second.write_text(f"cp1 {text_of(KEY)}\n")
    keys = HostKeys(destination("cp1", 22, first, second), "node")
    keys.check(KEY)
    keys.check(OTHER)
    second.write_text(f"@revoked * {text_of(KEY)}\n")
    with pytest.raises(HostKeyChanged) as raised:
        keys.check(KEY)
    assert f"{second}, line 1" in raised.value.message


def test_a_changed_key_is_not_enrolled(tmp_path: Path) -> None:
    file = tmp_path / "known_hosts"
    file.write_text(f"cp1 {text_of(OTHER)}\n")
    keys = HostKeys(destination("cp1", 22, file), "node", accept_new=True)
    with pytest.raises(HostKeyChanged) as raised:
        keys.check(KEY)
    assert KEY.fingerprint in raised.value.message
    assert OTHER.fingerprint in raised.value.message
    assert file.read_text() == f"cp1 {text_of(OTHER)}\n"


def test_enrolling_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    keys = HostKeys(destination("cp1", 22, tmp_path / "file/known"), "node", accept_new=True)
    with pytest.raises(HostKeyUnknown) as raised:
        keys.check(KEY)
    assert "--known-hosts" in raised.value.hint
