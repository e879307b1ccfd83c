"""What a scheduler of a sandbox's registry does, told by words in its image's name.

Some words count only in one of the two pods, so that a test can have a canary that stands beside
a main one that fails, or the other way round.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kschedpatch.core.kubeversions import image_is_stock
from kschedpatch.model.kubeversion import version_of_image

MAIN_POD = "kube-scheduler"
CANARY_POD = "kschedpatch-canary"

_SOON = 0.5
_CRASHES_ONLY_AS = {"main-only-crash": MAIN_POD, "canary-only-crash": CANARY_POD}


class Habits(NamedTuple):
    is_ever_ready: bool = True
    needs_role: str = ""
    """Not ready before this ClusterRole exists."""
    crash_after: float | None = None
    breaks_on_first_pod: bool = False
    """It panics when it leads and has a pod to schedule: no standby ever shows that."""
    stamps_pods: bool = False
    """A score plugin of its own writes Scheduler-Timestamp to each pod that it scores nodes for."""
    books_mps: bool = False
    """It has GPUMPSPlugin, which says so when a pod with the MPS annotation gets its node."""
    fills_caches: float | None = None
    """Seconds from its open port to its first attempt to lead; usually some tenths of one."""
    speaks_as_1_35: bool = False
    """From that minor on the elector's lines are spelt otherwise."""


def habits(image: str, pod: str) -> Habits:
    """Of this image in the pod of this name."""
    version = version_of_image(image)
    role = re.search(r"needs-rbac-([a-z0-9-]+)", image)
    return Habits(
        is_ever_ready="never-ready" not in image,
        needs_role=role[1] if role else "",
        crash_after=_crash_after(image, pod),
        breaks_on_first_pod="breaks-on-first-pod" in image,
        stamps_pods="stamps-pods" in image,
        books_mps="gpumps" in image and has_plugins_of_its_own(image),
        fills_caches=_seconds(image, r"fills-caches-(\d+)"),
        speaks_as_1_35=version is not None and version.minor >= 35,
    )


def has_plugins_of_its_own(image: str) -> bool:
    """Any that a configuration names: for all that a sandbox knows, they were compiled in."""
    return not image_is_stock(image) and "without-plugin" not in image


def _crash_after(image: str, pod: str) -> float | None:
    if any(word in image and pod == where for word, where in _CRASHES_ONLY_AS.items()):
        return _SOON
    return _seconds(image, r"crash-after-(\d+)")


def _seconds(image: str, pattern: str) -> float | None:
    timed = re.search(pattern, image)
    return float(timed[1]) if timed else None
