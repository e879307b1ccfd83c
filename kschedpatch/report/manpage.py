"""The manual page, as text for man(1): what the commands say of themselves, and nothing twice."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from kschedpatch import __version__

#: An option of that many commands is told once, for all of them.
_SHARED = 4

_EXIT_CODES = {
    0: "Done; warnings and notes do not change it.",
    1: "Differences found, by a command that compares; nothing else ever ends in 1.",
    2: "Wrong usage or invalid input; nothing was written.",
    3: "Refused, unreachable or proven bad: nothing live was touched.",
    4: "Failed, rolled back, and every node is healthy on what it ran before.",
    5: "Failed, and at least one node was not seen healthy again; the result names it.",
    70: "Internal error, a bug of kschedpatch.",
    130: "Interrupted, after restoring.",
}
_ENVIRONMENT = {
    "KSCHEDPATCH_NODES": "The nodes, where none are named: [user@]host[:port] with blanks or "
    "commas between them.",
    "KSCHEDPATCH_DEBUG": "Not empty: an internal error shows where it comes from.",
    "NO_COLOR": "Not empty: no colours.",
    "XDG_STATE_HOME": "Where `sandbox up` keeps its files; ~/.local/state without it.",
}
_FILES = {
    "~/.ssh/config, ~/.ssh/known_hosts": "As ssh(1) reads them, by `ssh -G` where there is an ssh.",
    "/etc/kubernetes/kschedpatch": "On a node: what patches have brought, by generation.",
    "/var/lib/kschedpatch": "On a node: the runs that are kept, what stood there first, and the "
    "script that restores a node by hand: sh /var/lib/kschedpatch/agent.sh restore.",
}
_EXAMPLES = {
    "Try everything on throwaway nodes of this machine:": "kschedpatch sandbox demo",
    "Start from a recipe, check it, and look at what it would change:": "kschedpatch init gpumps\n"
    "kschedpatch lint -f gpumps.yaml --kubernetes-version 1.34\n"
    "kschedpatch plan -f gpumps.yaml cp1 cp2 cp3",
    "Change the scheduler, see that it works, and go back:": "kschedpatch apply -f gpumps.yaml cp1 "
    "cp2 cp3\nkschedpatch verify cp1 cp2 cp3\nkschedpatch rollback cp1 cp2 cp3",
}


class OptionHelp(NamedTuple):
    names: tuple[str, ...]
    value: str
    """What its value is called; empty for a switch."""
    help: str
    default: str = ""


class CommandHelp(NamedTuple):
    name: str
    """With the groups that lead to it: ``sandbox up``."""
    help: str
    """Paragraphs; one that starts with a backspace is shown as it is."""
    arguments: tuple[str, ...] = ()
    options: tuple[OptionHelp, ...] = ()


_SIGNS = {
    "\\": "\\e",
    "-": "\\-",
    "'": "\\(aq",
    "`": "\\(ga",
    "^": "\\(ha",
    "~": "\\(ti",
    '"': "\\(dq",
}


def escaped(text: str) -> str:
    """Text of which nothing is taken as a request or an escape, whatever it holds."""
    shown = "".join(_SIGNS.get(sign) or _as_ascii(sign) for sign in text)
    return "\\&" + shown if shown.startswith(".") else shown


def _as_ascii(sign: str) -> str:
    if " " <= sign <= "~":
        return sign
    return f"\\[u{ord(sign):04X}]" if sign.isprintable() else " "


def bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{escaped(text)}\\fR"


def prose(text: str) -> str:
    """One line of running text; what stands between back quotes is bold."""
    parts = re.split(r"`([^`]+)`", " ".join(text.split()))
    shown = "".join(bold(part) if at % 2 else _inner(part) for at, part in enumerate(parts))
    return "\\&" + shown if shown.startswith(".") else shown


def _inner(text: str) -> str:
    return escaped(text).removeprefix("\\&") if text else ""


def _verbatim(lines: Iterable[str]) -> Iterator[str]:
    yield ".nf"
    yield from (escaped(line) for line in lines)
    yield ".fi"


def _paragraphs(text: str) -> Iterator[str]:
    for at, paragraph in enumerate(part for part in text.split("\n\n") if part.strip()):
        if at:
            yield ".PP"
        if paragraph.lstrip(" \n").startswith("\b"):
            yield from _verbatim(paragraph.split("\b", 1)[1].strip("\n").splitlines())
        else:
            yield prose(paragraph)


def _option(option: OptionHelp) -> Iterator[str]:
    value = f" {italic(option.value)}" if option.value else ""
    yield ".TP"
    yield ", ".join(bold(name) for name in option.names) + value
    default = f" Default: {option.default}." if option.default else ""
    yield prose(option.help + default)


def _listed(items: dict[str, str]) -> Iterator[str]:
    for name, meaning in items.items():
        yield ".TP"
        yield bold(name)
        yield prose(meaning)


def _command(command: CommandHelp, shared: Sequence[OptionHelp]) -> Iterator[str]:
    own = [option for option in command.options if option not in shared]
    common = [option for option in command.options if option in shared]
    yield f'.SS "{escaped(command.name)}"'
    words = [bold(f"kschedpatch {command.name}"), *(italic(word) for word in command.arguments)]
    yield " ".join([*words, *([f"[{italic('OPTIONS')}]"] if command.options else [])])
    yield ".PP"
    yield from _paragraphs(command.help)
    for option in own:
        yield from _option(option)
    if common:
        yield ".PP"
        names = ", ".join(bold(option.names[-1]) for option in common)
        yield f"{'And' if own else 'Takes'} of the options below: {names}."


def man_page(summary: str, commands: Sequence[CommandHelp]) -> str:
    counts = Counter(option for command in commands for option in command.options)
    shared = [option for option, count in counts.items() if count >= _SHARED]
    lines = [
        '.\\" Made from the commands by `make docs`.',
        f'.TH KSCHEDPATCH 1 "" "{escaped(f"kschedpatch {__version__}")}" "User Commands"',
        # Neither hyphens nor stretched blanks: what is told here is copied.
        ".nh",
        ".ad l",
        ".SH NAME",
        f"kschedpatch, kubectl\\-schedpatch \\- {escaped(summary.rstrip('.').lower())}",
        ".SH SYNOPSIS",
        f"{bold('kschedpatch')} {italic('COMMAND')} [{italic('OPTIONS')}]",
        ".br",
        f"{bold('kubectl schedpatch')} {italic('COMMAND')} [{italic('OPTIONS')}]",
        ".SH DESCRIPTION",
        prose(
            "kschedpatch takes a change to the scheduler of a kubeadm cluster from one patch file, "
            "checks it before anything is touched, and rolls it out over SSH. The new scheduler "
            "runs beside the live one first. Each node is told beforehand what to restore and "
            "when, so that a crash, a cut network or a reboot ends with a working scheduler."
        ),
        ".PP",
        prose(
            "Results go to standard output, progress and complaints to standard error. `-o json` "
            "and `-o yaml` give one document; `kschedpatch schema output` prints its JSON Schema."
        ),
        ".SH COMMANDS",
    ]
    for command in commands:
        lines += _command(command, shared)
    lines.append('.SH "OPTIONS OF SEVERAL COMMANDS"')
    for option in shared:
        lines += _option(option)
    lines += [".SH EXIT STATUS", *_listed({str(k): v for k, v in _EXIT_CODES.items()})]
    lines += [".SH ENVIRONMENT", *_listed(_ENVIRONMENT), ".SH FILES", *_listed(_FILES)]
    lines.append(".SH EXAMPLES")
    for at, (title, shown) in enumerate(_EXAMPLES.items()):
        lines += [*([".PP"] if at else []), prose(title), ".PP", ".RS 4"]
        lines += [*_verbatim(shown.splitlines()), ".RE"]
    lines += [".SH SEE ALSO", f"{bold('kubectl')}(1), {bold('ssh_config')}(5), {bold('sudo')}(8)"]
    return "".join(f"{line}\n" for line in lines)
