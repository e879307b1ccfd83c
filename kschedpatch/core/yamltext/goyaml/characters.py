"""The characters of a file, as far as Go's YAML reader comes.

It decodes 512 bytes at a time and stops at what is no text, but only when it needs that piece: a
control character far behind the end of the first document is never seen.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kschedpatch.core.yamltext.goyaml.cursor import Refused, mark_at

_PIECE = 512
_FORBIDDEN = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_BOMS = (
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
    (b"\xef\xbb\xbf", "utf-8"),
)


class Characters(NamedTuple):
    text: str
    """Without a byte order mark, and only as far as it can be read."""
    refused: Refused | None = None
    """Raised by whoever needs more of the text than there is."""


def characters(data: bytes) -> Characters:
    bom, encoding = next((pair for pair in _BOMS if data.startswith(pair[0])), (b"", "utf-8"))
    body = data[len(bom) :]
    try:
        text = body.decode(encoding)
    except UnicodeDecodeError as error:
        text = body[: error.start].decode(encoding)
        forbidden = _FORBIDDEN.search(text)
        if forbidden is None:
            name = "UTF-8" if encoding == "utf-8" else "UTF-16"
            mark = mark_at(text, len(text))
            return _until(text, len(text), Refused("Y002", f"not {name} text", mark), data, bom)
    else:
        forbidden = _FORBIDDEN.search(text)
        if forbidden is None:
            return Characters(text)
    at = forbidden.start()
    message = f"control character U+{ord(forbidden[0]):04X}"
    return _until(text, at, Refused("Y006", message, mark_at(text, at)), data, bom)


def _until(text: str, index: int, refused: Refused, data: bytes, bom: bytes) -> Characters:
    """The text before the piece in which the character at ``index`` stands."""
    encoding = "utf-8" if bom in (b"", _BOMS[2][0]) else "utf-16-le"
    bad = len(bom) + len(text[:index].encode(encoding))
    start = 0
    while True:
        end = start + _PIECE
        if bad < end:
            cut = bad + _width(data[bad], encoding) > min(end, len(data))
            good = bad if cut else start
            break
        # A character that is cut in two begins the next piece.
        while encoding == "utf-8" and data[end] & 0xC0 == 0x80:
            end -= 1
        start = end
    kept = data[len(bom) : max(good, len(bom))]
    return Characters(text[: len(kept.decode(encoding if bom else "utf-8", "ignore"))], refused)


def _width(lead: int, encoding: str) -> int:
    if encoding != "utf-8":
        return 2
    return 1 if lead < 0xC0 else 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


_NO_UTF8 = re.compile("[\ud800-\udfff]")


def decoded_as_go(data: bytes) -> str:
    """Bytes that are a string in JSON: what is no UTF-8 is replaced, byte by byte."""
    return _NO_UTF8.sub("\ufffd", data.decode("utf-8", "surrogateescape"))
