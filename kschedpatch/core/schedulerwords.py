"""What a scheduler's last words mean, for those whose cause is not where they point."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple


class _Saying(NamedTuple):
    words: re.Pattern[str]
    meaning: Callable[[re.Match[str]], str]


MAX_LINE = 4000
"""Of a line that a node sent, more is not looked at."""

# Quotes are escaped once more where the log quotes the error.
_Q = r'\\?"'


def _kind(match: re.Match[str]) -> str:
    kind, version = match["kind"], match["version"]
    if kind == "KubeSchedulerConfiguration":
        return f"This scheduler does not read {version}: `kschedpatch migrate` rewrites the file."
    return (
        f"Two causes look the same here: the apiVersion or kind in the plugin's arguments is wrong "
        f"(leave both out: the scheduler knows them), or the Go code does not register {kind} "
        f"for {version}."
    )


def _unregistered(match: re.Match[str]) -> str:
    return (
        f"The Go code does not register {match['type']} everywhere: the scheduler reads its file "
        "with one scheme and converts the arguments with another, and the type has to be in both, "
        "as the file's version and as the internal one."
    )


def _plugin(match: re.Match[str]) -> str:
    return (
        f"The image that ran has no plugin {match['plugin']}: is it the one that it was built "
        "into, and is it registered under that very name?"
    )


def _no_service_account(_match: re.Match[str]) -> str:
    return (
        "There is no service account in a static pod: a plugin's client takes "
        "/etc/kubernetes/scheduler.conf, or the scheduler's own connection (handle.KubeConfig())."
    )


def _no_file(match: re.Match[str]) -> str:
    return (
        f"In the container there is no {match['path']}: `mounts` of the patch brings in what is "
        "on the host, `files` what is beside the patch."
    )


def _forbidden(match: re.Match[str]) -> str:
    group = f".{match['group']}" if match["group"] else ""
    return (
        f"The scheduler's user may not {match['verb']} {match['resource']}{group}: "
        "`rbac.rules` of the patch gives it the right."
    )


def _architecture(_match: re.Match[str]) -> str:
    return "The program is for another processor than the node's."


_SAYINGS = (
    _Saying(
        re.compile(
            rf"no kind {_Q}(?P<kind>\w+?){_Q} is registered for version "
            rf"{_Q}(?P<version>[\w./-]+?){_Q}"
        ),
        _kind,
    ),
    _Saying(
        re.compile(rf"no kind {_Q}(?P<type>\w+?){_Q} is registered for the internal version"),
        _unregistered,
    ),
    _Saying(re.compile(r"no kind is registered for the type (?P<type>[\w.*]+)"), _unregistered),
    _Saying(re.compile(rf"[Pp]lugin {_Q}(?P<plugin>[\w./-]+?){_Q} does not exist"), _plugin),
    _Saying(re.compile(r"unable to load in-cluster configuration"), _no_service_account),
    _Saying(
        re.compile(r"(?:stat|open) (?P<path>/[^\s:\"\\]+): no such file or directory"), _no_file
    ),
    _Saying(
        re.compile(
            rf"is forbidden: User {_Q}system:kube-scheduler{_Q} cannot (?P<verb>\w+) resource "
            rf"{_Q}(?P<resource>[\w/.-]+?){_Q} in API group {_Q}(?P<group>[\w.-]*?){_Q}"
        ),
        _forbidden,
    ),
    _Saying(re.compile(r"exec format error"), _architecture),
)


def meanings(lines: Iterable[str]) -> list[str]:
    """Each once, in the order in which it was said."""
    found: dict[str, None] = {}
    for line in lines:
        for saying in _SAYINGS:
            match = saying.words.search(line[:MAX_LINE])
            if match is not None:
                found.setdefault(saying.meaning(match))
    return list(found)
