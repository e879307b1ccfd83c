"""The patch as each node keeps it: with everything filled in, and, behind it as a document of its
own, the local files that it names, so that `verify` can do without them."""

from __future__ import annotations

from typing import Any

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext import emit
from kschedpatch.model.patch import API_VERSION
from kschedpatch.model.sources import SourceFile

KIND = "KeptFiles"
#: Of all texts that are kept whole, together. What is larger is kept by its hash alone.
MOST_BYTES = 64 * 1024


def kept_text(given: PatchInput) -> str:
    value = given.patch.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    text = emit.document(value)
    files = _files(given)
    if not files:
        return text
    body = {"apiVersion": API_VERSION, "kind": KIND, "files": files}
    return f"{text}---\n{emit.document(body)}"


def _files(given: PatchInput) -> list[dict[str, Any]]:
    spec = given.patch.spec
    # Texts that verify reads. Files for the container (certificates, keys) are in the generation.
    whole = {pod.manifest for pod in spec.verify.pods} | set(spec.rbac.manifests)
    whole |= {spec.config.file} if spec.config is not None and spec.config.file else set()
    room = MOST_BYTES
    found = []
    for name, source in sorted(given.sources.items()):
        entry: dict[str, Any] = {"name": name, "sha256": source.sha256, "size": source.size}
        text = _text(source) if name in whole else None
        if text is not None and source.size <= room:
            room -= source.size
            entry["content"] = text
        found.append(entry)
    return found


def _text(source: SourceFile) -> str | None:
    try:
        return source.content.decode("utf-8") if source.content is not None else None
    except UnicodeDecodeError:
        return None
