"""The scripts, in the shells that they are for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.unit.command_line import run

BIN = Path(sys.executable).parent
PROGRAM = BIN / "kschedpatch"


def shell(name: str) -> str:
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name} here")
    return path


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh/config").write_text("Host cp1 cp2\nHost bastion\n")
    (tmp_path / "a directory").mkdir()
    (tmp_path / "a file.yaml").touch()
    return {"HOME": str(tmp_path), "PATH": f"{BIN}:{os.environ['PATH']}", "LANG": "C.UTF-8"}


def spoken(command: list[str], environment: dict[str, str], script: str = "") -> list[str]:
    done = subprocess.run(
        command,
        input=script,
        env=environment,
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout.splitlines()


def script_for(name: str) -> str:
    ran = run("completion", name)
    assert (ran.code, ran.err) == (0, "")
    return ran.out


# Bash's own splitting, with the signs that are in COMP_WORDBREAKS when it is interactive.
PARTS = re.compile(r"[=:]|@?[^\s=:@]+|@")


def in_bash(line: str, environment: dict[str, str]) -> tuple[list[str], list[str]]:
    """What is offered, and what bash is told to do about files."""
    words = PARTS.findall(line) + ([""] if line.endswith((" ", "=", ":")) else [])
    listed = " ".join(f"'{word}'" for word in words)
    lines = spoken(
        [shell("bash"), "--norc", "--noprofile"],
        environment,
        f"{script_for('bash')}\n"
        'compopt() { echo "compopt $*"; }\n'
        "COMP_WORDBREAKS=$' \\t\\n\"\\'@><=;|&(:'\n"
        f"COMP_WORDS=({listed}) COMP_CWORD={len(words) - 1}\n"
        f"COMP_LINE='{line}' COMP_POINT={len(line)}\n"
        "_kschedpatch kschedpatch\n"
        '((${#COMPREPLY[@]})) && printf "<%s>\\n" "${COMPREPLY[@]}"; true\n',
    )
    told = [line.removeprefix("compopt ") for line in lines if line.startswith("compopt ")]
    return [line[1:-1] for line in lines if line.startswith("<")], told


NO_FILES = ["+o default"]


@pytest.mark.parametrize(
    "line, offered, told",
    [
        ("kschedpatch sta", ["status"], NO_FILES),
        ("kschedpatch status ", ["cp1", "cp2", "bastion"], NO_FILES),
        ("kschedpatch  status   cp1 c", ["cp2"], NO_FILES),
        # Only what stands behind the sign is replaced.
        ("kschedpatch plan --output=js", ["json"], NO_FILES),
        ("kschedpatch plan --output=", ["table", "json", "yaml"], NO_FILES),
        ("kschedpatch status root@b", ["@bastion"], NO_FILES),
        ("kschedpatch status root@cp1:22 c", ["cp1", "cp2"], NO_FILES),
        ("kschedpatch plan --inventory ", [], []),
        ("kschedpatch render --out ", [], ["+o default -o dirnames"]),
    ],
)
def test_bash(line: str, offered: list[str], told: list[str], environment: dict[str, str]) -> None:
    assert in_bash(line, environment) == (offered, told)


def test_bash_without_the_program_offers_nothing(environment: dict[str, str]) -> None:
    assert in_bash("kschedpatch sta", {**environment, "PATH": "/usr/bin:/bin"}) == ([], [])


@pytest.mark.long
def test_bash_at_a_terminal(environment: dict[str, str], tmp_path: Path) -> None:
    """Whoever presses the key: bash splits the line, asks, and puts in what is left to type."""
    import pty

    (tmp_path / "script").write_text(script_for("bash"))
    typed = (
        "source ./script; kschedpatch() { printf 'GOT'; printf ' <%s>' \"$@\"; echo; }\n"
        # The function would be asked in the program's place.
        f"_ask() {{ _kschedpatch '{PROGRAM}'; }}; complete -o default -F _ask kschedpatch\n"
        "kschedpatch rollb\t--to or\troot@ba\t\n"
        "kschedpatch plan --output=js\t--f\ta\\ fi\t\n"
        "kschedpatch render --out a\t\n"
        "exit\n"
    )
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.execve(shell("bash"), ["bash", "--norc", "--noprofile", "-i"], environment)  # noqa: S606
    os.write(terminal, typed.encode())
    shown = b""
    while True:
        try:
            data = os.read(terminal, 4096)
        except OSError:  # the other end is closed
            break
        shown += data
    os.close(terminal)
    os.waitpid(pid, 0)
    got = re.findall(r"^GOT (.*?)\r?$", shown.decode(errors="replace"), re.M)
    assert got == [
        "<rollback> <--to> <original> <root@bastion>",
        "<plan> <--output=json> <--file> <a file.yaml>",
        "<render> <--out> <a directory/>",
    ], shown


ZSH = r"""
compdef() { print -r -- "compdef $*" }
source ./script
_describe() { print -rl -- "${(@P)${@[-1]}}" }
_files() { print -r -- "files $* [$PREFIX]" }
compset() { PREFIX=${PREFIX#*=} }
ask() { words=("$@"); CURRENT=$#words; PREFIX=${words[-1]}; _kschedpatch; print -- -- }
ask kschedpatch sta
ask kschedpatch status 'c'
ask kschedpatch plan --output=j
ask kschedpatch plan --inventory=x
ask kschedpatch render --out ''
ask kschedpatch apply --reason ''
"""


def test_zsh(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script_for("zsh"))
    lines = spoken([shell("zsh"), "-f"], environment, ZSH)
    assert lines[0] == "compdef _kschedpatch kschedpatch"
    assert "\n".join(lines[1:]).split("\n--\n")[:6] == [
        "status:Show how each node stands",
        "cp1\ncp2",
        "--output=json",
        "files  [x]",
        "files -/ []",
        "--",
    ]


def in_fish(line: str, environment: dict[str, str]) -> list[str]:
    words = f"source ./script; complete -C '{line}'"
    lines = spoken([shell("fish"), "--no-config", "-c", words], environment)
    return [line.partition("\t")[0] for line in lines]


def test_fish(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "script").write_text(script_for("fish"))
    assert in_fish("kschedpatch sta", environment) == ["status"]
    assert in_fish("kschedpatch status c", environment) == ["cp1", "cp2"]
    assert in_fish("kschedpatch plan --output=j", environment) == ["--output=json"]
    assert in_fish("kschedpatch plan -f a", environment) == ["a directory/", "a file.yaml"]
    assert in_fish("kschedpatch plan --file=a", environment) == [
        "--file=a directory/",
        "--file=a file.yaml",
    ]
    assert in_fish("kschedpatch render --out a", environment) == ["a directory/"]
    assert in_fish("kschedpatch apply --reason ", environment) == []


def test_no_script_names_a_file_of_this_machine() -> None:
    for name in ("bash", "zsh", "fish"):
        assert str(Path(__file__).parents[3]) not in script_for(name)


def test_completion_loads_nothing_heavy(environment: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "hosts.ini").write_text("[control_plane]\ncp7\n")
    program = (
        "import sys, atexit; from kschedpatch.cli.entry import main\n"
        "heavy = {'rich', 'pydantic', 'paramiko', 'ruamel.yaml', 'asyncio', 'jsonschema'}\n"
        "atexit.register(lambda: print(sorted(heavy & set(sys.modules))))\n"
        "main()\n"
    )
    for words, last in (
        (("status", ""), "bastion"),
        (("status", "--inventory", "hosts.ini", ""), "cp7"),
    ):
        command = [sys.executable, "-c", program, "__complete", "zsh", *words]
        assert spoken(command, environment)[-3:] == [last, ":4", "[]"]
