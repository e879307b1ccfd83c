"""Error messages: each is found where it is built, stands on the reference page, and is noted when
a test reaches it."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from kschedpatch.inputs.nodeaddresses import NoAddress, parse_address
from kschedpatch.model.codes import CODES, found
from kschedpatch.model.events import Phase
from kschedpatch.model.rollout import Failure, FailureReason
from kschedpatch.report.failures import failure_lines
from kschedpatch.report.terminal import Paint
from tests.errors import recorder
from tests.errors.families import FAMILIES
from tests.errors.nodewords import heard, node_words, said_in
from tests.errors.onlylong import ONLY_LONG
from tests.errors.page import NAME, page
from tests.errors.recorder import Reached, Recorder, complete_selection, missing
from tests.errors.sites import PACKAGE, sites, sites_in

ROOT = PACKAGE.parent
#: Exceptions whose words nobody sees: they are caught where they are meant for, or hand on others'.
SIGNS = frozenset(
    "Abandoned ApiError Cancelled OutputLost Refused SpliceError StepFailed Unquotable "
    "VerbFailed VolumeInUse _Closed _ReplaceWhole _Stop _Stuck".split()
)


def built(source: str) -> list[tuple[str, str]]:
    return [(site.message, site.hint) for site in sites_in("kschedpatch.node.route", source, "x")]


@pytest.mark.parametrize(
    "source, message, hint",
    [
        ("raise NoAddress('it is empty')", "it is empty", ""),
        ("raise NoAddress(f'{text!r} is no {self._label}')", "‹value› is no ‹node›", ""),
        ("raise Unreachable(f'{label}: no', 'try it')", "‹node›: no", "try it"),
        ("raise Unreachable(f'more than {_MAX_HOPS} jumps')", "more than 8 jumps", ""),
        ("refuse(f'wrong' + (f': {said}' if said else ''))", "wrong[: ‹its words›]", ""),
        ("m = f'no {x}'\nraise NoRoom(m)", "no ‹x›", ""),
        ("m = 'no'\nif why:\n  m += f'; {why}'\nraise NoRoom(m)", "no[; ‹reason›]", ""),
        ("m = 'no'\nif why:\n  m = 'yes'\nraise NoRoom(m)", "no / yes", ""),
        ("if x:\n  m = 'no'\n  raise NoRoom('')\nm = 'yes'\nraise NoRoom(m)", "yes", ""),
        ("Failure('', p, r, detail=f'after {wait:.0f} s')", "after ‹wait› s", ""),
        ("def _why(e):\n  return f'bad: {e}'\nrefuse(_why(error))", "bad: ‹e›", ""),
    ],
)
def test_a_message_is_read_from_the_code(source: str, message: str, hint: str) -> None:
    assert built(source) == [(message, hint)]


@pytest.mark.parametrize(
    "source", ["refuse(str(error))", "raise NoRoom(f'{a}: {b}')", "print('a b')"]
)
def test_what_hands_on_the_words_of_others_is_none(source: str) -> None:
    assert built(source) == []


def test_a_message_of_the_script_on_a_node_is_read() -> None:
    lines = [
        '  [ -d "$T" ] || stop "$COULD_NOT" disk "can\'t write to $T"',
        '  arm_failed disk "can\'t write ${x%.y} ($(cat "$T/a b")): no space?"',
        "  systemctl stop kubelet",
        '  stop "$BAD" "$1" "$2"',
        '  # stop "$BAD" disk "a comment"',
    ]
    assert [said.message for said in said_in("x.sh", "\n".join(lines))] == [
        "can't write to /var/lib/kschedpatch/txn",
        "can't write ‹x› (‹cat›): no space?; nothing was changed",
    ]


def test_what_a_node_said_is_known_by_its_words() -> None:
    said = "can't write to /node/var/lib/kschedpatch/txn; nothing was changed"
    assert heard(said).endswith("can't write to /var/lib/kschedpatch/txn; nothing was changed")
    said = "can't write to /var/lib/kschedpatch"
    assert heard(said).endswith(said)
    assert heard("panic: something of the scheduler's own") == ""


def test_every_exception_is_a_family_or_known_to_say_nothing() -> None:
    """A new one that nobody lists here would say things that the page does not have."""
    classes = {
        name: bases.split(", ")
        for path in PACKAGE.rglob("*.py")
        for name, bases in re.findall(r"(?m)^class (\w+)\(([\w., ]+)\):", path.read_text("utf-8"))
    }

    def is_exception(name: str) -> bool:
        return name in ("Exception", "ValueError") or any(map(is_exception, classes.get(name, ())))

    exceptions = {name for name in classes if is_exception(name)}
    assert exceptions - {family.name for family in FAMILIES} == SIGNS


def test_every_family_builds_a_message() -> None:
    names = {site.name for site in sites()}
    silent = {family.name for family in FAMILIES} - names
    # The parents of those that are built, and what a sender is told.
    assert silent == {"CutInTheMiddle", "NeverReached", "NodeError", "Stopped"}


def test_the_page_is_current() -> None:
    assert (ROOT / "docs/reference" / NAME).read_text("utf-8") == page(), "run make docs"


def test_the_page_has_every_message_in_words() -> None:
    text = page().replace("\\", "")
    for message in (*(s.message for s in sites()), *(s.message for s in node_words())):
        assert message.replace("|", "\\|") in text or message in text
    for hole in re.findall(r"‹([^›]*)›", text):
        assert re.fullmatch(r"[A-Za-z][a-z' ]*", hole), f"name it in templates.py: {hole}"


def test_only_messages_that_there_are_are_left_to_the_long_tests() -> None:
    keys = {site.key for site in sites()} | {said.key for said in node_words()}
    assert not ONLY_LONG - keys - {f"finding {code}" for code in CODES}


def test_every_reason_of_a_failure_is_told_with_what_to_do() -> None:
    for reason in FailureReason:
        lines = list(failure_lines(Failure("cp1", Phase.WATCH, reason, "x"), Paint(enabled=False)))
        assert lines[0].startswith("Failed on cp1 while waiting for the new scheduler: ")
        assert "  → " in "\n".join(lines) or reason is FailureReason.INTERRUPTED
    for phase in Phase:
        assert list(failure_lines(Failure("", phase, FailureReason.DISK), Paint(enabled=False)))


# Whether a test has reached it.


def test_a_message_that_is_built_is_noted(request: pytest.FixtureRequest) -> None:
    noted = request.config.pluginmanager.get_plugin("reached-errors")
    assert isinstance(noted, Recorder)
    site = next(s for s in sites() if s.name == "NoAddress" and "empty" in s.message)
    with pytest.raises(NoAddress):
        parse_address("")
    assert (site.file, site.first, "NoAddress") in noted.reached.calls
    found("N001", "x")
    assert "N001" in noted.reached.codes


def everything() -> Reached:
    calls = {(site.file, site.last, site.name) for site in sites()}
    return Reached(calls, set(CODES), {said.key for said in node_words()})


def test_a_message_that_nobody_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for selection in ("", "long", "not long"):
        assert missing(everything(), CODES, selection) == []
    site, said = sites()[0], node_words()[0]
    left = everything()
    left.calls.remove((site.file, site.last, site.name))
    left.codes.remove("N001")
    left.node.remove(said.key)
    monkeypatch.setattr(recorder, "ONLY_LONG", frozenset({said.key}))
    assert missing(left, CODES, "") == [site.key, said.key, "finding N001"]
    assert missing(left, CODES, "not long") == [site.key, "finding N001"]
    assert missing(left, CODES, "long") == [said.key]


def a_run(markexpr: str, *, named: bool = False, **options: Any) -> pytest.Config:
    kinds = pytest.Config.ArgsSource
    return cast(
        "pytest.Config",
        SimpleNamespace(
            ArgsSource=kinds,
            args_source=kinds.ARGS if named else kinds.TESTPATHS,
            option=SimpleNamespace(markexpr=markexpr, **options),
        ),
    )


def test_only_a_complete_run_is_judged() -> None:
    assert complete_selection(a_run("not long")) == "not long"
    assert complete_selection(a_run("long")) == "long"
    assert complete_selection(a_run("not long", named=True)) is None
    assert complete_selection(a_run("sample")) is None
    for narrower in ({"keyword": "ssh"}, {"deselect": ["x"]}, {"lf": True}, {"ignore": ["x"]}):
        assert complete_selection(a_run("long", **narrower)) is None


@pytest.mark.parametrize(
    "status, skipped, ci, ends",
    [(0, False, "", 1), (0, True, "", 0), (0, True, "true", 1), (1, False, "true", 1)],
)
def test_how_a_run_that_left_something_out_ends(
    status: int, skipped: bool, ci: str, ends: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", ci)
    judge = Recorder(a_run("not long"))
    judge.skipped = skipped
    session = cast("pytest.Session", SimpleNamespace(exitstatus=status))
    judge.pytest_sessionfinish(session, status)
    assert session.exitstatus == ends
    assert bool(judge.missing) is (status == 0)


def test_what_a_worker_reached_counts(tmp_path: Path) -> None:
    config = a_run("not long")
    config.workeroutput = {}  # type: ignore[attr-defined]  # as of xdist
    worker, controller = Recorder(config), Recorder(a_run("not long"))
    worker.reached.calls.add(("cli/x.py", 3, "refuse"))
    worker.reached.codes.add("N001")
    worker.reached.node.add("said")
    worker.pytest_sessionfinish(cast("pytest.Session", None), 0)
    controller.pytest_testnodedown(config, None)
    assert controller.reached == worker.reached
