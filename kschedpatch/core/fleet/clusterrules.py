"""What the looks at all nodes say together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kschedpatch.model.codes import found
from kschedpatch.model.facts import ControlPlaneNode, NodeFacts
from kschedpatch.model.finding import Finding


def cluster_findings(
    facts: Sequence[NodeFacts], *, partial: bool, needs_api: bool
) -> Iterator[Finding]:
    yield from _same_machine(facts)
    yield from _unnamed(facts, partial=partial)
    yield from _strangers(facts)
    yield from _minors(facts)
    yield from _api(facts, needs_api=needs_api)


def lease_holders(facts: Iterable[NodeFacts]) -> frozenset[str]:
    """Names of the nodes that hold the lease, by what any of the nodes was told."""
    holders = (node.lease_holder.rpartition("_")[0] for node in facts)
    return frozenset(holder for holder in holders if holder)


def leads(node: NodeFacts, holders: frozenset[str]) -> bool:
    return node.node_name in holders


def in_rollout_order(facts: Sequence[NodeFacts]) -> tuple[NodeFacts, ...]:
    """Standbys first, the holder of the lease last, otherwise as they were named."""
    holders = lease_holders(facts)
    return tuple(sorted(facts, key=lambda node: leads(node, holders)))


def _same_machine(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    machines: dict[str, list[NodeFacts]] = {}
    for node in facts:
        if node.machine_id:
            machines.setdefault(node.machine_id, []).append(node)
    for nodes in machines.values():
        # Cloned machines share their machine-id; names in the cluster can't be shared.
        names = {node.node_name for node in nodes if node.node_name}
        if len(nodes) > 1 and len(names) < len(nodes):
            labels = " and ".join(node.label for node in nodes)
            message = f"{labels} are one machine ({nodes[0].hostname})"
            yield found("N004", message, hint="name it once")


def unnamed_nodes(facts: Sequence[NodeFacts]) -> tuple[ControlPlaneNode, ...]:
    """Control-plane nodes of the cluster that are not among these."""
    known = {name for node in facts for name in (node.node_name, node.hostname) if name}
    others = {
        member.name: member
        for node in facts
        for member in node.control_plane
        if member.name not in known
    }
    return tuple(others[name] for name in sorted(others))


def _unnamed(facts: Sequence[NodeFacts], *, partial: bool) -> Iterator[Finding]:
    missing = unnamed_nodes(facts)
    if not missing:
        return
    shown = ", ".join(_with_address(member) for member in missing)
    if partial:
        yield found("N006", f"left out: {shown}")
    else:
        hint = "name them too (--discover finds them), or say --partial"
        yield found("N005", f"the cluster has more control-plane nodes: {shown}", hint=hint)


def _with_address(member: ControlPlaneNode) -> str:
    return f"{member.name} ({member.addresses[0]})" if member.addresses else member.name


def _strangers(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    for node in facts:
        for other in facts:
            names = {member.name for member in other.control_plane}
            if names and node.node_name and not names & {node.node_name, node.hostname}:
                message = (
                    f"{node.node_name} is no control-plane node of the cluster of {other.label}"
                )
                yield found("N027", message, file=node.label)
                break


def _minors(facts: Sequence[NodeFacts]) -> Iterator[Finding]:
    minors = {node.kubelet.minor for node in facts if node.kubelet is not None}
    if len(minors) > 1:
        shown = ", ".join(f"{node.label} {node.kubelet or '?'}" for node in facts)
        yield found("N012", shown)


def _api(facts: Sequence[NodeFacts], *, needs_api: bool) -> Iterator[Finding]:
    if not facts or any(node.api_answers for node in facts):
        return
    message = "none of the nodes gets an answer from the API server"
    if needs_api:
        yield found("N021", message, hint="bring it up first, or leave RBAC and objects out")
    else:
        yield found("N020", message)
