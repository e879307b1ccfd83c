"""The operator's half, with a connection to nodes of the rig."""

from __future__ import annotations

from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.model.events import Event, Listener, nobody
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.rollout import RolloutResult, RolloutSettings
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.rollout.fleet import Fleet, open_fleet
from tests.forced.manifests import Mutation
from tests.forced.runs import RUN, forced_on

from .cluster.cluster import Cluster
from .cluster.console import say

SETTINGS = RolloutSettings(who="e2e", settle=3, watch_timeout=30, confirm_timeout=90)


def fleet_of(
    cluster: Cluster,
    *names: str,
    listener: Listener = nobody,
    connect_timeout: float | None = None,
) -> Fleet:
    config = cluster.access.ssh_config
    options = ConnectOptions(ssh_config=config, connect_timeout=connect_timeout)
    addresses: list[NodeAddress] = [parse_address(name) for name in names]

    def told(event: Event) -> None:
        say(f"{event.node or 'cluster'}: {event.phase} {event.state} {event.text}"[:200])
        listener(event)

    return open_fleet(addresses, options, NO_BECOME, listener=told)


def forced(
    cluster: Cluster,
    mutate: Mutation,
    *names: str,
    settings: RolloutSettings = SETTINGS,
    run: str = RUN,
    listener: Listener = nobody,
) -> RolloutResult:
    with fleet_of(cluster, *names, listener=listener) as fleet:
        return forced_on(fleet, mutate, settings, run)
