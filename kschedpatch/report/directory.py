"""Writes a rendered plan into a directory: manifest, generation, RBAC, objects."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from kschedpatch.core.yamltext import emit
from kschedpatch.model.plan import ClusterObject, Plan, StagedFile

_CHUNK = 1024 * 1024


class WriteError(Exception):
    """Why a file could not be written, in words."""


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
                written.append(_write(directory / name, _documents(objects).encode(), 0o600))
        # The manifest comes last: whoever sees it finds what it points to.
        written.append(_write(directory / "kube-scheduler.yaml", plan.after.encode(), 0o600))
    except OSError as error:
        raise WriteError(f"{error.filename or directory}: {error.strerror}") from error
    return written


def _documents(objects: tuple[ClusterObject, ...]) -> str:
    return "---\n".join(emit.document(item.body) for item in objects)


def _write_staged(path: Path, staged: StagedFile) -> Path:
    if staged.file.content is not None:
        return _write(path, staged.file.content, staged.mode)
    temporary = path.with_name(f".{path.name}.new")
    digest = hashlib.sha256()
    with Path(staged.file.location).open("rb") as source, temporary.open("wb") as target:
        while chunk := source.read(_CHUNK):
            digest.update(chunk)
            target.write(chunk)
        os.fsync(target.fileno())
    if digest.hexdigest() != staged.file.sha256:
        temporary.unlink()
        raise WriteError(f"{staged.file.location} changed while it was read")
    return _put_in_place(temporary, path, staged.mode)


def _write(path: Path, content: bytes, mode: int) -> Path:
    temporary = path.with_name(f".{path.name}.new")
    with temporary.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    return _put_in_place(temporary, path, mode)


def _put_in_place(temporary: Path, path: Path, mode: int) -> Path:
    temporary.chmod(mode)
    temporary.replace(path)
    return path
