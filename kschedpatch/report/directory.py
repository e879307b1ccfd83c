"""Writes a rendered plan into a directory: manifest, generation, RBAC, objects."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kschedpatch.core.yamltext import emit
from kschedpatch.model.deploymentplan import DeploymentPlan
from kschedpatch.model.plan import ClusterObject, Plan, StagedFile

_CHUNK = 1024 * 1024


class WriteError(Exception):
    """Why a file could not be written, in words."""


def check_target(directory: Path, *, force: bool) -> None:
    """Raises where nothing can be written there."""
    try:
        if directory.exists() and not directory.is_dir():
            raise WriteError(f"{directory} is a file; a directory is needed. Nothing was written.")
        if directory.is_dir() and not force and any(directory.iterdir()):
            raise WriteError(
                f"{directory} is not empty. Choose another directory, or use --force. "
                "Nothing was written."
            )
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        message = f"{str(directory)[:100]}: {reason}. Nothing was written."
        raise WriteError(message) from error


def write_plan(plan: Plan, directory: Path) -> list[Path]:
    """Writes everything, each file atomically; returns the files in the order written."""
    written: list[Path] = []
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if plan.generation is not None:
            target = directory / "generations" / plan.generation.id
            target.mkdir(parents=True, exist_ok=True)
            written += [_write_staged(target / s.name, s) for s in plan.generation.files]
        for name, objects in (("rbac.yaml", plan.rbac), ("objects.yaml", plan.objects)):
            if objects:
                written.append(_write(directory / name, [_documents(objects).encode()], 0o600))
        # The manifest comes last: whoever sees it finds what it points to.
        written.append(_write(directory / "kube-scheduler.yaml", [plan.after.encode()], 0o600))
    except OSError as error:
        raise WriteError(f"{error.filename or directory}: {error.strerror}") from error
    return written


def write_deployment(plan: DeploymentPlan, directory: Path) -> list[Path]:
    """For `kubectl apply --server-side -f DIR`: what the Deployment needs sorts before it."""
    files = {"10-objects.yaml": plan.objects, "20-deployment.yaml": (deployment_object(plan),)}
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return [
            _write(directory / name, [_documents(objects).encode()], 0o600)
            for name, objects in files.items()
            if objects
        ]
    except OSError as error:
        raise WriteError(f"{error.filename or directory}: {error.strerror}") from error


def deployment_object(plan: DeploymentPlan) -> ClusterObject:
    return ClusterObject(plan.document, "target")


def write_files(files: Mapping[Path, bytes], *, force: bool) -> list[Path]:
    """Writes files of the user's; what is there already is left alone unless ``force`` says so."""
    written: list[Path] = []
    try:
        for parent in (parent for path in files for parent in path.parents):
            if parent.exists() and not parent.is_dir():
                raise WriteError(f"{parent} is a file, a directory is needed. Nothing was written.")
        there = ", ".join(str(path) for path in files if path.exists())
        if there and not force:
            raise WriteError(f"{there} exists already. Nothing was written; --force replaces.")
        for path, content in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            written.append(_write(path, [content], 0o644))
    except OSError as error:
        listed = ", ".join(str(path) for path in written)
        done = f"Written so far: {listed}." if written else "Nothing was written."
        reason = (error.strerror or str(error)).lower()
        raise WriteError(f"{str(error.filename)[:100]}: {reason}. {done}") from error
    return written


def write_private(path: Path, text: str) -> None:
    """One file that only its owner reads; what lies there is replaced, a directory is not."""
    try:
        if path.is_dir():
            raise WriteError(f"{path} is a directory")
        _write(path, [text.encode()], 0o600)
    except OSError as error:
        raise WriteError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def replace_text(path: Path, before: str, after: str, *, keep: bool) -> None:
    """A file of the user's in one step, with its mode. What has changed meanwhile is left alone."""
    place = path.resolve()  # a link stays one
    old = Path(f"{path}.orig")
    try:
        if place.read_bytes().decode() != before:
            raise WriteError(f"{path} was changed meanwhile")
        if keep and old.exists():
            raise WriteError(f"{old} exists already")
        mode = place.stat().st_mode & 0o7777
        if keep:
            _write(old, [before.encode()], mode)
        _write(place, [after.encode()], mode)
    except OSError as error:
        raise WriteError(f"{path}: {(error.strerror or str(error)).lower()}") from error


def _documents(objects: tuple[ClusterObject, ...]) -> str:
    return "---\n".join(emit.document(item.body) for item in objects)


def _write_staged(path: Path, staged: StagedFile) -> Path:
    if staged.file.content is not None:
        return _write(path, [staged.file.content], staged.mode)
    digest = hashlib.sha256()

    def chunks() -> Iterator[bytes]:
        with Path(staged.file.location).open("rb") as source:
            while chunk := source.read(_CHUNK):
                digest.update(chunk)
                yield chunk
        if digest.hexdigest() != staged.file.sha256:
            raise WriteError(f"{staged.file.location} changed while it was read")

    return _write(path, chunks(), staged.mode)


def _write(path: Path, content: Iterable[bytes], mode: int) -> Path:
    """Under a new dot name first (never through a link that lies there), then in one step."""
    descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for chunk in content:
                stream.write(chunk)
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path
