"""Feature gates that change what the scheduler says to a configuration.

Sources: pkg/features/kube_features.go of every minor.
"""

from __future__ import annotations

from collections.abc import Mapping

# (from which minor on, on by default, stage); a stage of None ends the gate.
_GATES: dict[str, tuple[tuple[int, bool, str | None], ...]] = {
    "DefaultPodTopologySpread": ((22, True, "Beta"), (24, True, None)),
    "VolumeCapacityPriority": ((22, False, "Alpha"), (33, False, None)),
    "StorageCapacityScoring": ((33, False, "Alpha"),),
    "PodSchedulingReadiness": ((26, False, "Alpha"), (27, True, "Beta"), (30, True, None)),
    "DynamicResourceAllocation": (
        (26, False, "Alpha"), (32, False, "Beta"), (34, True, "GA"), (35, True, None),
    ),
    "DRASchedulerFilterTimeout": ((34, True, "Beta"),),
    "DRAResourceClaimDeviceStatus": ((32, False, "Alpha"), (33, True, "Beta")),
    "DRADeviceBindingConditions": ((34, False, "Alpha"), (36, True, "Beta")),
    "NodeDeclaredFeatures": ((35, False, "Alpha"), (36, True, "Beta")),
    "GangScheduling": ((35, False, "Alpha"),),
    "TopologyAwareWorkloadScheduling": ((36, False, "Alpha"),),
}  # fmt: skip


def enabled_gates(minor: int, flags: Mapping[str, str]) -> frozenset[str]:
    """The gates of the table that are on, with ``--feature-gates`` as it stands in the flags."""
    asked = _asked(flags.get("feature-gates", ""))
    found = set()
    for name, history in _GATES.items():
        current = [stage for stage in history if stage[0] <= minor]
        if not current:
            continue
        _, default, stage = current[-1]
        # A gate that is named beats AllAlpha and AllBeta, whatever their order.
        on = asked.get(name, asked.get(f"All{stage}", default)) if stage else default
        if on:
            found.add(name)
    return frozenset(found)


def _asked(text: str) -> dict[str, bool]:
    pairs = (part.partition("=") for part in text.split(","))
    return {name.strip(): value.strip().lower() in {"true", "t", "1"} for name, _, value in pairs}
