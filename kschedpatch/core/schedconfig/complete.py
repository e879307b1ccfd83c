"""Completes a scheduler configuration for the minor and the target that it is meant for.

A user's file is taken as it is; what must be filled in is spliced in. An inline configuration is
written out by us.
"""

from __future__ import annotations

import copy
from typing import Any

from kschedpatch.core.kubeversions import CONFIG_KIND, best_config_version
from kschedpatch.core.schedconfig.read import ConfigText
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.splice import respell

INSECURE_LOOPBACK = "127.0.0.1:10251"


def complete(config: ConfigText, minor: int, kubeconfig: str) -> str:
    """The configuration's final text. ``kubeconfig`` is empty for a Deployment (in-cluster)."""
    value = copy.deepcopy(config.value)
    filled: dict[str, Any] = {
        "apiVersion": value.pop("apiVersion", None) or best_config_version(minor),
        "kind": value.pop("kind", None) or CONFIG_KIND,
        **value,
    }
    connection = filled.get("clientConnection")
    if kubeconfig and (connection is None or isinstance(connection, dict)):
        connection = dict(connection or {})
        if not connection.get("kubeconfig"):
            connection["kubeconfig"] = kubeconfig
        filled["clientConnection"] = connection
    if minor == 22:
        # There --port=0 counts for nothing with --config, and an unencrypted port 10251 opens on
        # every address of the node. 1.22 refuses an empty address and port 0 alike, so it can't
        # be closed: at least it listens on the loopback only.
        # Two that differ would be two listeners in each other's way.
        given = filled.get("healthzBindAddress", filled.get("metricsBindAddress"))
        for key in ("healthzBindAddress", "metricsBindAddress"):
            filled.setdefault(key, INSECURE_LOOPBACK if given is None else given)
    if config.text is None or config.places.root is None:
        return emit.document(filled)
    return respell(config.text, config.places.root, filled).text
