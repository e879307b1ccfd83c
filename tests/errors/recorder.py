"""Notes which error messages the tests reach, and fails a complete run that leaves one out.

No tracing: what builds messages is wrapped, and notes who called it. Commands that a test runs as
processes of their own are not seen; their messages have tests within this process as well.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from tests.errors.families import FAMILIES, Family
from tests.errors.nodewords import heard, node_words
from tests.errors.onlylong import ONLY_LONG
from tests.errors.sites import PACKAGE, sites

_BELOW = len(str(PACKAGE)) + 1
_OUTPUT = "reached_errors"
#: What `make test` and `make integration` select, and everything.
_COMPLETE = ("not long", "long", "")


class Reached(NamedTuple):
    """Grows while the tests run."""

    calls: set[tuple[str, int, str]]
    """File, line and what was called there."""
    codes: set[str]
    node: set[str]


def missing(reached: Reached, codes: Iterable[str], selection: str) -> list[str]:
    """What a complete run should have reached and has not: messages by their keys, and codes."""
    lines: dict[tuple[str, str], set[int]] = {}
    for file, line, name in reached.calls:
        lines.setdefault((file, name), set()).add(line)
    left = [
        site.key
        for site in sites()
        if lines.get((site.file, site.name), set()).isdisjoint(range(site.first, site.last + 1))
    ]
    left += [said.key for said in node_words() if said.key not in reached.node]
    left += [f"finding {code}" for code in codes if code not in reached.codes]
    if selection == "not long":
        return [key for key in left if key not in ONLY_LONG]
    if selection == "long":
        return [key for key in left if key in ONLY_LONG]
    return left


class Recorder:
    """A plugin of pytest."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.reached = Reached(set(), set(), set())
        self.missing: list[str] = []
        self.skipped = False

    def install(self) -> None:
        """Before anything else imports a function by its name: classes are wrapped in place."""
        for family in sorted(FAMILIES, key=lambda family: family.name.lower() != family.name):
            self._wrap(family)
        finding = importlib.import_module("kschedpatch.model.finding").Finding
        codes, make = self.reached.codes, finding.__new__

        def noted(kind: type, code: str, *more: Any, **named: Any) -> Any:
            codes.add(code)
            return make(kind, code, *more, **named)

        finding.__new__ = noted
        self._listen_to_nodes()

    def _wrap(self, family: Family) -> None:
        module = importlib.import_module(family.module)
        kind: Any = getattr(module, family.name)
        if not inspect.isclass(kind):
            setattr(module, family.name, self._noting(kind, family.name))
        elif tuple in kind.__mro__:
            type.__setattr__(kind, "__new__", self._noting(kind.__new__, family.name))
        else:
            # A class without one of its own has its parent's, which may be wrapped already.
            made = kind.__dict__.get("__init__")
            if made is not None or not issubclass(kind.__mro__[1], _wrapped_parents()):
                type.__setattr__(kind, "__init__", self._noting(kind.__init__, ""))

    def _noting(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        calls = self.reached.calls

        def noted(*given: Any, **named: Any) -> Any:
            caller = sys._getframe(1)
            who = name or type(given[0]).__name__
            calls.add((caller.f_code.co_filename[_BELOW:], caller.f_lineno, who))
            return call(*given, **named)

        return noted

    def _listen_to_nodes(self) -> None:
        failed: Any = importlib.import_module("kschedpatch.node.agent").VerbFailed
        node, make = self.reached.node, failed.__init__

        def noted(error: Any, label: str, verb: str, reply: Any) -> None:
            node.add(heard(reply.first("detail")))
            make(error, label, verb, reply)

        failed.__init__ = noted

    # Hooks.

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """A worker has ended: what it has reached counts here."""
        calls, codes, words = getattr(node, "workeroutput", {}).get(_OUTPUT, ((), (), ()))
        self.reached.calls.update((file, line, name) for file, line, name in calls)
        self.reached.codes.update(codes)
        self.reached.node.update(words)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.skipped |= report.skipped

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        output = getattr(self.config, "workeroutput", None)
        if output is not None:
            output[_OUTPUT] = [[list(c) for c in self.reached.calls], *map(list, self.reached[1:])]
            return
        selection = complete_selection(self.config)
        if selection is None or exitstatus != pytest.ExitCode.OK:
            return
        codes = importlib.import_module("kschedpatch.model.codes").CODES
        self.missing = missing(self.reached, codes, selection)
        # Without an sshd or a shell, tests are skipped that would have reached some of them.
        if self.missing and (not self.skipped or os.environ.get("CI")):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.missing:
            terminalreporter.section("error messages that no test has reached")
            for key in self.missing:
                terminalreporter.write_line(key)


def _wrapped_parents() -> tuple[type, ...]:
    return (importlib.import_module("kschedpatch.node.errors").NodeError,)


def complete_selection(config: pytest.Config) -> str | None:
    """The marks that were asked for, where otherwise everything runs; None of any other run."""
    option = config.option
    narrowed = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "stepwise", "collectonly")
    if config.args_source is not config.ArgsSource.TESTPATHS:
        return None
    if any(getattr(option, name, None) for name in narrowed):
        return None
    return option.markexpr if option.markexpr in _COMPLETE else None
