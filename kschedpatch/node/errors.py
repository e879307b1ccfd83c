"""What can go wrong on the way to a node, in words for people.

The question that a roll-out asks of each of them is ``nothing_happened``: did the node start to act
on this call, or not? Where it is false the outcome is unknown, and only a new look can tell.
"""

from __future__ import annotations


class NodeError(Exception):
    """What is wrong and at which node (``message``), and what to do (``hint``)."""

    nothing_happened = False
    """True: the script never ran. A session sets it for whatever comes before it is sent."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NeverReached(NodeError):
    """The way to the node ended before anything could happen there."""

    nothing_happened = True


class Unreachable(NeverReached):
    """No connection, or one that ends before it is of use."""


class HostKeyUnknown(NeverReached):
    """Nobody has said yet that this key is the host's."""


class HostKeyChanged(NeverReached):
    """The host shows another key than the one that is known, or a revoked one."""


class AuthenticationFailed(NeverReached):
    """The host does not take any of the keys that were offered."""


class BecomeFailed(NeverReached):
    """sudo says no."""


class CutInTheMiddle(NodeError):
    """The call had begun, unless ``nothing_happened`` says otherwise; how it went is not known."""


class ConnectionLost(CutInTheMiddle):
    """The connection is gone, or nothing was heard for too long."""


class CallTimeout(CutInTheMiddle):
    """It took longer than it may."""


class NodeSpokeGarbage(CutInTheMiddle):
    """The command ended without its end record, or spoke another language."""


class OutputTooLarge(CutInTheMiddle):
    """The node sent more than is read."""


class Stopped(CutInTheMiddle):
    """Who hears how much has been sent wants no more of it to be sent."""


class PayloadChanged(CutInTheMiddle):
    """A local file is not what it was when it was planned; its last bytes were not sent."""
