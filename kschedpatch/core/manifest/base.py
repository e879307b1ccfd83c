"""The base: what stood there before kschedpatch. Patches are applied to it, never to each other."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from kschedpatch.core.manifest.document import BASE_ANNOTATION, Manifest
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding


class BaseChoice(NamedTuple):
    base: Manifest | None
    findings: tuple[Finding, ...]


def base_hash(text: str) -> str:
    """How the annotation of a patched manifest names its base."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def choose_base(current: Manifest, given: Manifest | None) -> BaseChoice:
    """The manifest that a patch is applied to: the current one, or what it was made from."""
    if not current.is_patched:
        if given is not None and given.text != current.text:
            message = f"{current.file} is not patched, and {given.file} is another manifest"
            hint = "leave the base out: an un-patched manifest is its own base"
            return BaseChoice(None, (found("M025", message, file=given.file, hint=hint),))
        return BaseChoice(current, ())
    named = current.annotations[BASE_ANNOTATION]
    if given is None:
        message = "the manifest is patched already"
        hint = f"render it with --base and the manifest from before the patch ({named})"
        path = ("metadata", "annotations", BASE_ANNOTATION)
        return BaseChoice(None, (current.places.at("M024", path, message, hint),))
    if given.text == current.text:
        message = "this is the patched manifest itself, not the one from before"
        return BaseChoice(None, (found("M025", message, file=given.file),))
    if base_hash(given.text) != named:
        message = f"it is {base_hash(given.text)}, and {current.file} was made from {named}"
        return BaseChoice(None, (found("M025", message, file=given.file),))
    return BaseChoice(given, ())
