"""The reader's refusals: each with its code, its line, and within bounds."""

from __future__ import annotations

import pytest

from kschedpatch.core.yamltext.bounds import MAX_BYTES
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read

REFUSED = {
    "too large": (b"a: " + b"x" * MAX_BYTES, "Y001", 0),
    "not UTF-8": (b"a: b\nc: \xff\n", "Y002", 2),
    "byte order mark": (b"\xef\xbb\xbfa: b\n", "Y003", 1),
    "Windows line ends": (b"a: b\r\nc: d\r\n", "Y004", 1),
    "tab behind a colon": (b"a: b\nc: [x,\td]\n", "Y005", 2),
    "tab before block text": (b"a: |\n  \tx\n", "Y005", 2),
    "escape character": (b"a: \x1b[2J\n", "Y006", 1),
    "NUL": (b"a: b\nc: \x00\n", "Y006", 2),
    "unclosed bracket": (b"a: [b\n", "Y007", 2),
    "duplicate key": (b"a: 1\nb: 2\na: 3\n", "Y008", 3),
    "duplicate key in another spelling": (b"a: 1\n'a': 2\n", "Y008", 2),
    "tag": (b"a: !!str 5\n", "Y009", 1),
    "anchor": (b"a: &x b\n", "Y010", 1),
    "alias": (b"a: *x\n", "Y010", 1),
    "merge key": (b"a:\n  <<: {b: c}\n", "Y010", 2),
    "deep flow": (b"[" * 500, "Y011", 1),
    "deep block": (b"- " * 500, "Y011", 1),
    "many values": (b"- a\n" * 6000, "Y012", 5000),
    "null key": (b"~: b\n", "Y015", 1),
    "list as key": (b"[a]: b\n", "Y015", 1),
    "explicit key": (b"? a\n: b\n", "Y015", 1),
    "directive": (b"%YAML 1.1\n---\na: b\n", "Y017", 1),
    "infinity": (b"a: .inf\n", "Y018", 1),
    "slash escape": (rb'a: "\/"', "Y018", 1),
}


@pytest.mark.parametrize(("data", "code", "line"), REFUSED.values(), ids=REFUSED)
def test_refused(data: bytes, code: str, line: int) -> None:
    findings = read(data).findings
    assert code in [finding.code for finding in findings]
    assert next(f.line for f in findings if f.code == code) == line


def test_billion_laughs_does_not_expand() -> None:
    bomb = b"a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n"
    reading = read(bomb)
    assert not reading.documents
    assert {finding.code for finding in reading.findings} == {"Y010"}


def test_several_findings_at_once() -> None:
    codes = [finding.code for finding in read(b"a: !x b\nc: &y d\ne: 1\ne: 2\n").findings]
    assert codes == ["Y009", "Y010", "Y008"]


@pytest.mark.parametrize(
    "text",
    ["a: 'x\ty'\n", "a: b # a\ttab in a comment\n", '"a\\tb": c\n', "a: |\n  x\ty\n"],
)
def test_tabs_inside_text_are_text(text: str) -> None:
    assert read(text.encode()).findings == ()


def test_documents_are_kept_apart() -> None:
    reading = read(b"a: 1\n---\nb: 2\n")
    assert [value_of(document) for document in reading.documents] == [{"a": 1}, {"b": 2}]
