"""What can come next on a command line, for shells and for kubectl.

Only local files are looked at: no connection is opened and no program is started. Whatever is
broken there gives no names; it never gives an error, which would land in the middle of somebody's
typing.

The answer has the form that kubectl expects of a plugin: a line for each choice, its meaning behind
a tab, and at the end a line with the number that says what the shell shall add to it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

FILES = 0
"""The shell's own names of files."""
NOTHING = 4
DIRECTORIES = 16

_MAX_CHOICES = 500
_MAX_WORDS = 1000
_USER = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_SENTENCE = re.compile(r"(.+?[.;:])(?:\s|$)", re.DOTALL)


class Choice(NamedTuple):
    value: str
    meaning: str = ""


class Answer(NamedTuple):
    choices: tuple[Choice, ...] = ()
    directive: int = NOTHING


class Line(NamedTuple):
    """A command line up to its last word, understood as far as that goes."""

    command: Any
    """Where it has come to: a command of typer's, or a group of them."""
    options: dict[str, list[str]]
    """Values of options by the parameter's name."""
    arguments: list[str]
    waiting: Any = None
    """The option whose value comes next."""
    only_arguments: bool = False
    """After ``--``."""


def answered(words: Sequence[str]) -> Answer:
    """The choices for the last of the words; it may be empty."""
    from typer.main import get_command

    from kschedpatch.cli.app import app_for

    *before, current = words or [""]
    command = next((word for word in before if not word.startswith("-")), "")
    line = _understood(get_command(app_for(command)), before[:_MAX_WORDS])
    if line is None:
        return Answer()
    if line.waiting is not None:
        return _matching(_values(line, line.waiting), current)
    name, equals, value = current.partition("=")
    if not line.only_arguments and equals and name.startswith("--"):
        option = _option(line.command, name)
        if option is None or option.is_flag:
            return Answer()
        found = _matching(_values(line, option), value)
        return found._replace(
            choices=tuple(Choice(f"{name}={c.value}", c.meaning) for c in found.choices)
        )
    if not line.only_arguments and current.startswith("-"):
        return _matching(Answer(tuple(_flags(line))), current)
    if hasattr(line.command, "commands"):
        return _matching(Answer(tuple(_commands(line.command))), current)
    return _argument(line, current)


def _understood(root: Any, words: Sequence[str]) -> Line | None:
    """None where a command is not known: nobody can say what comes after it."""
    line = Line(root, {}, [])
    rest = iter(words)
    for word in rest:
        if word == "--" and not line.only_arguments:
            line = line._replace(only_arguments=True)
            continue
        name, option, value = _as_option(line, word)
        if name:
            if option is None or option.is_flag:
                line.options.setdefault(option.name if option else name, [])
                continue
            values = [value] if value is not None else []
            while len(values) < option.nargs:
                following = next(rest, None)
                if following is None:
                    return line._replace(waiting=option)
                values.append(following)
            line.options.setdefault(option.name, []).extend(values)
        elif hasattr(line.command, "commands"):
            command = line.command.commands.get(word)
            if command is None:
                return None
            line = line._replace(command=command)
        else:
            line.arguments.append(word)
    return line


def _as_option(line: Line, word: str) -> tuple[str, Any, str | None]:
    """Its name (empty: it is none), the option, and a value that is written with it."""
    if line.only_arguments or len(word) < 2 or not word.startswith("-"):
        return "", None, None
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, _option(line.command, name), value if equals else None
    for at in range(1, len(word)):  # -qv, and -fFILE
        option = _option(line.command, f"-{word[at]}")
        if option is None or not option.is_flag:
            return word, option, word[at + 1 :] or None
    return word, None, None


def _option(command: Any, name: str) -> Any:
    options = (param for param in command.params if param.param_type_name == "option")
    return next((param for param in options if name in param.opts), None)


def _matching(answer: Answer, current: str) -> Answer:
    fitting = (choice for choice in answer.choices if choice.value.startswith(current))
    return answer._replace(choices=tuple(fitting)[:_MAX_CHOICES])


def _first_sentence(text: str) -> str:
    told = " ".join(text.split())
    match = _SENTENCE.match(told)
    return (match[1] if match else told).rstrip(".;:")


def _commands(group: Any) -> Iterator[Choice]:
    for name, command in group.commands.items():
        if not command.hidden:
            yield Choice(name, _first_sentence(command.help or ""))


def _flags(line: Line) -> Iterator[Choice]:
    """Those that are not there yet; long names before short ones."""
    short: list[Choice] = []
    for param in line.command.params:
        if param.param_type_name != "option" or param.hidden:
            continue
        if param.name in line.options and not param.multiple:
            continue
        meaning = _first_sentence(param.help or "")
        for name in param.opts:
            if name.startswith("--"):
                yield Choice(name, meaning)
            else:
                short.append(Choice(name, meaning))
    yield Choice("--help", "Show this message and exit")
    yield from short
    yield Choice("-h", "Show this message and exit")


def _values(line: Line, option: Any) -> Answer:
    chosen = tuple(_enumerated(line, option))
    if chosen:
        return Answer(chosen)
    return BY_METAVAR.get(option.metavar or "", _unknown)(line)


def _enumerated(line: Line, param: Any) -> Iterator[Choice]:
    import typer

    for item in param.shell_complete(typer.Context(line.command), ""):
        if item.type == "plain":
            yield Choice(str(item.value))


def _argument(line: Line, current: str) -> Answer:
    params = [param for param in line.command.params if param.param_type_name == "argument"]
    given = len(line.arguments)
    for param in params:
        if param.nargs == -1 or given < param.nargs:
            chosen = tuple(_enumerated(line, param))
            if chosen:
                return _matching(Answer(chosen), current)
            if param.name == "nodes":
                return _nodes(line, current)
            return _matching(BY_ARGUMENT.get(param.name, _unknown)(line), current)
        given -= param.nargs
    return Answer()


def _nodes(line: Line, current: str) -> Answer:
    user, at, _ = current.rpartition("@")
    if at and not _USER.fullmatch(user):
        return Answer()
    names = (f"{user}{at}{name}" for name in _node_names(line))
    fresh = (Choice(name) for name in dict.fromkeys(names) if name not in line.arguments)
    return _matching(Answer(tuple(fresh)), current)


def _node_names(line: Line) -> Iterator[str]:
    """Those of the inventory on the line, which are all that can be named beside it; otherwise
    what the environment and the user's SSH files have."""
    from pathlib import Path

    from kschedpatch.inputs.nodeaddresses import NoAddress, parse_address
    from kschedpatch.inputs.sshhosts import hosts_of_config, hosts_of_known_hosts, is_plain

    if "local" in line.options or "kubeconfig" in line.options:
        return
    inventory = line.options.get("inventory")
    if inventory is not None:
        from kschedpatch.inputs.inventory import BadInventory, read_inventory

        with suppress(BadInventory):
            found = read_inventory(str(Path(inventory[-1]).expanduser()))
            yield from (node.label for node in found.nodes if is_plain(node.label))
        return
    for name in os.environ.get("KSCHEDPATCH_NODES", "").replace(",", " ").split()[:_MAX_CHOICES]:
        with suppress(NoAddress):
            host = parse_address(name).host
            if is_plain(host):
                yield host
    config = line.options.get("ssh_config", ["~/.ssh/config"])[-1]
    yield from hosts_of_config(Path(config).expanduser())
    known = line.options.get("known_hosts", ["~/.ssh/known_hosts"])[-1]
    yield from hosts_of_known_hosts(Path(known).expanduser())


def _recipes(_line: Line) -> Answer:
    from kschedpatch.inputs.recipes import all_recipes

    return Answer(tuple(Choice(recipe.name, recipe.summary) for recipe in all_recipes()))


def _versions(_line: Line) -> Answer:
    from kschedpatch.model.kubeversion import NEWEST_MINOR, OLDEST_MINOR

    return Answer(tuple(Choice(f"1.{n}") for n in range(NEWEST_MINOR, OLDEST_MINOR - 1, -1)))


_ORIGINAL = Choice("original", "What stood there before the first patch")


def _runs(line: Line) -> Answer:
    """Only the nodes know all runs, and nobody is asked while somebody types: those that commands
    have told of on this machine."""
    from kschedpatch.cli.seenruns import seen

    named = (*line.arguments, *line.options.get("deployment", ()))
    return Answer((_ORIGINAL, *(Choice(run) for run in seen(named))))


def _moments(line: Line) -> Answer:
    return Answer((*_runs(line).choices, Choice("now", "What stands there")))


def _files(_line: Line) -> Answer:
    return Answer(directive=FILES)


def _directories(_line: Line) -> Answer:
    return Answer(directive=DIRECTORIES)


def _unknown(_line: Line) -> Answer:
    return Answer()


#: What a value is, by the name that the help gives it.
BY_METAVAR: dict[str, Callable[[Line], Answer]] = {
    "FILE": _files,
    "TAR": _files,
    "HOST[:CONTAINER][:ro|rw]": _files,
    "DIR": _directories,
    "NAME": _recipes,
    "VERSION": _versions,
    "RUN|original": _runs,
    "A B": _moments,
}
BY_ARGUMENT: dict[str, Callable[[Line], Answer]] = {"recipe": _recipes}


def _unquoted(word: str) -> str:
    """Bash hands words over as they are typed."""
    import shlex

    try:
        parts = shlex.split(word)
    except ValueError:
        return word.lstrip("'\"")
    return parts[0] if len(parts) == 1 else word


def text_of(answer: Answer, *, meanings: bool = True) -> str:
    from kschedpatch.model.printable import printable

    lines = [
        printable(choice.value) + (f"\t{printable(choice.meaning)}" if meanings else "")
        for choice in answer.choices
    ]
    return "".join(f"{line.rstrip()}\n" for line in (*lines, f":{answer.directive}"))


def shell_answer(arguments: Sequence[str]) -> str:
    """``kschedpatch __complete SHELL WORD…``, as the scripts for the shells call it."""
    shell, words = (arguments[0], arguments[1:]) if arguments else ("", ())
    plain = shell == "bash"
    return _told(map(_unquoted, words) if plain else words, meanings=not plain)


def kubectl_answer(words: Sequence[str]) -> str:
    """``kubectl_complete-schedpatch WORD…``, as kubectl calls it."""
    return _told(words, meanings=True)


def _told(words: Iterable[str], *, meanings: bool) -> str:
    try:
        return text_of(answered([*words]), meanings=meanings)
    except Exception:  # noqa: BLE001  a complaint would be in the way of who types
        return text_of(Answer())
