"""Processors by the name that Go, and so Kubernetes and image archives, give them."""

from __future__ import annotations

from collections.abc import Mapping

#: What `uname -m` says → Go's name.
_MACHINES: Mapping[str, str] = {
    "x86_64": "amd64",
    "amd64": "amd64",
    "aarch64": "arm64",
    "arm64": "arm64",
    "armv7l": "arm",
    "armv6l": "arm",
    "i386": "386",
    "i686": "386",
    "ppc64le": "ppc64le",
    "s390x": "s390x",
    "riscv64": "riscv64",
}
#: e_machine of an ELF header, with its byte order → Go's name.
_ELF: Mapping[tuple[int, str], str] = {
    (3, "little"): "386",
    (21, "little"): "ppc64le",
    (22, "big"): "s390x",
    (40, "little"): "arm",
    (62, "little"): "amd64",
    (183, "little"): "arm64",
    (243, "little"): "riscv64",
}


def of_machine(uname: str) -> str:
    """Empty where it is not known: then nothing is judged by it."""
    return _MACHINES.get(uname, "")


def of_elf(machine: int, order: str) -> str:
    return _ELF.get((machine, order), f"ELF machine {machine}")
