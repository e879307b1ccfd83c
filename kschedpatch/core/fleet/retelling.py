"""What a kept run has changed, in a few words: lines of the manifest, files, objects."""

from __future__ import annotations

from typing import NamedTuple

from kschedpatch.core.fleet.standing import changes
from kschedpatch.core.manifest.document import GENERATION_ANNOTATION, read_manifest
from kschedpatch.model.clusterplan import Entry, Ledger


class RunChange(NamedTuple):
    added: int = 0
    removed: int = 0
    files: tuple[str, ...] = ()
    """Of a generation that was not the former manifest's."""
    objects: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        parts = []
        if self.added or self.removed:
            lines = "line" if self.added + self.removed == 1 else "lines"
            parts.append(f"+{self.added} -{self.removed} {lines}")
        parts += [_count(len(self.files), "file")] if self.files else []
        parts += [_count(len(self.objects), "object")] if self.objects else []
        return ", ".join(parts) or "nothing"


def run_change(
    before: bytes | None,
    after: bytes | None,
    files: tuple[str, ...],
    ledger: Ledger | None,
    former: Ledger | None,
) -> RunChange:
    """``former`` is the ledger of the run before: what it had already was not changed by this."""
    old, new = ((text or b"").decode("utf-8", "replace") for text in (before, after))
    lines = changes(old, new) if before is not None and after is not None else []
    brought = _generation(after) not in ("", _generation(before))
    return RunChange(
        sum(line.startswith("+") for line in lines),
        sum(line.startswith("-") for line in lines),
        files if brought else (),
        tuple(e.ref.title for e in (ledger.entries if ledger else ()) if _acted(e, former)),
    )


def _generation(text: bytes | None) -> str:
    manifest = read_manifest(text, "kept").manifest if text else None
    return str(manifest.annotations.get(GENERATION_ANNOTATION) or "") if manifest else ""


def _acted(entry: Entry, former: Ledger | None) -> bool:
    if entry.body is None or entry.before is None:
        return entry.body is not None or entry.before is not None
    known = former.find(entry.ref.key) if former is not None else None
    return known is None or known.body != entry.body


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
