"""Tokens of a YAML text, one after the other and no further than asked for.

Go's reader is a port of libyaml, and so are its rules: where a tab may stand, how far a simple key
reaches, what ends a plain scalar. ruamel's are those of later versions of YAML in places.
"""

from __future__ import annotations

from collections import deque

from kschedpatch.core.yamltext.goyaml import properties, scalartext
from kschedpatch.core.yamltext.goyaml.characters import Characters
from kschedpatch.core.yamltext.goyaml.cursor import (
    BLANKZ,
    BREAKS,
    END,
    Cursor,
    Mark,
    Refused,
    Token,
)

#: What starts no plain scalar, but for a dash, and a question mark or colon outside of brackets.
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`") | BLANKZ
_KEY_REACH = 1024


class _Key:
    """A place where a simple key may have begun: only the colon behind it tells."""

    __slots__ = ("mark", "number", "possible", "required")

    def __init__(self, number: int, mark: Mark, *, possible: bool, required: bool) -> None:
        self.number = number
        self.mark = mark
        self.possible = possible
        self.required = required


class Tokens:
    def __init__(self, given: Characters) -> None:
        self._refused = given.refused
        self._good = len(given.text)
        # What follows is no character of any text: it ends no scalar and no comment.
        self._at = Cursor(given.text + ("\1" * 4 if given.refused else "") + END * 4)
        self._queue: deque[Token] = deque()
        self._taken = 0
        self._keys = [_Key(0, Mark(0, 0, 0), possible=False, required=False)]
        self._keys_by_token: dict[int, int] = {}
        self._key_allowed = True
        self._flow = 0
        self._indent = -1
        self._indents: list[int] = []

    def peek(self) -> Token:
        while not self._queue or self._head_may_be_key():
            self._fetch()
        return self._queue[0]

    def next(self) -> Token:
        token = self.peek()
        self._queue.popleft()
        self._taken += 1
        return token

    def _head_may_be_key(self) -> bool:
        index = self._keys_by_token.get(self._taken)
        return index is not None and self._is_valid(self._keys[index])

    def _is_valid(self, key: _Key) -> bool:
        if not key.possible:
            return False
        here = self._at
        if key.mark.line < here.line or key.mark.offset + _KEY_REACH < here.index:
            if key.required:
                raise Refused("Y007", "there is no colon behind this key", key.mark)
            key.possible = False
            return False
        return True

    def _save_key(self) -> None:
        if self._key_allowed:
            required = not self._flow and self._indent == self._at.column
            number = self._taken + len(self._queue)
            self._remove_key()
            self._keys[-1] = _Key(number, self._at.mark(), possible=True, required=required)
            self._keys_by_token[number] = len(self._keys) - 1

    def _remove_key(self) -> None:
        key = self._keys[-1]
        if key.possible:
            if key.required:
                raise Refused("Y007", "there is no colon behind this key", key.mark)
            key.possible = False
            self._keys_by_token.pop(key.number, None)

    def _roll(self, column: int, kind: str, mark: Mark, number: int | None = None) -> None:
        if not self._flow and self._indent < column:
            self._indents.append(self._indent)
            self._indent = column
            at = len(self._queue) if number is None else number - self._taken
            self._queue.insert(at, Token(kind, mark, mark))

    def _unroll(self, column: int) -> None:
        while not self._flow and self._indent > column:
            mark = self._at.mark()
            self._queue.append(Token("block end", mark, mark))
            self._indent = self._indents.pop()

    def _need(self, characters: int) -> None:
        if self._refused is not None and self._at.index + characters > self._good:
            raise self._refused

    def _fetch(self) -> None:
        self._to_next_token()
        self._unroll(self._at.column)
        self._need(4)
        try:
            self._fetch_here()
        except Refused:
            self._need(1)
            raise
        self._need(0)

    def _fetch_here(self) -> None:
        here = self._at
        char, behind = here.char, here.text[here.index + 1]
        if char == END:
            self._end()
        elif here.column == 0 and char == "%":
            self._leave_document()
            self._queue.append(properties.directive(here))
        elif here.column == 0 and here.is_document_mark():
            self._leave_document()
            self._indicator(here.text[here.index : here.index + 3])
        elif char in "[{":
            self._open(char)
        elif char in "]}":
            self._close(char)
        elif char == ",":
            self._remove_key()
            self._key_allowed = True
            self._indicator(char)
        elif char == "-" and behind in BLANKZ:
            self._block_indicator("-", "block sequence", "a list entry can't stand here")
            self._remove_key()
            self._key_allowed = True
            self._indicator(char)
        elif char == "?" and (self._flow or behind in BLANKZ):
            self._block_indicator("?", "block mapping", "a key can't stand here")
            self._remove_key()
            self._key_allowed = not self._flow
            self._indicator(char)
        elif char == ":" and (self._flow or behind in BLANKZ):
            self._value()
        elif char in "|>" and not self._flow:
            self._remove_key()
            self._key_allowed = True
            self._scalar(scalartext.block(here, self._indent), char)
        else:
            self._content(char, behind)

    def _content(self, char: str, behind: str) -> None:
        """What may be a simple key, or stand before one."""
        if char not in "&*!'\"" and char in _INDICATORS and (char not in "-?:" or behind in BLANKZ):
            name = "a tab" if char == "\t" else repr(char)
            raise Refused("Y007", f"{name} can't start a value", self._at.mark())
        self._save_key()
        self._key_allowed = False
        if char in "&*":
            self._queue.append(properties.anchor(self._at))
        elif char == "!":
            self._queue.append(properties.tag(self._at))
        elif char in "'\"":
            self._scalar(scalartext.quoted(self._at), char)
        else:
            text = scalartext.plain(self._at, self._indent, in_flow=bool(self._flow))
            self._scalar(text, "")
            self._key_allowed = text.new_line

    def _leave_document(self) -> None:
        self._unroll(-1)
        self._remove_key()
        self._key_allowed = False

    def _open(self, bracket: str) -> None:
        self._save_key()
        number = self._taken + len(self._queue)
        self._keys.append(_Key(number, self._at.mark(), possible=False, required=False))
        self._flow += 1
        self._key_allowed = True
        self._indicator(bracket)

    def _close(self, bracket: str) -> None:
        self._remove_key()
        if self._flow:
            self._flow -= 1
            self._keys_by_token.pop(self._keys.pop().number, None)
        self._key_allowed = False
        self._indicator(bracket)

    def _to_next_token(self) -> None:
        here = self._at
        while True:
            if here.char == "\ufeff" and here.index == 0:
                here.skip()
            tabs_too = self._flow or not self._key_allowed
            while here.char == " " or (tabs_too and here.char == "\t"):
                here.skip()
            if here.char == "#":
                here.skip_to_break()
            if here.char not in BREAKS:
                return
            here.skip_break()
            if not self._flow:
                self._key_allowed = True

    def _indicator(self, text: str) -> None:
        start = self._at.mark()
        self._at.skip(len(text))
        self._queue.append(Token(text, start, self._at.mark()))

    def _scalar(self, text: scalartext.ScalarText, style: str) -> None:
        self._queue.append(Token("scalar", text.start, text.end, text.value, style))

    def _end(self) -> None:
        self._at.end_line()
        self._leave_document()
        mark = self._at.mark()
        self._queue.append(Token("end", mark, mark))

    def _block_indicator(self, char: str, opens: str, message: str) -> None:
        if not self._flow:
            if not self._key_allowed:
                raise Refused("Y007", f"{message} ({char})", self._at.mark())
            self._roll(self._at.column, opens, self._at.mark())

    def _value(self) -> None:
        key = self._keys[-1]
        if self._is_valid(key):
            at = key.number - self._taken
            self._queue.insert(at, Token("?", key.mark, key.mark))
            self._roll(key.mark.column, "block mapping", key.mark, key.number)
            key.possible = False
            self._keys_by_token.pop(key.number, None)
            self._key_allowed = False
        else:
            self._block_indicator(":", "block mapping", "a value can't stand here")
            self._key_allowed = not self._flow
        self._indicator(":")
