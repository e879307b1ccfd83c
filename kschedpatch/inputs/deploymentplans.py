"""A plan for a Deployment as a file, and back: the patch with every file that it names, and a hash
of what it would change. `apply --plan` looks again, and goes on only where that is the same."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.files import Unreadable, read_bytes
from kschedpatch.inputs.patchfile import check_patch
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.sources import source_file

API_VERSION = "kschedpatch.io/v1"
KIND = "DeploymentPlan"
FORMAT = 1
_MOST = 16 * 1024 * 1024


class KeptPlan(NamedTuple):
    given: PatchInput
    take_over: tuple[str, ...]
    changes: str
    """The hash of what it would change."""


class ReadPlan(NamedTuple):
    plan: KeptPlan | None
    findings: tuple[Finding, ...] = ()


def fingerprint(changes: Any) -> str:
    """Of what is shown to people before they agree."""
    return hashlib.sha256(json.dumps(changes, sort_keys=True).encode()).hexdigest()


def encode(kept: KeptPlan) -> str:
    given = kept.given
    body = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "format": FORMAT,
        "patch": given.patch.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        "files": {
            name: base64.b64encode(source.content or b"").decode()
            for name, source in sorted(given.sources.items())
        },
        "takeOver": list(kept.take_over),
        "changes": kept.changes,
    }
    return json.dumps(body, indent=1) + "\n"


def is_for_deployment(path: Path) -> bool:
    """Which of both kinds of plan it is; what is wrong with it is told by who reads it."""
    try:
        body = json.loads(read_bytes(path, 64 * 1024 * 1024))
    except (Unreadable, ValueError, RecursionError):
        return False
    return isinstance(body, dict) and body.get("kind") == KIND


def read_deployment_plan(path: Path) -> ReadPlan:
    try:
        return ReadPlan(_decoded(read_bytes(path, _MOST), str(path)))
    except Unreadable as error:
        return ReadPlan(None, (error.finding(str(path)),))
    except _Broken as error:
        return ReadPlan(None, (found("N301", str(error), file=str(path), hint="plan again"),))


class _Broken(Exception):
    """Why it is no plan."""


def _decoded(data: bytes, file: str) -> KeptPlan:
    try:
        body = json.loads(data)
        if body["apiVersion"] != API_VERSION or body["format"] != FORMAT:
            raise _Broken(f"its format is {body['format']!r}, this version reads {FORMAT}")
        files = {str(k): base64.b64decode(v, validate=True) for k, v in body["files"].items()}
        take_over = tuple(str(manager) for manager in body["takeOver"])
        # Through the text, so that what is wrong with it can be told by its place.
        text = emit.document(dict(body["patch"]))
        changes = str(body["changes"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, binascii.Error):
        raise _Broken("it is damaged") from None
    root = read(text.encode()).documents[0]
    value = value_of(root)
    places = Places(file, root)
    patch, findings = check_patch(value, places) if isinstance(value, dict) else (None, ())
    if patch is None:
        first = next((finding.message for finding in findings if finding.is_error), "no patch")
        raise _Broken(f"its patch: {first}")
    sources = {name: source_file(name, name, content) for name, content in files.items()}
    return KeptPlan(PatchInput(patch, places, sources), take_over, changes)
