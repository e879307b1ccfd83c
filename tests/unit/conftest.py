"""Settings of the property tests."""

from __future__ import annotations

import os

from hypothesis import settings

# A landing must not hang on luck: there the same examples are tried each time. Everywhere else
# every run looks for new ones.
settings.register_profile("landing", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("landing")
