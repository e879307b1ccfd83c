"""This machine is the node."""

from __future__ import annotations

from kschedpatch.node.process import ProcessChannel


class LocalTransport:
    def __init__(self, label: str = "this machine") -> None:
        self.label = label

    def open(self, command: str) -> ProcessChannel:
        return ProcessChannel(self.label, ["/bin/sh", "-c", command])

    def close(self) -> None:
        """There is nothing to close: each command is a process of its own."""
