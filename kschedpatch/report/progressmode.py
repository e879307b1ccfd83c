"""How progress can be shown. Apart from what shows it: the commands' flags need only this."""

from __future__ import annotations

from enum import StrEnum


class ProgressMode(StrEnum):
    AUTO = "auto"
    JSON = "json"
    PLAIN = "plain"
    NONE = "none"
