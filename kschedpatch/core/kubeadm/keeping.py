"""What the cluster remembers of `apply --persist`: a ConfigMap beside kubeadm's own.

kubeadm writes its ConfigMap anew at every upgrade, so that no note in there would stay.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from kschedpatch.core.kubeadm.clusterconfig import exchanged
from kschedpatch.core.objects.marks import MANAGED_BY
from kschedpatch.model.clusterplan import Object, Ref
from kschedpatch.model.persistplan import Kept

NAMESPACE = "kube-system"
KUBEADM_CONFIG = "kubeadm-config"
CLUSTER_KEY = "ClusterConfiguration"
NAME = "kschedpatch-kubeadm"
FORMAT = "1"
CONFIG_REF = Ref("v1", "ConfigMap", NAMESPACE, KUBEADM_CONFIG)
RECORD_REF = Ref("v1", "ConfigMap", NAMESPACE, NAME)
_RECORD, _BACKUP = "record", "before"


class Step(NamedTuple):
    before: str
    after: str
    kept: Kept | None
    """What is remembered then; None: nothing is ours any more."""

    @property
    def changed(self) -> bool:
        return self.before != self.after


def step(text: str, kept: Kept | None, wanted: Kept | None) -> Step:
    """From what the cluster keeps to what it should keep. Of ``wanted`` run, patch and scheduler
    count; None takes everything of ours away."""
    ours, stood = (kept.scheduler, kept.replaced) if kept is not None else ({}, {})
    new = wanted.scheduler if wanted is not None else {}
    merged = exchanged(text, ours, stood, new)
    if wanted is None:
        return Step(text, merged.text, None)
    first = kept.before if kept is not None else text
    return Step(text, merged.text, wanted._replace(replaced=merged.replaced, before=first))


def as_object(kept: Kept) -> Object:
    record = {
        "format": FORMAT,
        "run": kept.run,
        "patch": kept.patch,
        "scheduler": kept.scheduler,
        "replaced": kept.replaced,
    }
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": NAME,
            "namespace": NAMESPACE,
            "labels": {MANAGED_BY: "kschedpatch"},
        },
        "data": {_RECORD: json.dumps(record, indent=1), _BACKUP: kept.before},
    }


class UnreadableRecord(Exception):
    """It is there, and of another format or damaged: then nothing is done by it."""


def from_object(found: Object | None) -> Kept | None:
    if found is None:
        return None
    data = found.get("data") or {}
    try:
        record = json.loads(str(data[_RECORD]))
        if record["format"] != FORMAT:
            raise UnreadableRecord(f"its format is {record['format']!r}")
        scheduler, replaced = record["scheduler"], record["replaced"]
        run, patch = str(record["run"]), str(record["patch"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnreadableRecord("it is damaged") from error
    if not isinstance(scheduler, dict) or not isinstance(replaced, dict):
        raise UnreadableRecord("it is damaged")
    return Kept(run, patch, scheduler, replaced, str(data.get(_BACKUP, "")))
