"""The container runtime of a node: records of containers, images, processes, and their tools."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.manifest.flags import effective
from kschedpatch.sandbox.imagestore import STORE, ImageStore
from kschedpatch.sandbox.procfs import ProcFs
from kschedpatch.sandbox.requests import Reply
from kschedpatch.sandbox.startup import Mounted, judge_flags, read_file


class Container(NamedTuple):
    id: str
    uid: str
    name: str
    attempt: int
    image: str
    state: str
    """Running or Exited."""
    code: int = 0
    reason: str = ""
    finished: float = 0.0


class Runtime:
    def __init__(self, root: Path, sim: Path, minor: int, proc: ProcFs) -> None:
        self._root = root
        self._sim = sim
        self._proc = proc
        self._minor = minor
        self.containers: list[Container] = []
        """The newest first, as crictl lists them."""
        self.sandboxes: set[str] = set()
        """Of the pods with these uids."""
        self.images = ImageStore()
        self._publish()

    def create(self, uid: str, name: str, attempt: int, image: str) -> Container:
        container = Container(secrets.token_hex(32), uid, name, attempt, image, "Running")
        self.containers.insert(0, container)
        self._publish()
        return container

    def exited(self, container_id: str, code: int, reason: str, now: float) -> None:
        self.containers = [
            c._replace(state="Exited", code=code, reason=reason, finished=now)
            if c.id == container_id
            else c
            for c in self.containers
        ]
        self._publish()

    def last_exited(self, uid: str) -> Container | None:
        found = [c for c in self.containers if c.uid == uid and c.state == "Exited"]
        return max(found, key=lambda c: c.finished, default=None)

    def remove(self, container_id: str) -> bool:
        kept = [c for c in self.containers if not c.id.startswith(container_id)]
        gone = len(kept) < len(self.containers)
        self.containers = kept
        self._publish()
        return gone

    def _publish(self) -> None:
        lines = [
            f"{c.id} {c.state} {c.name} {c.attempt} {c.uid} {c.image}\n" for c in self.containers
        ]
        fresh = self._sim / "containers.new"
        fresh.write_text("".join(lines), "utf-8")
        fresh.rename(self._sim / "containers")

    def start_process(
        self, container: Container, command: list[str], mounted: Sequence[Mounted], user: int
    ) -> int:
        source = f"/var/lib/kubelet/pods/{container.uid}/containers/{container.name}"
        mounts = (
            "1201 1150 0:190 / / rw,relatime - overlay overlay rw\n"
            f"1202 1201 252:0 {source}/{container.id[:8]} /dev/termination-log rw,relatime "
            "- ext4 /dev/vda rw\n"
        )
        for number, mount in enumerate(mounted, 1203):
            option = "ro" if mount.read_only else "rw"
            source = str(mount.real).removeprefix(str(self._root))
            mounts += (
                f"{number} 1201 252:0 {source} {mount.inside} {option},relatime "
                "- ext4 /dev/vda rw\n"
            )
        files = {mount.inside: mount.real for mount in mounted}
        return self._proc.start(command, mounts=mounts, files=files, user=user)

    def end_process(self, pid: int) -> None:
        self._proc.end(pid)

    def crictl(self, arguments: tuple[str, ...], stdin: bytes) -> Reply:
        verb, *rest = arguments or ("",)
        words = [word for word in rest if not word.startswith("-")]
        if verb == "rm":
            gone = [self.remove(word) for word in words]
            return Reply(0 if all(gone) else 1, "".join(f"{word}\n" for word in words))
        if verb == "pods":
            uid = next((word.partition("uid=")[2] for word in words if "pod.uid=" in word), "")
            any_id = f"{uid}{uid}\n"  # nobody asks for more than whether there is one
            return Reply(0, any_id if uid in self.sandboxes else "")
        if verb == "inspect":
            return self._inspect(rest)
        if verb == "inspecti":
            return self.images.inspect(rest)
        if verb == "imagefsinfo":
            place = {"fsId": {"mountpoint": f"{STORE}/snapshots"}}
            return Reply(0, json.dumps({"status": {"imageFilesystems": [place]}}, indent=2))
        if verb in {"images", "img"}:
            return Reply(0, "".join(f"{image}\n" for image in sorted(self.images)))
        if verb == "pull":
            return self.images.pull(words[-1])
        if verb == "exec":
            return self._exec(rest, stdin)
        if verb in {"version", "info"}:
            return Reply(0, "RuntimeName:  containerd\nRuntimeVersion:  1.6.20\n")
        return Reply(0)

    def _inspect(self, words: list[str]) -> Reply:
        found = [c for c in self.containers if words and c.id.startswith(words[-1])]
        if not found:
            return Reply(1, "", f'container with ID starting with "{words[-1:]}" not found\n')
        container = found[0]
        template = next((w for w in words if "{{" in w), "").removeprefix("--template=")
        if template:
            shown = template.replace("{{.status.exitCode}}", str(container.code))
            shown = shown.replace("{{.status.reason}}", container.reason)
            shown = shown.replace("{{.status.image.image}}", container.image)
            shown = shown.replace("{{.status.imageRef}}", self.images.id_of(container.image))
            return Reply(0, shown + "\n")
        state = "CONTAINER_" + container.state.upper()
        status = {"id": container.id, "state": state, "exitCode": container.code}
        return Reply(0, json.dumps({"status": {**status, "reason": container.reason}}) + "\n")

    def _exec(self, words: list[str], stdin: bytes) -> Reply:
        running = [
            (index, c)
            for index, word in enumerate(words)
            for c in self.containers
            if c.state == "Running" and c.id.startswith(word) and word
        ]
        if not running:
            return Reply(1, "", "execing command in container: container not found\n")
        index, container = running[0]
        return self._preflight(
            container.image,
            words[index + 1 :],
            lambda path: stdin if path == "/dev/stdin" else self._host_file(path),
        )

    def ctr(self, arguments: tuple[str, ...]) -> Reply:
        words = list(arguments)
        while words[:1] in (["-n"], ["--namespace"]):
            words = words[2:]
        if words[:2] in (["images", "ls"], ["image", "ls"], ["i", "ls"]):
            wanted = [w.partition("==")[2] for w in words if "==" in w]
            shown = sorted(i for i in self.images if not wanted or i in wanted)
            return Reply(0, "".join(f"{image}\n" for image in shown))
        if words[:2] == ["images", "import"]:
            return self.images.import_from(self._path(words[-1]))
        if words[:2] == ["images", "label"]:
            return self.images.label(words[-2], words[-1])
        if words[:1] == ["run"]:
            return self._run(words[1:])
        if words[:1] == ["version"]:
            return Reply(0, "Client:\n  Version:  1.6.20\n")
        return Reply(0)

    def _run(self, words: list[str]) -> Reply:
        mounts: list[tuple[str, str]] = []
        index = 0
        while index < len(words) and words[index].startswith("-"):
            if words[index] == "--mount":
                index += 1
                fields = dict(part.partition("=")[::2] for part in words[index].split(","))
                mounts.append((fields.get("dst", ""), fields.get("src", "")))
            elif words[index] in {"--env", "--user", "--cwd", "--label", "--snapshotter"}:
                index += 1
            index += 1
        if len(words) < index + 2:
            return Reply(1, "", "ctr: image ref and container id must be provided\n")
        image, _, *command = words[index:]
        if image not in self.images:
            return Reply(1, "", f'ctr: image "{image}": not found\n', delay=0.05)
        missing = [source for _, source in mounts if not self._path(source).exists()]
        if missing:
            problem = f"failed to create shim task: mount {missing[0]}: no such file or directory"
            return Reply(1, "", f"ctr: {problem}: unknown\n", delay=0.2)

        def read(path: str) -> bytes | None:
            for target, source in sorted(mounts, key=lambda m: -len(m[0])):
                if path == target or path.startswith(target.rstrip("/") + "/"):
                    return read_file(self._path(source + path[len(target.rstrip("/")) :]))
            return None

        return self._preflight(image, command, read)

    def _preflight(
        self, image: str, command: list[str], read: Callable[[str], bytes | None]
    ) -> Reply:
        if "no-log-exit" in image:
            return Reply(137, delay=0.25)
        own = "/" in command[0] if command else False
        if own and read(command[0]) is None:
            problem = f'exec: "{command[0]}": stat {command[0]}: no such file or directory'
            return Reply(1, "", f"ctr: failed to create shim task: {problem}\n", delay=0.2)
        found = judge_flags(
            effective({"command": command}), image, self._minor, read, own_binary=own
        )
        if found.problem:
            return Reply(1, "", "".join(f"{line}\n" for line in found.lines), delay=0.25)
        text = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        return Reply(0, text, delay=0.25)

    def _host_file(self, path: str) -> bytes | None:
        return read_file(self._path(path))

    def _path(self, path: str) -> Path:
        """A path as the agent names it: with the node's root before it, or without."""
        if path.startswith(str(self._root) + "/"):
            return Path(path)
        return self._root / path.lstrip("/")
