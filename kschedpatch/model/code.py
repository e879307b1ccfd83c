"""What the tables of codes are made of."""

from __future__ import annotations

from typing import NamedTuple

from kschedpatch.model.finding import Severity


class Code(NamedTuple):
    code: str
    severity: Severity
    title: str
    why: str
    runs: bool = False
    """The kubelet itself may take it: ``why`` gives the reason why it is an error all the same."""
