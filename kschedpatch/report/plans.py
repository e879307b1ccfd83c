"""A plan for people: the diff of the manifest, the files and objects that come with it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from typing import Any

from kschedpatch.core.objects.marks import shown
from kschedpatch.core.yamltext import emit
from kschedpatch.model.plan import ClusterObject, Plan, StagedFile
from kschedpatch.report.terminal import Paint, printable


def plan_text(plan: Plan, file: str, paint: Paint) -> str:
    parts = [*_diff(plan, file, paint)]
    if plan.generation is not None:
        for staged in plan.generation.files:
            parts += file_lines(f"{plan.generation.directory}/{staged.name}", staged, paint)
    for title, objects in (("RBAC", plan.rbac), ("object", plan.objects)):
        for item in objects:
            parts += object_lines(title, item, paint)
    if not plan.changed:
        parts.append(f"{printable(file)}: nothing to change")
    return "".join(line + "\n" for line in parts)


def _diff(plan: Plan, file: str, paint: Paint) -> Iterator[str]:
    lines = difflib.unified_diff(
        plan.before.splitlines(), plan.after.splitlines(), file, f"{file} (patched)", lineterm=""
    )
    for line in lines:
        yield coloured(line, paint)


def folded_diffs(
    diffs: Iterable[tuple[str, tuple[str, ...]]], none: str, paint: Paint
) -> Iterator[str]:
    """By label; the same diff on several nodes is shown once. ``none`` is said of no lines."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for label, lines in diffs:
        groups.setdefault(lines, []).append(label)
    first = True
    for lines, labels in groups.items():
        if not first:
            yield ""
        first = False
        names = printable(", ".join(labels))
        if not lines:
            yield f"{names}: {none}"
            continue
        yield paint("bold", f"{names}:")
        for line in lines:
            yield coloured(line, paint)


def coloured(line: str, paint: Paint) -> str:
    text = printable(line)
    if line.startswith(("---", "+++")):
        return paint("bold", text)
    if line.startswith("@@"):
        return paint("cyan", text)
    colour = {"+": "green", "-": "red"}.get(line[:1])
    return paint(colour, text) if colour else text


def file_lines(path: str, staged: StagedFile, paint: Paint) -> Iterator[str]:
    yield ""
    yield paint("bold", f"+++ {path} ({staged.mode:04o}, {staged.file.size} bytes)")
    if staged.file.content is None:
        yield f"    from {printable(staged.file.location)}, sha256 {staged.file.sha256}"
        return
    try:
        text = staged.file.content.decode("utf-8")
    except UnicodeDecodeError:
        yield f"    not text, sha256 {staged.file.sha256}"
        return
    for line in text.splitlines():
        yield paint("green", "+" + printable(line))


def object_lines(title: str, item: ClusterObject, paint: Paint) -> Iterator[str]:
    yield ""
    yield paint("bold", f"+++ {title}: {printable(item.title)} (from {printable(item.source)})")
    for line in emit.document(shown(item.body)).splitlines():
        yield paint("green", "+" + printable(line))


def plan_data(plan: Plan) -> dict[str, Any]:
    """The same for programs."""
    generation = plan.generation
    return {
        "patch": plan.patch_name,
        "kubernetesVersion": str(plan.version) if plan.version else None,
        "manifest": plan.after,
        "generation": None
        if generation is None
        else {
            "id": generation.id,
            "directory": generation.directory,
            "files": [file_data(staged) for staged in generation.files],
        },
        "rbac": [shown(item.body) for item in plan.rbac],
        "objects": [shown(item.body) for item in plan.objects],
    }


def file_data(staged: StagedFile) -> dict[str, Any]:
    content = staged.file.content
    return {
        "name": staged.name,
        "mode": f"{staged.mode:04o}",
        "size": staged.file.size,
        "sha256": staged.file.sha256,
        "content": content.decode("utf-8", "replace") if content is not None else None,
    }
