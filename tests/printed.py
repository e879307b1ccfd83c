"""What commands print for programs, held against the schema that is published."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import best_match

from kschedpatch.model.outcome import Outcome
from kschedpatch.report.documents import as_json

SCHEMA = Path(__file__).parents[1] / "docs/reference/output.schema.json"


@cache
def validator() -> Draft202012Validator:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    return Draft202012Validator(schema, format_checker=FormatChecker())


def check(document: Any) -> None:
    """Fails with the place and the reason where a document is not as the schema has it."""
    error = best_match(validator().iter_errors(document))
    if error is not None:
        where = "/".join(map(str, error.absolute_path)) or "the document"
        shown = json.dumps(document)[:2000]
        raise AssertionError(f"{where}: {error.message[:1000]}\n{shown}")


def check_data(kind: str, data: Mapping[str, Any], code: int = 0) -> None:
    """The document that a command would print of it."""
    check(json.loads(as_json(Outcome(kind, data=data, code=code))))


def check_printed(words: Sequence[str], out: str, err: str) -> None:
    """All documents and events that a command with these words has printed."""
    form = _value(words, "-o", "--output")
    if form == "json":
        for document in _json_documents(out):
            check(document)
    elif form == "yaml":
        for document in _yaml_documents(out):
            check(document)
    if _value(words, "--progress") == "json":
        for line in err.splitlines():
            if line.startswith("{"):
                check(json.loads(line))


def _value(words: Sequence[str], *names: str) -> str:
    found = ""
    for at, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name in names:
            found = value if equals else "".join(words[at + 1 : at + 2])
    return found


def _json_documents(text: str) -> Iterator[Any]:
    """One over many lines, or, of a watch, one a line; it may have been cut off in the last."""
    decoder, rest = json.JSONDecoder(), text.lstrip()
    while rest:
        try:
            document, end = decoder.raw_decode(rest)
        except ValueError:
            assert "\n" not in rest, f"no JSON: {rest[:200]}"
            return
        yield document
        rest = rest[end:].lstrip()


def _yaml_documents(text: str) -> Iterator[Any]:
    from ruamel.yaml import YAML

    yield from (part for part in YAML(typ="safe", pure=True).load_all(text) if part is not None)
