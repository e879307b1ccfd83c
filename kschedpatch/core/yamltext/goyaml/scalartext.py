"""What the scalars of a YAML text say: plain, quoted and block, with their line breaks folded."""

from __future__ import annotations

import re
from typing import NamedTuple

from kschedpatch.core.yamltext.goyaml.cursor import BLANKZ, BREAKS, END, Cursor, Mark, Refused

_PLAIN = re.compile(f"(?:[^ \t\0{BREAKS}:]|:(?![ \t\0{BREAKS}]))+")
_FLOW_PLAIN = re.compile(f"(?:[^ \t\0{BREAKS}:,?\\[\\]{{}}]|:(?![ \t\0{BREAKS}]))+")
_SINGLE = re.compile(f"[^ \t\0{BREAKS}']+")
_DOUBLE = re.compile(f'[^ \t\0{BREAKS}"\\\\]+')
_BLANKS = re.compile("[ \t]+")
_HEX = re.compile("[0-9A-Fa-f]+")

_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f",
    "r": "\r", "e": "\x1b", " ": " ", '"': '"', "'": "'", "\\": "\\", "N": "\x85", "_": "\xa0",
    "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_CODES = {"x": 2, "u": 4, "U": 8}


class ScalarText(NamedTuple):
    value: str
    start: Mark
    end: Mark
    new_line: bool = False
    """A plain scalar whose end was found on a later line: a key may stand there."""


def _folded(first: str, more: str) -> str:
    """Line breaks within a scalar: one is a space, of more the first is dropped."""
    return (more or " ") if first == "\n" else first + more


def plain(here: Cursor, indent: int, *, in_flow: bool) -> ScalarText:
    start = end = here.mark()
    pattern = _FLOW_PLAIN if in_flow else _PLAIN
    pieces: list[str] = []
    gap, first, more = "", "", ""
    while not (here.column == 0 and here.is_document_mark()) and here.char != "#":
        piece = here.take(pattern)
        if piece:
            pieces += (_folded(first, more) if first else gap, piece)
            gap, first, more = "", "", ""
            end = here.mark()
        if here.char not in " \t" and here.char not in BREAKS:
            break
        while here.char in " \t" or here.char in BREAKS:
            if here.char in BREAKS:
                if first:
                    more += here.skip_break()
                else:
                    gap, first = "", here.skip_break()
            elif not first:
                gap += here.take(_BLANKS)
            elif here.char == "\t" and here.column <= indent:
                raise Refused("Y007", "a tab where the indentation of a text is", here.mark())
            else:
                here.skip()
        if not in_flow and here.column <= indent:
            break
    return ScalarText("".join(pieces), start, end, bool(first))


def quoted(here: Cursor) -> ScalarText:
    start = here.mark()
    quote = here.char
    here.skip()
    pieces: list[str] = []
    while True:
        if here.column == 0 and here.is_document_mark():
            raise Refused("Y007", "the document ends within quotes", start)
        if here.char == END:
            raise Refused("Y007", "the text ends within quotes", start)
        joined = _words(here, quote, pieces)
        if here.char == quote:
            break
        gap, first, more = "", "", ""
        while here.char in " \t" or here.char in BREAKS:
            if here.char not in BREAKS:
                blanks = here.take(_BLANKS)
                gap += "" if joined or first else blanks
            elif first or joined:
                # Behind an escaped break the next ones are all kept.
                more += here.skip_break()
            else:
                gap, first = "", here.skip_break()
        if first:
            pieces.append(_folded(first, more))
        else:
            pieces.append(more if joined else gap)
    here.skip()
    return ScalarText("".join(pieces), start, here.mark())


def _words(here: Cursor, quote: str, pieces: list[str]) -> bool:
    """Up to a blank, a break or the closing quote; True behind a break that is escaped."""
    while here.char not in BLANKZ:
        if quote == "'":
            if here.text.startswith("''", here.index):
                pieces.append("'")
                here.skip(2)
            elif here.char == "'":
                return False
            else:
                pieces.append(here.take(_SINGLE))
        elif here.char == '"':
            return False
        elif here.char != "\\":
            pieces.append(here.take(_DOUBLE))
        elif here.text[here.index + 1] in BREAKS:
            here.skip()
            here.skip_break()
            return True
        else:
            pieces.append(_escape(here))
    return False


def _escape(here: Cursor) -> str:
    mark = here.mark()
    letter = here.text[here.index + 1]
    here.skip(2)
    if letter in _ESCAPES:
        return _ESCAPES[letter]
    length = _CODES.get(letter, 0)
    digits = here.text[here.index : here.index + length]
    if length and _HEX.fullmatch(digits) and len(digits) == length:
        here.skip(length)
        code = int(digits, 16)
        if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF:
            return chr(code)
    raise Refused("Y018", "an escape that Kubernetes can't read", mark)


def block(here: Cursor, outer: int) -> ScalarText:
    start = here.mark()
    literal = here.char == "|"
    here.skip()
    chomping, given = _block_header(here, start)
    indent = (max(outer, 0) + given) if given else 0
    indent, more, end = _block_breaks(here, indent, outer)
    pieces: list[str] = []
    first = ""
    blank_before = False
    while here.column == indent and here.char != END:
        blank = here.char in " \t"
        if not literal and first == "\n" and not blank_before and not blank:
            pieces.append(more or " ")
        else:
            pieces += (first, more)
        blank_before = blank
        at = here.index
        here.skip_to_break()
        pieces.append(here.text[at : here.index])
        first = "" if here.char == END else here.skip_break()
        indent, more, end = _block_breaks(here, indent, outer)
    if chomping != "-":
        pieces.append(first)
    if chomping == "+":
        pieces.append(more)
    return ScalarText("".join(pieces), start, end)


_HEADER = re.compile(r"(?:([-+])([0-9])?|([0-9])([-+])?)?")


def _block_header(here: Cursor, start: Mark) -> tuple[str, int]:
    """(chomping, indentation), and the cursor on the line below."""
    match = here.taken(_HEADER)
    chomping = (match[1] or match[4] or "") if match else ""
    digit = (match[2] or match[3] or "") if match else ""
    here.take(_BLANKS)
    if here.char == "#":
        here.skip_to_break()
    if digit == "0" or (here.char != END and here.char not in BREAKS):
        raise Refused("Y007", "a block text with a wrong first line", start)
    if here.char in BREAKS:
        here.skip_break()
    return chomping, int(digit or 0)


def _block_breaks(here: Cursor, indent: int, outer: int) -> tuple[int, str, Mark]:
    """(indentation, the empty lines here, where they end). 0: the first line tells."""
    breaks = ""
    deepest = 0
    end = here.mark()
    while True:
        while (not indent or here.column < indent) and here.char == " ":
            here.skip()
        deepest = max(deepest, here.column)
        if (not indent or here.column < indent) and here.char == "\t":
            raise Refused("Y007", "a tab where the indentation of a block text is", here.mark())
        if here.char not in BREAKS:
            break
        breaks += here.skip_break()
        end = here.mark()
    return indent or max(deepest, outer + 1, 1), breaks, end
