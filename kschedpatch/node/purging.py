"""The verb of agent/87-purge.sh as Python sees it."""

from __future__ import annotations

from kschedpatch.node.agent import Agent, Say

#: The canary may have to end first, and images are let go one by one.
_SECONDS = 240.0


def purge(agent: Agent, run: str, say: Say | None = None) -> tuple[str, ...]:
    """Takes everything of ours away, the run's own lock included; returns what was there."""
    return agent.call("purge", ("run", run), say=say, timeout=_SECONDS).all("gone")
