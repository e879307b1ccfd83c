"""The rig's bridge: the only network that its machines have.

They get no default route and this machine forwards nothing for them, so no
packet of the rig leaves it.
"""

from __future__ import annotations

from pathlib import Path

from .console import run
from .settings import (
    BRIDGE,
    GATE_ADDRESS,
    HOST_ADDRESS,
    INNER_SUBNET,
    MACHINE_PREFIX,
    NODE_NAMES,
    SERVICE_SUBNET,
    SUBNET,
    addresses,
)

_PREFIX_LENGTH = SUBNET.split("/")[1]


def create_bridge() -> None:
    run(["ip", "link", "add", BRIDGE, "type", "bridge"])
    run(["ip", "address", "add", f"{HOST_ADDRESS}/{_PREFIX_LENGTH}", "dev", BRIDGE])
    run(["ip", "link", "set", BRIDGE, "up"])
    # Or packets to the inner addresses would take the default route, outwards.
    run(["ip", "route", "replace", "unreachable", INNER_SUBNET])


def remove_bridge() -> None:
    for link in links():
        run(["ip", "link", "delete", link], check=False)
    if bridge_exists():
        run(["ip", "link", "delete", BRIDGE])
    run(["ip", "route", "delete", "unreachable", INNER_SUBNET], check=False)


def bridge_exists() -> bool:
    return Path("/sys/class/net", BRIDGE).exists()


def links() -> list[str]:
    """This machine's ends of the nodes' cables."""
    return sorted(path.name for path in Path("/sys/class/net").glob(f"vb-{MACHINE_PREFIX}*"))


def cut(machine: str) -> None:
    # Off the bridge, not down: the node keeps its carrier and addresses, and
    # only packets stop, as with a failing switch.
    run(["ip", "link", "set", f"vb-{machine}", "nomaster"])


def restore(machine: str) -> None:
    run(["ip", "link", "set", f"vb-{machine}", "master", BRIDGE])


def machine_files(name: str, address: str, inner: str) -> dict[str, str]:
    """The network configuration of one machine, by path."""
    network = [
        "[Match]",
        "Name=host0",
        "[Network]",
        f"Address={address}/{_PREFIX_LENGTH}",
        f"Address={inner}/{_PREFIX_LENGTH}",
        "LinkLocalAddressing=no",
        "IPv6AcceptRA=no",
        "ConfigureWithoutCarrier=yes",
        # Without a route the kernel refuses a Service address before kube-proxy's
        # rules see it.
        "[Route]",
        f"Destination={SERVICE_SUBNET}",
        "Scope=link",
    ]
    for other in NODE_NAMES:
        if other != name:
            route = addresses(other)
            network += ["[Route]", f"Destination={route.pods}", f"Gateway={route.address}"]
    hosts = ["127.0.0.1 localhost", "::1 localhost ip6-localhost", f"{GATE_ADDRESS} gate"]
    hosts += [f"{addresses(node).address} {node}" for node in NODE_NAMES]
    return {
        # Sorts before systemd's own 80-container-host0.network, which asks for DHCP.
        "etc/systemd/network/10-host0.network": "\n".join(network) + "\n",
        "etc/hostname": f"{name}\n",
        "etc/hosts": "\n".join(hosts) + "\n",
        # Nobody answers there, but CoreDNS refuses to start without an upstream.
        "etc/resolv.conf": f"nameserver {GATE_ADDRESS}\n",
    }
