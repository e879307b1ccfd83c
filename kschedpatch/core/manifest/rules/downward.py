"""Fields of the pod that a variable or a volume shows (fieldRef, resourceFieldRef)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path
from kschedpatch.model.grammar import is_qualified_name

_KEYED = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")
_RESOURCE = re.compile(r"(?:limits|requests)\.(cpu|memory|ephemeral-storage)")
_DIVISORS = {
    "cpu": frozenset({"1", "1m", "0"}),
    "memory": frozenset("0 1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei".split()),
}


def field_findings(
    source: dict[str, Any], path: Path, fields: frozenset[str], places: Places
) -> Iterator[Finding]:
    """``fields`` are the plain ones that may be shown there; labels and annotations by key may."""
    reference = source.get("fieldRef")
    if isinstance(reference, dict):
        here = (*path, "fieldRef")
        field = reference.get("fieldPath")
        if not field:
            yield places.at("M005", (*here, "fieldPath"), "the field's path is missing")
        elif isinstance(field, str) and field not in fields and not _is_keyed(field):
            yield places.at("M011", (*here, "fieldPath"), f"{field!r} can't be shown here")
        if reference.get("apiVersion") not in (None, "", "v1"):
            yield places.at("M011", (*here, "apiVersion"), "a pod's apiVersion is v1")
    resource = source.get("resourceFieldRef")
    if isinstance(resource, dict):
        yield from _resource_findings(resource, (*path, "resourceFieldRef"), places)


def _is_keyed(field: str) -> bool:
    match = _KEYED.fullmatch(field)
    if match is None:
        return False
    key = match[2].lower() if match[1] == "annotations" else match[2]
    return is_qualified_name(key)


def _resource_findings(reference: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    match = _RESOURCE.fullmatch(str(reference.get("resource")))
    if match is None:
        hint = "limits.cpu, requests.memory and the like"
        yield places.at("M011", (*path, "resource"), "no such resource", hint)
        return
    divisor = reference.get("divisor")
    allowed = _DIVISORS["cpu" if match[1] == "cpu" else "memory"]
    if divisor is not None and str(divisor) not in allowed:
        message = f"{divisor} is no unit for {match[1]}"
        yield places.at("M011", (*path, "divisor"), message)
