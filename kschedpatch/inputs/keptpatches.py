"""Reads the patch that a node keeps of a run. It was written by this program, perhaps by another
version of it, and lay on a node since: it is read as strictly as any file of a user's."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from kschedpatch.core.fleet.keptpatch import KIND
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext.nodes import Mapping, value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.patchfile import check_patch
from kschedpatch.model.finding import has_errors
from kschedpatch.model.sources import SourceFile

_MOST = 1 << 20


class UnreadablePatch(Exception):
    """Why nothing can be made of it."""


def read_kept_patch(data: bytes, file: str) -> PatchInput:
    reading = read(data, max_bytes=_MOST, max_nodes=50_000)
    if has_errors(reading.findings) or not reading.documents:
        first = next((finding.message for finding in reading.findings), "it is empty")
        raise UnreadablePatch(first)
    root = reading.documents[0]
    if not isinstance(root, Mapping):
        raise UnreadablePatch("it is no patch")
    places = Places(file, root)
    patch, findings = check_patch(value_of(root), places)
    if patch is None:
        first = next((finding.message for finding in findings if finding.is_error), "")
        raise UnreadablePatch(first or "it is no patch")
    sources: dict[str, SourceFile] = {}
    for document in reading.documents[1:]:
        sources |= _sources(value_of(document))
    return PatchInput(patch, places, sources)


def _sources(body: Any) -> dict[str, SourceFile]:
    if not isinstance(body, dict) or body.get("kind") != KIND:
        return {}
    found = {}
    files = body.get("files")
    for entry in files if isinstance(files, list) else ():
        source = _source(entry) if isinstance(entry, dict) else None
        if source is not None:
            found[source.name] = source
    return found


def _source(entry: dict[str, Any]) -> SourceFile | None:
    name, digest, size = entry.get("name"), entry.get("sha256"), entry.get("size")
    if not isinstance(name, str) or not isinstance(size, int):
        return None
    if not isinstance(digest, str) or not re.fullmatch(r"[0-9a-f]{64}", digest):
        return None
    text = entry.get("content")
    content = text.encode() if isinstance(text, str) else None
    if content is not None and hashlib.sha256(content).hexdigest() != digest:
        content = None  # not what was kept
    return SourceFile(name, "", digest, size, content)
