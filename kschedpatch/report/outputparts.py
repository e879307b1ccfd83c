"""What documents of ours are made of, as JSON Schema; ``outputschema`` puts them together."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from kschedpatch.core.fleet.standing import Drift
from kschedpatch.model.checks import CheckState
from kschedpatch.model.clusterplan import Action
from kschedpatch.model.codes import CODES
from kschedpatch.model.events import Phase
from kschedpatch.model.finding import Severity
from kschedpatch.model.images import Supply
from kschedpatch.model.rollout import FailureReason, NodeOutcome

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
COUNT: Schema = {"type": "integer", "minimum": 0}
INTEGER: Schema = {"type": "integer"}
SECONDS: Schema = {"type": "number", "minimum": 0}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
TIME: Schema = {"type": "string", "format": "date-time"}
VERSION: Schema = {"type": "string", "pattern": r"^1\.[0-9]+(\.[0-9]+)?$"}
#: An object of Kubernetes: its fields are not ours.
FOREIGN: Schema = {"type": "object"}


def maybe(schema: Schema) -> Schema:
    if "enum" in schema:
        return {"enum": [*schema["enum"], None]}
    if "type" not in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def record(fields: dict[str, Schema], optional: Iterable[str] = ()) -> Schema:
    return {
        "type": "object",
        "properties": fields,
        "required": [name for name in fields if name not in optional],
        "additionalProperties": False,
    }


def one_of(enum: type[StrEnum]) -> Schema:
    return {"enum": [str(member) for member in enum]}


def ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


_LETTERS = "".join(sorted({code[0] for code in CODES}))

FINDING = record(
    {
        "code": {"type": "string", "pattern": f"^[{_LETTERS}][0-9]{{3}}$"},
        "severity": one_of(Severity),
        "message": TEXT,
        "file": {**TEXT, "description": "A file, or a node; empty: the cluster, or all of it."},
        "line": {**COUNT, "description": "From 1; 0: the file as a whole."},
        "column": COUNT,
        "path": TEXT,
        "hint": TEXT,
    }
)
STAGED = record(
    {
        "name": TEXT,
        "mode": {"type": "string", "pattern": "^[0-7]{4}$"},
        "size": COUNT,
        "sha256": SHA256,
        "content": {**maybe(TEXT), "description": "null: a large file, known by its hash."},
    }
)
GENERATION = record({"id": TEXT, "directory": TEXT, "files": list_of(ref("stagedFile"))})
OBJECT_RESULT = record({"object": TEXT, "action": one_of(Action), "why": maybe(TEXT)})
OBJECT_CHANGE = record(
    {
        "object": TEXT,
        "apiVersion": TEXT,
        "kind": TEXT,
        "namespace": maybe(TEXT),
        "name": TEXT,
        "action": one_of(Action),
        "source": maybe(TEXT),
        "why": maybe(TEXT),
    }
)
IMAGE = record(
    {
        "name": TEXT,
        "supply": one_of(Supply),
        "archive": maybe(
            record({"file": TEXT, "sha256": SHA256, "size": COUNT, "imageId": maybe(TEXT)})
        ),
    }
)
PLANNED_NODE = record(
    {
        "node": TEXT,
        "name": TEXT,
        "changed": FLAG,
        "leads": FLAG,
        "kubelet": maybe(VERSION),
        "path": TEXT,
        "diff": TEXT,
        "beforeSha256": SHA256,
        "afterSha256": SHA256,
        "generation": maybe(TEXT),
        "image": IMAGE,
        "canary": FLAG,
        "noCanary": maybe(TEXT),
    }
)
PERSIST = record(
    {
        "changed": FLAG,
        "formerRun": maybe(TEXT),
        "scheduler": maybe(FOREIGN),
        "configDiff": list_of(TEXT),
        "nodes": list_of(record({"node": TEXT, "changed": FLAG, "patch": maybe(TEXT)})),
    }
)
STATUS = record(
    {
        "node": TEXT,
        "name": TEXT,
        "leads": FLAG,
        "ready": FLAG,
        "restarts": {**maybe(COUNT), "description": "null: there is no pod."},
        "kubelet": maybe(VERSION),
        "image": TEXT,
        "patch": maybe(TEXT),
        "state": one_of(Drift),
        "drift": TEXT,
        "run": maybe(TEXT),
        "since": maybe(TIME),
        "ageSeconds": maybe(COUNT),
        "generationProblem": maybe(TEXT),
        "transaction": maybe(
            record(
                {
                    "run": TEXT,
                    "kind": TEXT,
                    "who": TEXT,
                    "since": INTEGER,
                    "state": TEXT,
                    "deadlineIn": INTEGER,
                    "deadMan": FLAG,
                }
            )
        ),
    }
)
CHECK = record(
    {
        "node": {**maybe(TEXT), "description": "null: the cluster."},
        "check": TEXT,
        "state": one_of(CheckState),
        "evidence": TEXT,
        "lines": list_of(TEXT),
        "codes": list_of(TEXT),
    }
)
RESULT = {
    "run": TEXT,
    "action": {"enum": ["apply", "rollback"]},
    "nodes": list_of(
        record(
            {
                "node": TEXT,
                "name": TEXT,
                "outcome": one_of(NodeOutcome),
                "secondsToProven": maybe(SECONDS),
                "secondsToRestored": maybe(SECONDS),
                "detail": TEXT,
            }
        )
    ),
    "failure": maybe(
        record(
            {
                "node": TEXT,
                "phase": one_of(Phase),
                "reason": one_of(FailureReason),
                "detail": TEXT,
                "log": list_of(TEXT),
                "meaning": list_of(TEXT),
                "journal": list_of(TEXT),
                "lines": list_of(TEXT),
            }
        )
    ),
    "objects": list_of(ref("objectResult")),
    "leftovers": list_of(TEXT),
    "notes": list_of(TEXT),
    "conclusion": TEXT,
    "next": {**TEXT, "description": "What to type now; empty: nothing."},
}
REVISION = {
    "kind": TEXT,
    "when": maybe(TIME),
    "who": TEXT,
    "reason": TEXT,
    "patch": maybe(TEXT),
    "outcome": TEXT,
}
RUN = record(
    {
        "run": TEXT,
        "changes": maybe(
            record(
                {
                    "linesAdded": COUNT,
                    "linesRemoved": COUNT,
                    "files": list_of(TEXT),
                    "objects": list_of(TEXT),
                }
            )
        ),
        "nodes": list_of(
            record(
                {
                    "node": TEXT,
                    **REVISION,
                    "beforeSha256": TEXT,
                    "afterSha256": TEXT,
                    "generation": maybe(TEXT),
                }
            )
        ),
    }
)
