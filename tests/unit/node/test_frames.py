"""Frames arrive byte for byte under every shell, and nothing is read ahead."""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from kschedpatch.node.loader import LOADER
from kschedpatch.node.quoting import quote
from kschedpatch.node.records import Blob, End, Fact, Ready, Record, RecordReader, Step
from kschedpatch.node.script import agent_script
from tests.unit.node.shells import EVERY_SHELL

FRAMES = (Path(__file__).parents[3] / "kschedpatch/node/agent/frames.sh").read_text()
MARK = "feedbeef"

PAYLOADS = {
    "like-commands": b"touch pwned\nexit 7\n$(touch pwned)\n`touch pwned`\n12\n",
    "nul": b"\0\0a\0\n\0",
    "trailing-newlines": b"a\n\n\n\n",
    "no-newline": b"a",
    "empty": b"",
    "one-block": bytes(range(256)) * 256,
    "a-block-and-a-byte": b"x" * 65537,
    "a-mebibyte": os.urandom(1024 * 1024),
    "like-a-length": b"99999\n",
}


def framed(*payloads: bytes) -> bytes:
    return b"".join(b"%d\n%s\n" % (len(payload), payload) for payload in payloads)


def run(
    shell: list[str], directory: Path, body: str, stdin: bytes, path: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """The loader under a shell, in a directory, with a script of a few lines; slowly fed."""
    script = FRAMES + "\ntest_main() {\n" + body + '\n}\ntest_main "$@"\n'
    data = b"%d\n%s" % (len(script), script.encode()) + stdin
    process = subprocess.Popen(
        [*shell, "-c", LOADER, "kschedpatch", MARK, "try", "key=a b", "other=$HOME"],
        cwd=directory,
        env={"PATH": path or os.environ["PATH"], "HOME": "/nowhere"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def feed() -> None:
        assert process.stdin is not None
        try:
            # Small and odd pieces: a short read must not end a frame.
            for start in range(0, len(data), 7001):
                process.stdin.write(data[start : start + 7001])
                process.stdin.flush()
        except BrokenPipeError:
            pass

    feeder = threading.Thread(target=feed)
    feeder.start()
    assert process.stdout is not None
    assert process.stderr is not None
    out = process.stdout.read()
    feeder.join()
    err = process.stderr.read()
    assert process.stdin is not None
    with suppress(BrokenPipeError):
        process.stdin.close()
    return subprocess.CompletedProcess([], process.wait(), out, err)


def records(done: subprocess.CompletedProcess[bytes]) -> list[Record]:
    return list(RecordReader(MARK).feed(done.stdout))


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_every_payload_arrives_as_it_was(shell: list[str], tmp_path: Path) -> None:
    body = "frames_open\n" + "".join(f"frame_to {name} || emit_end 1\n" for name in PAYLOADS)
    body += "read -r left <&3; emit_fact left $left; emit_end 0"
    done = run(shell, tmp_path, body, framed(*PAYLOADS.values()) + b"untouched\n")
    assert records(done) == [Ready(), Fact("left", "untouched"), End(0, len(PAYLOADS))]
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == PAYLOADS
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


#: Every character of one byte but NUL, and as many of two; quotes; what looks like a command.
WORDS = (
    "".join(map(chr, range(1, 256))),
    "",
    "a\n\n\n",
    "it's '\\'' \"$HOME\" $(touch pwned) `touch pwned` * ~ ! \\\n",
    "x" * 200_000,
    "# öäü – 世界 🙂 :",
)


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_texts_arrive_as_words_as_they_were(shell: list[str], tmp_path: Path) -> None:
    body = (
        'frames_open; frame_words || emit_end 1; eval "set -- $FRAME_WORDS"; emit_fact count $#\n'
        'number=0; for word in "$@"; do\n'
        '  printf %s "$word" >"word$number"; number=$((number + 1))\n'
        "done\n"
        "frame_to file; emit_end 0"
    )
    words = " ".join(map(quote, WORDS)).encode()
    done = run(shell, tmp_path, body, framed(words, b"behind them"))
    assert records(done) == [Ready(), Fact("count", str(len(WORDS))), End(0, 2)]
    for number, word in enumerate(WORDS):
        assert (tmp_path / f"word{number}").read_bytes().decode() == word
    assert (tmp_path / "file").read_bytes() == b"behind them"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize("stdin", [b"9\n'a' 'b'", b"70000\n" + b"x" * 69000, b"", b"1x\na"])
def test_words_that_are_cut_short_are_none(shell: list[str], stdin: bytes, tmp_path: Path) -> None:
    body = "frames_open; if frame_words; then emit_end 0; else emit_end 5; fi"
    assert records(run_to_the_end(shell, tmp_path, body, stdin)) == [Ready(), End(5)]


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_without_fullblock_dd_takes_single_bytes(shell: list[str], tmp_path: Path) -> None:
    old_dd = tmp_path / "bin" / "dd"
    old_dd.parent.mkdir()
    old_dd.write_text('#!/bin/sh\ncase "$*" in *iflag*) exit 1;; esac\nexec /bin/dd "$@"\n')
    old_dd.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    body = "frames_open; frame_to a && frame_to b && emit_end 0"
    stdin = framed(b"first\n\n", b"x" * 9000)
    if shell[0] == "busybox":
        pytest.skip("its dd is built in, and knows fullblock")
    done = run(shell, work, body, stdin, f"{old_dd.parent}:{os.environ['PATH']}")
    assert records(done) == [Ready(), End(0, 2)]
    assert (work / "a").read_bytes() == b"first\n\n"
    assert (work / "b").read_bytes() == b"x" * 9000


@pytest.mark.parametrize("shell", EVERY_SHELL)
@pytest.mark.parametrize(
    "stdin", [b"10\nshort", b"100000\n" + b"x" * 70000, b"", b"-1\n", b"1x\na"]
)
def test_a_frame_that_is_cut_short_leaves_nothing(
    shell: list[str], stdin: bytes, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("from an earlier call")
    body = "frames_open; if frame_to file; then emit_end 0; else emit_end 5; fi"
    process = run_to_the_end(shell, tmp_path, body, stdin)
    assert records(process) == [Ready(), End(5)]
    assert not (tmp_path / "file").exists()


def run_to_the_end(
    shell: list[str], directory: Path, body: str, stdin: bytes
) -> subprocess.CompletedProcess[bytes]:
    script = FRAMES + "\ntest_main() {\n" + body + '\n}\ntest_main "$@"\n'
    return subprocess.run(
        [*shell, "-c", LOADER, "kschedpatch", MARK, "try"],
        cwd=directory,
        input=framed(script.encode()) + stdin,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_commands_of_the_script_do_not_eat_frames(shell: list[str], tmp_path: Path) -> None:
    body = 'frames_open; emit_fact eaten "$(cat)"; frame_to file; emit_end 0'
    done = run(shell, tmp_path, body, framed(b"still there"))
    assert records(done) == [Ready(), Fact("eaten", ""), End(0, 1)]
    assert (tmp_path / "file").read_bytes() == b"still there"


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_arguments_and_records(shell: list[str], tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"\0line\n@feedbeef end 9\n")
    (tmp_path / "nothing").touch()
    body = (
        'emit_fact args "$1|$2|$3|$4"; emit_step "two\nlines"\n'
        'emit_fact odd "$(printf "a\\tb\\033[1m\\177c ü")"\n'
        "emit_blob blob blob; emit_blob nothing nothing\n"
        'emit_blob gone gone || emit_fact gone yes; printf "no line break"; emit_end 42'
    )
    assert records(run(shell, tmp_path, body, b"")) == [
        Ready(),
        Fact("args", "feedbeef|try|key=a b|other=$HOME"),
        Step("two lines"),
        Fact("odd", "a b [1m c ü"),
        Blob("blob", b"\0line\n@feedbeef end 9\n"),
        Blob("nothing", b""),
        Fact("gone", "yes"),
        End(42),
    ]


@pytest.mark.parametrize("shell", EVERY_SHELL)
def test_a_script_that_is_cut_short_does_nothing(shell: list[str], tmp_path: Path) -> None:
    script = b"touch ran\n" * 100
    done = subprocess.run(
        [*shell, "-c", LOADER, "kschedpatch", MARK, "try"],
        cwd=tmp_path,
        input=b"%d\n%s" % (len(script), script[:-3]),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 98
    assert b"997 of 1000 bytes" in done.stderr
    assert not list(tmp_path.iterdir())


def test_the_agent_script_is_joined_and_acts_only_in_its_last_line() -> None:
    script = agent_script()
    assert script.isascii()
    assert script.index("frame_to() {") >= 0
    assert script.endswith('\nksp_main "$@"\n')
    assert script.count('ksp_main "$@"') == 1
