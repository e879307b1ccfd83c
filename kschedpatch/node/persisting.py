"""The verb of agent/42-persist.sh as Python sees it."""

from __future__ import annotations

import hashlib

from kschedpatch.node.agent import Agent
from kschedpatch.node.payload import bytes_payload


def persist(agent: Agent, run: str, patch: str) -> None:
    """What kubeadm is to be given on this node; empty: nothing of ours."""
    if not patch:
        agent.call("persist", ("run", run))
        return
    data = patch.encode()
    digest = hashlib.sha256(data).hexdigest()
    agent.call("persist", ("run", run), ("sha256", digest), payloads=(bytes_payload(data),))
