"""Our reader against recordings of the Go code that the kubelet and the scheduler read YAML with.

fixtures/goyaml/values.json is made by fixtures/oracles/yamlvalues. Where we take a text, we must
read the same value; where Go refuses one, we must not take it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.goscalars import resolve_plain
from kschedpatch.core.yamltext.nodes import Scalar, canonical, value_of
from kschedpatch.core.yamltext.reader import read

FIXTURES = Path(__file__).parents[3] / "fixtures"
RECORDED: list[dict[str, Any]] = json.loads(
    (FIXTURES / "goyaml" / "values.json").read_text("utf-8")
)


def test_the_recording_is_large_enough_to_mean_something() -> None:
    assert len(RECORDED) > 2000
    assert sum("error" in entry for entry in RECORDED) > 300


def _is_root_block_scalar(entry: dict[str, Any]) -> bool:
    """A block scalar as the whole document: no file of ours is one, and its value differs."""
    documents = read(entry["yaml"].encode("utf-8", "surrogatepass")).documents
    return bool(documents) and isinstance(documents[0], Scalar) and documents[0].style == "|"


def test_what_we_take_we_read_as_go_does() -> None:
    wrong = []
    taken = 0
    for entry in RECORDED:
        reading = read(entry["yaml"].encode("utf-8", "surrogatepass"))
        if reading.findings or not reading.documents or _is_root_block_scalar(entry):
            continue
        taken += 1
        ours = canonical(value_of(reading.documents[0]))
        if "error" in entry or ours != canonical(entry.get("json")):
            wrong.append((entry, ours))
    assert wrong == []
    assert taken > 1200


# What Go takes and we refuse as «not YAML» (Y007). Everything else that we refuse has a code of
# its own with its own reason. The list may shrink; it must not grow unnoticed.
REFUSED_AS_NO_YAML = 65


def test_what_go_takes_is_rarely_no_yaml_to_us() -> None:
    refused = [
        entry["yaml"]
        for entry in RECORDED
        if "error" not in entry
        and any(f.code == "Y007" for f in read(entry["yaml"].encode()).findings)
    ]
    assert len(refused) <= REFUSED_AS_NO_YAML, refused


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("yes", True), ("n", False), ("Off", False), ("~", None), ("", None), ("0644", 420),
        ("0o17", 15), ("0b101", 5), ("0x1F", 31), ("1_000", 1000), ("08", 8), ("1:30", "1:30"),
        ("1e3", 1000), ("1.5", 1.5), (".5", 0.5), ("2001-12-14", "2001-12-14"), ("tRUE", "tRUE"),
        ("127.0.0.1", "127.0.0.1"), ("100m", "100m"), ("1e309", "1e309"), ("-0x5", -5),
    ],
)  # fmt: skip
def test_plain_scalars(text: str, value: Any) -> None:
    assert canonical(resolve_plain(text)) == canonical(value)


def test_what_we_write_go_reads_back() -> None:
    """Every plain text of the recording, written as a string by us, is that string again."""
    for entry in RECORDED:
        text = entry["yaml"].removeprefix("k: ")
        if not text.isprintable():
            continue
        written = emit.scalar(text)
        if written[0] not in "\"'":
            assert resolve_plain(written) == text
