"""Hostile and clumsy input: a clear refusal, the right exit code, little time and memory.

Most tests call the commands in this process under a CPU alarm; those about signals, descriptors
and memory start a child. Exit codes are 0 or 2: never 1, and 70 means a bug.
"""

from __future__ import annotations

import fcntl
import gzip
import io
import json
import lzma
import os
import re
import signal
import struct
import subprocess
import sys
import tarfile
import tempfile
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from typer.testing import CliRunner

from kschedpatch.cli.app import whole_app
from tests.unit import command_line

MANIFEST = Path(__file__).parents[2] / "fixtures/manifests/kubeadm/v1.34.yaml"
HEAD = "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: x}\nspec:\n"
FULL = 128 * 1024
CPU_GUARD = 8  # seconds; the goal is one, the machine may be slow
WALL_GUARD = 90
MAX_RSS_MB = 200

ANSI = "\x1b[31m"
BIDI = "\u202eabc\u2066"
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff"
    "\U000e0000-\U000e007f]"
)


@dataclass(frozen=True)
class Ended:
    code: int
    output: str
    errors: str = ""
    rss_mb: float = 0.0

    @property
    def text(self) -> str:
        return self.output + self.errors


class TooSlow(Exception):
    """The CPU alarm rang."""


def _ring(_signal: int, _frame: FrameType | None) -> None:
    raise TooSlow


@pytest.fixture(autouse=True)
def _alarm() -> Iterator[None]:
    previous = signal.signal(signal.SIGPROF, _ring)
    signal.setitimer(signal.ITIMER_PROF, CPU_GUARD)
    yield
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.signal(signal.SIGPROF, previous)


def run(*args: str, text: str | bytes = "") -> Ended:
    """A command in this process. An exception that reaches the entry point fails the test."""
    result = CliRunner().invoke(whole_app(), list(args), input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        pytest.fail(f"would end with 70: {result.exception!r:.300}")
    return Ended(result.exit_code, result.output)


def render(*args: str, text: str | bytes = "") -> Ended:
    return run("render", "--manifest", str(MANIFEST), *args, text=text)


def assert_refused(ended: Ended, *expected: str) -> None:
    assert ended.code == 2, ended.text[:500]
    for part in expected:
        assert part in ended.text
    assert_clean(ended)


def assert_clean(ended: Ended) -> None:
    assert "Traceback" not in ended.text
    raw = RAW.search(ended.text)
    assert raw is None, ascii(ended.text[max(0, raw.start() - 40) : raw.end() + 40])


_CHILD = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (int(sys.argv[1]), int(sys.argv[1])))
from kschedpatch.cli.entry import main
sys.argv[:2] = ["kschedpatch"]
main()
"""
# ru_maxrss would be this process's: it outlives the exec. The high-water mark does not.
_MEASURED = """
import atexit, pathlib, sys
target = sys.argv.pop(1)
def note():
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        pathlib.Path(target).write_text(status.read_text())
atexit.register(note)
"""


def child(
    *args: str, text: bytes = b"", redirect: str = "", env: dict[str, str] | None = None
) -> Ended:
    """A command in a process of its own, with its memory; ``redirect`` is the shell's."""
    with tempfile.TemporaryDirectory() as directory:
        status = Path(directory) / "status"
        command = [sys.executable, "-c", _MEASURED + _CHILD, str(status), str(CPU_GUARD), *args]
        if redirect:
            command = ["sh", "-c", f'exec "$@" {redirect}', "sh", *command]
        done = subprocess.run(
            command,
            input=text,
            capture_output=True,
            timeout=WALL_GUARD,
            check=False,
            env={**os.environ, **(env or {})},
        )
        peak = re.search(r"VmHWM:\s+(\d+) kB", status.read_text() if status.exists() else "")
    return Ended(
        done.returncode,
        done.stdout.decode("utf-8", "replace"),
        done.stderr.decode("utf-8", "replace"),
        int(peak[1]) / 1024 if peak else 0.0,
    )


# YAML that is meant to take long.

_SCALARS = "\n".join(f"k{i}: 1" for i in range(2300))
YAML = {
    "alias bomb": ("a: &a [1,1]\nb: &b [*a,*a]\n", "Y010"),
    "brackets": ("[" * 100_000, "Y011"),
    "brackets with items": ("[a," * 40_000, "Y011"),
    "braces with keys": ("{a: " * 30_000, "Y011"),
    "brackets and braces": ("[{a: " * 20_000, "Y011"),
    "brackets with comments": ("[#\n" * 40_000, "Y0"),
    "dashes": ("- " * 60_000, "Y011"),
    "question marks": ("? " * 60_000, "Y011"),
    "block nesting": ("\n".join(" " * i + "a:" for i in range(500)), "Y011"),
    "many documents": ("a\n---\n" * 20_000, "Y012"),
    "empty documents": ("---\n" * 30_000, "Y012"),
    "comments": ("#\n" * 60_000, "Y014"),
    "many keys": ("".join(f"k{i}: 1\n" for i in range(12_000)), "Y012"),
    "huge key": ("b" * 120_000 + ": 1\n", "Y007"),
    "huge quoted key": ('"' + "b" * 120_000 + '": 1\n', "Y007"),
    "long line": ("a: " + "b " * 60_000, "P013"),
    "blank lines in a scalar": ("a: b\n" + "\n" * 100_000 + " c\n", "P013"),
    "escaped line ends": ('a: "' + "\\\n" * 60_000 + '"', "P013"),
    "open quote": ('a: "' + "b" * 120_000, "Y007"),
    "digits": ("a: " + "1" * 120_000, "P013"),
    "exponent": ("a: 1e999999999999999999", "P013"),
    "directives": ("%YAML 1.1\n" * 12_000, "Y017"),
    "NUL": ("a: \0", "Y006"),
    "too large": ("#" * (FULL + 1), "Y001"),
    "tabs in the last of many scalars": (f'{_SCALARS}\nz: "a' + "\t" * 90_000 + '"\n', "P013"),
    "tabs behind a far comment": ("a: b" + " " * 60_000 + "#" + "\t" * 60_000 + "\n", "P013"),
}


@pytest.mark.parametrize("text, code", YAML.values(), ids=YAML.keys())
def test_yaml_bombs_are_refused(text: str, code: str) -> None:
    assert_refused(run("lint", "-f", "-", text=text), code)


def test_many_nested_mounts_do_not_square() -> None:
    mounts = "".join(f"    - {{name: kubeconfig, mountPath: {'/x' * i}}}\n" for i in range(1, 300))
    text = MANIFEST.read_text().replace("    volumeMounts:\n", "    volumeMounts:\n" + mounts)
    ended = run("lint", "-f", "-", text=text)
    assert ended.code in {0, 2}
    assert len(ended.output) < 2_000_000


def test_many_flags_do_not_square() -> None:
    args = "".join(f'      x{i}: "1"\n' for i in range(2300))
    ended = render("-f", "-", text=f"{HEAD}  scheduler:\n    args:\n{args}")
    assert ended.code in {0, 2}


@pytest.mark.parametrize(
    "spec",
    [
        "  mounts:\n" + "".join(f"  - {{name: a{i}, hostPath: /x{i}}}\n" for i in range(900)),
        "  scheduler:\n    env:\n" + "".join(f"    - {{name: x{i}}}\n" for i in range(1500)),
    ],
    ids=["mounts", "env"],
)
def test_a_list_without_end_is_refused(spec: str) -> None:
    assert_refused(render("-f", "-", text=HEAD + spec), "P004", "at most 100")


@pytest.mark.parametrize("text", ['{"a":' * 25_000, '{"a":' + "[1," * 40_000])
def test_deep_json_as_a_manifest(text: str) -> None:
    assert_refused(run("render", "--manifest", "-", "--arg", "v=5", text=text), "Y011")


def test_a_hostile_file_stays_small_in_memory() -> None:
    ended = child("lint", "-f", "-", text=b"- &a 1\n" * 18_000)
    assert_refused(ended, "Y010")
    assert ended.rss_mb < MAX_RSS_MB


# Files that are none.


def test_a_fifo_a_device_and_a_loop_do_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to("loop")
    for name in (str(tmp_path / "fifo"), str(tmp_path / "loop"), "/dev/zero", "/dev/stdin"):
        assert_refused(run("lint", "-f", name), "P006")
        assert_refused(render("--config", name), "P006")
        assert_refused(render("--binary", name), "P006")
        assert_refused(run("render", "--manifest", name, "--arg", "v=5"), "P006")


@pytest.mark.parametrize(
    "args",
    [
        ("lint", "-f"),
        ("lint", "--image", "a", "--manifest"),
        ("lint", "--config"),
        ("lint", "--rbac"),
        ("lint", "--image-archive"),
        ("render", "--manifest", str(MANIFEST), "--arg", "v=5", "--out"),
        ("init", "gpumps", "--out"),
    ],
    ids=" ".join,
)
def test_a_name_of_10_kb(args: tuple[str, ...]) -> None:
    assert_refused(run(*args, "x" * 10_000), "too long")


def test_an_empty_name_is_not_the_current_directory() -> None:
    assert_refused(run("lint", "-f", ""), "-f")


# Image archives.


def _tar(path: Path, members: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def _saved(path: Path, manifest: Any) -> Path:
    return _tar(path, {"manifest.json": json.dumps(manifest).encode()})


ARCHIVES: dict[str, dict[str, bytes]] = {
    "no index": {"../manifest.json": b"[]", "../../etc/passwd": b"x"},
    "huge index": {"manifest.json": b"[]" + b" " * 2_000_000},
    "deep index": {"manifest.json": b"[" * 900_000},
    "number": {"manifest.json": b"5"},
    "mapping": {"manifest.json": b'{"a": 1}'},
    "list of numbers": {"manifest.json": b"[1, 2]"},
    "tag that is a number": {"manifest.json": b'[{"RepoTags": [1]}]'},
    "tags that are numbers": {"manifest.json": b'[{"RepoTags": [1, 2]}]'},
    "OCI list": {"index.json": b"[1]"},
    "OCI manifests": {"index.json": b'{"manifests": [1]}'},
    "OCI annotations": {"index.json": b'{"manifests": [{"annotations": [1]}]}'},
    "tag with escapes": {"manifest.json": b'[{"RepoTags": ["a\\u001b[31m\\n\\u202eb"]}]'},
}


@pytest.mark.parametrize("members", ARCHIVES.values(), ids=ARCHIVES.keys())
def test_an_archive_that_is_no_image(tmp_path: Path, members: dict[str, bytes]) -> None:
    path = _tar(tmp_path / "image.tar", members)
    assert_refused(run("lint", "--image-archive", str(path)), "P012", "image.tar")


@pytest.mark.parametrize("squeeze", [gzip.compress, lzma.compress])
def test_a_truncated_archive_is_not_aborted_with_1(tmp_path: Path, squeeze: Any) -> None:
    data = squeeze(_saved(tmp_path / "a.tar", [{"RepoTags": ["a/b:v1"]}]).read_bytes())
    (tmp_path / "image.tgz").write_bytes(data[: len(data) // 2])
    assert_refused(run("lint", "--image-archive", str(tmp_path / "image.tgz")), "P012")


def _gzip_of(path: Path, header: tarfile.TarInfo, filler: bytes, count: int) -> Path:
    with gzip.open(path, "wb", 1) as stream:
        stream.write(header.tobuf(tarfile.USTAR_FORMAT))
        for _ in range(count):
            stream.write(filler)
    return path


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_a_gzip_bomb_in_a_tar_header_takes_no_memory(tmp_path: Path, kind: bytes) -> None:
    header = tarfile.TarInfo("x")
    header.type, header.size = kind, 300 << 20
    path = _gzip_of(tmp_path / "image.tgz", header, b"a" * (1 << 20), 300)
    ended = child("lint", "--image-archive", str(path))
    assert_refused(ended, "P012")
    assert ended.rss_mb < MAX_RSS_MB


def test_a_tar_bomb_of_members(tmp_path: Path) -> None:
    header = tarfile.TarInfo("a")
    path = _gzip_of(tmp_path / "image.tgz", header, header.tobuf() * 2000, 200)
    ended = child("lint", "--image-archive", str(path))
    assert_refused(ended, "P012")
    assert ended.rss_mb < MAX_RSS_MB


# What reaches the terminal.


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_no_raw_control_character_comes_out(output: str) -> None:
    kind = r"\e[31m\u202ex\x7f\u061c\u2060\U000E0041"
    ended = run("lint", "-f", "-", "-o", output, text=f'apiVersion: v1\nkind: "{kind}"\n')
    assert_refused(ended, "P013")
    if output == "json":
        assert json.loads(ended.output)["findings"][0]["code"] == "P013"


@pytest.mark.parametrize("output", ["table", "json", "yaml"])
def test_no_raw_control_character_of_a_rendered_value(output: str) -> None:
    value = r"a\x7fb\e[31m\u202e\u2066"
    patch = f'{HEAD}  scheduler: {{env: [{{name: A, value: "{value}"}}]}}\n'
    ended = render("-f", "-", "-o", output, text=patch)
    assert ended.code == 0
    assert_clean(ended)


def test_no_raw_control_character_of_a_file_name(tmp_path: Path) -> None:
    name = tmp_path / f"{ANSI}{BIDI}.yaml"
    name.write_bytes(MANIFEST.read_bytes())
    (tmp_path / "empty.yaml").write_text(f"{HEAD}  {{}}\n")
    nothing = run("render", "--manifest", str(name), "-f", str(tmp_path / "empty.yaml"))
    written = run("render", "--manifest", str(name), "--arg", "v=5", "--out", str(tmp_path / ANSI))
    started = run("init", "gpumps", "--out", str(tmp_path / f"{ANSI}{BIDI}"))
    for ended in (nothing, written, started):
        assert ended.code == 0
        assert_clean(ended)


def test_a_file_name_can_not_forge_a_line() -> None:
    ended = run("lint", "-f", "a\nok: nothing found\nb.yaml")
    assert_refused(ended, "P006")
    assert "ok: nothing found" not in ended.output.splitlines()


def test_an_unexpected_argument_is_shown_escaped() -> None:
    ended = command_line.run("lint", ANSI + BIDI)
    assert_refused(Ended(ended.code, ended.out, ended.err), "unexpected")


@pytest.mark.parametrize("flag", ["--image", "--config", "--mount", "--arg", "--rbac"])
def test_a_flag_that_is_not_utf8_is_named(flag: str) -> None:
    value = {"--mount": "/\udcff", "--arg": "v=\udcff"}.get(flag, "\udcff")
    ended = run("lint", flag, value)
    assert_refused(ended, "command line")
    assert "another type" not in ended.output
    assert flag.lstrip("-").rstrip("s") in ended.output


# The shell's tricks are data.


@pytest.mark.parametrize("flag", ["--mount", "--arg"])
def test_shell_syntax_is_plain_data(flag: str) -> None:
    value = "/a;$(touch pwned)`x`"
    ended = render(flag, value if flag == "--mount" else f"v={value}")
    assert ended.code == 0
    assert value in ended.output
    assert_clean(ended)


@pytest.mark.parametrize(
    "args",
    [
        ("--mount", "relative"),
        ("--mount", ""),
        ("--mount", "/a:/b:/c"),
        ("--mount", "/../x"),
        ("--mount", "/a\nb"),
        ("--mount", "/a:/"),
        ("--arg", "v"),
        ("--arg", "=5"),
        ("--arg", "v=a\nb"),
        ("--arg", f"v={ANSI}"),
        ("--image", ""),
        ("--image", "a b"),
        ("--image", ANSI),
    ],
    ids=ascii,
)
def test_a_wrong_flag_is_a_finding_of_the_command_line(args: tuple[str, str]) -> None:
    assert_refused(render(*args), "command line: error P004", "Nothing was written.")


def test_an_arg_with_its_dashes_is_understood() -> None:
    assert "+    - --v=5" in render("--arg", "--v=5").output


def test_mounts_of_similar_paths_do_not_clash() -> None:
    assert render("--mount", "/a/b", "--mount", "/a-b").code == 0


def test_files_of_similar_names_do_not_clash(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("{}")
    entries = "".join(f"  - {{source: f, mountPath: /a/{name}.json}}\n" for name in "Xx")
    (tmp_path / "patch.yaml").write_text(f"{HEAD}  files:\n{entries}")
    assert render("-f", str(tmp_path / "patch.yaml")).code == 0


# Clumsy users.


@pytest.mark.parametrize("version", ["abc", "1", "", "2.0", "1.34.2.5", "1.٣٤"])
def test_no_version(version: str) -> None:
    assert_refused(
        run("lint", "--image", "a", "--kubernetes-version", version), "--kubernetes-version"
    )


@pytest.mark.parametrize("version", ["1.99", "v1.21"])
def test_a_version_without_tables_is_the_only_error(version: str) -> None:
    ended = render("--image", "a", "--kubernetes-version", version)
    assert_refused(ended, "V001", "1 error")


@pytest.mark.parametrize(
    "args", [("--image", "a b"), ("--mount", "relative"), ("--arg", "v")], ids=" ".join
)
def test_lint_does_not_ignore_flags_beside_a_manifest(args: tuple[str, str]) -> None:
    assert run("lint", "-f", str(MANIFEST), *args).code == 2


def test_a_file_without_kind_is_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text("replicas: 1\nimage: {tag: x}\n")
    assert render("--config", str(tmp_path / "values.yaml")).code == 2


def test_a_kubeconfig_as_patch_keeps_its_secrets() -> None:
    text = "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user: {token: SECRET}\n"
    ended = render("-f", "-", text=text)
    assert_refused(ended, "P008", "SchedulerPatch")
    assert "SECRET" not in ended.text


@pytest.mark.parametrize(
    "spec, code",
    [
        ("shceduler: {}", "did you mean scheduler?"),
        ("scheduler: {args: {v: 5}}", "write it in quotes"),
        ("scheduler: {args: [v]}", "P003"),
        ("scheduler: null", "P003"),
        ("scheduler: {image: a, binary: b}", "P005"),
        ("config: {inline: {}, file: x}", "P005"),
        ('config: {file: "a\\0b"}', "P004"),
        ("files: [{source: f, mountPath: /x, mode: 0644}]", "such as"),
        ('files: [{source: f, mountPath: /x, mode: "4755"}]', "P004"),
        ("mounts: [{name: a, hostPath: /x, readonly: true}]", "did you mean readOnly?"),
        ("mounts: {}", "P003"),
        ("objects: x", "P003"),
        ("rbac: {rules: [{verbs: get}]}", "P003"),
    ],
)
def test_a_wrong_key_or_type_has_its_line(spec: str, code: str) -> None:
    assert_refused(render("-f", "-", text=f"{HEAD}  {spec}\n"), code, "standard input:5:")


def test_json_is_json_even_if_the_patch_is_missing() -> None:
    ended = render("-f", "/nope.yaml", "-o", "json")
    assert_refused(ended)
    assert json.loads(ended.output)["exitCode"] == 2


def test_out_into_a_file_leaves_it_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    ended = render("--arg", "v=5", "--out", str(tmp_path / "file"))
    assert_refused(ended, str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "mine"
    assert "not complete" not in ended.text


def test_out_does_not_write_through_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out/.kube-scheduler.yaml.new").symlink_to(tmp_path / "victim")
    render("--arg", "v=5", "--force", "--out", str(tmp_path / "out"))
    assert (tmp_path / "victim").read_text() == "mine"


# The process and its surroundings.

_BAD = f"{HEAD}  shceduler: {{}}\n".encode()


@pytest.mark.parametrize("redirect", [">&-", "2>&-", "2>/dev/full"])
def test_a_closed_or_full_stream_keeps_the_exit_code(redirect: str) -> None:
    ended = child("render", "--manifest", str(MANIFEST), "-f", "-", text=_BAD, redirect=redirect)
    assert ended.code == 2
    assert_clean(ended)


def test_a_full_disk_is_no_bug_of_the_program() -> None:
    ended = child("schema", redirect=">/dev/full")
    assert ended.code != 0
    assert "a bug of this program" not in ended.errors


def test_closed_standard_input() -> None:
    assert_refused(child("lint", "-f", "-", redirect="<&-"), "standard input")


def test_ascii_output() -> None:
    ended = child("lint", "-f", "-", text=_BAD, env={"PYTHONIOENCODING": "ascii"})
    assert_refused(ended, "P001", "did you mean scheduler?")


def test_a_directory_that_is_gone() -> None:
    with tempfile.TemporaryDirectory() as directory:
        script = f'cd "{directory}" && rmdir "{directory}" && exec "$@"'
        command = ["sh", "-c", script, "sh", sys.executable, "-c", _CHILD, "8", "lint"]
        done = subprocess.run(
            [*command, "--image", "a"], capture_output=True, text=True, timeout=90, check=False
        )
        Path(directory).mkdir()
    assert done.returncode in {0, 2}, done.stderr


def test_ctrl_c_while_reading_standard_input() -> None:
    code = _CHILD.replace("main()", "print('ready', file=sys.stderr, flush=True); main()")
    process = subprocess.Popen(
        [sys.executable, "-c", code, "8", "lint", "-f", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stderr is not None
    assert process.stderr.readline() == "ready\n"
    process.stdin.write("a: 1\n")
    process.stdin.flush()
    # Once it has taken what was written it waits for more; before that it may still be importing,
    # where a library can swallow the interrupt.
    while struct.unpack("i", fcntl.ioctl(process.stdin, termios.FIONREAD, b"\0" * 4)) != (0,):
        time.sleep(0.02)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    process.wait(WALL_GUARD)
    assert process.returncode == 130
    assert "Traceback" not in process.stderr.read()
    process.stdin.close()
