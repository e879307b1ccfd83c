"""Asks a scheduler that listens on its node's loopback, from within the node's network.

That works while the node's cable is cut, and costs it no process.
"""

from __future__ import annotations

import ctypes
import http.client
import os
import re
import ssl
from pathlib import Path

from .api import client_pair
from .console import RigError
from .node import Node
from .record import Process

_CLONE_NEWNET = 0x40000000
# A busy machine is no outage; a scheduler that says nothing for this long is one.
PATIENCE = 3.0
_LEADS = re.compile(rb'^leader_election_master_status\{name="[^"]*"\} 1$', re.MULTILINE)


class LoopbackProbe:
    """One port of one node over a kept connection; for one thread, which lives in the node's
    network namespace from then on."""

    def __init__(self, node: Node, port: int, kubeconfig: Path) -> None:
        self._node = node
        self._port = port
        self._leader = 0
        self._epoch = 0
        self._connection: http.client.HTTPSConnection | None = None
        # Self-signed by the scheduler, and on loopback.
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        # Readiness is for everybody, metrics are for the administrator.
        self._context.load_cert_chain(client_pair(kubeconfig))

    @property
    def process(self) -> Process:
        return Process(self._node.name, self._port, self._epoch)

    def ready(self) -> bool:
        kept = self._connection is not None
        try:
            return self._get(self._node.version.ready_path)[0] == 200
        except (OSError, RigError, http.client.HTTPException) as error:
            self.close()
            # A kept connection that broke says that its scheduler ended, not that there is none.
            return kept and not isinstance(error, TimeoutError) and self.ready()

    def leads(self) -> bool:
        """It holds the lease by its own account, and is ready after it said so: one that is on
        its way out still claims the lease that it gave up."""
        before = self._epoch
        try:
            status, said = self._get("/metrics")
        except (OSError, RigError, http.client.HTTPException):
            self.close()
            return False
        claims = status == 200 and _LEADS.search(said) is not None
        return claims and self.ready() and self._epoch == before

    def _get(self, path: str) -> tuple[int, bytes]:
        self._enter()
        if self._connection is None:
            made = http.client.HTTPSConnection(
                "127.0.0.1", self._port, context=self._context, timeout=PATIENCE
            )
            made.connect()
            self._connection = made
            self._epoch += 1
        self._connection.request("GET", path)
        response = self._connection.getresponse()
        return response.status, response.read()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _enter(self) -> None:
        """A namespace is a thread's own affair, so this thread can live in the node's; after a
        reboot there is a new one."""
        leader = self._node.leader
        if leader == self._leader:
            return
        self.close()
        handle = os.open(f"/proc/{leader}/ns/net", os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).setns(handle, _CLONE_NEWNET) != 0:
                raise OSError(ctypes.get_errno(), "setns")
        finally:
            os.close(handle)
        self._leader = leader
