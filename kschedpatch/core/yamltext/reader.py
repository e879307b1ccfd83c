"""Reads a YAML text into nodes, within bounds, and refuses what this tool does not splice.

ruamel's parser gives the events and their marks; nothing of it outlives this module. Every file
that reaches the tool comes through here: manifests, patch files, scheduler configurations.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from kschedpatch.core.yamltext.bounds import MAX_BYTES, MAX_DEPTH, MAX_NODES, TOO_DEEP
from kschedpatch.core.yamltext.goscalars import key_text, resolve_plain
from kschedpatch.core.yamltext.nodes import Entry, Mapping, Node, Scalar, Sequence, scalars
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding

# With them U+0085, U+2028 and U+2029: line breaks to some readers and not to others.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufffe\uffff]")
# The scanner looks ahead over a run of opening brackets in quadratic time: stop it before it does.
_BRACKETS = re.compile(rf"(?:[\[{{]\s*){{{MAX_DEPTH + 1}}}")

# Escapes that this parser takes and Go's refuses: a slash, and halves of surrogate pairs.
_FOREIGN_ESCAPE = re.compile(r"\\(?:/|u[dD][89a-fA-F]|U(?!00(?:0[0-9a-fA-F]|10)))")


class Reading(NamedTuple):
    """What was read. ``documents`` is empty where the text could not be parsed."""

    text: str
    documents: tuple[Node, ...]
    findings: tuple[Finding, ...]


@lru_cache(maxsize=4)  # a file is looked at for its kind first, and then read
def read(data: bytes, *, max_bytes: int = MAX_BYTES, max_nodes: int = MAX_NODES) -> Reading:
    if len(data) > max_bytes:
        message = f"the file has {len(data)} bytes, more than the {max_bytes} that are read"
        return Reading("", (), (found("Y001", message),))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Reading("", (), (found("Y002", "the file is not UTF-8 text", line=line),))
    findings = list(_text_findings(text))
    # Lines and columns stay right without these two; a text with a finding is never spliced.
    parsed = text.removeprefix("\ufeff").replace("\r\n", "\n")
    if any(finding.code in {"Y006", "Y011"} for finding in findings):
        return Reading(text, (), tuple(findings))
    builder = _Builder(parsed, max_nodes)
    documents = builder.documents()
    findings += builder.findings
    if documents:
        findings += _tab_findings(parsed, documents)
    return Reading(text, documents, tuple(findings))


def _text_findings(text: str) -> Iterator[Finding]:
    if text.startswith("\ufeff"):
        yield found("Y003", "the file starts with a byte order mark", line=1, column=1)
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        yield found("Y004", "lines end in carriage returns (Windows line ends)", line=line)
    directive = re.search(r"^%", text, re.MULTILINE)
    if directive is not None:
        line, column = _line_column(text, directive.start())
        yield found("Y017", "a % directive", line=line, column=column)
    control = _CONTROL.search(text)
    if control is not None:
        line, column = _line_column(text, control.start())
        name = f"U+{ord(control[0]):04X}"
        message = f"control character {name}"
        yield found("Y006", message, line=line, column=column)
    brackets = _BRACKETS.search(text)
    if brackets is not None:
        line, column = _line_column(text, brackets.start())
        yield found("Y011", TOO_DEEP, line=line, column=column)


def _line_column(text: str, offset: int) -> tuple[int, int]:
    return text.count("\n", 0, offset) + 1, offset - (text.rfind("\n", 0, offset) + 1) + 1


def _tab_findings(text: str, documents: tuple[Node, ...]) -> Iterator[Finding]:
    """A tab between tokens: parsers disagree about it, and people can't see it."""
    if "\t" not in text:
        return
    spans = [(s.start, s.end) for document in documents for s in scalars(document)]
    starts = [start for start, _ in spans]

    def inside(at: int) -> bool:
        before = bisect_right(starts, at) - 1
        return before >= 0 and at < spans[before][1]

    line_start = 0
    for number, line in enumerate(text.split("\n"), 1):
        column = _tab_column(line, line_start, inside) if "\t" in line else None
        if column is not None:
            yield found("Y005", "a tab between tokens", line=number, column=column + 1)
            return  # one is enough to say what is wrong with the file
        line_start += len(line) + 1


def _tab_column(line: str, line_start: int, inside: Callable[[int], bool]) -> int | None:
    """Where a line has a tab that is neither text nor comment."""
    if line.lstrip(" ").startswith("\t"):
        return line.index("\t")  # as indentation; before a block scalar's text Go refuses it too
    for match in re.finditer(r"\t+|(?:(?<=\s)|^)#", line):
        if inside(line_start + match.start()):
            continue
        return None if match[0] == "#" else match.start()
    return None


class _Stop(Exception):
    """Reading ends here; the finding says why."""


class _Builder:
    """Builds nodes from parser events. Recursion is bounded by MAX_DEPTH."""

    def __init__(self, text: str, max_nodes: int) -> None:
        self.text = text
        self.max_nodes = max_nodes
        self.findings: list[Finding] = []
        self.count = 0

    def documents(self) -> tuple[Node, ...]:
        yaml = YAML(typ="safe", pure=True)
        yaml.version = (1, 1)  # Go's parser is one of YAML 1.1: flow scalars differ
        documents: list[Node] = []
        try:
            events = iter(yaml.parse(self.text))
            for event in events:
                if isinstance(event, DocumentStartEvent):
                    documents.append(self._node(next(events), events, 1))
                    end = next(events)
                    assert isinstance(end, DocumentEndEvent)  # noqa: S101  the parser's grammar
        except _Stop:
            return ()
        except MarkedYAMLError as error:
            self._syntax(error)
            return ()
        except (YAMLError, ValueError) as error:
            first = (str(error).splitlines() or ["not YAML"])[0]
            self.findings.append(found("Y007", first.split(";")[0][:200]))
            return ()
        return tuple(documents)

    def _syntax(self, error: Any) -> None:
        mark = error.problem_mark or error.context_mark
        parts = [part for part in (error.context, error.problem) if part]
        message = ": ".join(parts) or "not YAML"
        if mark is None:
            self.findings.append(found("Y007", message))
        else:
            self._add("Y007", message, mark)

    def _add(self, code: str, message: str, mark: Any, hint: str = "") -> None:
        self.findings.append(
            found(code, message, line=mark.line + 1, column=mark.column + 1, hint=hint)
        )

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        self.count += 1
        if self.count > self.max_nodes:
            self._add("Y012", f"more than {self.max_nodes} values", event.start_mark)
            raise _Stop
        if depth > MAX_DEPTH:
            self._add("Y011", TOO_DEEP, event.start_mark)
            raise _Stop
        if isinstance(event, AliasEvent):
            self._add("Y010", f"an alias (*{event.anchor})", event.start_mark)
            raise _Stop
        if event.anchor is not None:
            self._add("Y010", f"an anchor (&{event.anchor})", event.start_mark)
        if event.ctag is not None:
            self._add("Y009", f"a tag ({event.ctag})", event.start_mark)
        match event:
            case ScalarEvent():
                return self._scalar(event)
            case MappingStartEvent():
                return self._mapping(event, events, depth)
            case SequenceStartEvent():
                return self._sequence(event, events, depth)
        raise TypeError(type(event))

    def _scalar(self, event: Any) -> Scalar:
        start, end = event.start_mark, event.end_mark
        style = event.style or ""
        value = event.value if style else resolve_plain(event.value)
        if isinstance(value, float) and not math.isfinite(value):
            self._add("Y018", f"{event.value} is a number that JSON can't say", start)
            value = None
        elif style == '"' and self._has_foreign_escape(start.index, end.index):
            self._add("Y018", "an escape that Kubernetes can't read", start)
            value = ""
        return Scalar(start.index, end.index, start.line, start.column, value, style)

    def _has_foreign_escape(self, start: int, end: int) -> bool:
        source = self.text[start:end].replace("\\\\", "")
        return _FOREIGN_ESCAPE.search(source) is not None

    def _mapping(self, event: Any, events: Iterator[Any], depth: int) -> Mapping:
        start = event.start_mark
        entries: list[Entry] = []
        seen: dict[str, int] = {}
        for key_event in events:
            if isinstance(key_event, MappingEndEvent):
                break
            key = self._node(key_event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            name = self._key_name(key, key_event)
            if self.text[key.start - 2 : key.start] in {"? ", "?\n"}:
                self._add("Y015", "an explicit key (?)", key_event.start_mark)
            if name is None or not isinstance(key, Scalar):
                continue
            if name in seen:
                hint = f"it stands first in line {seen[name]}; keep one of them"
                self._add("Y008", f"the key {name!r} appears twice", key_event.start_mark, hint)
                entries = [entry for entry in entries if entry.name != name]  # the last one wins
            seen[name] = key.line + 1
            entries.append(Entry(key, name, self._placed_after_colon(key, value)))
        flow = bool(event.flow_style)
        end = key_event.end_mark.index if flow else _content_end(start.index, entries)
        return Mapping(start.index, end, start.line, start.column, flow, tuple(entries))

    def _key_name(self, key: Node, event: Any) -> str | None:
        if not isinstance(key, Scalar):
            self._add("Y015", "a key that is a list or a mapping", event.start_mark)
            return None
        if not key.style and event.value == "<<":
            self._add("Y010", "a merge key (<<)", event.start_mark)
            return None
        name = event.value if key.style else key_text(event.value)
        if name is None:
            self._add("Y015", f"the key {event.value!r} is not a string", event.start_mark)
        return name

    def _placed_after_colon(self, key: Scalar, value: Node) -> Node:
        """An empty value's mark is the next token's: give it the place right behind the colon."""
        if not (isinstance(value, Scalar) and value.is_empty):
            return value
        colon = re.compile(r"[ ]*:").match(self.text, key.end)
        at = colon.end() if colon else key.end
        column = key.column + (at - key.start)
        return Scalar(at, at, key.line, column, None, "")

    def _sequence(self, event: Any, events: Iterator[Any], depth: int) -> Sequence:
        start = event.start_mark
        items: list[Node] = []
        for item_event in events:
            if isinstance(item_event, SequenceEndEvent):
                break
            items.append(self._node(item_event, events, depth + 1))
        flow = bool(event.flow_style)
        end = item_event.end_mark.index if flow else max(i.end for i in items)
        return Sequence(start.index, end, start.line, start.column, flow, tuple(items))


def _content_end(start: int, entries: list[Entry]) -> int:
    return max((entry.value.end for entry in entries), default=start)
