"""Patches for tests: a spec and the files that it names, as the planner takes them."""

from __future__ import annotations

from typing import Any

from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext.places import Places
from kschedpatch.inputs.patchfile import check_patch
from kschedpatch.model.sources import source_file


def patch_input(
    spec: dict[str, Any], *, name: str, files: dict[str, str] | None = None
) -> PatchInput:
    value = {
        "apiVersion": "kschedpatch.io/v1",
        "kind": "SchedulerPatch",
        "metadata": {"name": name},
        "spec": spec,
    }
    places = Places("patch.yaml", None)
    patch, findings = check_patch(value, places)
    assert patch is not None, findings
    sources = {path: source_file(path, path, text.encode()) for path, text in (files or {}).items()}
    return PatchInput(patch, places, sources)
