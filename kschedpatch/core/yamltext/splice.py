"""Changes a text so that it means another value, with the fewest edits.

``respell(document, target)`` compares the nodes of a text with the value that it should have and
replaces, deletes or inserts just the places that differ: every other byte stays as it is. The
result is read again and must be exactly the target, or nothing is returned at all.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from itertools import zip_longest
from typing import Any, NamedTuple

from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.emit import Layout
from kschedpatch.core.yamltext.nodes import (
    Mapping,
    Node,
    Scalar,
    Sequence,
    canonical,
    same,
    value_of,
)
from kschedpatch.core.yamltext.reader import read


class SpliceError(Exception):
    """The spliced text does not mean what it should: a bug of ours, and nothing may be written."""


class Edit(NamedTuple):
    start: int
    end: int
    text: str


class Spelling(NamedTuple):
    """A text and its nodes."""

    text: str
    root: Node


def respell(text: str, root: Node, target: Any) -> Spelling:
    """The text with the edits that make it mean ``target``."""
    if same(value_of(root), target):
        return Spelling(text, root)
    result = apply_edits(text, _Splicer(text, _layout_of(root)).whole(root, target))
    again = read(result.encode())
    if again.findings or len(again.documents) != 1:
        raise SpliceError(f"the spliced text can't be read: {again.findings}")
    if not same(value_of(again.documents[0]), target):
        raise SpliceError("the spliced text means something else than was asked for")
    return Spelling(result, again.documents[0])


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    pieces: list[str] = []
    at, deleted_until = 0, -1
    # Sorting is stable: insertions at one place keep their order.
    for edit in sorted(edits, key=lambda e: (e.start, e.end)):
        start = edit.start
        if start < at:
            # Two neighbours that are deleted may both claim the newline between them.
            if edit.text or deleted_until != at:
                raise SpliceError("edits overlap")
            start = at
        pieces += (text[at:start], edit.text)
        at = max(at, edit.end)
        deleted_until = -1 if edit.text else at
    return "".join((*pieces, text[at:]))


def _layout_of(root: Node) -> Layout:
    """The file's own indentation, from the first block collections that show it."""
    mapping_step = sequence_step = None
    queue: list[Node] = [root]
    while queue:
        node = queue.pop(0)
        if isinstance(node, Mapping):
            for entry in node.entries:
                child = entry.value
                step = child.column - entry.key.column
                if isinstance(child, Mapping) and not child.flow and child.line > entry.key.line:
                    mapping_step = mapping_step or step
                if isinstance(child, Sequence) and not child.flow and sequence_step is None:
                    sequence_step = step
                queue.append(child)
        elif isinstance(node, Sequence):
            queue += node.items
    return Layout(mapping_step or 2, sequence_step or 0)


class _ReplaceWhole(Exception):
    """Too little of a node stays: its owner writes it anew."""


class _Splicer:
    def __init__(self, text: str, layout: Layout) -> None:
        self.text = text
        self.layout = layout

    def whole(self, root: Node, target: Any) -> list[Edit]:
        try:
            return list(self._edits(root, target))
        except _ReplaceWhole as error:
            raise SpliceError("the whole document would have to be replaced") from error

    def _edits(self, node: Node, target: Any) -> Iterator[Edit]:
        if same(value_of(node), target):
            return
        match node, target:
            case Scalar(), None | bool() | int() | float() | str():
                yield self._scalar(node, target)
            case Mapping(flow=True), dict():
                yield from self._flow_mapping(node, target)
            case Sequence(flow=True), list():
                yield from self._flow_sequence(node, target)
            case Mapping(), dict() if target.keys() & {e.name for e in node.entries}:
                yield from self._block_mapping(node, target)
            case Sequence(), list() if target:
                yield from self._block_sequence(node, target)
            case _:
                raise _ReplaceWhole

    def _scalar(self, node: Scalar, target: Any) -> Edit:
        # An empty value gets the space that separates it from its colon or dash.
        gap = " " if node.is_empty else ""
        style = node.style if node.style in {"'", '"'} else ""
        if node.style in {"|", ">"}:
            raise _ReplaceWhole
        return Edit(node.start, node.end, gap + emit.scalar(target, style))

    # Block style: entries and items own whole lines.

    def _block_mapping(self, node: Mapping, target: dict[str, Any]) -> Iterator[Edit]:
        for index, entry in enumerate(node.entries):
            if entry.name in target:
                try:
                    yield from list(self._edits(entry.value, target[entry.name]))
                except _ReplaceWhole:
                    key = self.text[entry.key.start : entry.key.end]
                    lines = emit.after_key(key, target[entry.name], self.layout)
                    yield self._rewrite(entry.key, entry.value, lines)
            elif index + 1 < len(node.entries) and not self._starts_line(entry.key):
                # The first key behind a dash: the next one takes its place on that line.
                yield Edit(entry.key.start, node.entries[index + 1].key.start, "")
            else:
                yield self._delete_lines(entry.key.start, entry.value.end)
        have = {entry.name: entry for entry in node.entries}
        previous = None
        for name, value in target.items():
            if name in have:
                previous = have[name]
                continue
            lines = emit.entry_lines(name, value, self.layout)
            if previous is None:
                first = next(e.key.start for e in node.entries if e.name in target)
                yield Edit(first, first, self._joined(lines, node.column, closed=True))
            else:
                yield self._insert_below(previous.value.end, lines, node.column)

    def _block_sequence(self, node: Sequence, target: list[Any]) -> Iterator[Edit]:
        pairs = list(_aligned([value_of(item) for item in node.items], target))
        if all(new is None for old, new in pairs if old is not None):
            raise _ReplaceWhole
        dashes = [self._dash(node, item) for item in node.items]
        first = next(dashes[old] for old, new in pairs if old is not None and new is not None)
        previous = None
        for old, new in pairs:
            if old is not None and new is not None:
                item = node.items[old]
                try:
                    yield from list(self._edits(item, target[new]))
                except _ReplaceWhole:
                    yield self._new_item(node, item, emit.block_lines(target[new], self.layout))
                previous = item
            elif old is not None:
                if not self._is_first_on_line(dashes[old]):
                    raise _ReplaceWhole
                yield self._delete_lines(dashes[old], max(node.items[old].end, dashes[old] + 1))
            elif new is not None:
                lines = emit.item_lines(target[new], self.layout)
                if previous is None:
                    text = self._joined(lines, node.column, closed=True)
                    yield Edit(first, first, text)
                else:
                    yield self._insert_below(previous.end, lines, node.column)

    def _dash(self, node: Sequence, item: Node) -> int:
        """The offset of an item's dash: in the sequence's column, on the item's line or above."""
        line_start = self.text.rfind("\n", 0, item.start) + 1
        while True:
            at = line_start + node.column
            before = self.text[line_start:at]
            if self.text[at : at + 1] == "-" and "#" not in before and at < max(item.start, 1):
                return at
            if line_start == 0:
                raise _ReplaceWhole
            line_start = self.text.rfind("\n", 0, line_start - 1) + 1

    def _new_item(self, node: Sequence, item: Node, lines: list[str]) -> Edit:
        if item.start == item.end:  # a lone dash
            return Edit(item.start, item.start, " " + self._joined(lines, node.column + 2))
        return self._rewrite(item, item, lines)

    def _rewrite(self, first: Node, last: Node, lines: list[str]) -> Edit:
        end = last.end
        if self._is_behind_break(end):  # a block scalar's end lies behind its last line
            end = self._line_end(end)
        return Edit(first.start, end, self._joined(lines, first.column))

    def _joined(self, lines: list[str], column: int, *, closed: bool = False) -> str:
        """Lines at a column, the first without indentation; closed: something follows there."""
        pad = "\n" + " " * column
        return pad.join(lines) + (pad if closed else "")

    def _insert_below(self, end: int, lines: list[str], column: int) -> Edit:
        """New lines under the line in which the content before them ends."""
        at = self._line_end(end)
        pad = " " * column
        return Edit(at, at, "".join(f"\n{pad}{line}" for line in lines))

    def _is_behind_break(self, end: int) -> bool:
        """A block scalar ends at the start of the next line, or within its indentation."""
        start = self.text.rfind("\n", 0, end) + 1
        return start > 0 and not self.text[start:end].strip(" ")

    def _line_end(self, end: int) -> int:
        """The newline that closes the line in which content ends (or the end of the text)."""
        if self._is_behind_break(end):
            return self.text.rfind("\n", 0, end)
        newline = self.text.find("\n", end)
        return len(self.text) if newline < 0 else newline

    def _delete_lines(self, start: int, end: int) -> Edit:
        line_start = self.text.rfind("\n", 0, start) + 1
        line_end = self._line_end(end)
        if line_start == 0:
            return Edit(0, min(line_end + 1, len(self.text)), "")
        # With the newline before it: then the last line of a file keeps or lacks its own.
        return Edit(line_start - 1, line_end, "")

    def _starts_line(self, node: Node) -> bool:
        return self._is_first_on_line(node.start)

    def _is_first_on_line(self, offset: int) -> bool:
        return not self.text[self.text.rfind("\n", 0, offset) + 1 : offset].strip(" ")

    # Flow style: members with separators between them.

    def _flow_mapping(self, node: Mapping, target: dict[str, Any]) -> Iterator[Edit]:
        have = [entry.name for entry in node.entries]
        spans = [(entry.key.start, max(entry.key.end, entry.value.end)) for entry in node.entries]
        kept = [name in target for name in have]
        for entry in node.entries:
            if entry.name in target:
                yield from self._flow_member(entry.value, target[entry.name])
        added: dict[int, list[str]] = {}
        position = -1
        for name, value in target.items():
            if name in have:
                position = have.index(name)
            else:
                text = f"{emit.quoted(name)}: {emit.flow(value)}"
                added.setdefault(position, []).append(text)
        yield from self._flow_membership(node, spans, kept, added)

    def _flow_sequence(self, node: Sequence, target: list[Any]) -> Iterator[Edit]:
        pairs = list(_aligned([value_of(item) for item in node.items], target))
        kept = [False] * len(node.items)
        added: dict[int, list[str]] = {}
        position = -1
        for old, new in pairs:
            if old is not None:
                position = old
                if new is not None:
                    kept[old] = True
                    yield from self._flow_member(node.items[old], target[new])
            elif new is not None:
                added.setdefault(position, []).append(emit.flow(target[new]))
        spans = [(item.start, item.end) for item in node.items]
        yield from self._flow_membership(node, spans, kept, added)

    def _flow_member(self, node: Node, target: Any) -> Iterator[Edit]:
        try:
            yield from list(self._edits(node, target))
        except _ReplaceWhole:
            gap = " " if node.start == node.end else ""
            yield Edit(node.start, node.end, gap + emit.flow(target))

    def _flow_membership(
        self,
        node: Node,
        spans: list[tuple[int, int]],
        kept: list[bool],
        added: dict[int, list[str]],
    ) -> Iterator[Edit]:
        """Deletes and inserts members. New ones stand behind the member they follow."""
        if not any(kept):
            if not all(kept) or added:
                inside = ", ".join(text for texts in added.values() for text in texts)
                yield Edit(node.start + 1, node.end - 1, inside)
            return
        last_kept = max(index for index, keep in enumerate(kept) if keep)
        for index, keep in enumerate(kept):
            if keep:
                continue
            start, end = spans[index]
            if index < last_kept:  # with the comma behind it
                yield Edit(start, spans[index + 1][0], "")
            else:  # with the comma before it
                yield Edit(spans[index - 1][1], end, "")
        first_kept = kept.index(True)
        for position, texts in added.items():
            anchor = max((i for i in range(position + 1) if kept[i]), default=None)
            if anchor is None:
                start = spans[first_kept][0]
                yield Edit(start, start, "".join(f"{text}, " for text in texts))
            else:
                end = spans[anchor][1]
                yield Edit(end, end, "".join(f", {text}" for text in texts))


def _aligned(old: list[Any], new: list[Any]) -> Iterator[tuple[int | None, int | None]]:
    """Which new item stands for which old one: equal ones, then those in the same gap."""
    before, after = [_identity(item) for item in old], [_identity(item) for item in new]
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    for _, start, end, new_start, new_end in matcher.get_opcodes():
        yield from zip_longest(range(start, end), range(new_start, new_end))


def _identity(item: Any) -> str:
    """What makes a list item the same one after a change: Kubernetes' merge keys."""
    if isinstance(item, dict):
        for key in ("mountPath", "name"):
            if isinstance(item.get(key), str):
                return f"{key}={item[key]}"
    return canonical(item)
