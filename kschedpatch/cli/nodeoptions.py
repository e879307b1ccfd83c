"""Flags that say which nodes, and how they are reached; everything that has to be asked is asked
here, before any work begins."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kschedpatch.cli.options import refuse

if TYPE_CHECKING:
    from kschedpatch.model.nodeaddress import NodeAddress
    from kschedpatch.node.become import Become, Secret
    from kschedpatch.node.connectoptions import ConnectOptions
    from kschedpatch.node.keyring import KeyRing
    from kschedpatch.node.sshconfig import Destination

NODES_VARIABLE = "KSCHEDPATCH_NODES"


class SshTransport(StrEnum):
    PARAMIKO = "paramiko"
    OPENSSH = "openssh"


Nodes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NODE",
        help="Control-plane nodes as [user@]host[:port]. "
        f"Default: the environment variable {NODES_VARIABLE}.",
        show_default=False,
    ),
]
InventoryFile = Annotated[
    str | None,
    typer.Option(
        "--inventory",
        metavar="FILE",
        help="An Ansible inventory (INI or YAML); the nodes are its group kube_control_plane, "
        "or of these the ones that are named.",
    ),
]
Discover = Annotated[
    bool, typer.Option("--discover", help="Ask the first node for the other control-plane nodes.")
]
Local = Annotated[bool, typer.Option("--local", help="This machine is the node.")]
Identity = Annotated[
    str | None, typer.Option("--identity", metavar="FILE", help="The private key to log in with.")
]
KnownHosts = Annotated[
    str | None,
    typer.Option("--known-hosts", metavar="FILE", help="Instead of the user's known_hosts."),
]
SshConfig = Annotated[
    str | None, typer.Option("--ssh-config", metavar="FILE", help="Instead of ~/.ssh/config.")
]
Transport = Annotated[
    SshTransport,
    typer.Option(
        "--transport",
        help="openssh: by the system's ssh (hardware keys, GSSAPI, host certificates).",
    ),
]
AcceptNewHostKeys = Annotated[
    bool,
    typer.Option(
        "--accept-new-host-keys",
        help="Trust hosts that were never seen before, and remember their keys.",
    ),
]
AskBecomePass = Annotated[
    bool, typer.Option("-K", "--ask-become-pass", help="Ask for sudo's password, once.")
]
ConnectTimeout = Annotated[
    float | None,
    typer.Option(
        "--connect-timeout",
        metavar="SECONDS",
        min=1,
        max=600,
        help="Default: what the SSH configuration says, or 15.",
    ),
]

Kubeconfig = Annotated[
    str | None,
    typer.Option(
        "--kubeconfig",
        metavar="FILE",
        help="For a scheduler that runs as a Deployment: kubectl on this machine, and no SSH.",
    ),
]
DeploymentName = Annotated[
    str | None,
    typer.Option(
        "--deployment",
        metavar="NAMESPACE/NAME",
        help="A scheduler that runs as a Deployment, instead of the nodes' static pods.",
    ),
]
TakeOver = Annotated[
    list[str] | None,
    typer.Option(
        "--take-over",
        metavar="MANAGER",
        help="Of a Deployment: fields that this field manager has set are taken all the same.",
    ),
]


class Access(NamedTuple):
    """How the nodes are reached, and how root's rights are had there."""

    connect: ConnectOptions
    become: Become


def chosen_nodes(
    nodes: list[str] | None, inventory: str | None, *, local: bool
) -> tuple[NodeAddress, ...]:
    """The nodes that were named, in whichever way; refuses where there is none, or two ways."""
    from kschedpatch.inputs.nodeaddresses import NoAddress, parse_addresses
    from kschedpatch.model.nodeaddress import NodeAddress

    if local and (nodes or inventory is not None):
        other = "NODES" if nodes else "--inventory"
        refuse(f"{other} and --local exclude each other: they all say which nodes.")
    if local:
        return (NodeAddress("localhost", label="this machine"),)
    if inventory is not None:
        return _from_inventory(inventory, nodes or ())
    source = ""
    if not nodes:
        source = f"{NODES_VARIABLE}: "
        nodes = os.environ.get(NODES_VARIABLE, "").replace(",", " ").split()
    if not nodes:
        refuse(
            "no node is named: give [user@]host[:port] …, --inventory FILE or --local, "
            f"or set {NODES_VARIABLE}."
        )
    try:
        return parse_addresses(nodes)
    except NoAddress as error:
        refuse(f"{source}{error}.")


def _from_inventory(name: str, chosen: Sequence[str]) -> tuple[NodeAddress, ...]:
    """All control-plane nodes of an inventory, or of these the ones that are named."""
    from kschedpatch.inputs.inventory import BadInventory, read_inventory

    try:
        inventory = read_inventory(name)
    except BadInventory as error:
        refuse(str(error))
    for note in inventory.notes:
        say(note)
    there = {node.label: node for node in inventory.nodes}
    for label in chosen:
        if label not in there:
            refuse(f"{label!r} is not in the group {inventory.group} of {name}: {_few(there)}.")
    return tuple(there[label] for label in dict.fromkeys(chosen)) or inventory.nodes


def _few(labels: Iterable[str]) -> str:
    first = [*labels][:10]
    return f"it has {', '.join(first)}" + (" …" if len(first) == 10 else "")


def connect_options(
    nodes: tuple[NodeAddress, ...],
    *,
    local: bool,
    identity: str | None,
    known_hosts: str | None,
    ssh_config: str | None,
    transport: SshTransport,
    accept_new_host_keys: bool,
    ask_become_pass: bool,
    connect_timeout: float | None,
) -> Access:
    """Asks for what has to be asked: sudo's password, and pass phrases of keys. No more questions
    come after this, but those of the system's ssh while it connects."""
    from kschedpatch.node.become import Become
    from kschedpatch.node.connectoptions import ConnectOptions, TransportKind

    key = _existing("--identity", identity)
    config = _existing("--ssh-config", ssh_config)
    hosts = Path(known_hosts).expanduser() if known_hosts else None
    if hosts is not None and not accept_new_host_keys:
        _existing("--known-hosts", known_hosts)
    become = Become(password=_become_password() if ask_become_pass else None)
    if local:
        return Access(ConnectOptions(kind=TransportKind.LOCAL), become)
    options = ConnectOptions(
        kind=TransportKind(transport.value),
        identity=key,
        known_hosts=hosts,
        ssh_config=config,
        accept_new=accept_new_host_keys,
        connect_timeout=connect_timeout,
        prompts=sys.stdin.isatty(),
        on_note=say,
    )
    if options.kind is TransportKind.OPENSSH:
        return Access(options, become)
    keys, found = _unlocked_keys(nodes, options)
    from kschedpatch.node.bastions import Bastions

    return Access(options._replace(keys=keys, found=found, bastions=Bastions()), become)


def say(note: str) -> None:
    from kschedpatch.report.terminal import complain, printable

    complain(f"Note: {printable(note)}")


def existing_kubeconfig(name: str) -> Path:
    path = _existing("--kubeconfig", name)
    assert path is not None  # noqa: S101  a name was given
    return path


def _existing(flag: str, name: str | None) -> Path | None:
    if name is None:
        return None
    path = Path(name).expanduser()
    if not path.is_file():
        refuse(f"{flag} {name}: there is no such file.")
    return path


def _become_password() -> Secret:
    from kschedpatch.node.become import Secret

    if not sys.stdin.isatty():
        refuse(
            "-K asks for sudo's password at a terminal, and there is none. "
            "Allow sudo without a password (NOPASSWD), or log in as root."
        )
    answer = _hidden("sudo password on the nodes: ")
    if not answer:
        refuse("the password is empty. Leave out -K where sudo does not ask for one.")
    return Secret(answer)


def _hidden(question: str) -> str:
    import getpass

    try:
        return getpass.getpass(question)
    except EOFError:
        return ""


def _unlocked_keys(
    nodes: tuple[NodeAddress, ...], options: ConnectOptions
) -> tuple[KeyRing, dict[NodeAddress, Destination]]:
    """Keys that will be needed and are encrypted, and what the SSH configuration says of the nodes.
    A default key is asked for only where there is nothing else: most people have an agent, and no
    wish to type."""
    from concurrent.futures import ThreadPoolExecutor

    from kschedpatch.node.become import Secret
    from kschedpatch.node.errors import NodeError
    from kschedpatch.node.sshconfig import resolve

    def ask(path: Path) -> Secret | None:
        answer = _hidden(f"Pass phrase of {path} (empty: do without this key): ")
        return Secret(answer) if answer else None

    def asked(node: NodeAddress) -> Destination | None:
        try:
            return resolve(node, options.ssh_config, options.user)
        except NodeError:
            return None  # told when it is connected to, beside the other nodes

    with ThreadPoolExecutor(min(16, len(nodes))) as pool:
        answers = pool.map(asked, nodes)
        # Loads paramiko, which takes as long as ssh does to tell of some nodes.
        from kschedpatch.node.keyring import KeyRing, agent_blobs, public_blob

        held = agent_blobs()
        found = {node: at for node, at in zip(nodes, answers, strict=True) if at is not None}
    ring = KeyRing(ask if sys.stdin.isatty() else None)
    wanted: dict[Path, None] = {}
    if options.identity is not None:
        wanted[options.identity] = None
    for at in found.values():
        if options.identity is None and (at.identities_only or not held):
            wanted.update(dict.fromkeys(at.identity_files))
    for path in wanted:
        if path.is_file() and path.suffix != ".pub" and public_blob(path) not in held:
            ring.load(path)
    ring.seal()
    return ring, found
