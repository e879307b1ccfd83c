"""The external program kill of a node: signals reach simulated processes, and only those."""

from __future__ import annotations

from collections.abc import Iterable

from kschedpatch.sandbox.process import SchedulerProcess
from kschedpatch.sandbox.procfs import ProcFs
from kschedpatch.sandbox.requests import Reply

_NAMES = {"15": "TERM", "9": "KILL", "19": "STOP", "18": "CONT", "": "TERM"}
_KNOWN = ("TERM", "KILL", "STOP", "CONT", "0")


def kill(arguments: tuple[str, ...], running: Iterable[SchedulerProcess], proc: ProcFs) -> Reply:
    signal, pids = _parse(arguments)
    if signal not in _KNOWN:
        known = ", ".join(_KNOWN)
        return Reply(1, "", f"kill: {signal}: the sandbox knows {known} only\n")
    schedulers = {str(process.pid): process for process in running}
    missing = [pid for pid in pids if not proc.has(pid)]
    for pid in pids:
        if pid in missing or signal == "0":
            continue
        if pid in schedulers:
            _send(signal, schedulers[pid])
        elif signal in {"TERM", "KILL"}:
            proc.end(int(pid))
    said = "".join(f"kill: {pid}: No such process\n" for pid in missing)
    return Reply(1 if missing else 0, "", said)


def _send(signal: str, process: SchedulerProcess) -> None:
    match signal:
        case "TERM":
            process.terminate()
        case "KILL":
            process.kill()
        case "STOP":
            process.stop()
        case "CONT":
            process.go_on()


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
