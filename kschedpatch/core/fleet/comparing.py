"""What differs between two moments of a node: between what two runs left there, what stood there
first, and what stands there now."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NamedTuple

from kschedpatch.core.fleet.noderules import about
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.revision import ORIGINAL

NOW = "now"


class Compared(NamedTuple):
    label: str
    lines: tuple[str, ...]
    """A unified diff; empty where both are the same."""


def kept_runs(node: NodeFacts, moments: tuple[str, str]) -> tuple[str, ...]:
    """The runs whose manifests have to be asked for."""
    known = {revision.run for revision in node.revisions}
    return tuple(moment for moment in moments if moment in known and moment != ORIGINAL)


def compared(
    node: NodeFacts, moments: tuple[str, str], left: Mapping[str, bytes | None]
) -> Compared | Finding:
    """``left``: what each of the runs left, by its name."""
    texts = []
    for moment in moments:
        if moment == NOW:
            found = node.manifest.content if node.manifest is not None else None
        elif moment == ORIGINAL:
            found = node.original
        elif moment in left:
            found = left[moment]
            if found is None:
                return about(node, "N203", f"what {moment} left is not kept any more")
        else:
            hint = f"kschedpatch history shows the runs; {ORIGINAL} and {NOW} work too"
            return about(node, "N202", f"no run {moment} is kept", hint)
        if found is None:
            return about(node, "N203", f"there is nothing for {moment!r}")
        texts.append(found.decode("utf-8", "replace").splitlines())
    old, new = texts
    lines = difflib.unified_diff(old, new, *moments, lineterm="")
    return Compared(node.label, tuple(lines))
