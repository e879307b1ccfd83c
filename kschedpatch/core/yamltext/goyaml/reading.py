"""Reads a file as the scheduler does, and says what this tool would not edit about it.

Only for files that are judged and not changed: what the strict reader refuses is a warning here, as
long as the scheduler's own reader takes it. The bounds are errors for both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache

from kschedpatch.core.yamltext.bounds import MAX_BYTES, MAX_NODES
from kschedpatch.core.yamltext.goyaml.characters import characters
from kschedpatch.core.yamltext.goyaml.cursor import Refused
from kschedpatch.core.yamltext.goyaml.jsontree import JsonTree, starts_as_json
from kschedpatch.core.yamltext.goyaml.meaning import Meaning
from kschedpatch.core.yamltext.goyaml.tree import Document
from kschedpatch.core.yamltext.nodes import Node, scalars
from kschedpatch.core.yamltext.reader import Reading, read
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Severity, has_errors

_UNEDITED = "kschedpatch would not edit such a file"
_ADVICE = {
    "Y002": "save it as UTF-8",
    "Y003": "save the file without it",
    "Y004": "convert the line ends",
    "Y005": "use spaces",
    "Y006": "leave it out",
    "Y007": "write it so that every reader takes it: no tabs, nothing behind the document",
    "Y009": "leave the tag out, and quote what is a string",
    "Y010": "write the value out",
    "Y013": "put the other documents into files of their own",
    "Y015": "write a plain name, in quotes if need be",
    "Y017": "leave the directive out",
    "Y018": "write the character itself",
}


@lru_cache(maxsize=4)
def read_as_go(data: bytes, *, json_as_yaml_too: bool = False) -> Reading:
    """``documents`` has the first document alone: the scheduler looks at no other.

    Up to 1.22 a JSON text must be YAML as well.
    """
    strict = read(data)
    if len(data) > MAX_BYTES:
        return strict
    is_json = starts_as_json(data)
    root, errors, notes = _json(data) if is_json else _yaml(data)
    if is_json and json_as_yaml_too and not has_errors(errors):
        errors += _yaml(data)[1]
    if not has_errors(errors):
        notes += _unedited(strict, root)
    return Reading(strict.text, () if root is None else (root,), (*errors, *notes))


def _unedited(strict: Reading, root: Node | None) -> Iterator[Finding]:
    """Why this tool would not edit a file that the scheduler takes."""
    tagged = {(s.line + 1, s.column + 1): s.value for s in scalars(root)} if root else {}
    for finding in strict.findings:
        value = tagged.get((finding.line, finding.column))
        if finding.code == "Y009" and value is not None:
            yield _warning(finding, f"the scheduler reads {json.dumps(value)[:40]}")
        else:
            yield _warning(finding)
    if len(strict.documents) > 1:
        line = strict.documents[1].line + 1
        second = found("Y013", "a second document", line=line)
        yield _warning(second, "the scheduler reads only the first")


def _warning(finding: Finding, taken: str = "the scheduler takes it") -> Finding:
    return finding._replace(
        severity=Severity.WARNING,
        message=f"{finding.message}: {taken}, {_UNEDITED}",
        hint=finding.hint or _ADVICE.get(finding.code, ""),
    )


_Read = tuple[Node | None, list[Finding], list[Finding]]


def _yaml(data: bytes) -> _Read:
    meaning = Meaning(MAX_NODES)
    try:
        raw = Document(characters(data), MAX_NODES).root()
        root = meaning.node(raw) if raw is not None else None
    except Refused as refused:
        return None, [_finding(refused)], []
    notes = [_warning(finding) for finding in map(_finding, meaning.ambiguous)]
    return root, list(map(_finding, meaning.doubled)), notes


def _json(data: bytes) -> _Read:
    tree = JsonTree(data, MAX_NODES)
    try:
        root = tree.root()
    except Refused as refused:
        return None, [_finding(refused)], []
    return root, list(map(_finding, tree.doubled)), []


def _finding(refused: Refused) -> Finding:
    line, column = refused.mark.line + 1, refused.mark.column + 1
    return found(refused.code, refused.message, line=line, column=column, hint=refused.hint)
