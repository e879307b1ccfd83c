"""Which lease a Deployment's pods elect by, where the patch does not say."""

from __future__ import annotations

from typing import Any

from kschedpatch.core.deployment.served import STOCK_LEASE, Serving
from kschedpatch.core.manifest.flags import effective, set_flag
from kschedpatch.core.schedconfig.election import election
from kschedpatch.model.deploymentplan import DeploymentTarget

Value = dict[str, Any]


def keep_lease(
    container: Value, config: Value | None, target: DeploymentTarget, own: Serving | None
) -> None:
    """A new configuration that does not speak of election keeps the lease: with the default it
    would be the stock scheduler's. ``own`` is what the Deployment serves now."""
    section = _section(config)
    if target.is_new:
        _name_lease(container, section, target.name, target.namespace)
    elif config is not None and own is not None and own.lease:
        namespace, _, name = own.lease.partition("/")
        if own.lease != STOCK_LEASE:
            _name_lease(container, section, name, namespace)
    elif config is not None and own is not None:
        elects = "leader-elect" in effective(container) or section.get("leaderElect") is not None
        if not elects:
            set_flag(container, "leader-elect", "false")


def _section(config: Value | None) -> Value:
    section = (config or {}).get("leaderElection")
    return section if isinstance(section, dict) else {}


def _name_lease(container: Value, section: Value, name: str, namespace: str) -> None:
    """By flags, which beat the file: a file of the user's is taken as it is."""
    flags = effective(container)
    if not election({"leaderElection": section}, flags).enabled:
        return
    for flag, key, value in (
        ("resource-name", "resourceName", name),
        ("resource-namespace", "resourceNamespace", namespace),
    ):
        if f"leader-elect-{flag}" not in flags and not section.get(key):
            set_flag(container, f"leader-elect-{flag}", value)
