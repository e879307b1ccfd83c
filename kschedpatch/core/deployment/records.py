"""What the cluster keeps of runs on a Deployment: a Secret each, beside the Deployment.

A Secret, because objects of the patch may be Secrets themselves. Nothing is kept on nodes.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from kschedpatch.core.deployment.files import TARGET_LABEL
from kschedpatch.core.fleet.runids import is_run_id
from kschedpatch.core.objects import ledger as ledgers
from kschedpatch.core.objects.marks import MANAGED_BY
from kschedpatch.model.clusterplan import Entry, Ledger, Object
from kschedpatch.model.deploymentplan import DeploymentTarget

RECORD_LABEL = "kschedpatch.io/record"
TYPE = "kschedpatch.io/run"
FORMAT = 1
#: Of the Secret; the API server's own bound is 1 MiB.
MAX_BYTES = 900 * 1024
_MAX_UNPACKED = 16 * 1024 * 1024
OPEN, CONFIRMED, RESTORED, FAILED = "open", "confirmed", "restored", "failed"
#: How many are kept, beside the first, which knows what was there before it.
KEPT = 10


class Record(NamedTuple):
    run: str
    kind: str
    """apply or rollback."""
    patch: str
    patch_text: str
    who: str
    reason: str
    outcome: str
    ledger: Ledger
    """All objects that the run leaves in force, the Deployment among them."""
    after: Object | None = None
    """The Deployment as the run has left it; None: it is gone, or nobody saw it."""
    when: str = ""
    """The API server's clock."""

    def of(self, target: DeploymentTarget) -> Entry | None:
        return self.ledger.find(target.ref.key)


def secret_name(target: DeploymentTarget, run: str) -> str:
    return f"kschedpatch-{target.name}-{run}"


def selector(target: DeploymentTarget) -> str:
    return f"{MANAGED_BY}=kschedpatch,{TARGET_LABEL}={target.name},{RECORD_LABEL}"


def encode(record: Record, target: DeploymentTarget) -> Object:
    body = {
        "format": FORMAT,
        "kind": record.kind,
        "patch": record.patch,
        "patchText": record.patch_text,
        "who": record.who,
        "reason": record.reason,
        "outcome": record.outcome,
        "ledger": ledgers.encode(record.ledger).decode(),
        "after": record.after,
    }
    packed = gzip.compress(json.dumps(body).encode(), mtime=0)
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": TYPE,
        "metadata": {
            "name": secret_name(target, record.run),
            "namespace": target.namespace,
            "labels": {
                MANAGED_BY: "kschedpatch",
                TARGET_LABEL: target.name,
                RECORD_LABEL: record.run,
            },
        },
        "data": {"record": base64.b64encode(packed).decode()},
    }


def is_too_large(secret: Object) -> bool:
    return len(secret["data"]["record"]) > MAX_BYTES


def decode(secret: Object) -> Record | None:
    """None where it is none of ours, or of a newer format: then nothing is done by it."""
    metadata = secret.get("metadata") or {}
    run = str((metadata.get("labels") or {}).get(RECORD_LABEL, ""))
    if secret.get("type") != TYPE or not is_run_id(run):
        return None
    try:
        body = _unpacked(str((secret.get("data") or {}).get("record", "")))
        if body["format"] != FORMAT:
            return None
        kept = ledgers.decode(str(body["ledger"]).encode())
        after = body["after"]
        texts = {key: str(body[name]) for key, name in _TEXTS.items()}
    except (ValueError, KeyError, TypeError, OSError, EOFError, zlib.error, RecursionError):
        return None
    if kept is None or not (after is None or isinstance(after, dict)):
        return None
    when = str(metadata.get("creationTimestamp") or "")
    return Record(run, ledger=kept, after=after, when=when, **texts)


_TEXTS = {
    "kind": "kind",
    "patch": "patch",
    "patch_text": "patchText",
    "who": "who",
    "reason": "reason",
    "outcome": "outcome",
}


def _unpacked(text: str) -> Any:
    packed = base64.b64decode(text, validate=True)
    unpacker = zlib.decompressobj(wbits=31)
    data = unpacker.decompress(packed, _MAX_UNPACKED)
    if unpacker.unconsumed_tail:
        raise ValueError
    return json.loads(data)


# Which record counts. Ids of runs sort by time.


def in_order(records: Iterable[Record]) -> tuple[Record, ...]:
    """Newest first."""
    return tuple(sorted(records, key=lambda record: record.run, reverse=True))


def in_force(records: Iterable[Record]) -> Record | None:
    return next((r for r in in_order(records) if r.outcome == CONFIRMED), None)


def open_ones(records: Iterable[Record]) -> tuple[Record, ...]:
    """Runs that nobody has ended, newest first. Older than the one in force, they are old news."""
    every = in_order(records)
    last = in_force(every)
    return tuple(r for r in every if r.outcome == OPEN and (last is None or r.run > last.run))


def before(records: Iterable[Record], run: str) -> Record | None:
    """The run that was in force when that one began."""
    return in_force(record for record in records if record.run < run)


def superfluous(records: Iterable[Record]) -> Iterator[Record]:
    """What nobody goes back to any more: the oldest, but for the first that was confirmed."""
    every = in_order(records)
    first = next((r for r in reversed(every) if r.outcome == CONFIRMED), None)
    yield from (r for r in every[KEPT:] if r is not first)
