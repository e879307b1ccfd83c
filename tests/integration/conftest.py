"""Simulated nodes and real SSH servers take seconds each: `make test` runs those marked ``sample``,
`make integration` the others."""

from __future__ import annotations

from pathlib import Path

import pytest

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE) and item.get_closest_marker("sample") is None:
            item.add_marker(pytest.mark.long)
