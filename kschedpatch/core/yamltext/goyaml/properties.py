"""What stands before a value or a document: anchors, aliases, tags, directives."""

from __future__ import annotations

import re

from kschedpatch.core.yamltext.goyaml.cursor import (
    BLANKZ,
    BREAKS,
    END,
    Cursor,
    Mark,
    Refused,
    Token,
)

_AFTER_ANCHOR = BLANKZ | frozenset("?:,]}%@`")
_NAME = re.compile(r"[0-9A-Za-z_-]*")
_URI = re.compile(r"(?:[0-9A-Za-z_\-;/?:@&=+$,.!~*'()\[\]]|%[0-9A-Fa-f]{2})*")
_OCTETS = re.compile(r"(?:%[0-9A-Fa-f]{2})+")
_VERSION = re.compile(r"[ \t]+([0-9]{1,2})\.([0-9]{1,2})(?![0-9])")
_TAG_HANDLE = re.compile(r"[ \t]+(!(?:[0-9A-Za-z_-]*!)?)(?![0-9A-Za-z_-])[ \t]+")


def anchor(here: Cursor) -> Token:
    """An anchor or an alias."""
    start = here.mark()
    kind = here.char
    here.skip()
    name = here.take(_NAME)
    if not name or here.char not in _AFTER_ANCHOR:
        what = "an anchor" if kind == "&" else "an alias"
        raise Refused("Y007", f"{what} without a name", start)
    return Token(kind, start, here.mark(), name)


def tag(here: Cursor) -> Token:
    """Its value is the handle: `!!str` is («!!», «str»), `!x` is («!», «x»), `!` is («», «!»)."""
    start = here.mark()
    here.skip()
    if here.char == "<":
        here.skip()
        handle, suffix = "", here.take(_URI)
        if not suffix or here.char != ">":
            raise Refused("Y009", "a tag that is not closed by >", start)
        here.skip()
    else:
        name = here.take(_NAME)
        if here.char == "!":
            here.skip()
            handle, suffix = f"!{name}!", here.take(_URI)
            if not suffix:
                raise Refused("Y009", "a tag without a name", start)
        else:
            handle, suffix = "!", name + here.take(_URI)
            if not suffix:
                handle, suffix = "", "!"
    if here.char not in BLANKZ:
        raise Refused("Y009", f"{here.char!r} can't stand in a tag", start)
    return Token("!", start, here.mark(), handle, _unescaped(suffix, start))


def directive(here: Cursor) -> Token:
    start = here.mark()
    here.skip()
    name = here.take(_NAME)
    if name == "YAML" and (version := here.taken(_VERSION)):
        token = Token("%YAML", start, here.mark(), f"{int(version[1])}.{int(version[2])}")
    elif name == "TAG" and (handle := here.taken(_TAG_HANDLE)) and (uri := here.take(_URI)):
        token = Token("%TAG", start, here.mark(), handle[1], _unescaped(uri, start))
    else:
        raise Refused("Y017", "a directive that Go's reader does not know", start)
    closed = here.char in BLANKZ
    while here.char in " \t":
        here.skip()
    if here.char == "#":
        here.skip_to_break()
    if not closed or (here.char != END and here.char not in BREAKS):
        raise Refused("Y017", "a directive with something behind it", start)
    if here.char in BREAKS:
        here.skip_break()
    return token


def _unescaped(uri: str, start: Mark) -> str:
    """`%41` in a tag is «A»."""
    try:
        return _OCTETS.sub(lambda m: bytes.fromhex(m[0].replace("%", "")).decode(), uri)
    except UnicodeDecodeError:
        raise Refused("Y009", "an escape in a tag that is no UTF-8", start) from None
