"""sudo's password: only for sudo's own question, once, and seen nowhere else."""

from __future__ import annotations

import logging
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kschedpatch.node import shell as shell_module
from kschedpatch.node.become import Become, Elevation, Secret
from kschedpatch.node.chain import Reply
from kschedpatch.node.connectoptions import TransportKind
from kschedpatch.node.errors import BecomeFailed
from kschedpatch.node.payload import bytes_payload
from kschedpatch.node.session import Session
from tests.integration.ssh.conftest import Lab
from tests.integration.ssh.sudostub import SudoStub
from tests.integration.sshd import Sshd

CANARY = f"canary-{secrets.token_hex(8)}-'$(id)`\" ü"
BODY = (
    'frame_to "$DIR/staged" || exit 1\nemit_step staged\n'
    'while [ ! -e "$DIR/go" ]; do sleep 0.02; done\n'
    'emit_blob staged "$DIR/staged"; emit_end 0'
)


@pytest.fixture(scope="module")
def stub(tmp_path_factory: pytest.TempPathFactory) -> SudoStub:
    return SudoStub(tmp_path_factory.mktemp("sudo") / "bin", CANARY)


@pytest.fixture(scope="module")
def sudo_server(
    stub: SudoStub, server: Sshd, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Sshd]:
    with Sshd(
        tmp_path_factory.mktemp("sshd"),
        client_key=server.client_key,
        environment={"PATH": stub.search_path()},
    ) as running:
        yield running


@pytest.fixture
def sudo_lab(sudo_server: Sshd, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    monkeypatch.setenv("PATH", f"{stub_path(sudo_server)}:{os.environ['PATH']}")
    return Lab(tmp_path, sudo_server)


def stub_path(server: Sshd) -> str:
    return server.environment["PATH"].split(":")[0]


def sudo_session(lab: Lab, kind: TransportKind, password: str | None, body: str = BODY) -> Session:
    secret = Secret(password) if password is not None else None
    return lab.session(body, lab.options(kind), Become(Elevation.ALWAYS, secret))


def processes_with(text: str) -> list[str]:
    """Processes that show a text in their arguments or their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                if text.encode() in (process / name).read_bytes():
                    found.append(f"{process}/{name}")
            except OSError:
                continue
    return found


def files_with(text: str, *directories: Path) -> list[Path]:
    return [
        path
        for directory in directories
        for path in directory.rglob("*")
        if path.is_file() and text.encode() in path.read_bytes()
    ]


def staged(lab: Lab, session: Session, look: Callable[[], None] = lambda: None) -> Reply:
    """A call that stages a file, and is looked at from outside while it runs."""

    def on_step(_: str) -> None:
        look()
        (lab.directory / "go").touch()

    payloads = [bytes_payload(b"payload\n")]
    args = {"dir": str(lab.directory)}
    try:
        return session.call("stage", args, payloads, on_step=on_step, timeout=30)
    finally:
        (lab.directory / "go").unlink(missing_ok=True)


@pytest.mark.parametrize("kind", list(TransportKind))
@pytest.mark.parametrize("mood", ["asking", "lecture", "silent", "calm"])
def test_the_password_is_seen_nowhere(
    kind: TransportKind,
    mood: str,
    sudo_lab: Lab,
    stub: SudoStub,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    stub.be(mood)
    seen: list[str] = []
    session = sudo_session(sudo_lab, kind, CANARY)
    reply = staged(sudo_lab, session, lambda: seen.extend(processes_with(CANARY)))
    session.close()
    assert seen == []
    assert reply.code == 0
    assert reply.blobs["staged"] == b"payload\n"  # and not what was meant for sudo
    assert stub.answers == (1 if mood in {"asking", "lecture"} else 0)
    assert stub.calls[0] == "-n"
    assert files_with(CANARY, sudo_lab.directory, sudo_lab.server.directory, stub.directory) == []
    assert CANARY not in caplog.text
    assert CANARY not in repr(reply)
    assert CANARY not in repr(vars(session))


def test_the_search_for_the_canary_can_fail(sudo_lab: Lab) -> None:
    session = sudo_lab.session(BODY, sudo_lab.options())
    seen: list[str] = []
    staged(sudo_lab, session, lambda: seen.extend(processes_with("bytes of the script arrived")))
    session.close()
    assert [place for place in seen if place.endswith("cmdline")]
    (sudo_lab.directory / "leak").write_text(CANARY)
    assert files_with(CANARY, sudo_lab.directory) == [sudo_lab.directory / "leak"]


@pytest.mark.parametrize("kind", list(TransportKind))
def test_a_wrong_password_is_tried_once(kind: TransportKind, sudo_lab: Lab, stub: SudoStub) -> None:
    stub.be("asking")
    session = sudo_session(sudo_lab, kind, "wrong-" + CANARY)
    for _ in range(2):  # the second call does not even try: the account might be locked
        with pytest.raises(BecomeFailed) as raised:
            staged(sudo_lab, session)
        assert raised.value.nothing_happened
        assert "does not take the password" in raised.value.message
        assert CANARY not in repr(raised.value) + raised.value.hint
    session.close()
    assert stub.answers == 1
    assert stub.calls == ["-n", "-S"]
    assert not (sudo_lab.directory / "staged").exists()


def test_a_sudo_that_repeats_what_it_got_is_not_repeated(sudo_lab: Lab, stub: SudoStub) -> None:
    stub.be("blabber")
    session = sudo_session(sudo_lab, TransportKind.PARAMIKO, CANARY)
    reply = staged(sudo_lab, session)
    session.close()
    assert "debug: got (hidden)" in reply.stderr
    assert CANARY not in repr(reply)


def test_without_a_password_the_operator_is_told_of_the_flag(sudo_lab: Lab, stub: SudoStub) -> None:
    stub.be("asking")
    session = sudo_session(sudo_lab, TransportKind.PARAMIKO, None)
    with pytest.raises(BecomeFailed) as raised:
        staged(sudo_lab, session)
    session.close()
    assert "a password is required" in raised.value.message
    assert "-K" in raised.value.hint
    assert stub.calls == ["-n"]


def test_who_may_not_use_sudo_is_not_asked_for_more(sudo_lab: Lab, stub: SudoStub) -> None:
    stub.be("stranger")
    session = sudo_session(sudo_lab, TransportKind.PARAMIKO, CANARY)
    with pytest.raises(BecomeFailed) as raised:
        staged(sudo_lab, session)
    session.close()
    assert "not in the sudoers file" in raised.value.message
    assert stub.calls == ["-n"]


def test_another_question_than_ours_gets_no_answer(
    sudo_lab: Lab, stub: SudoStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shell_module, "START_TIMEOUT", 3.0)
    stub.be("factor")
    session = sudo_session(sudo_lab, TransportKind.PARAMIKO, CANARY)
    with pytest.raises(BecomeFailed) as raised:
        staged(sudo_lab, session)
    session.close()
    assert "Verification code" in raised.value.message
    assert stub.answers == 0


def test_the_node_that_asks_is_remembered(sudo_lab: Lab, stub: SudoStub) -> None:
    """A failed `sudo -n` for every heartbeat would fill the node's log, and its admin's mailbox."""
    stub.be("asking")
    body = "emit_step here; emit_end 0"
    session = sudo_session(sudo_lab, TransportKind.PARAMIKO, CANARY, body)
    # One while another runs needs a shell of its own; all later ones have two to choose from.
    session.call("watch", on_step=lambda _: beat(session), timeout=20)
    beat(session)
    session.call("watch", on_step=lambda _: beat(session), timeout=20)
    session.close()
    assert stub.calls == ["-n", "-S", "-S"]


def beat(session: Session) -> None:
    assert session.call("renew", timeout=20).code == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="the tests do not run as root")
def test_root_needs_no_sudo(sudo_lab: Lab, stub: SudoStub) -> None:
    stub.be("stranger")
    session = sudo_lab.session(BODY, sudo_lab.options(), Become())
    assert staged(sudo_lab, session).code == 0
    session.close()
    assert stub.calls == []
