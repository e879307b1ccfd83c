"""The machine beside the nodes: API balancer, image registries, and the bastion for ProxyJump."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from . import balancer, registry
from .access import BASTION
from .build import Binaries
from .console import wait_until
from .machine import Machine
from .settings import GATE_ADDRESS, GATE_INNER_ADDRESS


class Gate(Machine):
    def __init__(self, binaries: Binaries | None = None) -> None:
        binds = {"/usr/bin/registry": binaries["registry"]} if binaries else {}
        super().__init__("gate", GATE_ADDRESS, GATE_INNER_ADDRESS, ("common", "gate"), binds)

    @property
    def _host_key_name(self) -> str:
        return BASTION

    def create(self, base: Path) -> None:
        super().create(base)
        self.put("etc/haproxy/haproxy.cfg", balancer.config())
        for path, text in registry.gate_files().items():
            self.put(path, text)
        self.enable("haproxy", *registry.gate_units())

    def wait_booted(self, timeout: float = 60) -> None:
        super().wait_booted(timeout)
        for name in (registry.PUBLIC, registry.PRIVATE):
            wait_until(f"the registry {name}", partial(registry.answers, name), timeout)
