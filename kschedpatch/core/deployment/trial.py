"""How a Deployment's scheduler is tried once on a node, without a cluster around it."""

from __future__ import annotations

import copy
from typing import Any

from kschedpatch.core.fleet.serving import preflight_of_container
from kschedpatch.core.manifest.flags import effective
from kschedpatch.model.fleetplan import Preflight
from kschedpatch.model.plan import Generation

_NOWHERE = "https://127.0.0.1:6443"


def trial_of(
    container: dict[str, Any], config: dict[str, Any], generation: Generation | None
) -> Preflight:
    trial = preflight_of_container(copy.deepcopy(container))
    connection = config.get("clientConnection")
    named = isinstance(connection, dict) and connection.get("kubeconfig")
    if not named and not effective(container).keys() & {"kubeconfig", "master"}:
        # In the cluster a token is enough; there is none where it is tried, and it asks nobody.
        trial = trial._replace(command=(*trial.command, f"--master={_NOWHERE}"))
    if generation is None:
        return trial
    mounts = container.get("volumeMounts") or ()
    inside = {m.get("subPath"): str(m["mountPath"]) for m in mounts if m.get("subPath")}
    staged = [
        (f"{generation.directory}/{file.name}", inside[file.name])
        for file in generation.files
        if file.name in inside
    ]
    return trial._replace(mounts=tuple(staged))
