"""kubectl of a sandbox: the verbs that the tool uses, on the simulated API server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.sandbox.apiserver import ApiError, ApiServer, Object, kind_called
from kschedpatch.sandbox.jsonpath import expand
from kschedpatch.sandbox.requests import Reply

_WITH_VALUE = frozenset(
    """-n --namespace -o --output -f --filename -l --selector -p --patch --type --as --as-group
    --timeout --for --raw --kubeconfig --request-timeout --cache-dir --field-manager --context
    --field-selector --subresource --dry-run -c --container""".split()
)
_OF_EVERY_VERB = frozenset(
    "-n --namespace --as --as-group --kubeconfig --request-timeout --cache-dir --context".split()
)


class Call(NamedTuple):
    words: tuple[str, ...]
    options: dict[str, str]

    def option(self, *names: str, default: str = "") -> str:
        return next((self.options[name] for name in names if name in self.options), default)


def parse(arguments: Iterable[str]) -> Call:
    words: list[str] = []
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, equals, value = word.partition("=")
        if not equals and name in _WITH_VALUE and rest:
            value = rest.pop(0)
        options[name] = value if equals or name in _WITH_VALUE else "true"
    return Call(tuple(words), options)


def _flag_before_verb(arguments: Iterable[str]) -> str:
    """Before the verb the real one takes only flags that every verb has."""
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if not word.startswith("-"):
            return ""
        if name not in _OF_EVERY_VERB:
            return word
        if not equals:
            next(words, "")
    return ""


class Kubectl:
    def __init__(self, api: ApiServer) -> None:
        self._api = api
        self.denied: set[tuple[str, str]] = set()
        """(verb, resource) pairs that ``auth can-i`` answers with no."""
        self.reviews = 0
        self.version = "v1.34.2"
        self.logs: dict[tuple[str, str], tuple[str, ...]] = {}
        """Lines by namespace and name of a pod."""
        self.calls: list[tuple[str, ...]] = []

    def run(self, arguments: tuple[str, ...], stdin: bytes) -> Reply:
        self.calls.append(arguments)
        call = parse(arguments)
        early = _flag_before_verb(arguments)
        if early:
            return Reply(1, "", f"Error: flags cannot be placed before plugin name: {early}\n")
        verb = call.words[0] if call.words else ""
        if verb == "version" and call.options.get("--client"):
            return Reply(0, "Client Version: simulated\n")
        if not self._api.is_up:
            text = "The connection to the server 10.0.0.11:6443 was refused"
            return Reply(1, "", f"{text} - did you specify the right host or port?\n", delay=0.1)
        try:
            return self._verb(verb, call, stdin)
        except ApiError as error:
            if error.reason == "NotFound" and call.options.get("--ignore-not-found"):
                return Reply(0, "", "")
            return Reply(1, "", f"Error from server ({error.reason}): {error}\n")

    def _verb(self, verb: str, call: Call, stdin: bytes) -> Reply:
        if verb == "get":
            return self._get(call, stdin)
        if verb in {"apply", "create", "replace"}:
            return self._write(verb, call, stdin)
        if verb == "delete":
            return self._delete(call, stdin)
        if verb == "patch":
            return self._patch(call)
        if verb == "auth":
            asked = (call.words[2], call.words[3].split("/")[0].split(".")[0])
            return Reply(1, "no\n") if asked in self.denied else Reply(0, "yes\n")
        if verb == "version":
            return Reply(0, json.dumps({"serverVersion": {"gitVersion": self.version}}) + "\n")
        if verb == "logs":
            return self._logs(call)
        if verb in {"wait", "rollout", "api-resources", "label", "annotate"}:
            return Reply(0)
        return Reply(1, "", f'error: unknown command "{verb}" for "kubectl"\n')

    def _logs(self, call: Call) -> Reply:
        namespace, name = call.option("-n", "--namespace", default="default"), call.words[1]
        self._api.get("Pod", name, namespace)
        return Reply(0, "".join(f"{line}\n" for line in self.logs.get((namespace, name), ())))

    def _get_named_in_file(self, call: Call, stdin: bytes) -> Reply:
        found, unknown = [], []
        for item in _objects(stdin):
            if not self._api.knows(str(item["apiVersion"]), str(item["kind"])):
                unknown.append(_no_match(item))
                continue
            metadata = item["metadata"]
            there = self._api.find(item["kind"], metadata["name"], metadata.get("namespace", ""))
            if there is not None:
                found.append(there)
        shown = _shown(found[0] if len(found) == 1 else _list(found), found, call) if found else ""
        return Reply(1 if unknown else 0, shown, "".join(unknown))

    def _get(self, call: Call, stdin: bytes) -> Reply:
        if call.option("-f", "--filename"):
            return self._get_named_in_file(call, stdin)
        raw = call.option("--raw")
        if raw:
            return self._raw(raw)
        namespace: str | None = call.option("-n", "--namespace", default="default")
        if call.options.get("-A") or call.options.get("--all-namespaces"):
            namespace = None
        kind, _, name = call.words[1].partition("/")
        names = ([name] if name else []) + list(call.words[2:])
        if names:
            items = []
            for wanted in names:
                try:
                    items.append(self._api.get(kind, wanted, namespace or ""))
                except ApiError:
                    if not call.options.get("--ignore-not-found"):
                        raise
            if not items:
                return Reply(0)
            shown: Any = items[0] if len(names) == 1 else _list(items)
            return Reply(0, _shown(shown, items, call))
        items = []
        for one in kind.split(","):
            within = namespace if kind_called(one).is_namespaced else None
            items += self._api.all(one, within)
        selector = call.option("-l", "--selector")
        items = [item for item in items if _selected(item, selector)]
        items = [item for item in items if _field(item, call.option("--field-selector"))]
        return Reply(0, _shown(_list(items), items, call))

    def _raw(self, path: str) -> Reply:
        if re.fullmatch(r"/(livez|readyz|healthz)(\?.*)?", path):
            return Reply(0, "ok")
        match = re.fullmatch(
            r"/apis?/.*?(?:namespaces/([^/]+)/)?([a-z]+)/([^/]+)", path.partition("?")[0]
        )
        if match is None:
            raise ApiError("NotFound", "the server could not find the requested resource")
        found = self._api.get(match[2], match[3], match[1] or "")
        return Reply(0, json.dumps(found) + "\n")

    def _write(self, verb: str, call: Call, stdin: bytes) -> Reply:
        lines, shown = [], []
        for item in _objects(stdin):
            if item.get("kind") == "SubjectAccessReview":
                shown.append(self._reviewed(item))
                continue
            namespace = call.option("-n", "--namespace")
            if namespace:
                item["metadata"].setdefault("namespace", namespace)
            kind_of = (str(item.get("apiVersion")), str(item.get("kind")))
            dry = call.option("--dry-run") in {"server", "client", "true"}
            manager = call.option("--field-manager", default=f"kubectl-{verb}")
            if call.options.get("--server-side"):
                if not self._api.knows(*kind_of):
                    return Reply(1, "", _no_match(item))
                force = bool(call.options.get("--force-conflicts"))
                result = self._api.apply_server_side(item, manager, dry=dry, force=force)
                done = "serverside-applied"
            elif dry:
                result, done = item, f"{verb} (server dry run)"
            elif verb == "create":
                result, done = self._api.create(item), "created"
            elif verb == "replace":
                result, done = self._api.replace(item, manager), "replaced"
            else:
                result, done = self._api.apply(item)
            kind = kind_called(str(item["kind"]))
            lines.append(f"{kind.name.lower()}/{item['metadata']['name']} {done}\n")
            shown.append(result)
        if verb == "create" and call.option("-o", "--output") == "json":
            # One document behind the other, as the real one writes them.
            return Reply(0, "".join(json.dumps(item, indent=4) + "\n" for item in shown))
        if call.option("-o", "--output"):
            return Reply(0, _shown(shown[0] if len(shown) == 1 else _list(shown), shown, call))
        return Reply(0, "".join(lines))

    def _reviewed(self, item: Object) -> Object:
        asked = item["spec"].get("resourceAttributes") or {}
        allowed = (asked.get("verb"), asked.get("resource")) not in self.denied
        self.reviews += 1
        return {**item, "status": {"allowed": allowed}}

    def _delete(self, call: Call, stdin: bytes) -> Reply:
        lines = []
        targets = [
            (str(item["kind"]), item["metadata"]["name"], item["metadata"].get("namespace", ""))
            for item in (_objects(stdin) if call.option("-f", "--filename") else ())
        ]
        if not targets:
            kind, _, name = call.words[1].partition("/")
            names = ([name] if name else []) + list(call.words[2:])
            targets = [(kind, n, call.option("-n", "--namespace")) for n in names]
        if call.option("-l", "--selector"):
            targets = self._labelled(call)
        for kind, name, namespace in targets:
            try:
                self._api.delete(kind, name, namespace or call.option("-n", "--namespace"))
            except ApiError:
                if not call.options.get("--ignore-not-found"):
                    raise
                continue
            lines.append(f'{kind_called(kind).name.lower()} "{name}" deleted\n')
        return Reply(0, "".join(lines))

    def _labelled(self, call: Call) -> list[tuple[str, str, str]]:
        """In all namespaces, as the tool asks for it."""
        return [
            (kind, item["metadata"]["name"], item["metadata"].get("namespace", ""))
            for kind in call.words[1].split(",")
            for item in self._api.all(kind)
            if _selected(item, call.option("-l", "--selector"))
        ]

    def _patch(self, call: Call) -> Reply:
        kind, _, name = call.words[1].partition("/")
        name = name or call.words[2]
        if call.option("--type") == "json":
            return Reply(1, "", "error: the sandbox knows merge patches only\n")
        patch = json.loads(call.option("-p", "--patch"))
        changed = self._api.patch(kind, name, call.option("-n", "--namespace"), patch)
        done = "patched" if changed else "patched (no change)"
        return Reply(0, f"{kind_called(kind).name.lower()}/{name} {done}\n")


def _no_match(item: Object) -> str:
    kind, version = item.get("kind"), item.get("apiVersion")
    return (
        f'error: resource mapping not found: no matches for kind "{kind}" in version "{version}"\n'
    )


def _list(items: list[Object]) -> Object:
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def _shown(value: Any, items: list[Object], call: Call) -> str:
    output = call.option("-o", "--output")
    if output == "name":
        return "".join(f"{_resource(i)}/{i['metadata']['name']}\n" for i in items)
    if output.startswith("jsonpath="):
        return expand(output.removeprefix("jsonpath="), value)
    if output in {"json", "yaml"}:
        return json.dumps(value) + "\n"
    return "".join(f"{item['metadata']['name']}\n" for item in items)


def _resource(item: Object) -> str:
    kind = kind_called(str(item["kind"]))
    return f"{kind.name.lower()}.{kind.group}" if kind.group else kind.name.lower()


def _selected(item: Object, selector: str) -> bool:
    labels = item.get("metadata", {}).get("labels") or {}
    for part in filter(None, re.split(r",(?![^(]*\))", selector)):
        chosen = re.fullmatch(r"(\S+) in \((.*)\)", part)
        if chosen is not None:
            if labels.get(chosen[1]) not in chosen[2].split(","):
                return False
            continue
        key, equals, value = part.replace("==", "=").partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    return True


def _field(item: Object, selector: str) -> bool:
    for part in filter(None, selector.split(",")):
        path, _, value = part.replace("==", "=").partition("=")
        found: Any = item
        for step in path.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if str(found) != value:
            return False
    return True


def _objects(stdin: bytes) -> list[Object]:
    reading = read(stdin, max_bytes=1 << 20, max_nodes=50_000)
    found: list[Object] = []
    for document in reading.documents:
        value = value_of(document)
        if isinstance(value, dict) and value.get("kind") == "List":
            found += value.get("items") or []
        elif isinstance(value, dict):
            found.append(value)
    if not found:
        raise ApiError("BadRequest", "error: no objects passed to apply")
    return found
