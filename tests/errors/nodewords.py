"""What the script on a node says when it stops: the words of its `stop`, and of the functions that
end in one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from tests.errors.sites import PACKAGE
from tests.errors.templates import has_words

TITLE = "What a node says"
HEAD = """\
The script on a node ends a step with these words when it can't do what it was asked for. They stand
below «Failed on … while …», with the [reason](#reasons-of-a-failure) and what to do. What was
changed until then goes back as the exit code says: nothing live was touched (3), or everything is
back (4). In the middle of a switch the node puts the old manifest back by itself."""
#: The functions that build messages, and which of their words is the message.
_SPEAKERS = {
    "stop": 2,
    "watch_bad": 1,
    "arm_failed": 1,
    "stage_failed": 0,
    "persist_failed": 0,
    "backup_failed": 0,
    "canary_failed": 0,
}
#: Behind the words of those that add some.
_ADDED = dict.fromkeys(("arm_failed", "backup_failed", "canary_failed"), "; nothing was changed")
_CALL = re.compile(rf"(?<![\w#])({'|'.join(_SPEAKERS)})(?= [\"\w$-])")
_NAMES = {
    "S": "/var/lib/kschedpatch",
    "T": "/var/lib/kschedpatch/txn",
    "REVISIONS": "/var/lib/kschedpatch/revisions",
    "UPLOADS": "/var/lib/kschedpatch/uploads",
    "MANIFEST": "‹manifest›",
    "DIRECTORY": "‹directory of manifests›",
    "NEW": "‹new manifest›",
    "UNIT": "‹unit›",
    "backup": "‹revision›",
    "note_kept": "‹revision›",
    "KUBEADM_PATCH": "‹patch for kubeadm›",
    "KUBEADM_PATCHES": "‹directory of patches›",
    "arg_timeout": "‹time›",
    "arg_size": "‹size›",
    "1": "‹program›",
    "grep": "‹its words›",
    "printf": "‹its words›",
    "watch_said": "‹its words›",
    "stage_target": "‹generation›",
    "stage_scratch": "‹directory›",
    "purge_needed": "‹file›",
    "WORK": "‹process›",
    "STATE": "‹state›",
    "PROBLEM": "‹its words›",
}


class Said(NamedTuple):
    file: str
    line: int
    message: str
    pattern: re.Pattern[str]

    @property
    def key(self) -> str:
        return f"{self.file}: {self.message}"


def _word(text: str, at: int) -> tuple[str, str, int]:
    """The next word of a shell's line, for people and as a pattern, and where it ends."""
    quoted = text[at] == '"'
    at += quoted
    shown = pattern = ""
    while at < len(text) and text[at] != ('"' if quoted else " "):
        if text[at] != "$":
            shown += text[at]
            pattern += re.escape(text[at])
            at += 1
            continue
        name, at = _expansion(text, at + 1)
        meant = _NAMES.get(name, f"‹{name.partition('_')[2].replace('_', ' ') or name}›")
        shown += meant
        pattern += ".*" + (re.escape(meant) if meant.startswith("/") else "")
    return shown, pattern, at + quoted


def _expansion(text: str, at: int) -> tuple[str, int]:
    if text[at] in "({":
        close, depth, start = {"(": ")", "{": "}"}[text[at]], 0, at
        while True:
            depth += (text[at] == text[start]) - (text[at] == close)
            at += 1
            if depth == 0:
                break
        inner = text[start:at].strip("(){}")
        found = re.match(r"\w+", inner)
        return found[0] if found else "value", at
    found = re.compile(r"\w+").match(text, at)
    assert found is not None, text
    return found[0], found.end()


def said_in(file: str, source: str) -> Iterator[Said]:
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("#"):
            continue
        for call in _CALL.finditer(line):
            words: list[tuple[str, str]] = []
            at = call.end() + 1
            while len(words) <= _SPEAKERS[call[1]] and at < len(line):
                shown, pattern, at = _word(line, at)
                words.append((shown, pattern))
                at += 1
            if len(words) <= _SPEAKERS[call[1]] or re.search(r'"\$[12][;"]', line):
                continue  # systemctl stop; or a function that is told what to say
            shown, pattern = words[-1]
            if has_words(shown):
                more = _ADDED.get(call[1], "")
                yield Said(
                    file, number, shown + more, re.compile(pattern + re.escape(more), re.DOTALL)
                )


def heard(text: str) -> str:
    """The key of what a node said; empty where it is none of its own words."""
    fits = [said for said in node_words() if said.pattern.fullmatch(text)]
    best = max(fits, key=lambda said: len(said.pattern.pattern.replace(".*", "")), default=None)
    return best.key if best is not None else ""


@cache
def node_words() -> tuple[Said, ...]:
    found: list[Said] = []
    for path in sorted((PACKAGE / "node/agent").glob("*.sh")):
        found += said_in(f"node/agent/{path.name}", path.read_text("utf-8"))
    # The same words at several places are one message.
    return tuple({said.pattern.pattern: said for said in reversed(found)}.values())[::-1]
