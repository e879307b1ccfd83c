"""What every test runs with."""

from __future__ import annotations

import pytest

from tests.errors.recorder import Recorder


def pytest_configure(config: pytest.Config) -> None:
    recorder = Recorder(config)
    recorder.install()
    config.pluginmanager.register(recorder, "reached-errors")
