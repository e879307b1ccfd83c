"""A recipe as people set it up: `init`, a few lines of it changed, then apply, verify, rollback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kschedpatch.model import exitcodes

from .cluster.api import Object, named
from .cluster.cluster import Cluster
from .cluster.console import wait_for
from .cluster.workload import LABEL
from .tool import Said, access, kschedpatch

PODS = "/api/v1/namespaces/default/pods"
_PAUSE = "registry.k8s.io/pause:rig"
_SELECTOR = f'  nodeSelector: {{{LABEL}: "true"}}\n'


@dataclass(frozen=True)
class Verified:
    said: Said

    @property
    def checks(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.said.document["checks"]
        return found

    def of(self, subject: str) -> list[dict[str, Any]]:
        return [check for check in self.checks if check["check"].startswith(subject)]

    def states(self, subject: str) -> set[str]:
        return {check["state"] for check in self.of(subject)}

    @property
    def codes(self) -> set[str]:
        return {code for check in self.checks for code in check["codes"]}


@dataclass(frozen=True)
class Recipe:
    cluster: Cluster
    directory: Path
    name: str

    @classmethod
    def init(cls, cluster: Cluster, directory: Path, name: str) -> Recipe:
        said = kschedpatch(cluster, "init", name, "--out", str(directory))
        assert said.code == 0, said.err
        return cls(cluster, directory, name)

    @property
    def file(self) -> Path:
        return self.directory / f"{self.name}.yaml"

    def edit(self, old: str, new: str, file: str = "") -> None:
        path = self.directory / file if file else self.file
        text = path.read_text()
        assert text.count(old) >= 1, f"{old!r} is not in {path.name}"
        path.write_text(text.replace(old, new))

    def probe_on_fake_nodes(self, file: str, expect: str = "") -> None:
        """The recipe's own probe pod, kept away from the real nodes: nothing has to be pulled."""
        path = self.directory / file
        text = path.read_text()
        assert "\nspec:\n" in text
        path.write_text(text.replace("\nspec:\n", f"\nspec:\n{_SELECTOR}", 1))
        if expect:
            here = f"manifest: ./{file}\n"
            self.edit(here, f"{here}      expectNode: {expect}\n")

    @property
    def _nodes(self) -> tuple[str, ...]:
        return (*(node.name for node in self.cluster.nodes), *access(self.cluster))

    def apply(self, *words: str) -> Said:
        said = self._applied(*words)
        assert said.code == 0, said.err + said.out
        return said

    def _applied(self, *words: str) -> Said:
        given = ("apply", "-f", str(self.file), *self._nodes, "--yes", "--settle", "1")
        return kschedpatch(self.cluster, *given, *words)

    def planned(self) -> str:
        """All that `plan` has to say."""
        said = kschedpatch(self.cluster, "plan", "-f", str(self.file), *self._nodes)
        return " ".join((said.out + said.err).split())

    def refused(self) -> str:
        """What `apply` says when it does not begin, with its lines joined."""
        said = self._applied()
        assert said.code in (exitcodes.INVALID, exitcodes.REFUSED), (said.code, said.out, said.err)
        return " ".join((said.out + said.err).split())

    def verify(self, *words: str, file: bool = True) -> Verified:
        given = ("-f", str(self.file)) if file else ()
        return Verified(
            kschedpatch(self.cluster, "verify", *given, *self._nodes, "-o", "json", *words)
        )

    def rollback(self, *words: str) -> Said:
        given = ("rollback", *self._nodes, "--yes", "--settle", "1", "--to", "original")
        said = kschedpatch(self.cluster, *given, *words)
        assert said.code == 0, said.err + said.out
        return said


@contextmanager
def pod(cluster: Cluster, name: str, **rest: Any) -> Iterator[Object]:
    """A pod for the nodes that exist in the API only; gives it as it is once it is bound."""
    metadata = {"name": name, **rest.pop("metadata", {})}
    container = {"name": "c", "image": _PAUSE, "resources": rest.pop("resources", {})}
    spec = {
        "nodeSelector": {LABEL: "true"},
        "terminationGracePeriodSeconds": 0,
        "containers": [container],
        **rest,
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    cluster.api.create(PODS, body)
    try:
        yield wait_for(f"a node for {name}", lambda: bound(cluster, name), 60, 0.3)
    finally:
        cluster.api.delete(named(PODS, name), grace=0)


def bound(cluster: Cluster, name: str) -> Object | None:
    found = cluster.api.get(named(PODS, name))
    return found if found["spec"].get("nodeName") else None


def scheduled_by(cluster: Cluster, name: str) -> str:
    """Who says that he has bound the pod."""

    def event() -> str | None:
        path = "/apis/events.k8s.io/v1/namespaces/default/events?fieldSelector=reason%3DScheduled"
        for item in cluster.api.get(path)["items"]:
            if item["regarding"]["name"] == name:
                return str(item["reportingController"])
        return None

    return wait_for(f"the event of {name}", event, 30, 0.3)


def node_of(body: Object) -> str:
    return str(body["spec"]["nodeName"])
