"""A run of the transaction with manifests of one's own, over any fleet."""

from __future__ import annotations

import hashlib

from kschedpatch.core.fleet.canary import canary_for, live_scheduler, planned_scheduler
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import health_of, image_of
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.fleetplan import Canary
from kschedpatch.model.rollout import RolloutResult, RolloutSettings
from kschedpatch.rollout.cancel import Cancel
from kschedpatch.rollout.change import Change
from kschedpatch.rollout.fleet import Fleet
from kschedpatch.rollout.run import Run
from tests.forced.manifests import Mutation

RUN = "20200101-000000-0000"


def change_of(facts: NodeFacts, after: str, *, canary: bool = False) -> Change:
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
        canary=_canary(facts, manifest, after) if canary else None,
        no_canary="" if canary else "what is broken is to fail later",
        lease=live_scheduler(manifest, facts).lease,
    )


def _canary(facts: NodeFacts, current: Manifest, after: str) -> Canary:
    live, new = live_scheduler(current, facts), read_manifest(after.encode(), "after").manifest
    assert new is not None
    found = canary_for(live, planned_scheduler(new, None, live), facts.kubelet, facts.room)
    assert isinstance(found, Canary), found
    return found


def forced_on(
    fleet: Fleet, mutate: Mutation, settings: RolloutSettings, run: str = RUN
) -> RolloutResult:
    """The nodes are changed in the order that is given, whatever comes of it."""
    facts = fleet.look()
    assert not fleet.failures
    texts = {f.label: f.manifest.content.decode() for f in facts if f.manifest}
    changes = [change_of(f, mutate(texts[f.label])) for f in facts]
    return Run(run, "apply", fleet, changes, settings, Cancel()).execute()
