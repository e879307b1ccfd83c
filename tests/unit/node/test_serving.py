"""One shell serves many calls, under every shell, and nothing of one is taken for the next."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.loader import LOADER, request
from kschedpatch.node.local import LocalTransport
from kschedpatch.node.process import ProcessChannel
from kschedpatch.node.records import End, Fact, Over, Ready, Record, RecordReader
from kschedpatch.node.session import Session
from tests.nodescript import session_script
from tests.unit.node.shells import EVERY_SHELL

MARK = "feedbeef"
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


def served(shell: list[str], body: str, *inputs: bytes) -> subprocess.CompletedProcess[bytes]:
    script = session_script(body).encode()
    return subprocess.run(
        [*shell, "-c", LOADER, "kschedpatch", MARK],
        input=b"%d\n%s%s" % (len(script), script, b"".join(inputs)),
        capture_output=True,
        timeout=60,
        check=False,
    )


def of_call(done: subprocess.CompletedProcess[bytes], mark: str) -> list[Record]:
    return list(RecordReader(mark).feed(done.stdout))


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_every_word_arrives_as_it_was(shell: list[str], tmp_path: Path) -> None:
    file = tmp_path / "words"

    @settings(max_examples=20, deadline=None)
    @given(st.lists(WORDS, max_size=4))
    def check(words: list[str]) -> None:
        file.write_bytes(b"")
        body = f'for word; do printf "%s\\0" "${{word#key=}}" >>{file}; done; emit_end 0'
        done = served(shell, body, request(MARK, "c1", "try", [("key", w) for w in words]))
        assert of_call(done, "c1") == [Ready(), End(0, 0), Over(0)]
        assert file.read_bytes().decode().split("\0")[:-1] == words

    check()


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_calls_come_one_behind_the_other(shell: list[str], tmp_path: Path) -> None:
    body = (
        'emit_fact before "${left:-nothing}"; left=$VERB; cd /; umask 000; trap "" TERM\n'
        'echo "$VERB speaks" >&2\n'
        '[ "$VERB" = none ] || frame_to "$DIR/$VERB" || exit 1\n'
        '[ "$VERB" != stop ] || exit 3\nemit_end 0'
    )
    args = {"dir": str(tmp_path)}
    done = served(
        shell,
        body,
        request(MARK, "c1", "one", args) + b"4\na\0b\n\n",
        request(MARK, "c2", "stop", args) + b"0\n\n",
        request(MARK, "c3", "none", args),
        request(MARK, "c4", "two", args) + b"2\nxy\n",
    )
    nothing = Fact("before", "nothing")
    assert of_call(done, "c1") == [Ready(), nothing, End(0, 1), Over(0)]
    assert of_call(done, "c2") == [Ready(), nothing, Over(3)]
    assert of_call(done, "c3") == [Ready(), nothing, End(0, 0), Over(0)]
    assert of_call(done, "c4") == [Ready(), nothing, End(0, 1), Over(0)]
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert files == {"one": b"a\0b\n", "stop": b"", "two": b"xy"}
    said = [line for line in done.stderr.decode().splitlines() if "warning" not in line]
    assert said == [
        *("one speaks", "@c1 over", "stop speaks", "@c2 over"),
        *("none speaks", "@c3 over", "two speaks", "@c4 over"),
    ]
    assert done.returncode == 0


@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize(
    "left", [b"5\nabc\n\n", b"touch pwned\n", b"\n", b"c1 c2 touch\n", b"feedbeefc2 touch\n"]
)
def test_what_a_call_leaves_unread_is_no_request(
    shell: list[str], left: bytes, tmp_path: Path
) -> None:
    body = f"touch {tmp_path}/$VERB; emit_end 0"
    calls = (request(MARK, "c1", "one", {}), left, request(MARK, "c2", "two", {}))
    done = served(shell, body, *calls)
    assert of_call(done, "c1") == [Ready(), End(0, 0), Over(0)]
    assert of_call(done, "c2") == []
    assert done.returncode == 97
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_call_that_is_killed_is_told_and_is_the_last(shell: list[str]) -> None:
    """It may have died within a record: what came behind would be taken for the rest of that."""
    body = "[ \"$VERB\" = good ] || sh -c 'kill -9 $PPID'; emit_end 0"
    requests = (request(MARK, "c1", "bad", {}), request(MARK, "c2", "good", {}))
    done = served(shell, body, *requests)
    assert of_call(done, "c1") == [Ready(), Over(137)]
    assert of_call(done, "c2") == []
    assert done.returncode == 96


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_nothing_is_done_when_nobody_listens_any_more(shell: list[str], tmp_path: Path) -> None:
    script = session_script(f"touch {tmp_path}/$VERB; emit_end 0").encode()
    process = subprocess.Popen(
        [*shell, "-c", LOADER, "kschedpatch", MARK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"%d\n%s" % (len(script), script) + request(MARK, "c1", "one", {}))
    process.stdin.flush()
    while b"@c1 over" not in process.stdout.readline():
        pass
    process.stdout.close()
    process.stdin.write(request(MARK, "c2", "two", {}))
    process.stdin.close()
    process.wait(20)
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


class Impatient(LocalTransport):
    """Its bash gives up a `read` after a second, unless it is told otherwise."""

    def open(self, command: str) -> ProcessChannel:
        inner = command.replace("sh", "bash", 1) if command.startswith("'sh'") else command
        return ProcessChannel("cp1", ["env", "TMOUT=1", "bash", "-c", inner])


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_a_bash_that_is_told_to_give_up_waiting_waits() -> None:
    session = Session(Impatient(), NO_BECOME, session_script('emit_fact pid "$$"; emit_end 0'))
    first = session.call("x", timeout=20).first("pid")
    time.sleep(1.5)
    assert session.call("x", timeout=20).first("pid") == first
    session.close()
