"""The reader of files that are only judged takes what Go's readers take, and reads it alike."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.yamltext.goyaml.reading import read_as_go
from kschedpatch.core.yamltext.nodes import canonical, nearest, value_of
from kschedpatch.core.yamltext.reader import Reading, read
from kschedpatch.model.finding import Path as NodePath
from kschedpatch.model.finding import has_errors

GOYAML = Path(__file__).parents[3] / "fixtures" / "goyaml"


def _recorded(name: str) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((GOYAML / name).read_text("utf-8"))
    return [entry for entry in entries if not entry["yaml"].lstrip().startswith("{")]


def _value(reading: Reading) -> Any:
    return value_of(reading.documents[0]) if reading.documents else None


@pytest.mark.parametrize("name", ["values.json", "odd.json"])
def test_every_recorded_text_is_taken_or_refused_as_go_does_it_and_read_alike(name: str) -> None:
    """Strictly: the scheduler refuses a key that stands there twice."""
    wrong = []
    taken = refused = 0
    for entry in _recorded(name):
        reading = read_as_go(entry["yaml"].encode("utf-8", "surrogatepass"))
        errors = [finding for finding in reading.findings if finding.is_error]
        go_refuses = "error" in entry or "strictError" in entry
        if bool(errors) is not go_refuses:
            wrong.append((entry, [error.message for error in errors]))
        elif not errors and canonical(_value(reading)) != canonical(entry.get("json")):
            wrong.append((entry, _value(reading)))
        taken += not errors
        refused += bool(errors)
    assert wrong == []
    assert taken > 1500
    assert refused > 400


def test_what_the_strict_reader_refuses_is_a_warning_with_the_same_code() -> None:
    told = 0
    for entry in _recorded("values.json"):
        data = entry["yaml"].encode("utf-8", "surrogatepass")
        reading, strict = read_as_go(data), read(data)
        if not has_errors(reading.findings) and has_errors(strict.findings):
            told += 1
            codes = {finding.code for finding in reading.findings}
            assert {finding.code for finding in strict.findings} <= codes
    assert told > 300


@pytest.mark.parametrize(
    ("text", "code", "line", "value"),
    [
        ("\ufeffa: b\n", "Y003", 1, {"a": "b"}),
        ("a: b\r\nc: d\r\n", "Y004", 1, {"a": "b", "c": "d"}),
        ("a: b\nc:\td\n", "Y007", 2, {"a": "b", "c": "d"}),
        ("a: [b,\tc]\n", "Y005", 1, {"a": ["b", "c"]}),
        ("a: b\x85c: d\n", "Y006", 1, {"a": "b", "c": "d"}),
        ("a: !!str 5\n", "Y009", 1, {"a": "5"}),
        ("a: !x 5\n", "Y009", 1, {"a": "5"}),
        ("a: &x [1]\nb: *x\n", "Y010", 2, {"a": [1], "b": [1]}),
        ("a: 1\n---\nb: 2\n", "Y013", 3, {"a": 1}),
        ("a: 1\n---\nb: [\n", "Y007", 4, {"a": 1}),
        ("? a\n: b\n", "Y015", 1, {"a": "b"}),
        ("1.5: b\n", "Y015", 1, {"1.5": "b"}),
        ("%YAML 1.1\n---\na: b\n", "Y017", 1, {"a": "b"}),
    ],
)
def test_what_would_not_be_edited_is_a_warning(text: str, code: str, line: int, value: Any) -> None:
    reading = read_as_go(text.encode())
    assert not has_errors(reading.findings)
    told = [finding for finding in reading.findings if finding.code == code]
    assert told
    assert told[-1].line == line
    assert "would not edit" in told[0].message
    assert _value(reading) == value


def test_a_file_in_utf_16_is_read() -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        reading = read_as_go("\ufeffa: é😀\n".encode(encoding))
        assert not has_errors(reading.findings)
        assert _value(reading) == {"a": "é😀"}
        assert has_errors(read_as_go("\ufeffa: b".encode(encoding) + b"\x00").findings)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: *x\n", "Y010", 2),
        ("a: &x [*x]\n", "Y010", 1),
        ("a: &x 1\nb: {<<: *x}\n", "Y010", 2),
        ("a: &x {c: 1}\nb:\n  <<: *x\n  c: 2\n", "Y008", 4),
        ("a: !!int x\n", "Y009", 1),
        ("a: !!binary '*'\n", "Y009", 1),
        ("a: !e!x 1\n", "Y009", 1),
        ("~: b\n", "Y015", 1),
        ("[a]: b\n", "Y015", 1),
        ("18446744073709551615: b\n", "Y015", 1),
        ("a: .nan\n", "Y018", 1),
        ("%YAML 1.2\n---\na: b\n", "Y017", 1),
        ("a:\n\tb: c\n", "Y007", 2),
        ("a: \x07\n", "Y006", 1),
    ],
)
def test_what_go_refuses_is_an_error_in_its_line(text: str, code: str, line: int) -> None:
    errors = [finding for finding in read_as_go(text.encode()).findings if finding.is_error]
    assert [(error.code, error.line) for error in errors] == [(code, line)]


def test_what_is_no_text_counts_only_where_go_comes_to_it() -> None:
    near, far = (b"a: b\n---\n" + b"# c\n" * lines + b"\x07" for lines in (10, 200))
    assert has_errors(read_as_go(near).findings)
    assert not has_errors(read_as_go(far).findings)


@pytest.mark.parametrize(
    ("path", "line", "column"),
    [
        (("two", "name"), 3, 9),  # where the merged mapping has it
        (("two", "weight"), 7, 11),
        (("three", 0, "name"), 3, 9),
        (("three", 1), 10, 5),
    ],
)
def test_places_are_those_where_a_value_is_written(path: NodePath, line: int, column: int) -> None:
    text = (
        "# first\none: &one\n  name: x\n  list: [1]\n"
        "two:\n  <<: *one\n  weight: 5\nthree:\n  - *one\n  - !!str 7\n"
    )
    node = nearest(read_as_go(text.encode()).documents[0], path)
    assert (node.line + 1, node.column + 1) == (line, column)


def test_a_tag_is_told_with_the_value_that_it_makes() -> None:
    (told,) = read_as_go(b"a: b\nc: !!str 010\n").findings
    assert 'the scheduler reads "010"' in told.message
    assert "quote" in told.hint


def test_two_keys_that_json_makes_one_are_told() -> None:
    reading = read_as_go(b'1: a\n"1": b\n')
    assert not has_errors(reading.findings)
    assert any("chance" in finding.message for finding in reading.findings)


JSON_VALUES = {
    '{"a": "\\/\\ud83d\\ude00", "b": 5.0}': {"a": "/😀", "b": 5.0},
    '\n{\n\t"a": [1, -2.5e3, true, null],\n\t"b": {}\n}\n': {
        "a": [1, -2500.0, True, None],
        "b": {},
    },
    '{"a": "\x7f"}': {"a": "\x7f"},
    '{"a": "\\ud800"}': {"a": "\ufffd"},
}


@pytest.mark.parametrize(("text", "value"), JSON_VALUES.items())
def test_json_is_read_as_json(text: str, value: Any) -> None:
    reading = read_as_go(text.encode())
    assert not has_errors(reading.findings)
    assert canonical(_value(reading)) == canonical(value)


def test_json_has_places_too() -> None:
    root = read_as_go(b'{\n\t"a": [1,\n\t{"b": 2}]\n}').documents[0]
    node = nearest(root, ("a", 1, "b"))
    assert (node.line + 1, node.column + 1) == (3, 8)


@pytest.mark.parametrize(
    "text",
    ["{a: 1}", '{"a": 1,}', '{"a": 01}', '{"a": "\t"}', "{", '{"a": NaN}', '{"a": 1} x', "\xa0{}"],
)
def test_what_starts_with_a_brace_and_is_no_json_is_an_error(text: str) -> None:
    errors = [finding for finding in read_as_go(text.encode()).findings if finding.is_error]
    assert [error.code for error in errors] == ["Y019"]


def test_json_with_a_key_twice() -> None:
    errors = [finding for finding in read_as_go(b'{"a": 1,\n"a": 2}').findings if finding.is_error]
    assert [(error.code, error.line) for error in errors] == [("Y008", 2)]


def test_up_to_1_22_json_must_be_yaml_too() -> None:
    text = b'{"a": "\\/"}'
    assert not has_errors(read_as_go(text).findings)
    assert has_errors(read_as_go(text, json_as_yaml_too=True).findings)


_LISTS = "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 9)}]\n" for i in range(1, 30))
HOSTILE = {
    "alias bomb": "a0: &a0 [x]\n" + _LISTS,
    "alias bomb with much beside it": "a0: &a0 [x]\n" + "b: 1\n" * 2000 + _LISTS,
    "merge bomb": "a0: &a0 {b: 1}\n"
    + "".join(f"a{i}: &a{i} {{<<: [*a{i - 1}, *a{i - 1}]}}\n" for i in range(1, 60)),
    "merge chain": "a0: &a0 {b: 1}\n"
    + "".join(f"a{i}: &a{i} {{<<: *a{i - 1}, c{i}: 1}}\n" for i in range(1, 1500)),
    "brackets": "[" * 100_000,
    "json braces": '{"a":' * 20_000,
    "dashes": "- " * 60_000,
    "question marks": "? " * 60_000,
    "keys": "a: 1\n" * 20_000,
    "open quote": 'a: "' + "b " * 60_000,
    "json items": '{"a": [' + "[]," * 40_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_text_is_refused_soon(text: str) -> None:
    started = time.process_time()
    assert has_errors(read_as_go(text.encode()).findings)
    assert time.process_time() - started < 10
