"""What kubeadm is given at its next rendering: for people and for programs."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from typing import Any

from kschedpatch.model.persistplan import NodePatch, PersistPlan
from kschedpatch.report.plans import folded_diffs
from kschedpatch.report.terminal import Paint

CONFIG = "ConfigMap kube-system/kubeadm-config"


def persist_lines(plan: PersistPlan, paint: Paint) -> Iterator[str]:
    if not plan.changed:
        return
    yield ""
    yield "For kubeadm's next rendering:"
    same = "nothing to change"
    yield from folded_diffs([(CONFIG, config_diff(plan))], same, paint)
    files = ((node.label, patch_diff(node)) for node in plan.nodes)
    yield from folded_diffs(files, same, paint)


def config_diff(plan: PersistPlan) -> tuple[str, ...]:
    return _diff("ClusterConfiguration", plan.before, plan.after)


def patch_diff(node: NodePatch) -> tuple[str, ...]:
    return _diff("kubeadm-patches", node.before, node.after)


def _diff(name: str, before: str, after: str) -> tuple[str, ...]:
    lines = (before.splitlines(), after.splitlines())
    return tuple(difflib.unified_diff(*lines, name, f"{name} (then)", lineterm=""))


def persist_data(plan: PersistPlan) -> dict[str, Any] | None:
    if not plan.asked:
        return None
    return {
        "changed": plan.changed,
        "formerRun": plan.kept.run if plan.kept is not None else None,
        "scheduler": plan.wanted.scheduler if plan.wanted is not None else None,
        "configDiff": list(config_diff(plan)),
        "nodes": [
            {"node": node.label, "changed": node.before != node.after, "patch": node.after or None}
            for node in plan.nodes
        ],
    }
