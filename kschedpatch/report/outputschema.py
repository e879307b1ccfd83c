"""The JSON Schema of what the commands print with ``-o json``, ``-o yaml`` and ``--progress json``.

The documents are made by the ``…_data`` functions beside this module. Every document that a test
makes a command print is checked against this: a field that is missing here is found there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from kschedpatch.model import exitcodes
from kschedpatch.model.events import Phase, State
from kschedpatch.report.documents import API_VERSION
from kschedpatch.report.outputparts import (
    CHECK,
    COUNT,
    FINDING,
    FLAG,
    FOREIGN,
    GENERATION,
    OBJECT_CHANGE,
    OBJECT_RESULT,
    PERSIST,
    PLANNED_NODE,
    RESULT,
    REVISION,
    RUN,
    SECONDS,
    STAGED,
    STATUS,
    TEXT,
    VERSION,
    Schema,
    list_of,
    maybe,
    one_of,
    record,
    ref,
)


class _Kind(NamedTuple):
    title: str
    codes: tuple[int, ...]
    variants: tuple[dict[str, Schema], ...]
    """Fields beside those that every document has; the first that fits."""


_NONE: dict[str, Schema] = {}
_OK, _ALL_OK = exitcodes.OK, (exitcodes.OK,)
_OFFLINE = (_OK, exitcodes.INVALID)
_LOOKING = (_OK, exitcodes.INVALID, exitcodes.REFUSED)
_COMPARING = (_OK, exitcodes.DIFFERENCES, exitcodes.INVALID, exitcodes.REFUSED)
_CHANGING = (
    *_LOOKING,
    exitcodes.ROLLED_BACK,
    exitcodes.NOT_RESTORED,
    exitcodes.INTERRUPTED,
)
_NODE_NAMES = list_of(TEXT)
_OF_DEPLOYMENT: dict[str, Schema] = {
    "target": TEXT,
    "patch": maybe(TEXT),
    "kubernetesVersion": maybe(VERSION),
    "objects": list_of(ref("objectChange")),
}

KINDS: dict[str, _Kind] = {
    "RecipeList": _Kind(
        "recipes", _ALL_OK, ({"recipes": list_of(record({"name": TEXT, "summary": TEXT}))},)
    ),
    "InitResult": _Kind("init", _ALL_OK, ({"files": list_of(TEXT)},)),
    "LintResult": _Kind("lint", _OFFLINE, (_NONE,)),
    "MigrateResult": _Kind(
        "migrate",
        _OFFLINE,
        (
            {
                "kubernetesVersion": VERSION,
                "files": list_of(record({"name": TEXT, "changed": FLAG, "text": TEXT})),
            },
        ),
    ),
    "RenderResult": _Kind(
        "render; of a static pod, of a Deployment, or of neither where there are errors",
        _OFFLINE,
        (
            {
                "patch": TEXT,
                "kubernetesVersion": maybe(VERSION),
                "manifest": TEXT,
                "generation": maybe(ref("generation")),
                "rbac": list_of(FOREIGN),
                "objects": list_of(FOREIGN),
            },
            {
                "patch": TEXT,
                "target": TEXT,
                "kubernetesVersion": maybe(VERSION),
                "deployment": FOREIGN,
                "objects": list_of(FOREIGN),
            },
            _NONE,
        ),
    ),
    "PlanResult": _Kind(
        "plan; of nodes, of a Deployment, or of neither where nothing could be planned",
        _COMPARING,
        (
            {
                "patch": TEXT,
                "nodes": list_of(ref("plannedNode")),
                "generations": list_of(ref("generation")),
                "rbac": list_of(FOREIGN),
                "objects": list_of(FOREIGN),
                "objectChanges": list_of(ref("objectChange")),
                "persist": maybe(PERSIST),
            },
            _OF_DEPLOYMENT,
            _NONE,
        ),
    ),
    "ApplyResult": _Kind("apply; without a run where none began", _CHANGING, (RESULT, _NONE)),
    "StageResult": _Kind(
        "apply --stage-only",
        _LOOKING,
        (
            {
                "nodes": list_of(record({"node": TEXT, "problem": maybe(TEXT)})),
                "patches": TEXT,
            },
            _NONE,
        ),
    ),
    "VerifyResult": _Kind(
        "verify; of nodes, of a Deployment, or of neither where nothing could be asked",
        _COMPARING,
        (
            {"nodes": list_of(ref("nodeStatus")), "checks": list_of(ref("check"))},
            {"deployment": TEXT, "checks": list_of(ref("check"))},
            _NONE,
        ),
    ),
    "RollbackPlan": _Kind(
        "rollback --dry-run; of nodes, of a Deployment, or of neither where there is nothing to do",
        _LOOKING,
        (
            {
                "nodes": list_of(
                    record(
                        {
                            "node": TEXT,
                            "run": TEXT,
                            "endsTransaction": FLAG,
                            "unPatched": FLAG,
                            "diff": maybe(TEXT),
                        }
                    )
                ),
                "objectChanges": list_of(ref("objectChange")),
                "persist": maybe(PERSIST),
            },
            _OF_DEPLOYMENT,
            _NONE,
        ),
    ),
    "RollbackResult": _Kind("rollback; without a run where none began", _CHANGING, (RESULT, _NONE)),
    "StatusResult": _Kind(
        "status; of nodes, or of a Deployment; with --watch one document a round",
        _LOOKING,
        (
            {"nodes": list_of(ref("nodeStatus"))},
            {
                "deployment": TEXT,
                "exists": FLAG,
                "image": maybe(TEXT),
                "pods": maybe(TEXT),
                "patch": maybe(TEXT),
                "run": maybe(TEXT),
                "state": TEXT,
                "leader": maybe(TEXT),
                "openRun": maybe(TEXT),
            },
            _NONE,
        ),
    ),
    "HistoryResult": _Kind(
        "history; of nodes, of a Deployment, or what changed from one run to another (--diff)",
        _LOOKING,
        (
            {"runs": list_of(RUN)},
            {"deployment": TEXT, "runs": list_of(record({"run": TEXT, **REVISION}))},
            {
                "from": TEXT,
                "to": TEXT,
                "nodes": list_of(record({"node": TEXT, "diff": list_of(TEXT)})),
            },
            _NONE,
        ),
    ),
    "ExportResult": _Kind(
        "export; the files by their names",
        _LOOKING,
        ({"files": {"type": "object", "additionalProperties": TEXT}}, _NONE),
    ),
    "PurgeResult": _Kind(
        "purge; what would go, what has gone, or the same of a Deployment",
        (*_LOOKING, exitcodes.NOT_RESTORED),
        (
            {
                "nodes": list_of(record({"node": TEXT, "paths": list_of(TEXT)})),
                "objects": list_of(ref("objectResult")),
            },
            {
                "nodes": list_of(
                    record({"node": TEXT, "removed": list_of(TEXT), "problem": maybe(TEXT)})
                ),
                "objects": list_of(ref("objectResult")),
                "leftovers": list_of(TEXT),
                "detail": maybe(TEXT),
            },
            {
                "objects": list_of(ref("objectResult")),
                "leftovers": list_of(TEXT),
                "detail": maybe(TEXT),
            },
            _NONE,
        ),
    ),
    "SandboxUpResult": _Kind(
        "sandbox up", _ALL_OK, ({"directory": TEXT, "nodes": _NODE_NAMES, "process": COUNT},)
    ),
    "SandboxDownResult": _Kind("sandbox down", _ALL_OK, (_NONE,)),
}

_EVENT = record(
    {
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": "Event"},
        "elapsed": {**SECONDS, "description": "Seconds since the command began to work."},
        "node": {**TEXT, "description": "Empty: the cluster."},
        "phase": one_of(Phase),
        "state": one_of(State),
        "text": TEXT,
        "fraction": {"type": "number", "minimum": 0, "maximum": 1},
    },
    optional=("fraction",),
)


def _document(name: str, kind: _Kind) -> Schema:
    variants = [record({**_envelope(name, kind), **fields}) for fields in kind.variants]
    if len(variants) == 1:
        return {"description": f"Of {kind.title}.", **variants[0]}
    return {"description": f"Of {kind.title}.", "oneOf": variants}


def _envelope(name: str, kind: _Kind) -> Schema:
    return {
        "apiVersion": {"const": API_VERSION},
        "kind": {"const": name},
        "exitCode": {"enum": list(kind.codes)},
        "changed": FLAG,
        "findings": list_of(ref("finding")),
    }


def _by_kind() -> Iterator[Schema]:
    """By the kind, so that a validator complains about the document and not about all kinds."""
    for name in (*KINDS, "Event"):
        having = {"properties": {"kind": {"const": name}}, "required": ["kind"]}
        yield {"if": having, "then": ref(name)}


def output_schema() -> Schema:
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://kschedpatch.io/schemas/output-v1.json",
        "title": "What kschedpatch prints",
        "description": "A document of -o json or -o yaml, or a line of --progress json.",
        "type": "object",
        "properties": {"kind": {"enum": [*KINDS, "Event"]}},
        "required": ["apiVersion", "kind"],
        "allOf": [*_by_kind()],
        "$defs": {
            "finding": FINDING,
            "stagedFile": STAGED,
            "generation": GENERATION,
            "objectResult": OBJECT_RESULT,
            "objectChange": OBJECT_CHANGE,
            "plannedNode": PLANNED_NODE,
            "nodeStatus": STATUS,
            "check": CHECK,
            **{name: _document(name, kind) for name, kind in KINDS.items()},
            "Event": _EVENT,
        },
    }
