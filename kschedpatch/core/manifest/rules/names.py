"""Names, labels and annotations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path
from kschedpatch.model.grammar import (
    is_dns_label,
    is_dns_subdomain,
    is_label_value,
    is_qualified_name,
)

_LABEL_HINT = "lower-case letters, digits and dashes, at most 63, no dash at either end"
_ANNOTATIONS_MAX = 256 * 1024


def dns_label(text: Any, path: Path, places: Places) -> Iterator[Finding]:
    """A name that must be there and must be a DNS label."""
    if text is None or text == "":
        yield places.at("M005", path, "the name is missing")
    elif isinstance(text, str) and not is_dns_label(text):
        yield places.at("M006", path, f"{text!r} can't be a name here", _LABEL_HINT)


def metadata_findings(pod: dict[str, Any], places: Places) -> Iterator[Finding]:
    metadata = pod.get("metadata")
    if not isinstance(metadata, dict):
        return
    for name in ("name", "namespace"):
        value = metadata.get(name)
        if isinstance(value, str) and value and not is_dns_subdomain(value):
            yield places.at("M006", ("metadata", name), f"{value!r} can't be a name", _LABEL_HINT)
    labels = metadata.get("labels")
    for key, value in labels.items() if isinstance(labels, dict) else ():
        here = ("metadata", "labels", key)
        if not is_qualified_name(key):
            yield places.at_key("M006", here, f"{key!r} can't be a label's name")
        if isinstance(value, str) and not is_label_value(value):
            yield places.at("M006", here, f"{value!r} can't be a label's value")
    annotations = metadata.get("annotations")
    size = 0
    for key, value in annotations.items() if isinstance(annotations, dict) else ():
        # The kubelet compares in lower case.
        if not is_qualified_name(key.lower()):
            here = ("metadata", "annotations", key)
            yield places.at_key("M006", here, f"{key!r} can't be an annotation's name")
        size += len(key.encode()) + (len(value.encode()) if isinstance(value, str) else 0)
    if size > _ANNOTATIONS_MAX:
        yield places.at("M011", ("metadata", "annotations"), "more than 256 KiB of annotations")
