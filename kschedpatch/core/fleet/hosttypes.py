"""hostPath types: does what is on a node satisfy what a manifest says?"""

from __future__ import annotations

MISSING = "Missing"
_MADE = {"DirectoryOrCreate": "Directory", "FileOrCreate": "File"}
_WORDS = {
    "Directory": "a directory",
    "File": "a file",
    "Socket": "a socket",
    "CharDevice": "a character device",
    "BlockDevice": "a block device",
}


def type_problem(wanted: str, there: str | None) -> str:
    """Why the kubelet would not start the pod; empty where it would, or nobody looked."""
    if there is None or not wanted:
        return ""
    if there == MISSING:
        return "" if wanted in _MADE else "does not exist"
    kind = _MADE.get(wanted, wanted)
    if there == kind:
        return ""
    return f"is {in_words(there)}, not {in_words(kind)}"


def in_words(kind: str) -> str:
    return _WORDS.get(kind, "something else")
