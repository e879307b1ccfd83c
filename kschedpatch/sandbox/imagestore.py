"""The images of a node's simulated runtime: what is there, pulled from the cluster's registry, or
imported from an archive. A registry's ill will is told by words in the image's name."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from collections.abc import Callable, Iterator, MutableSet
from pathlib import Path

from kschedpatch.core.imagenames import full_name
from kschedpatch.sandbox.requests import Reply

STORE = "/var/lib/containerd"
#: Word in the image's name → what containerd says then.
_REFUSALS = {
    "needs-login": "pull access denied, repository does not exist or may require authorization: "
    "authorization failed: no basic auth credentials",
    "no-such-registry": "failed to do request: Head: dial tcp: lookup {host} on 10.0.0.2:53: "
    "no such host",
    "bad-certificate": "failed to do request: Head: tls: failed to verify certificate: x509: "
    "certificate signed by unknown authority",
    "silent-registry": "failed to do request: Head: dial tcp 10.9.9.9:443: i/o timeout",
}


class ImageStore(MutableSet[str]):
    """Names of images, each with the ID that the runtime gives it."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self.pinned: set[str] = set()
        self.digests: dict[str, str] = {}
        """What an image's digest is, where it is not the one in its name."""
        self.pullable: Callable[[], frozenset[str]] = frozenset
        self.honours_pins = True
        """containerd does so from 1.7.3 on."""
        self.garbles_imports = False
        """What is imported is not what was in the archive."""

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, value: str, image_id: str = "") -> None:
        self._ids[value] = image_id or self._ids.get(value) or id_of_pulled(value)

    def discard(self, value: str) -> None:
        self._ids.pop(value, None)

    def id_of(self, name: str) -> str:
        """By a name, a short one too, or by the ID itself."""
        return self._ids.get(name) or self._ids.get(full_name(name)) or self._by_id(name)

    def _by_id(self, wanted: str) -> str:
        return wanted if wanted in self._ids.values() else ""

    def inspect(self, words: list[str]) -> Reply:
        name = words[-1] if words else ""
        found = self.id_of(name)
        if not found:
            return Reply(1, "", f'no such image "{name}" present\n')
        digests = [self.digests.get(name, name)] if "@sha256:" in name else []
        template = next((w for w in words if "{{" in w), "").removeprefix("--template=")
        if template:
            shown = template.replace("{{.status.id}}", found)
            joined = "".join(f"{digest} " for digest in digests)
            shown = shown.replace("{{range .status.repoDigests}}{{.}} {{end}}", joined)
            shown = shown.replace("{{.status.repoDigests}}", f"[{' '.join(digests)}]")
            is_pinned = self.honours_pins and name in self.pinned
            return Reply(0, shown.replace("{{.status.pinned}}", str(is_pinned).lower()) + "\n")
        return Reply(0, json.dumps({"status": {"id": found, "repoDigests": digests}}) + "\n")

    def pull(self, image: str) -> Reply:
        slow = re.search(r"slow-pull-(\d+)", image)
        delay = float(slow[1]) if slow else 0.5
        if image in self or image in self.pullable():
            text = f"Image is up to date for {id_of_pulled(image)}\n"
            return Reply(0, text, delay=delay, effect=lambda: self.add(image))
        host = image.partition("/")[0]
        why = next((said for word, said in _REFUSALS.items() if word in image), "")
        problem = pull_problem(image, why.format(host=host))
        return Reply(1, "", f"pulling image: {problem}\n", delay=0.3)

    def import_from(self, path: Path) -> Reply:
        try:
            images = dict(_docker_images(path))
        except (OSError, tarfile.TarError, KeyError, ValueError):
            return Reply(1, "", "ctr: unrecognized image format\n")

        def arrive() -> None:
            for name, image_id in images.items():
                other = f"sha256:{'0' * 64}"
                self.add(full_name(name), other if self.garbles_imports else image_id)

        lines = "".join(f"unpacking {full_name(name)}...done\n" for name in images)
        return Reply(0, lines, delay=1.0, effect=arrive)

    def label(self, image: str, label: str) -> Reply:
        if image not in self:
            return Reply(1, "", f'ctr: image "{image}": not found\n')
        name, _, value = label.partition("=")
        if name == "io.cri-containerd.pinned":
            (self.pinned.add if value == "pinned" else self.pinned.discard)(image)
        return Reply(0, f"{label}\n")


def id_of_pulled(image: str) -> str:
    return f"sha256:{hashlib.sha256(image.encode()).hexdigest()}"


def _docker_images(path: Path) -> Iterator[tuple[str, str]]:
    with tarfile.open(path) as archive:
        for item in json.loads(_content(archive, "manifest.json")):
            config = _content(archive, item["Config"])
            for name in item["RepoTags"]:
                yield name, f"sha256:{hashlib.sha256(config).hexdigest()}"


def _content(archive: tarfile.TarFile, name: str) -> bytes:
    stream = archive.extractfile(name)
    if stream is None:
        raise KeyError(name)
    return stream.read()


def pull_problem(image: str, why: str = "") -> str:
    return (
        "rpc error: code = NotFound desc = failed to pull and unpack image "
        f'"{image}": failed to resolve reference "{image}": {why or f"{image}: not found"}'
    )
