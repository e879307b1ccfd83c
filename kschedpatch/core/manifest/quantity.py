"""Quantities (100m, 1Gi) as numbers."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any

# An exponent or a suffix, not both. Bounded: an exponent of a million digits would take its time.
_QUANTITY = re.compile(
    r"([-+]?[0-9.]{1,40})(?:([eE][-+]?[0-9]{1,3})|([EPTGM]i?|k|Ki|[num]))?", re.ASCII
)
_SUFFIX = {
    "": Decimal(1), "n": Decimal("1e-9"), "u": Decimal("1e-6"), "m": Decimal("1e-3"),
    "k": Decimal("1e3"), "M": Decimal("1e6"), "G": Decimal("1e9"), "T": Decimal("1e12"),
    "P": Decimal("1e15"), "E": Decimal("1e18"), "Ki": Decimal(2**10), "Mi": Decimal(2**20),
    "Gi": Decimal(2**30), "Ti": Decimal(2**40), "Pi": Decimal(2**50), "Ei": Decimal(2**60),
}  # fmt: skip


def quantity(value: Any) -> Decimal | None:
    """A Kubernetes quantity as a number; None where it is none."""
    if value is None:
        return Decimal(0)
    match = _QUANTITY.fullmatch(str(value))
    if match is None:
        return None
    try:
        return Decimal(match[1] + (match[2] or "")) * _SUFFIX[match[3] or ""]
    except (InvalidOperation, KeyError):
        return None
