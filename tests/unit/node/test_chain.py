"""Calls that the node makes one behind the other, without anybody here having to say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.chain import Wanted
from kschedpatch.node.errors import CallTimeout, NodeSpokeGarbage
from kschedpatch.node.loader import request
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.payload import bytes_payload
from kschedpatch.node.records import End, Over, Ready
from kschedpatch.node.session import Session
from tests.nodescript import session_script
from tests.unit.node.shells import EVERY_SHELL
from tests.unit.node.test_serving import MARK, of_call, served

#: Each verb leaves a file by its name; `bad` says no, `dead` says nothing.
BODY = """
touch "$DIR/$VERB"; emit_fact pid "$$"; emit_fact verb "$VERB"; echo "$VERB speaks" >&2
case $VERB in
  bad) emit_end 13; exit 13 ;;
  dead) exit 5 ;;
  takes) frame_to "$DIR/taken" || exit 1 ;;
  slow) sleep 5 ;;
esac
emit_end 0"""


def wanted(directory: Path, verb: str, *payloads: bytes, timeout: float = 20) -> Wanted:
    frames = tuple(bytes_payload(data) for data in payloads)
    return Wanted(verb, (("dir", str(directory)),), frames, timeout)


@pytest.fixture
def session() -> Session:
    return Session(LocalTransport("cp1"), NO_BECOME, session_script(BODY))


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def test_all_of_them_are_made_and_the_shell_serves_on(session: Session, tmp_path: Path) -> None:
    asked = [wanted(tmp_path, "one"), wanted(tmp_path, "takes", b"\0x\n"), wanted(tmp_path, "two")]
    chain = session.chain(*asked)
    replies = [chain.reply(), chain.reply(), chain.reply()]
    assert [reply.first("verb") for reply in replies] == ["one", "takes", "two"]
    assert (tmp_path / "taken").read_bytes() == b"\0x\n"
    after = session.call("last", {"dir": str(tmp_path)}, timeout=20)
    assert {reply.first("pid") for reply in (*replies, after)} == {after.first("pid")}


def test_the_node_does_not_wait_for_anybody_to_listen(session: Session, tmp_path: Path) -> None:
    chain = session.chain(wanted(tmp_path, "one"), wanted(tmp_path, "two"))
    first = chain.reply()
    # Both have ended, and what the second said came in the same piece, or waits in the pipe.
    while names(tmp_path) != {"one", "two"}:
        pass
    assert (first.first("verb"), chain.reply().first("verb")) == ("one", "two")


def test_nothing_follows_a_no(session: Session, tmp_path: Path) -> None:
    chain = session.chain(wanted(tmp_path, "bad"), wanted(tmp_path, "two", b"left alone"))
    reply = chain.reply()
    assert (reply.code, reply.stderr) == (13, "bad speaks")
    assert session.call("next", {"dir": str(tmp_path)}, timeout=20).code == 0
    assert names(tmp_path) == {"bad", "next"}


def test_nothing_follows_an_end_without_a_word(session: Session, tmp_path: Path) -> None:
    chain = session.chain(wanted(tmp_path, "dead"), wanted(tmp_path, "two"))
    with pytest.raises(NodeSpokeGarbage, match="«dead» ended without saying how it went"):
        chain.reply()
    assert session.call("next", {"dir": str(tmp_path)}, timeout=20).code == 0
    assert names(tmp_path) == {"dead", "next"}


def test_each_has_its_own_time(session: Session, tmp_path: Path) -> None:
    chain = session.chain(wanted(tmp_path, "one"), wanted(tmp_path, "slow", timeout=0.3))
    assert chain.reply().code == 0
    with pytest.raises(CallTimeout, match=r"«slow» did not end within 0\.3 s"):
        chain.reply()
    assert session.call("next", {"dir": str(tmp_path)}, timeout=20).code == 0


def test_one_that_nobody_waits_for_keeps_no_shell(session: Session, tmp_path: Path) -> None:
    chain = session.chain(wanted(tmp_path, "one"), wanted(tmp_path, "slow"))
    pid = chain.reply().first("pid")
    chain.drop()
    assert session.call("next", {"dir": str(tmp_path)}, timeout=20).first("pid") != pid


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_request_that_follows_needs_a_good_end_before_it(
    shell: list[str], tmp_path: Path
) -> None:
    body = f"touch {tmp_path}/$VERB; case $VERB in no) emit_end 11; exit 11 ;; esac; emit_end 0"
    done = served(
        shell,
        body,
        request(MARK, "c1", "yes", {}),
        request(MARK + "+", "c2", "behind", {}),
        request(MARK, "c3", "no", {}),
        request(MARK + "+", "c4", "never", {}),
        request(MARK, "c5", "neither", {}),
    )
    assert of_call(done, "c2") == [Ready(), End(0, 0), Over(0)]
    assert of_call(done, "c3") == [Ready(), End(11, 0), Over(11)]
    assert of_call(done, "c4") == []
    assert done.returncode == 95
    assert names(tmp_path) == {"yes", "behind", "no"}
