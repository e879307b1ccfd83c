"""Reads the local files that a patch names, and says which of them are missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.places import COMMAND_LINE, Places, value_at
from kschedpatch.inputs.files import (
    MAX_TEXT,
    Unreadable,
    ensure_readable,
    hash_file,
    read_bytes,
)
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.finding import Path as Place
from kschedpatch.model.images import ImageArchive
from kschedpatch.model.patch import Scheduler, SchedulerPatch
from kschedpatch.model.sources import SourceFile, source_file


class References(NamedTuple):
    patch: SchedulerPatch
    """The patch, with the image's name if only an archive told it."""
    sources: dict[str, SourceFile]
    findings: tuple[Finding, ...]
    archive: ImageArchive | None = None


def read_references(patch: SchedulerPatch, places: Places, directory: Path) -> References:
    sources: dict[str, SourceFile] = {}
    findings: list[Finding] = []
    for place, name in _texts(patch):
        try:
            content = read_bytes(directory / name, MAX_TEXT)
            sources[name] = source_file(name, str(directory / name), content)
        except Unreadable as error:
            findings.append(_missing(name, place, places, error))
    for place, name in _large(patch):
        try:
            sources[name] = hash_file(name, directory / name)
        except Unreadable as error:
            findings.append(_missing(name, place, places, error))
    scheduler = patch.spec.scheduler
    if scheduler.binary in sources:
        findings += _judge_program(scheduler, sources, places, directory)
    archive = None
    if scheduler.image_archive in sources:
        from kschedpatch.inputs.archives import read_archive

        name = scheduler.image_archive
        archive, problem = read_archive(directory / name, sources[name], scheduler.image)
        if archive is None:
            findings.append(places.at("P012", ("spec", "scheduler", "imageArchive"), problem))
        else:
            patch = _with_image(patch, archive.image)
    return References(patch, sources, tuple(findings), archive)


def _judge_program(
    scheduler: Scheduler, sources: dict[str, SourceFile], places: Places, directory: Path
) -> Iterator[Finding]:
    from kschedpatch.inputs.programs import NoProgram, read_program

    name, place = scheduler.binary or "", ("spec", "scheduler", "binary")
    try:
        program = read_program(directory / name)
    except NoProgram as error:
        yield places.at("P004", place, f"{name}: {error}")
        return
    sources[name] = sources[name]._replace(architecture=program.architecture)
    if program.loader:
        message = f"{name} is dynamically linked: it needs {program.loader} in the image"
        yield places.at("P020", place, message, "build it with CGO_ENABLED=0")


def missing_in_file(places: Places, directory: Path) -> Iterator[Finding]:
    """Files that a patch names and that are not there, also where the patch itself is wrong."""
    spec = value_at(places, ("spec",))
    for place, name in _named(spec, ("spec",)) if isinstance(spec, dict) else ():
        try:
            ensure_readable(directory / name)
        except Unreadable as error:
            yield places.at("P006", place, f"{name}: {error.reason}")


_FILE_KEYS = frozenset({"file", "source", "manifest", "binary", "imageArchive"})
_FILE_LISTS = frozenset({"objects", "manifests"})


def _named(value: Any, path: Place) -> Iterator[tuple[Place, str]]:
    """Strings at keys that name files; an inline configuration is not ours to look into."""
    if isinstance(value, dict):
        for key, item in value.items():
            if key in _FILE_KEYS and isinstance(item, str):
                yield (*path, key), item
            elif key != "inline":
                yield from _named(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            if isinstance(item, str) and path[-1] in _FILE_LISTS:
                yield (*path, index), item
            else:
                yield from _named(item, (*path, index))


def _missing(name: str, place: Place, places: Places, error: Unreadable) -> Finding:
    message = f"{name}: {error.reason}"
    if value_at(places, place) == name:
        return places.at("P006", place, message)
    return found("P006", message, file=COMMAND_LINE)  # it came with a flag


def _with_image(patch: SchedulerPatch, image: str) -> SchedulerPatch:
    scheduler = patch.spec.scheduler.model_copy(update={"image": image})
    spec = patch.spec.model_copy(update={"scheduler": scheduler})
    return patch.model_copy(update={"spec": spec})


def _texts(patch: SchedulerPatch) -> Iterator[tuple[Place, str]]:
    spec = patch.spec
    if spec.config is not None and spec.config.file is not None:
        yield ("spec", "config", "file"), spec.config.file
    for index, file in enumerate(spec.files):
        yield ("spec", "files", index, "source"), file.source
    for index, name in enumerate(spec.objects):
        yield ("spec", "objects", index), name
    for index, name in enumerate(spec.rbac.manifests):
        yield ("spec", "rbac", "manifests", index), name
    for index, pod in enumerate(spec.verify.pods):
        yield ("spec", "verify", "pods", index, "manifest"), pod.manifest


def _large(patch: SchedulerPatch) -> Iterator[tuple[Place, str]]:
    scheduler = patch.spec.scheduler
    if scheduler.binary is not None:
        yield ("spec", "scheduler", "binary"), scheduler.binary
    if scheduler.image_archive is not None:
        yield ("spec", "scheduler", "imageArchive"), scheduler.image_archive
