"""From names on the command line to values that the core can work with."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.clusterobjects import PLACEHOLDER
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.yamltext.places import COMMAND_LINE, Places
from kschedpatch.inputs.files import NamedText
from kschedpatch.inputs.patchfile import check_patch, read_patch
from kschedpatch.inputs.quickflags import QuickFlags, override, patch_from_flags
from kschedpatch.inputs.references import missing_in_file, read_references
from kschedpatch.model.finding import Finding, has_errors
from kschedpatch.model.patch import SchedulerPatch


class LoadedPatch(NamedTuple):
    given: PatchInput | None
    findings: tuple[Finding, ...]


def load_patch(source: NamedText | None, flags: QuickFlags) -> LoadedPatch:
    """A patch from a file, from flags, or from both: then the flags override the file."""
    findings: list[Finding] = []
    patch: SchedulerPatch | None = None
    places, directory = Places(COMMAND_LINE, None), Path()
    if source is not None:
        reading = read_patch(source.data, source.name)
        patch, places, directory = reading.patch, reading.places, source.directory
        findings += reading.findings
    if flags.given:
        quick, problems = patch_from_flags(flags)
        findings += problems
        if quick is not None and patch is not None:
            patch = override(patch, quick)
            merged = patch.model_dump(mode="json", by_alias=True, exclude_defaults=True)
            findings += check_patch(merged, Places(COMMAND_LINE, None))[1]
        elif quick is not None and source is None:
            patch = quick
    if patch is None or has_errors(findings):
        if source is not None and not any(finding.code == "P008" for finding in findings):
            findings += missing_in_file(places, directory)
        return LoadedPatch(None, tuple(findings))
    references = read_references(patch, places, directory)
    findings += references.findings
    findings += _placeholders(references.patch, places)
    given = PatchInput(references.patch, places, references.sources, references.archive)
    return LoadedPatch(None if has_errors(findings) else given, tuple(findings))


def _placeholders(patch: SchedulerPatch, places: Places) -> list[Finding]:
    image = patch.spec.scheduler.image or ""
    if not image.startswith(PLACEHOLDER):
        return []
    message = f"{image} is a placeholder"
    path = ("spec", "scheduler", "image")
    return [places.at("P010", path, message, "put your own image there")]
