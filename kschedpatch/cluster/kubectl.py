"""kubectl, on a control-plane node or here: the few calls that the roll-out makes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from kschedpatch.core.objects.marks import MANAGER
from kschedpatch.model.clusterplan import Object
from kschedpatch.node.agent import Answer, VerbFailed
from kschedpatch.node.errors import NodeError

_UNKNOWN = re.compile(r'no matches for kind "([^"]+)" in version "([^"]+)"')
#: Of calls for many objects.
_MANY = 40
_LOG = 1 << 20


class ApiRefused(Exception):
    """kubectl's own words."""


#: How a call may end that did not do what was asked; of a cut one nobody knows whether it did.
UNANSWERED = (ApiRefused, NodeError, VerbFailed)


class Api(Protocol):
    """A way to run kubectl: on a control-plane node, or the operator's own."""

    def api(
        self, words: Sequence[str], stdin: bytes | None = None, timeout: int = 10
    ) -> Answer: ...


class Found(NamedTuple):
    items: tuple[Object, ...]
    unknown: frozenset[tuple[str, str]] = frozenset()
    """apiVersion and kind of what the API server does not know."""


class Kubectl:
    def __init__(self, api: Api) -> None:
        self._api = api

    def _run(self, words: Sequence[str], body: Object | None = None, *, timeout: int = 10) -> bytes:
        stdin = None if body is None else json.dumps(body).encode()
        answer = self._api.api(words, stdin, timeout)
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

    def labelled_pods(self, selector: str) -> list[Object]:
        words = ["get", "pods", "--all-namespaces", "-l", selector, "-o", "json"]
        items = json.loads(self._run(words))
        return list(items.get("items") or ())

    def delete_pods(self, selector: str) -> None:
        words = ["delete", "pods", "--all-namespaces", "-l", selector]
        self._run([*words, "--ignore-not-found", "--wait=false"])

    def events_of(self, namespace: str, pod: str, reason: str) -> list[Object]:
        chosen = f"--field-selector=involvedObject.name={pod},reason={reason}"
        items = json.loads(self._run(["-n", namespace, "get", "events", chosen, "-o", "json"]))
        return list(items.get("items") or ())

    def columns(self, kind: str, *paths: str, everywhere: bool = False) -> list[list[str]]:
        """A few fields of every object of a kind: whole ones of a large cluster are too much."""
        row = '{"\\t"}'.join(f"{{{path}}}" for path in paths)
        template = f'jsonpath={{range .items[*]}}{row}{{"\\n"}}{{end}}'
        where = ["--all-namespaces"] if everywhere else []
        out = self._run(["get", kind, *where, "-o", template]).decode("utf-8", "replace")
        return [line.split("\t") for line in out.splitlines() if line]

    def created(self, bodies: Sequence[Object]) -> list[Object]:
        """Creates all of them in one call, and returns what the API server made of them."""
        words = ["create", "-f", "-", "-o", "json"]
        return list(_items(self._run(words, as_list(bodies), timeout=_MANY)))

    def create(self, body: Object) -> None:
        self._run(["create", "-f", "-"], body)

    def replace(self, body: Object) -> None:
        """Refused by the API server when the object changed since it was read."""
        self._run(["replace", "-f", "-"], body)

    def delete(self, body: Object) -> None:
        self._run(["delete", "-f", "-", "--ignore-not-found", "--wait=false"], body)

    # Many objects with one call.

    def get_all(self, refs: Iterable[Object]) -> Found:
        """What there is of these; kinds that the API server does not know are told as such."""
        body = as_list(refs)
        if not body["items"]:
            return Found(())
        words = ["get", "-f", "-", "-o", "json", "--ignore-not-found", "--show-managed-fields"]
        answer = self._api.api(words, json.dumps(body).encode(), _MANY)
        unknown = frozenset((version, kind) for kind, version in _UNKNOWN.findall(answer.err))
        if answer.code != 0 and not unknown:
            raise ApiRefused(answer.err.strip() or f"kubectl ended with code {answer.code}")
        items = _items(answer.out)
        if not unknown:
            return Found(items)
        # Whether what it did find is shown beside such an error differs from version to version.
        known = [ref for ref in body["items"] if (ref["apiVersion"], ref["kind"]) not in unknown]
        rest = self.get_all(known)
        return Found(rest.items, unknown | rest.unknown)

    def server_version(self) -> str:
        """``v1.34.2``; empty where it does not say."""
        value = json.loads(self._run(["version", "-o", "json"]))
        told = value.get("serverVersion") if isinstance(value, dict) else None
        return str(told.get("gitVersion") or "") if isinstance(told, dict) else ""

    def last_lines(self, namespace: str, pod: str, container: str) -> tuple[str, ...]:
        """Of a container that has ended, else of the one that runs."""
        for more in (("--previous", "--tail=40"), ("--tail=40",)):
            try:
                return self.log(namespace, pod, container, *more)
            except ApiRefused:
                continue
        return ()

    def log(self, namespace: str, pod: str, container: str, *which: str) -> tuple[str, ...]:
        words = ["-n", namespace, "logs", pod, "-c", container, *which, f"--limit-bytes={_LOG}"]
        text = self._run(words, timeout=_MANY).decode("utf-8", "replace")
        return tuple(line[:1000] for line in text.splitlines())

    def apply_all(
        self, bodies: Sequence[Object], *, dry: bool = False, force: bool = True
    ) -> tuple[Object, ...]:
        """By server-side apply: what a former version of ours had and this one has not goes, and
        no copy of the object is kept in an annotation (too long for large definitions, and no
        place for a Secret). ``force``: also fields that others have set. The objects as they are
        then."""
        words = ["apply", "-f", "-", "-o", "json", "--show-managed-fields", "--server-side"]
        words += ["--force-conflicts"] if force else []
        words += [f"--field-manager={MANAGER}"]
        words += ["--dry-run=server"] if dry else []
        return _items(self._run(words, as_list(bodies), timeout=_MANY))

    def replace_all(self, bodies: Sequence[Object]) -> None:
        """In our name, so that it does not look like somebody else's change."""
        words = ["replace", "-f", "-", f"--field-manager={MANAGER}"]
        self._run(words, as_list(bodies), timeout=_MANY)

    def delete_all(self, refs: Sequence[Object]) -> None:
        words = ["delete", "-f", "-", "--ignore-not-found", "--wait=false"]
        self._run(words, as_list(refs), timeout=_MANY)

    def listed(self, kinds: str, namespace: str = "", *chosen: str) -> tuple[Object, ...]:
        where = ["-n", namespace] if namespace else ["--all-namespaces"]
        # Behind the verb: --all-namespaces is a flag of `get`, and kubectl takes none before that.
        return _items(self._run(["get", kinds, *where, *chosen, "-o", "json"]))

    def names(self, kinds: str, namespace: str) -> tuple[str, ...]:
        out = self._run(["-n", namespace, "get", kinds, "-o", "name"], timeout=_MANY)
        return tuple(out.decode("utf-8", "replace").split())


def as_list(items: Iterable[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "items": list(items)}


def _items(out: bytes) -> tuple[Object, ...]:
    """kubectl shows one object as itself, and several as a List or one behind the other."""
    text, at, decoder = out.decode("utf-8", "replace").strip(), 0, json.JSONDecoder()
    found: list[Object] = []
    while at < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except ValueError:
            raise ApiRefused("kubectl's answer is no JSON") from None
        is_list = isinstance(value, dict) and value.get("kind") == "List"
        items = value.get("items") or () if is_list else (value,)
        found += (item for item in items if isinstance(item, dict))
        at += len(text[at:]) - len(text[at:].lstrip())
    return tuple(found)
