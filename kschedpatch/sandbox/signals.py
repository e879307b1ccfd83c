"""The external program kill of a node: signals reach simulated processes, and only those."""

from __future__ import annotations

from collections.abc import Iterable

from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.procfs import ProcFs
from kschedpatch.sandbox.requests import Reply

_NAMES = {"15": "TERM", "9": "KILL", "": "TERM"}


def kill(arguments: tuple[str, ...], running: Iterable[SchedulerProcess], proc: ProcFs) -> Reply:
    signal, pids = _parse(arguments)
    if signal not in {"TERM", "KILL", "0"}:
        return Reply(1, "", f"kill: {signal}: the sandbox knows TERM, KILL and 0 only\n")
    schedulers = {str(process.pid): process for process in running}
    missing = [pid for pid in pids if not proc.has(pid)]
    for pid in pids:
        if pid in missing or signal == "0":
            continue
        if pid not in schedulers:
            proc.end(int(pid))
        elif signal == "TERM":
            schedulers[pid].terminate()
        else:
            schedulers[pid].kill()
    said = "".join(f"kill: {pid}: No such process\n" for pid in missing)
    return Reply(1 if missing else 0, "", said)


def _parse(arguments: tuple[str, ...]) -> tuple[str, list[str]]:
    """TERM, or what -TERM, -SIGTERM, -15, -s TERM says; and the ids."""
    signal, words = "", list(arguments)
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word == "--":
            break
        signal = words.pop(0) if word in {"-s", "--signal"} and words else word.lstrip("-")
    signal = signal.removeprefix("signal=").upper().removeprefix("SIG")
    return _NAMES.get(signal, signal), words
