"""Settings of the property tests."""

from __future__ import annotations

import os

from hypothesis import settings

# How long an example takes says something about the machine, nothing about the code. A landing
# must not hang on luck: there the same examples are tried each time, and elsewhere new ones.
settings.register_profile("here", deadline=None)
settings.register_profile("landing", deadline=None, derandomize=True)
settings.load_profile("landing" if os.environ.get("CI") else "here")
