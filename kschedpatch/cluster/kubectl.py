"""kubectl on a control-plane node: the few calls that the roll-out makes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kschedpatch.core.rbac.objects import MANAGED_BY, PATCH_LABEL
from kschedpatch.node.agent import Agent

Object = dict[str, Any]


class ApiRefused(Exception):
    """kubectl's own words."""


class Kubectl:
    def __init__(self, agent: Agent) -> None:
        self._agent = agent

    def _run(self, words: Sequence[str], body: Object | None = None, *, timeout: int = 10) -> bytes:
        stdin = None if body is None else json.dumps(body).encode()
        answer = self._agent.api(words, stdin, timeout)
        if answer.code != 0:
            raise ApiRefused(answer.err.strip() or f"kubectl ended with code {answer.code}")
        return answer.out

    def get(self, kind: str, name: str, namespace: str | None = None) -> Object | None:
        where = ["-n", namespace] if namespace else []
        out = self._run([*where, "get", kind, name, "-o", "json", "--ignore-not-found"])
        if not out.strip():
            return None
        value = json.loads(out)
        return value if isinstance(value, dict) else None

    def pods_of(self, node: str) -> list[Object]:
        chosen = f"--field-selector=spec.nodeName={node}"
        items = json.loads(self._run(["get", "pods", "--all-namespaces", chosen, "-o", "json"]))
        return list(items.get("items") or ())

    def apply(self, body: Object) -> None:
        self._run(["apply", "-f", "-"], body)

    def create(self, body: Object) -> None:
        self._run(["create", "-f", "-"], body)

    def replace(self, body: Object) -> None:
        """Refused by the API server when the object changed since it was read."""
        self._run(["replace", "-f", "-"], body)

    def delete(self, body: Object) -> None:
        self._run(["delete", "-f", "-", "--ignore-not-found", "--wait=false"], body)

    def delete_labelled(self, patches: Sequence[str]) -> None:
        """The RBAC objects that these patches brought."""
        chosen = f"{MANAGED_BY}=kschedpatch,{PATCH_LABEL} in ({','.join(patches)})"
        kinds = "clusterrolebinding,rolebinding,clusterrole,role"
        self._run(["delete", kinds, "--all-namespaces", "-l", chosen, "--ignore-not-found"])
