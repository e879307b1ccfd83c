"""Reads a SchedulerPatch: every mistake of the file at once, each with its line and column."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from kschedpatch.core.yamltext.nodes import Mapping, value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import read
from kschedpatch.inputs.targetrules import target_findings
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path, has_errors
from kschedpatch.model.patch import API_VERSION, KIND, SchedulerPatch


class PatchReading(NamedTuple):
    patch: SchedulerPatch | None
    places: Places
    findings: tuple[Finding, ...]


def read_patch(data: bytes, file: str) -> PatchReading:
    reading = read(data)
    findings = [finding.in_file(file) for finding in reading.findings]
    root = reading.documents[0] if reading.documents else None
    places = Places(file, root)
    if root is None:
        if not has_errors(findings):
            findings.append(found("Y014", "the file is empty", file=file))
        return PatchReading(None, places, tuple(findings))
    if len(reading.documents) > 1:
        line = reading.documents[1].line + 1
        findings.append(found("Y013", "a second document", file=file, line=line))
    if not isinstance(root, Mapping):
        findings.append(places.at("Y016", (), "a SchedulerPatch is a mapping"))
        return PatchReading(None, places, tuple(findings))
    patch, problems = check_patch(value_of(root), places)
    return PatchReading(patch, places, (*findings, *problems))


def check_patch(
    value: dict[str, Any], places: Places
) -> tuple[SchedulerPatch | None, tuple[Finding, ...]]:
    """The patch that a plain value describes, or everything that is wrong with it."""
    other = _other_kind(value, places)
    if other is not None:
        return None, (other,)
    findings = list(_combinations(value, places))
    patch = None
    try:
        # Through JSON, because pydantic's strict mode takes lists for tuples only from there.
        patch = SchedulerPatch.model_validate_json(json.dumps(value))
    except ValidationError as error:
        findings += [_explained(item, places) for item in error.errors(include_url=False)]
    return (None if has_errors(findings) else patch), tuple(findings)


_INSTEAD = {
    "KubeSchedulerConfiguration": "give it with --config, or as config.file of a patch",
    "Pod": "give a manifest with --manifest, and the patch with -f",
}


def _other_kind(value: dict[str, Any], places: Places) -> Finding | None:
    """A file of another kind is one mistake, not one for each of its keys."""
    kind = value.get("kind")
    if kind == KIND or not isinstance(kind, str):
        return None
    message = f"a {KIND} is needed here, this is a {_shown(kind)}"
    return places.at("P008", ("kind",), message, _INSTEAD.get(kind, ""))


def _explained(error: Any, places: Places) -> Finding:
    path: Path = tuple(step for step in error["loc"] if step != "[key]")
    kind = error["type"]
    if path and path[0] in {"apiVersion", "kind"}:
        wanted = API_VERSION if path[0] == "apiVersion" else KIND
        return places.at("P008", path, f"{path[0]} must be {wanted}")
    if kind == "extra_forbidden":
        valid = _keys_at(path[:-1])
        near = get_close_matches(str(path[-1])[:40], valid, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"valid here: {', '.join(valid)}"
        return places.at_key("P001", path, f"unknown key {path[-1]!r}", hint)
    if kind == "missing":
        return places.at("P002", path, f"{path[-1]} is missing")
    if kind == "too_long":
        message = f"{error['ctx']['actual_length']} entries, at most {error['ctx']['max_length']}"
        return places.at("P004", path, message)
    if kind in {"greater_than_equal", "less_than_equal"}:
        limit = next(iter(error["ctx"].values()))
        word = "at least" if kind.startswith("greater") else "at most"
        return places.at("P004", path, f"{_shown(error['input'])} must be {word} {limit}")
    if kind == "literal_error":
        message = f"{_shown(error['input'])} is not possible here"
        return places.at("P004", path, message, f"one of {error['ctx']['expected']}")
    if kind == "value_error":
        message = f"{_shown(error['input'])} {error['ctx']['error']}"
        at = places.at_key if error["loc"][-1] == "[key]" else places.at
        return at("P004", path, message)
    return places.at("P003", path, _type_message(kind, error["input"]), _type_hint(path, error))


_TYPES = {
    "string_type": "a string",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}


def _type_message(kind: str, value: Any) -> str:
    return f"{_TYPES.get(kind, 'another type')} is needed here, this is {_shown(value)}"


def _type_hint(path: Path, error: Any) -> str:
    value = error["input"]
    if error["type"] != "string_type" or isinstance(value, dict | list):
        return ""
    if path and path[-1] == "mode":
        return 'write it in quotes, such as "0644": without them YAML makes a number of it'
    return "write it in quotes"


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else text[:57] + "…"


def _keys_at(path: Path) -> list[str]:
    """The keys that the file may have at a path, from the models themselves."""
    model: Any = SchedulerPatch
    for step in path:
        if isinstance(step, str) and isinstance(model, type) and issubclass(model, BaseModel):
            fields = {f.alias or name: f.annotation for name, f in model.model_fields.items()}
            model = _model_in(fields.get(step))
    if not (isinstance(model, type) and issubclass(model, BaseModel)):
        return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_in(annotation: Any) -> Any:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, (_model_in(inner) for inner in get_args(annotation))), None)


# What no single key shows. On the raw value, so that it is told beside wrong keys and types.


def _combinations(value: dict[str, Any], places: Places) -> Iterator[Finding]:
    spec = _mapping(value, "spec")
    scheduler, config = _mapping(spec, "scheduler"), _mapping(spec, "config")
    if scheduler.get("binary") is not None:
        for other in ("image", "imageArchive"):
            if scheduler.get(other) is not None:
                path: Path = ("spec", "scheduler", other)
                message = f"{other} and binary exclude each other"
                hint = "a binary runs in the image that the node has"
                yield places.at("P005", path, message, hint)
    if isinstance(spec.get("config"), dict):
        given = [key for key in ("inline", "file") if config.get(key) is not None]
        if len(given) != 1:
            message = "inline and file exclude each other" if given else "inline or file is missing"
            yield places.at("P005" if given else "P002", ("spec", "config"), message)
        if config.get("name") is not None and config.get("mountPath") is None:
            yield places.at("P005", ("spec", "config", "name"), "name goes with mountPath")
        if "config" in _mapping(scheduler, "args"):
            path = ("spec", "scheduler", "args", "config")
            yield places.at("P005", path, "the flag config is set by spec.config")
    target = _mapping(spec, "target")
    if isinstance(spec.get("target"), dict) and sum(v is not None for v in target.values()) != 1:
        message = "a target is one of staticPod, deployment and newDeployment"
        yield places.at("P005", ("spec", "target"), message)
    yield from target_findings(target, scheduler, places)
    yield from _duplicates(spec, config, places)


def _duplicates(spec: dict[str, Any], config: dict[str, Any], places: Places) -> Iterator[Finding]:
    names: set[str] = set()
    mounts: set[str] = set()
    entries: list[tuple[Path, dict[str, Any]]] = [(("spec", "config"), config)]
    for key in ("mounts", "files"):
        entries += [
            (("spec", key, index), item)
            for index, item in enumerate(spec.get(key) if isinstance(spec.get(key), list) else ())  # type: ignore[arg-type]
            if isinstance(item, dict)
        ]
    for path, item in entries:
        name = item.get("name")
        where = item.get("mountPath") or item.get("hostPath")
        if isinstance(name, str):
            if name in names:
                yield places.at("P007", (*path, "name"), f"a second {name!r}")
            names.add(name)
        if isinstance(where, str):
            if where in mounts:
                key = "mountPath" if item.get("mountPath") else "hostPath"
                yield places.at("P007", (*path, key), f"{where} is mounted twice")
            mounts.add(where)
    env = _mapping(spec, "scheduler").get("env")
    seen: set[str] = set()
    for index, item in enumerate(env if isinstance(env, list) else ()):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name in seen:
            yield places.at("P007", ("spec", "scheduler", "env", index), f"a second {name!r}")
        seen.add(str(name))


def _mapping(owner: dict[str, Any], key: str) -> dict[str, Any]:
    value = owner.get(key)
    return value if isinstance(value, dict) else {}
