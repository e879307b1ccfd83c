"""lint of a configuration or Policy on its own: read as the scheduler reads it, and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from kschedpatch.core.offline import lint_config
from kschedpatch.model.finding import Finding
from kschedpatch.model.kubeversion import KubeVersion
from tests.unit.command_line import run

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
SHARED = (
    HEAD
    + """\
profiles:
- schedulerName: default-scheduler
  plugins: &plugins
    score:
      disabled:
      - name: ImageLocality
- schedulerName: gpu
  plugins: *plugins
- <<: {schedulerName: third}
  plugins:
    <<: *plugins
"""
)


def _lint(text: str | bytes) -> tuple[Finding, ...]:
    data = text.encode() if isinstance(text, str) else text
    return lint_config(data, "c.yaml", None, KubeVersion(34))


def _errors(text: str | bytes) -> list[tuple[str, str, int]]:
    return [(f.code, f.path, f.line) for f in _lint(text) if f.is_error]


TAKEN = {
    "plugins shared by profiles": (SHARED, "Y010"),
    "tag": (HEAD + "parallelism: !!int '5'\n", "Y009"),
    "tabs": (HEAD.replace(": ", ":\t"), "Y007"),
    "tab in a list": (HEAD + "profiles: [\t]\n", "Y005"),
    "byte order mark": ("\ufeff" + HEAD, "Y003"),
    "Windows line ends": (HEAD.replace("\n", "\r\n"), "Y004"),
    "second document": (HEAD + "---\nkind: Other\n", "Y013"),
    "junk behind the document": (HEAD + "---\n[", "Y007"),
    "directive": ("%YAML 1.1\n---\n" + HEAD, "Y017"),
    "explicit key": (HEAD + "? parallelism\n: 5\n", "Y015"),
    "no line feeds": (HEAD.replace("\n", "\u2028"), "Y006"),
}


@pytest.mark.parametrize(("text", "code"), TAKEN.values(), ids=TAKEN)
def test_what_the_scheduler_takes_is_a_warning(text: str, code: str) -> None:
    assert _errors(text) == []
    assert code in [finding.code for finding in _lint(text)]


def test_the_command_takes_such_a_file_and_says_what_it_would_not_do() -> None:
    ended = run("lint", "-f", "-", "--kubernetes-version", "1.34", stdin=SHARED.encode())
    assert ended.code == 0
    assert "warning Y010" in ended.out
    assert "would not edit" in ended.out


REFUSED = {
    "a value by its alias": (
        HEAD + "leaderElection: {leaseDuration: &x 1h}\nparallelism: *x\n",
        ("C018", "parallelism", 4),
    ),
    "a value within an alias": (
        SHARED.replace("ImageLocality", "5"),
        ("C018", "profiles[1].plugins.score.disabled[0].name", 8),
    ),
    "a merged key": (
        SHARED.replace("{schedulerName: third}", "{schedulerNam: third}"),
        ("C021", "profiles[2].schedulerNam", 11),
    ),
    "a merged key twice": (SHARED + "  schedulerName: again\n", ("Y008", "", 14)),
    "what a tag makes of a value": (
        HEAD + "parallelism: !!str 5\n",
        ("C018", "parallelism", 3),
    ),
    "a number as a key": (HEAD + "1.50: 5\n", ("C021", '["1.5"]', 3)),
    "no anchor": (HEAD + "parallelism: *x\n", ("Y010", "", 3)),
    "a tag that does not fit": (HEAD + "parallelism: !!int x\n", ("Y009", "", 3)),
}


@pytest.mark.parametrize(("text", "error"), REFUSED.values(), ids=REFUSED)
def test_what_stands_there_is_judged(text: str, error: tuple[str, str, int]) -> None:
    assert error in _errors(text)


def test_an_alias_bomb_is_beyond_the_bounds() -> None:
    lists = "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
    codes = {code for code, _, _ in _errors(HEAD + "a0: &a0 [x]\n" + lists)}
    assert codes <= {"Y010", "Y012"}
    assert codes


def test_a_patch_with_such_a_configuration_is_refused_as_before(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(SHARED)
    patch = tmp_path / "patch.yaml"
    patch.write_text(
        "apiVersion: kschedpatch.io/v1\nkind: SchedulerPatch\nmetadata: {name: x}\n"
        "spec:\n  config:\n    file: config.yaml\n"
    )
    ended = run("lint", "-f", str(patch), "--kubernetes-version", "1.34")
    assert ended.code == 2
    assert "error Y010" in ended.out


def test_migrate_refuses_it_as_before() -> None:
    ended = run("migrate", "-f", "-", "--to", "1.35", stdin=SHARED.encode())
    assert ended.code == 2
    assert "Y010" in ended.out + ended.err


def test_a_policy_is_read_alike() -> None:
    text = (
        "kind: Policy\napiVersion: v1\npriorities:\n"
        "- &p {name: LeastRequestedPriority, weight: !!int '1'}\n- *p\n"
    )
    ended = run("lint", "-f", "-", "--kubernetes-version", "1.22", stdin=text.encode())
    assert "error" not in ended.out, ended.out
    assert "warning Y010" in ended.out
