"""Opens the way to a node, of the kind that was asked for."""

from __future__ import annotations

from kschedpatch.model.nodeaddress import NodeAddress
from kschedpatch.node.connectoptions import ConnectOptions, TransportKind
from kschedpatch.node.errors import NodeError
from kschedpatch.node.transport import Transport


def connect(address: NodeAddress, options: ConnectOptions) -> Transport:
    """A connection that is authenticated and ready for commands, or a NeverReached error."""
    if options.kind is TransportKind.LOCAL:
        from kschedpatch.node.local import LocalTransport  # noqa: PLC0415  only what is needed

        return LocalTransport(address.label or address.host)
    if options.kind is TransportKind.OPENSSH:
        from kschedpatch.node.openssh import open_openssh  # noqa: PLC0415  only what is needed

        return open_openssh(address, options)
    return _by_paramiko(address, options)


def _by_paramiko(address: NodeAddress, options: ConnectOptions) -> Transport:
    from kschedpatch.node.dialing import dialed  # noqa: PLC0415  only what is needed
    from kschedpatch.node.sshconfig import resolve  # noqa: PLC0415

    label = address.label or address.host
    found = options.found if options.found is not None else {}
    destination = found.get(address)
    if destination is None:
        destination = found[address] = resolve(address, options.ssh_config, options.user)
    if destination.note and options.on_note is not None:
        options.on_note(destination.note)
    try:
        sock = dialed(destination, options, label) if destination.is_straight else None
        # Where nothing has loaded paramiko yet: the hosts answer the call meanwhile.
        from kschedpatch.node.bastions import Bastions  # noqa: PLC0415
        from kschedpatch.node.paramiko_ssh import ParamikoTransport  # noqa: PLC0415
        from kschedpatch.node.route import connected  # noqa: PLC0415

        link = connected(destination, options, options.bastions or Bastions(), label, sock)
    except NodeError:
        found.pop(address, None)
        raise
    return ParamikoTransport(label, link.client, link.release)
