"""kubeadm's configuration in the cluster, and what we remember of our part in it."""

from __future__ import annotations

import time
from typing import NamedTuple

from kschedpatch.cluster.kubectl import ApiRefused, Kubectl
from kschedpatch.core.kubeadm.clusterconfig import UnreadableConfiguration
from kschedpatch.core.kubeadm.keeping import (
    CLUSTER_KEY,
    CONFIG_REF,
    RECORD_REF,
    as_object,
    from_object,
    step,
)
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.persistplan import Kept

_TRIES = 5


class Found(NamedTuple):
    config: Object | None
    """kubeadm's ConfigMap, whole: its resource version guards a change."""
    text: str
    """The ClusterConfiguration in it."""
    kept: Kept | None


def find(kubectl: Kubectl) -> Found:
    """Raises UnreadableRecord where our own note can't be understood."""
    items = kubectl.get_all([CONFIG_REF.bare, RECORD_REF.bare]).items
    by_name = {item["metadata"]["name"]: item for item in items}
    config = by_name.get(CONFIG_REF.name)
    text = str(((config or {}).get("data") or {}).get(CLUSTER_KEY) or "")
    return Found(config, text, from_object(by_name.get(RECORD_REF.name)))


def exchange(kubectl: Kubectl, wanted: Kept | None) -> None:
    """Brings our part into it, or takes it away. Whoever else edits it at the same time keeps what
    they did: then it is read and merged anew."""
    for attempt in range(_TRIES):
        try:
            _exchange_once(kubectl, find(kubectl), wanted)
        except ApiRefused as error:
            if "modified" not in str(error) or attempt == _TRIES - 1:
                raise
            time.sleep(0.5 * (attempt + 1))
        else:
            return


def _exchange_once(kubectl: Kubectl, found: Found, wanted: Kept | None) -> None:
    if found.config is None:
        if wanted is not None:
            raise UnreadableConfiguration("it is gone")
        kubectl.delete_all([RECORD_REF.bare])
        return
    done = step(found.text, found.kept, wanted)
    # What is ours is remembered before it is there, and forgotten after it is gone: an entry that
    # is remembered and not there does no harm.
    if done.kept is not None:
        _remember(kubectl, found.kept, done.kept)
    if done.changed:
        body = {**found.config, "data": {**found.config["data"], CLUSTER_KEY: done.after}}
        body["metadata"] = {k: v for k, v in body["metadata"].items() if k != "managedFields"}
        kubectl.replace(body)
    if done.kept is None and found.kept is not None:
        kubectl.delete_all([RECORD_REF.bare])


def _remember(kubectl: Kubectl, before: Kept | None, kept: Kept) -> None:
    if before is None:
        kubectl.created([as_object(kept)])
    elif before != kept:
        kubectl.replace(as_object(kept))
