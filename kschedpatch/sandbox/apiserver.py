"""The simulated API server that the nodes of a sandbox share: objects by kind and name."""

from __future__ import annotations

import copy
import itertools
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from kschedpatch.sandbox import serverside

Object = dict[str, Any]


class Kind(NamedTuple):
    name: str
    plural: str
    group: str
    is_namespaced: bool = True

    @property
    def full(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


_KINDS = [
    Kind("Pod", "pods", ""),
    Kind("Node", "nodes", "", is_namespaced=False),
    Kind("Namespace", "namespaces", "", is_namespaced=False),
    Kind("Service", "services", ""),
    Kind("ServiceAccount", "serviceaccounts", ""),
    Kind("ConfigMap", "configmaps", ""),
    Kind("Secret", "secrets", ""),
    Kind("Event", "events", ""),
    Kind("Deployment", "deployments", "apps"),
    Kind("ReplicaSet", "replicasets", "apps"),
    Kind("DaemonSet", "daemonsets", "apps"),
    Kind("StatefulSet", "statefulsets", "apps"),
    Kind("Job", "jobs", "batch"),
    Kind("CronJob", "cronjobs", "batch"),
    Kind("PersistentVolumeClaim", "persistentvolumeclaims", ""),
    Kind("EndpointSlice", "endpointslices", "discovery.k8s.io"),
    Kind("Lease", "leases", "coordination.k8s.io"),
    Kind("Role", "roles", "rbac.authorization.k8s.io"),
    Kind("RoleBinding", "rolebindings", "rbac.authorization.k8s.io"),
    Kind("ClusterRole", "clusterroles", "rbac.authorization.k8s.io", is_namespaced=False),
    Kind(
        "ClusterRoleBinding",
        "clusterrolebindings",
        "rbac.authorization.k8s.io",
        is_namespaced=False,
    ),
    Kind(
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "apiextensions.k8s.io",
        is_namespaced=False,
    ),
    Kind("PriorityClass", "priorityclasses", "scheduling.k8s.io", is_namespaced=False),
]


class ApiError(Exception):
    """What the server answers instead: a reason (NotFound, Conflict, …) and its words."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def kind_called(word: str) -> Kind:
    """A kind as kubectl lets people call it: Pod, pods, leases.coordination.k8s.io."""
    plain = word.lower().split(".")[0]
    for kind in _KINDS:
        if plain in {kind.name.lower(), kind.plural}:
            return kind
    short = {"po": "pods", "no": "nodes", "cm": "configmaps", "sa": "serviceaccounts"}
    short |= {"ns": "namespaces", "deploy": "deployments", "crd": "customresourcedefinitions"}
    if plain in short:
        return kind_called(short[plain])
    return Kind(word, plain if plain.endswith("s") else plain + "s", word.partition(".")[2])


class ApiServer:
    def __init__(self) -> None:
        self.is_up = True
        self._objects: dict[tuple[str, str, str], Object] = {}
        self._versions = itertools.count(1000)
        self._applied: dict[tuple[str, str, str], Object] = {}
        """What was applied server-side last: what is not in the next one goes."""
        self._owned: dict[tuple[str, str, str], dict[str, set[serverside.Path]]] = {}

    def knows(self, api_version: str, kind: str) -> bool:
        """A kind of its own, or one that a definition has brought."""
        group = api_version.rpartition("/")[0]
        if any(known.name == kind and known.group == group for known in _KINDS):
            return True
        return any(
            (item["spec"]["group"], item["spec"]["names"]["kind"]) == (group, kind)
            for item in self.all("CustomResourceDefinition")
        )

    def get(self, kind: str, name: str, namespace: str = "") -> Object:
        found = self._objects.get(self._key(kind, name, namespace))
        if found is None:
            raise ApiError("NotFound", f'{kind_called(kind).full} "{name}" not found')
        return copy.deepcopy(found)

    def find(self, kind: str, name: str, namespace: str = "") -> Object | None:
        found = self._objects.get(self._key(kind, name, namespace))
        return copy.deepcopy(found) if found is not None else None

    def all(self, kind: str, namespace: str | None = None) -> Iterator[Object]:
        plural = kind_called(kind).plural
        for (found, space, _), item in sorted(self._objects.items()):
            if found == plural and namespace in (None, space):
                yield copy.deepcopy(item)

    def create(self, item: Object) -> Object:
        kind, name, namespace = _identity(item)
        if self.find(kind, name, namespace) is not None:
            raise ApiError("AlreadyExists", f'{kind_called(kind).full} "{name}" already exists')
        return self._store(item, None)

    def replace(self, item: Object, manager: str = "kubectl-edit") -> Object:
        """As an update: the resourceVersion, where it is given, must be the present one."""
        present = self.get(*_identity(item))
        _guard(item, present)
        kept = {"status": present["status"]} if "status" in present else {}
        return self._store({**kept, **item}, present, manager)

    def patch(self, kind: str, name: str, namespace: str, patch: Object) -> bool:
        """A merge patch, with the same guard; whether it changed anything."""
        present = self.get(kind, name, namespace)
        _guard(patch, present)
        wanted = _patched(present, patch)
        if wanted == present:
            return False
        self._store(wanted, present)
        return True

    def apply(self, item: Object) -> tuple[Object, str]:
        """The object and what became of it: created, configured or unchanged."""
        kind, name, namespace = _identity(item)
        present = self.find(kind, name, namespace)
        if present is None:
            return self._store(item, None), "created"
        merged = _merged(present, item)
        if merged == present:
            return present, "unchanged"
        return self._store(merged, present), "configured"

    def apply_server_side(
        self, item: Object, manager: str, *, dry: bool = False, force: bool = True
    ) -> Object:
        """What the last one of this manager had, and this one has not, goes. What others have set
        to something else is taken by force only."""
        kind, name, namespace = _identity(item)
        key = self._key(kind, name, namespace)
        space = namespace or "default"
        if kind_called(kind).is_namespaced and self.find("Namespace", space) is None:
            raise ApiError("NotFound", f'namespaces "{space}" not found')
        present = self.find(kind, name, namespace)
        former = self._applied.get(key, {})
        if not force:
            self._refuse_conflicts(key, present or {}, item, manager)
        wanted: Object = serverside.merged(serverside.without(present or {}, former, item), item)
        if kind == "ClusterRoleBinding" and present and present["roleRef"] != wanted["roleRef"]:
            words = f'ClusterRoleBinding "{name}" is invalid: roleRef: cannot change roleRef'
            raise ApiError("Invalid", words)
        if dry:
            return wanted
        self._applied[key] = copy.deepcopy(item)
        if present is not None and present == wanted:
            return present
        return self._store(wanted, present, manager)

    def _refuse_conflicts(
        self, key: tuple[str, str, str], present: Object, item: Object, manager: str
    ) -> None:
        there = serverside.leaves(present)
        others: dict[str, list[serverside.Path]] = {}
        for path, value in serverside.leaves(item).items():
            if path in there and there[path] != value:
                for owner, paths in self._owned.get(key, {}).items():
                    if owner != manager and path in paths:
                        others.setdefault(owner, []).append(path)
        if others:
            raise ApiError("Conflict", serverside.told(others))

    def delete(self, kind: str, name: str, namespace: str = "") -> None:
        key = self._key(kind, name, namespace)
        if self._objects.pop(key, None) is None:
            raise ApiError("NotFound", f'{kind_called(kind).full} "{name}" not found')
        self._applied.pop(key, None)
        self._owned.pop(key, None)
        if key[0] == "namespaces":
            self._objects = {k: item for k, item in self._objects.items() if k[1] != name}

    def _store(self, item: Object, present: Object | None, manager: str = "kubectl-edit") -> Object:
        kind, name, namespace = _identity(item)
        stored = copy.deepcopy(item)
        metadata = stored["metadata"]
        former = (present or {}).get("metadata", {})
        metadata["uid"] = former.get("uid") or str(uuid.uuid4())
        metadata["resourceVersion"] = str(next(self._versions))
        created = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        metadata["creationTimestamp"] = former.get("creationTimestamp") or created
        if kind_called(kind).is_namespaced:
            metadata["namespace"] = namespace or "default"
        if present is None or _content(stored) != _content(present):
            metadata["generation"] = former.get("generation", 0) + 1
            others = [e for e in former.get("managedFields") or () if e["manager"] != manager]
            entry: Object = {"manager": manager, "operation": "Update"}
            owned = self._taken(stored, present, manager)
            entry["fieldsV1"] = serverside.tree(owned[manager])
            for other in others:
                other["fieldsV1"] = serverside.tree(owned.get(other["manager"], set()))
            entry["time"] = metadata["resourceVersion"]  # a stamp that no second write shares
            metadata["managedFields"] = [*others, entry]
        else:
            for own in ("generation", "managedFields"):
                if own in former:
                    metadata[own] = former[own]
        self._objects[self._key(kind, name, namespace)] = stored
        return copy.deepcopy(stored)

    def _taken(
        self, stored: Object, present: Object | None, manager: str
    ) -> dict[str, set[serverside.Path]]:
        """What a writer has changed is his from then on, and nobody else's."""
        before = serverside.leaves(_content(present)) if present is not None else {}
        now = serverside.leaves(_content(stored))
        changed = {path for path, value in now.items() if before.get(path, now) != value}
        owned = self._owned.setdefault(self._key(*_identity(stored)), {})
        for paths in owned.values():
            paths.difference_update(changed)
        owned[manager] = (owned.get(manager, set()) & now.keys()) | changed
        return owned

    @staticmethod
    def _key(kind: str, name: str, namespace: str) -> tuple[str, str, str]:
        found = kind_called(kind)
        return found.plural, (namespace or "default") if found.is_namespaced else "", name


def _identity(item: Object) -> tuple[str, str, str]:
    metadata = item.get("metadata") or {}
    return str(item.get("kind")), str(metadata.get("name", "")), metadata.get("namespace") or ""


def _content(item: Object) -> Object:
    """What people write: neither status nor what the server counts."""
    own = {"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"}
    metadata = {key: value for key, value in item["metadata"].items() if key not in own}
    return {**{k: v for k, v in item.items() if k != "status"}, "metadata": metadata}


def _guard(item: Object, present: Object) -> None:
    given = (item.get("metadata") or {}).get("resourceVersion")
    if given in (None, "", present["metadata"]["resourceVersion"]):
        return
    kind, name, _ = _identity(present)
    raise ApiError(
        "Conflict",
        f'Operation cannot be fulfilled on {kind_called(kind).full} "{name}": the object '
        "has been modified; please apply your changes to the latest version and try again",
    )


def _patched(present: Any, patch: Any) -> Any:
    """RFC 7386: what is null goes, what is no object replaces."""
    if not isinstance(patch, dict):
        return copy.deepcopy(patch)
    found = dict(present) if isinstance(present, dict) else {}
    for key, value in patch.items():
        if value is None:
            found.pop(key, None)
        else:
            found[key] = _patched(found.get(key), value)
    return found


def _merged(present: Any, wanted: Any) -> Any:
    if isinstance(present, dict) and isinstance(wanted, dict):
        return {
            **present,
            **{key: _merged(present.get(key), value) for key, value in wanted.items()},
        }
    return copy.deepcopy(wanted)
