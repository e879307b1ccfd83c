"""The kubelet's journal of a sandbox node, in the real kubelet's words (facts of 1.34)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path


class Journal:
    """A file per unit; the stub of journalctl reads it, and its cursor is an offset in it."""

    def __init__(self, directory: Path, told: Callable[[str], None]) -> None:
        self._directory = directory
        self._told = told
        directory.mkdir(parents=True, exist_ok=True)
        self.path("kubelet").touch()

    def path(self, unit: str) -> Path:
        return self._directory / unit.removesuffix(".service")

    def add(self, line: str, unit: str = "kubelet") -> None:
        with self.path(unit).open("a", encoding="utf-8") as journal:
            journal.write(line + "\n")
        self._told(f"journal: {line}")

    def klog(self, level: str, source: str, text: str) -> None:
        stamp = datetime.now(UTC).strftime("%m%d %H:%M:%S.%f")
        self.add(f"{level}{stamp}    1001 {source}] {text}")

    def text(self, unit: str = "kubelet") -> str:
        path = self.path(unit)
        return path.read_text("utf-8") if path.exists() else ""

    def unparsable(self, path: str, problem: str, *, relist: bool) -> None:
        quoted = _quoted(f"can't process config file {_quoted(path)}: {problem}")
        if relist:
            shown = _quoted(problem)
            text = f'"Could not process manifest file" err={shown} path={_quoted(path)}'
            self.klog("E", "file.go:187", text)
        else:
            self.klog("E", "file_linux.go:61", f'"Unable to process watch event" err={quoted}')

    def vanished(self, path: str, pod: str) -> None:
        """The directory is read anew between the removal of a file and the event of it."""
        missing = _quoted(f"stat {path}: no such file or directory")
        self.klog(
            "E", "file.go:176", f'"Could not get metadata" err={missing} path={_quoted(path)}'
        )
        problem = _quoted(f"the pod with key {pod} doesn't exist in cache")
        self.klog("E", "file.go:108", f'"Unable to process watch event" err={problem}')

    def denied(self, pod: str, uid: str, reason: str, message: str) -> None:
        text = f'"Pod admission denied" podUID="{uid}" pod="{pod}" reason="{reason}"'
        self.klog("I", "kubelet.go:2420", f"{text} message={_quoted(message)}")

    def mount_failed(self, pod: str, uid: str, volume: str, problem: str, retry: str) -> None:
        unique = f"kubernetes.io/host-path/{uid}-{volume}"
        name = pod.partition("/")[2]
        when = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f +0000 UTC")
        self.klog(
            "E",
            "nestedpendingoperations.go:348",
            f'Operation for "{{volumeName:{unique} podName:{uid} nodeName:}}" failed. '
            f"No retries permitted until {when} (durationBeforeRetry {retry}). "
            f'Error: MountVolume.SetUp failed for volume "{volume}" (UniqueName: "{unique}") '
            f'pod "{name}" (UID: "{uid}") : hostPath type check failed: {problem}',
        )

    def pull_failed(self, image: str, problem: str) -> None:
        text = f'"PullImage from image service failed" err={_quoted(problem)} image="{image}"'
        self.klog("E", "log.go:32", text)
        text = f'"Failed to pull image" err={_quoted(problem)} image="{image}"'
        self.klog("E", "kuberuntime_image.go:42", text)

    def not_started(self, container: str, pod: str, uid: str, reason: str, message: str) -> None:
        """A container that could not be started: the pod worker's own line."""
        inner = f'failed to "StartContainer" for "{container}" with {reason}: {_quoted(message)}'
        text = f'"Error syncing pod, skipping" err={_quoted(inner)} pod="{pod}" podUID="{uid}"'
        self.klog("E", "pod_workers.go:1324", text)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
