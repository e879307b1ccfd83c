"""Schedulers that run as pods of a Deployment: whether they take their configuration, what their
ServiceAccount may do, and which of them hold a lease."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.deployment.served import config_source, lease_of, names_of, text_in
from kschedpatch.core.manifest.document import scheduler_index
from kschedpatch.core.manifest.flags import effective
from kschedpatch.sandbox.apiserver import ApiServer, Object
from kschedpatch.sandbox.configverdict import Verdict, verdict

_LEASES = "coordination.k8s.io"


class Running(NamedTuple):
    """What becomes of a scheduler's pod."""

    problem: Verdict | None
    """It ends with this."""
    ready: bool


class SecondSchedulers:
    def __init__(self, api: ApiServer, minor: int) -> None:
        self._api = api
        self._minor = minor
        self._leading: dict[str, tuple[str, tuple[str, ...]]] = {}
        """Lease → the pod that holds it, and the names that it serves."""

    def serving(self, scheduler: str) -> str:
        """The pod that schedules for this name; empty where none does."""
        return next((pod for pod, names in self._leading.values() if scheduler in names), "")

    def forget(self, alive: set[str]) -> None:
        """Pods that are gone give their leases back."""
        self._leading = {lease: v for lease, v in self._leading.items() if v[0] in alive}

    def run(self, pod: Object) -> Running | None:
        """None: it is no scheduler."""
        spec = pod["spec"]
        index = scheduler_index({"spec": spec})
        if index is None:
            return None
        container = spec["containers"][index]
        flags = effective(container)
        text = self._config(pod)
        # Of a mirror, too: only who builds one of his own gives it another name.
        stock = str(container.get("image")).rpartition("/")[2].startswith("kube-scheduler:")
        said = verdict(flags, self._minor, stock=stock, read=lambda _: text, in_cluster=True)
        if said.problem:
            return Running(said, ready=False)
        account = str(spec.get("serviceAccountName") or "default")
        # Without rights it waits for its caches for ever, alive and never ready.
        if not self._may_schedule(account, pod["metadata"]["namespace"]):
            return Running(None, ready=False)
        self._lead(pod, lease_of(said.config, flags), names_of(said.config), account)
        return Running(None, ready=True)

    def _config(self, pod: Object) -> bytes | None:
        source = config_source(pod["spec"])
        if source is None:
            return None
        held = self._api.find("ConfigMap", source[0], pod["metadata"]["namespace"])
        return text_in(held, source[1])

    def _may_schedule(self, account: str, namespace: str) -> bool:
        return any(
            role["name"] == "system:kube-scheduler"
            for role in self._roles("ClusterRoleBinding", account, namespace)
        )

    def _roles(self, kind: str, account: str, namespace: str) -> Iterator[dict[str, Any]]:
        for item in self._api.all(kind):
            for subject in item.get("subjects") or ():
                if (subject.get("name"), subject.get("namespace")) == (account, namespace):
                    yield {**item["roleRef"], "in": item["metadata"].get("namespace", "")}

    def _lead(self, pod: Object, lease: str, names: tuple[str, ...], account: str) -> None:
        metadata = pod["metadata"]
        if not lease:
            self._leading.setdefault(f"no lease of {metadata['name']}", (metadata["name"], names))
            return
        space, _, name = lease.partition("/")
        if lease in self._leading or not self._may_hold(account, metadata["namespace"], lease):
            return
        if self._api.find("Namespace", space) is None:
            return
        self._leading[lease] = (metadata["name"], names)
        body = {
            "apiVersion": f"{_LEASES}/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": space},
            "spec": {"holderIdentity": f"{metadata['name']}_{metadata['uid']}"},
        }
        self._api.apply(body)

    def _may_hold(self, account: str, namespace: str, lease: str) -> bool:
        space, _, name = lease.partition("/")
        for role in self._roles("RoleBinding", account, namespace):
            body = self._api.find("Role", role["name"], role["in"]) if role["in"] == space else None
            for rule in (body or {}).get("rules") or ():
                on_lease = "leases" in rule["resources"] and "update" in rule["verbs"]
                if on_lease and name in rule.get("resourceNames", ()):
                    return True
        return name == "kube-scheduler"
