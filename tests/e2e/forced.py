"""A roll-out of manifests that the planner would never let through: what the node half and the
kubelet make of them is the point."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import health_of, image_of
from kschedpatch.inputs.nodeaddresses import parse_address
from kschedpatch.model.events import Event
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.model.rollout import RolloutResult, RolloutSettings
from kschedpatch.node.become import NO_BECOME
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.fleet import Fleet, open_fleet
from kschedpatch.rollout.run import Run
from kschedpatch.rollout.turn import Change

from .cluster.cluster import Cluster
from .cluster.console import say

Mutation = Callable[[str], str]
SETTINGS = RolloutSettings(who="e2e", settle=3, watch_timeout=30, confirm_timeout=90)


def fleet_of(cluster: Cluster, *names: str) -> Fleet:
    options = ConnectOptions(ssh_config=cluster.access.ssh_config)
    addresses: list[NodeAddress] = [parse_address(name) for name in names]
    return open_fleet(addresses, options, NO_BECOME, listener=_told)


def _told(event: Event) -> None:
    say(f"{event.node or 'cluster'}: {event.phase} {event.state} {event.text}"[:200])


def change_of(facts: NodeFacts, after: str) -> Change:
    manifest = manifest_of(facts)
    assert manifest is not None
    assert facts.manifest is not None
    health = health_of(manifest, facts.kubelet)
    return Change(
        label=facts.label,
        node_name=facts.node_name,
        machine_id=facts.machine_id,
        before_sha256=facts.manifest.sha256,
        after=after,
        after_sha256=hashlib.sha256(after.encode()).hexdigest(),
        generation=None,
        health=health,
        health_before=health,
        preflight=None,
        image_before=image_of(manifest),
        leads=facts.leads,
        patch_name="forced",
        patch_text="",
    )


def forced(
    cluster: Cluster,
    mutate: Mutation,
    *names: str,
    settings: RolloutSettings = SETTINGS,
    run: str = "20200101-000000-0000",
) -> RolloutResult:
    """The nodes are changed in the order that is given, whatever comes of it."""
    with fleet_of(cluster, *names) as fleet:
        facts = fleet.look()
        assert not fleet.failures
        texts = {f.label: f.manifest.content.decode() for f in facts if f.manifest}
        changes = [change_of(f, mutate(texts[f.label])) for f in facts]
        return Run(run, "apply", fleet, changes, settings, Cancel()).execute()
