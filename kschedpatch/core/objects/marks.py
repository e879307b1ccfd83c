"""How our objects are told from others: own keys only, so that nobody's labels are overwritten."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from typing import Any

from kschedpatch.model.clusterplan import Object, Ref

MANAGED_BY = "app.kubernetes.io/managed-by"
PATCH_LABEL = "kschedpatch.io/patch"
"""The patch that brought it."""
RUN = "kschedpatch.io/run"
"""The run that applied it last."""
ORIGIN = "kschedpatch.io/origin"
CREATED, ADOPTED = "created", "adopted"
MANAGER = "kschedpatch"
"""The field manager: by it the API server knows which fields are ours."""

_SERVERS_OWN = (
    "resourceVersion",
    "uid",
    "creationTimestamp",
    "generation",
    "managedFields",
    "selfLink",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)
# Kubernetes' own controllers write into objects of others as a matter of course.
_NO_STRANGERS = frozenset(
    {MANAGER, "kube-controller-manager", "kube-apiserver", "kubelet", "kube-scheduler"}
)
_HIDDEN = "(hidden)"
_HIDDEN_OTHER = "(hidden, differs)"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def as_given(live: Object) -> Object:
    """Without what the API server itself has put there."""
    given = {key: value for key, value in live.items() if key != "status"}
    given = copy.deepcopy(given)
    for key in _SERVERS_OWN:
        given.get("metadata", {}).pop(key, None)
    return given


def marked(body: Object, patch: str, run: str, origin: str) -> Object:
    """As it is applied. Without a run: for comparing."""
    result = _plain_secret(as_given(body))
    metadata = result["metadata"]
    metadata["labels"] = {**(metadata.get("labels") or {}), PATCH_LABEL: patch}
    notes = {**(metadata.get("annotations") or {}), ORIGIN: origin}
    metadata["annotations"] = {**notes, RUN: run} if run else notes
    return result


def _plain_secret(body: Object) -> Object:
    """``stringData`` is a way of writing that can't be read back, so nobody could compare it."""
    text = body.get("stringData")
    if not is_secret(body) or not isinstance(text, dict):
        return body
    body.pop("stringData")
    encoded = {key: base64.b64encode(str(value).encode()).decode() for key, value in text.items()}
    body["data"] = {**(body.get("data") or {}), **encoded}
    return body


def comparable(live: Object) -> Object:
    """Which run applied it makes no difference, nor does what `kubectl apply` notes for itself."""
    given = as_given(live)
    notes = given["metadata"].get("annotations")
    if isinstance(notes, dict):
        notes.pop(RUN, None)
        notes.pop(LAST_APPLIED, None)
    return given


def note_of(live: Object | None, key: str) -> str:
    notes = ((live or {}).get("metadata") or {}).get("annotations") or {}
    return str(notes.get(key, ""))


def is_ours(live: Object) -> bool:
    return PATCH_LABEL in ((live.get("metadata") or {}).get("labels") or {})


def footprint(live: Object) -> str:
    """Who else has written into it, and when: differs as soon as anybody has since. Status and what
    Kubernetes' own controllers note do not count; the resource version would change with them."""
    entries = [
        [entry.get(key) for key in ("manager", "operation", "time")]
        for entry in (live.get("metadata") or {}).get("managedFields") or ()
        if isinstance(entry, dict)
        and not entry.get("subresource")
        and entry.get("manager") not in _NO_STRANGERS
    ]
    uid = (live.get("metadata") or {}).get("uid")
    text = json.dumps([uid, sorted(entries, key=str)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def is_secret(body: Object) -> bool:
    return body.get("kind") == "Secret" and body.get("apiVersion") == "v1"


def shown(body: Object, than: Object | None = None) -> Object:
    """For people and programs: a Secret without its secrets. ``than`` is what it is shown beside;
    values that differ from there are told as that."""
    if not is_secret(body):
        return body
    other = than or {}
    result = copy.deepcopy(body)
    for part in ("data", "stringData"):
        values = result.get(part)
        if isinstance(values, dict):
            there = other.get(part) or {}
            for key, value in values.items():
                differs = than is not None and there.get(key, value) != value
                values[key] = _HIDDEN_OTHER if differs else _HIDDEN
        elif values is not None:
            result[part] = _HIDDEN
    notes = (result.get("metadata") or {}).get("annotations")
    if isinstance(notes, dict) and LAST_APPLIED in notes:
        notes[LAST_APPLIED] = _HIDDEN
    return result


def without_secrets(text: str, bodies: Any) -> str:
    """The API server quotes values that it does not like."""
    for body in bodies:
        if not is_secret(body):
            continue
        for part in ("data", "stringData"):
            values = body.get(part)
            for value in values.values() if isinstance(values, dict) else ():
                for word in (str(value), _decoded(value)):
                    if len(word) > 2:
                        text = text.replace(word, _HIDDEN)
    return text


def _decoded(value: Any) -> str:
    try:
        return base64.b64decode(str(value), validate=True).decode()
    except ValueError:
        return ""


def is_definition(ref: Ref) -> bool:
    return ref.kind == "CustomResourceDefinition" and ref.group == "apiextensions.k8s.io"


def is_namespace(ref: Ref) -> bool:
    return ref.kind == "Namespace" and not ref.group


def defined_kinds(bodies: Any) -> frozenset[tuple[str, str]]:
    """Group and kind of what CustomResourceDefinitions among these define."""
    found = set()
    for body in bodies:
        if body.get("kind") == "CustomResourceDefinition":
            spec = body.get("spec")
            names = spec.get("names") if isinstance(spec, dict) else None
            if isinstance(spec, dict) and isinstance(names, dict):
                found.add((str(spec.get("group", "")), str(names.get("kind", ""))))
    return frozenset(found)
