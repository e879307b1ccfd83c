"""The API behind one address: haproxy on the gate, so that any one node may be down."""

from __future__ import annotations

from .settings import API_PORT, GATE_ADDRESS, NODE_NAMES, addresses

ENDPOINT = f"{GATE_ADDRESS}:{API_PORT}"


def config() -> str:
    servers = "\n".join(
        f"    server {name} {addresses(name).address}:{API_PORT}" for name in NODE_NAMES
    )
    # Asked for readiness, not just for an open port: an API server that has lost
    # its etcd still accepts connections. A server that fails loses its open
    # connections at once, or clients would wait for its packets for minutes.
    return f"""\
global
    maxconn 4000
defaults
    mode tcp
    timeout connect 2s
    timeout client 1h
    timeout server 1h
    retries 2
    option redispatch
frontend api
    bind {GATE_ADDRESS}:{API_PORT}
    default_backend nodes
backend nodes
    option httpchk GET /readyz
    default-server check check-ssl verify none inter 500ms fall 2 rise 1
    default-server on-marked-down shutdown-sessions
    timeout check 2s
{servers}
"""
