"""Splices: the text means the new value, and every byte outside the change is the old one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from kschedpatch.core.yamltext.nodes import same, value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.core.yamltext.splice import Edit, SpliceError, apply_edits, respell
from tests.unit.yamltext.strategies import OBJECTS, spelling

# Shrinking a failure takes minutes here and says little: the failing text is readable as it is.
NO_SHRINK = [Phase.explicit, Phase.reuse, Phase.generate]


def respelled(text: str, target: Any) -> str:
    reading = read(text.encode())
    assert not reading.findings
    return respell(reading.text, reading.documents[0], target).text


@st.composite
def spelt_objects(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    value = draw(OBJECTS)
    return spelling(draw, value), value


@settings(max_examples=200, deadline=None, phases=NO_SHRINK)
@given(spelt_objects(), OBJECTS)
def test_any_spelling_becomes_any_value_that_shares_a_key(
    spelt: tuple[str, dict[str, Any]], other: dict[str, Any]
) -> None:
    text, value = spelt
    reading = read(text.encode())
    assert not reading.findings
    assert same(value_of(reading.documents[0]), value)
    first = next(iter(value))
    target = {**other, first: value[first]}
    result = respell(reading.text, reading.documents[0], target).text
    assert same(value_of(read(result.encode()).documents[0]), target)


@settings(max_examples=200, deadline=None, phases=NO_SHRINK)
@given(spelt_objects())
def test_no_change_is_no_edit(spelt: tuple[str, dict[str, Any]]) -> None:
    text, value = spelt
    assert respelled(text, value) == text


@settings(max_examples=200, deadline=None, phases=NO_SHRINK)
@given(spelt_objects())
def test_an_added_key_changes_nothing_else(spelt: tuple[str, dict[str, Any]]) -> None:
    text, value = spelt
    result = respelled(text, {**value, "added": "here"})
    at = result.index("added")
    prefix, suffix = result[:at], result[at:].partition("here")[2]
    assert text.startswith(prefix.rstrip(' \n,"'))
    assert text.endswith(suffix.lstrip('"'))


CASES = {
    "a flag in an indentless list": (
        "spec:\n  command:\n  - kube-scheduler # first\n  - --v=2\n  image: x\n",
        {"spec": {"command": ["kube-scheduler", "--v=5"], "image": "x"}},
        "spec:\n  command:\n  - kube-scheduler # first\n  - --v=5\n  image: x\n",
    ),
    "an item behind a commented one": (
        "a:\n    - x\n    # - y\nb: 1\n",
        {"a": ["x", "z"], "b": 1},
        "a:\n    - x\n    - z\n    # - y\nb: 1\n",
    ),
    "the first key behind a dash goes": (
        "a:\n- name: x\n  value: w\n",
        {"a": [{"value": "w"}]},
        "a:\n- value: w\n",
    ),
    "the last key of a file without a final newline": ("a: 1\nb: 2", {"a": 1}, "a: 1"),
    "a key below a literal block": (
        "a: |\n  text\nb: 1\n",
        {"a": "text\n", "c": True, "b": 1},
        "a: |\n  text\nc: true\nb: 1\n",
    ),
    "a literal block is replaced": ("a: |\n  x\n  y\nb: 1\n", {"a": "z", "b": 1}, "a: z\nb: 1\n"),
    "a mapping that ends in a literal block is replaced": (
        "a:\n  k: |\n    t\nb: c\n",
        {"a": {"z": 1}},
        "a:\n  z: 1\n",
    ),
    "a literal block becomes a list, and its neighbour goes": (
        "a: |\n  t\nb: c\n",
        {"a": []},
        "a: []\n",
    ),
    "a lone dash becomes a mapping": (
        "b:\n-\n- x\n",
        {"b": [{"k": 1, "l": 2}, "x"]},
        "b:\n- k: 1\n  l: 2\n- x\n",
    ),
    "an empty value is filled": (
        "a:\nb: 1\n",
        {"a": {"k": "v"}, "b": 1},
        "a:\n  k: v\nb: 1\n",
    ),
    "an empty flow mapping is filled": (
        "a: {}\n",
        {"a": {"k": "v"}},
        'a: {"k": "v"}\n',
    ),
    "quotes stay": ("a: 'x'\nb: \"y\"\n", {"a": "z", "b": "w"}, "a: 'z'\nb: \"w\"\n"),
    "what looks like another type is quoted": (
        "a: x\nb: x\n",
        {"a": "yes", "b": "0644"},
        'a: "yes"\nb: "0644"\n',
    ),
    "JSON stays JSON": (
        '{"a": [1, 2], "b": "x"}',
        {"a": [1, 2, 3], "b": "y", "c": None},
        '{"a": [1, 2, 3], "b": "y", "c": null}',
    ),
    "flow members go with their comma": ("a: [x, w, z]\n", {"a": ["x"]}, "a: [x]\n"),
    "the first flow member goes": ("a: [x, w, z]\n", {"a": ["w", "z"]}, "a: [w, z]\n"),
    "a list that becomes empty": ("a:\n- x\nb: 1\n", {"a": [], "b": 1}, "a: []\nb: 1\n"),
    "four spaces and indented lists are kept": (
        "a:\n    b:\n        - x\n",
        {"a": {"b": ["x"], "c": {"d": ["e"]}}},
        "a:\n    b:\n        - x\n    c:\n        d:\n            - e\n",
    ),
}


@pytest.mark.parametrize(("text", "target", "expected"), CASES.values(), ids=CASES)
def test_splices(text: str, target: Any, expected: str) -> None:
    assert respelled(text, target) == expected


def test_a_document_is_never_replaced_as_a_whole() -> None:
    reading = read(b"a: 1\n")
    with pytest.raises(SpliceError):
        respell(reading.text, reading.documents[0], {"b": 1})


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(SpliceError):
        apply_edits("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "")])


def test_true_is_not_one() -> None:
    assert not same({"a": True}, {"a": 1})
