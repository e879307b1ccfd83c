"""Migrated texts for people: as they are, as a diff, or as what was replaced."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from kschedpatch.report.plans import coloured
from kschedpatch.report.terminal import Paint, printable

if TYPE_CHECKING:
    from kschedpatch.inputs.migrating import Migration
    from kschedpatch.model.kubeversion import KubeVersion


def new_text(result: Migration) -> str:
    """The text itself, fit for a file; several get a heading each, as ``tail`` writes it."""
    if len(result.files) == 1:
        return result.files[0].after
    return "\n".join(f"==> {printable(text.name)} <==\n{text.after}" for text in result.files)


def diff_text(result: Migration, paint: Paint) -> str:
    lines: list[str] = []
    for text in result.files:
        before, after = text.before.splitlines(), text.after.splitlines()
        lines += difflib.unified_diff(
            before, after, text.name, f"{text.name} (migrated)", lineterm=""
        )
        if not text.changed:
            lines.append(f"{text.name}: nothing to change")
    return "".join(coloured(line, paint) + "\n" for line in lines)


def written_text(result: Migration, *, backup: bool) -> str:
    lines = []
    for text in result.files:
        name = printable(text.name)
        kept = f" (the old text: {name}.orig)" if backup else ""
        lines.append(f"{name}: rewritten{kept}" if text.changed else f"{name}: nothing to change")
    return "\n".join(lines) + "\n"


def migration_data(result: Migration, target: KubeVersion) -> dict[str, Any]:
    files = [{"name": f.name, "changed": f.changed, "text": f.after} for f in result.files]
    return {"kubernetesVersion": str(target), "files": files}
