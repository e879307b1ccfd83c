"""The nodes of a run: connected in parallel, looked at in parallel."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.core.kubeadm.peers import with_peers
from kschedpatch.model.events import Event, Listener, Phase, State, nobody
from kschedpatch.model.facts import Hashes, NodeFacts
from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.node.agent import Agent, Kept, VerbFailed
from kschedpatch.node.become import Become
from kschedpatch.node.connect import connect
from kschedpatch.node.connectoptions import ConnectOptions
from kschedpatch.node.errors import NodeError
from kschedpatch.node.script import agent_script
from kschedpatch.node.session import Session

T = TypeVar("T")


class Member:
    """A node with its connection; ``fresh`` makes another one, for what must not rely on this."""

    def __init__(self, address: NodeAddress, opened: Callable[[NodeAddress], Agent]) -> None:
        self.address = address
        self.label = address.label or address.host
        self._opened = opened
        self.agent = opened(address)

    def fresh(self) -> Agent:
        """To confirm, and for nothing else."""
        return self._opened(self.address).will_confirm()

    def reconnect(self) -> Agent:
        agent = self._opened(self.address)
        former, self.agent = self.agent, agent
        former.close()
        return agent

    def close(self) -> None:
        self.agent.close()


class Fleet:
    def __init__(
        self,
        addresses: Sequence[NodeAddress],
        opened: Callable[[NodeAddress], Agent],
        listener: Listener = nobody,
    ) -> None:
        self.opened = opened
        self.listener = listener
        self.addresses: tuple[NodeAddress, ...] = ()
        self.failures: dict[str, NodeError | VerbFailed] = {}
        self.members: tuple[Member, ...] = ()
        self.facts: tuple[NodeFacts, ...] = ()
        self.looked_at = 0.0
        """When these were asked for, by the monotonic clock."""
        self.add(addresses)

    def add(self, addresses: Sequence[NodeAddress]) -> None:
        self.addresses += tuple(addresses)

        def one(address: NodeAddress) -> Member | None:
            label = address.label or address.host
            self.listener(Event(Phase.CONNECT, State.STARTED, label))
            try:
                member = Member(address, self.opened)
            except NodeError as error:
                self.failed(Phase.CONNECT, label, error)
                return None
            self.listener(Event(Phase.CONNECT, State.DONE, label))
            return member

        self.members += tuple(m for m in in_parallel(one, addresses) if m is not None)

    def failed(self, phase: Phase, label: str, error: NodeError | VerbFailed) -> None:
        self.failures[label] = error
        self.listener(Event(phase, State.FAILED, label, str(error)))

    def member(self, label: str) -> Member:
        return next(member for member in self.members if member.label == label)

    def look(
        self,
        paths: Sequence[str] = (),
        images: Sequence[str] = (),
        running: bool = False,
        room: bool = False,
        *,
        api: bool = True,
        hashes: Hashes = Hashes.CURRENT,
    ) -> tuple[NodeFacts, ...]:
        """Facts of every node that answers; the others are in ``failures``."""

        def one(member: Member) -> NodeFacts | None:
            self.listener(Event(Phase.FACTS, State.STARTED, member.label))
            try:
                facts = member.agent.facts(
                    paths, images, running=running, room=room, api=api, hashes=hashes
                )
            except (NodeError, VerbFailed) as error:
                self.failed(Phase.FACTS, member.label, error)
                return None
            self.listener(Event(Phase.FACTS, State.DONE, member.label))
            return facts

        self.looked_at = time.monotonic()
        self.facts = with_peers([f for f in in_parallel(one, self.members) if f is not None])
        return self.facts

    def kept(self, label: str, run: str) -> Kept:
        return self.member(label).agent.kept(run)

    def kubectl(self) -> Kubectl:
        """On a node that gets answers."""
        answered = {f.label for f in self.facts if f.api_answers}
        chosen = next((m for m in self.members if m.label in answered), self.members[0])
        return Kubectl(chosen.agent)

    def discover(self) -> tuple[NodeAddress, ...]:
        """Control-plane nodes that the first one knows and that are not connected yet; reached by
        their first address, as the same user."""
        facts = self.look()
        known = {f.node_name for f in facts}
        if not facts or not self.members:
            return ()
        like = self.members[0].address
        found = tuple(
            like._replace(host=node.addresses[0], label=node.name)
            for node in facts[0].control_plane
            if node.name not in known and node.addresses
        )
        self.add(found)
        return found

    def __enter__(self) -> Fleet:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for member in self.members:
            member.close()


def open_fleet(
    addresses: Sequence[NodeAddress],
    options: ConnectOptions,
    become: Become,
    *,
    listener: Listener = nobody,
) -> Fleet:
    script = agent_script()  # once: the nodes are connected all at the same time
    if options.found is None:
        options = options._replace(found={})

    def opened(address: NodeAddress) -> Agent:
        return Agent(Session(connect(address, options), become, script))

    return Fleet(addresses, opened, listener)


S = TypeVar("S")


def in_parallel(work: Callable[[S], T], items: Sequence[S]) -> list[T]:
    if not items:
        return []
    with ThreadPoolExecutor(min(16, len(items))) as pool:
        return list(pool.map(work, items))
