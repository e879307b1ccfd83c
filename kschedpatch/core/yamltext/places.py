"""Makes findings that know their line: a path in the object → the place in the text."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.yamltext.nodes import Node, key_at, nearest, value_of
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path

#: Stands for a file where a value came with a flag.
COMMAND_LINE = "command line"
#: And where it was piped in.
STANDARD_INPUT = "standard input"


class Places(NamedTuple):
    file: str
    root: Node | None

    def at(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        """A finding about the value at ``path``."""
        node = nearest(self.root, path) if self.root else None
        return self._found(code, node, path, message, hint)

    def at_key(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        """A finding about the key itself."""
        node = key_at(self.root, path) if self.root and path else self.root
        return self._found(code, node, path, message, hint)

    def _found(self, code: str, node: Node | None, path: Path, message: str, hint: str) -> Finding:
        line, column = (node.line + 1, node.column + 1) if node else (0, 0)
        return found(code, message, file=self.file, line=line, column=column, path=path, hint=hint)


def value_at(places: Places, path: Path) -> Any:
    """What the file itself says at a path; None where it says nothing."""
    value: Any = value_of(places.root) if places.root is not None else None
    for step in path:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
    return value
