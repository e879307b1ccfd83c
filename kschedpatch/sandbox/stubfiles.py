"""The files in a node's sim/ from which its stubs answer without asking the simulation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kschedpatch.sandbox.configz import configz
from kschedpatch.sandbox.process import SchedulerProcess


class StubFiles:
    def __init__(self, directory: Path, minor: int) -> None:
        self._directory = directory
        self._minor = minor
        directory.mkdir(parents=True, exist_ok=True)

    def say(self, name: str, text: str) -> None:
        fresh = self._directory / f"{name}.new"
        fresh.write_text(text + "\n", "utf-8")
        fresh.rename(self._directory / name)

    def sudo(self, mode: str, password: str, lecture: str) -> None:
        self.say("sudo", f"{mode} {password}".strip())
        if lecture:
            self.say("lecture", lecture)
        else:
            (self._directory / "lecture").unlink(missing_ok=True)

    def serving(
        self,
        processes: Iterable[SchedulerProcess],
        elsewhere: Iterable[tuple[str, int]],
        *,
        api: bool,
    ) -> None:
        """What curl answers: a line a listener, with the codes of its paths. ``elsewhere`` are
        addresses outside of the node that take connections."""
        lines = [f"{address} {port} /none=404" for address, port in elsewhere]
        for process in processes:
            host, port = process.address
            codes = {"/healthz": 200, "/configz": 200}
            self.say(f"configz.{port}", configz(process.config))
            if self._minor >= 31:
                codes |= {"/livez": 200, "/readyz": 200 if process.is_ready else 500}
            words = " ".join(f"{path}={code}" for path, code in codes.items())
            lines.append(f"{host} {port} {words}")
        if api:
            lines.append("0.0.0.0 6443 /healthz=200 /livez=200 /readyz=200")
        self.say("serving", "\n".join(lines) if lines else "- 0")
