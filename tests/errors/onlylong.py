"""Messages and findings that only the long tests reach, by their keys: `make integration` must
reach all of them, `make test` all others."""

from __future__ import annotations

ONLY_LONG = frozenset(
    f"finding {code}" for code in "N068 N069 N071 N080 N086 N088 N089 N098 N099 N149".split()
)
