"""The real kube-scheduler as the judge: it reads a configuration, builds every plugin, and ends."""

from __future__ import annotations

import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess
from pathlib import Path

from tests.e2e.cluster.build import build_stock_scheduler
from tests.e2e.cluster.versions import scheduler_version

from .remembered import Remembered
from .surroundings import NOBODY, furnish
from .verdicts import POLICY_REFUSALS, Verdict, refusal

_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_UNWRITTEN = re.compile(r'no kind "\w+Args" is registered for version ')
_SET_FLAGS, _UP = 0x8914, 0x1


class Unclear(Exception):
    """The scheduler's end says nothing about the configuration."""


class Scheduler:
    def __init__(
        self,
        minor: str,
        directory: Path,
        alone: bool,
        reuse: bool = False,
        binary: Path | None = None,
    ) -> None:
        self.minor = minor
        self._alone = alone
        self._binary = binary or build_stock_scheduler(scheduler_version(minor))
        self._remembered = Remembered(self._binary) if reuse else None
        self._directory = directory
        furnish(directory)
        # A process that lives for 50 ms gains nothing from a second thread or a collected heap.
        self._environment = {"GOMAXPROCS": "1", "GOGC": "off", "HOME": str(directory)}

    def judge(self, data: bytes, flags: tuple[tuple[str, str], ...] = ()) -> Verdict:
        given = ["--config=/dev/stdin", *(f"--{name}={value}" for name, value in flags)]
        if self._remembered is None:
            return self._verdict(data, given)
        return self._remembered("config", data, flags, lambda: self._verdict(data, given))

    def judge_policy(self, data: bytes) -> Verdict:
        """Of a Policy. Some that are good can't be written out again: the words of a refusal tell
        one from the other."""
        given = ["--policy-config-file=/dev/stdin", "--port=0"]
        if self._remembered is None:
            verdict = self._verdict(data, given)
        else:
            verdict = self._remembered("policy", data, (), lambda: self._verdict(data, given))
        if verdict.accepted or _UNWRITTEN.match(verdict.text):
            return Verdict(True)
        if not verdict.text.startswith((*POLICY_REFUSALS, "panic")):
            raise Unclear(verdict.text)
        return verdict

    def _verdict(self, data: bytes, flags: list[str]) -> Verdict:
        command = [
            str(self._binary),
            "--write-config-to=/dev/null",
            "--secure-port=0",
            # Whatever a file says: nobody is ever asked.
            f"--master={NOBODY}",
            *flags,
        ]
        ended = subprocess.run(
            command,
            input=data,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=self._directory,
            env=self._environment,
            timeout=60,
            check=False,
        )
        said = ended.stderr.decode(errors="replace")
        # In a network of its own nobody but the scheduler itself can have the port.
        taken = "address already in use" in said and not self._alone
        if taken or ended.returncode < 0:
            raise Unclear(f"exit {ended.returncode}: {said[-500:]}")
        # Up to 1.22 a refusal quotes the whole file.
        quoted = data.decode(errors="replace")
        reason = refusal(said.replace(quoted, "…") if quoted.strip() else said)
        return Verdict(True) if ended.returncode == 0 else Verdict(False, reason)


def leave_the_network() -> bool:
    """This process and its children in a network of their own with nothing but a loopback: 1.22
    listens on a port although it is told not to, and two of them at a time would meet there."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_NETWORK) and libc.unshare(_NEW_NETWORK | _NEW_USER):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))
    return True


def scratch_base() -> str | None:
    """In memory where there is such a place."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a new directory in it
