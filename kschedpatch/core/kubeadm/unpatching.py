"""The base of a manifest that kubeadm has rendered with a persisted patch in it.

There is none on any disk: kubeadm knows only the whole. But what the patch made of an earlier base
is known, and the same way back leads from today's manifest to its base.
"""

from __future__ import annotations

import copy
from typing import Any

from kschedpatch.core.manifest.document import (
    BASE_ANNOTATION,
    GENERATION_ANNOTATION,
    PATCH_ANNOTATION,
    Manifest,
    read_manifest,
)
from kschedpatch.core.manifest.flags import effective, remove_flag, set_flag
from kschedpatch.core.yamltext.splice import respell
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.kubeversion import KubeVersion, version_of_image

Value = dict[str, Any]
_OURS = (PATCH_ANNOTATION, GENERATION_ANNOTATION, BASE_ANNOTATION)
_MISSING = object()


def is_kept_by_kubeadm(manifest: Manifest) -> bool:
    """Our notes are in it, but not the base's: that one is left out of what kubeadm is given."""
    return PATCH_ANNOTATION in manifest.annotations and not manifest.is_patched


def base_below(current: Manifest, facts: NodeFacts) -> Manifest | None:
    """By what the node keeps of the last run; None where there is nothing to take away, or too
    little is known for it."""
    if not is_kept_by_kubeadm(current) or facts.base is None or facts.kept_after is None:
        return None
    before = read_manifest(facts.base, "the kept base").manifest
    after = read_manifest(facts.kept_after, "the last run's manifest").manifest
    if before is None or after is None:
        return None
    return unpatched(current, before, after, facts.control_plane_version)


def says_the_same(current: Manifest, planned: str) -> bool:
    """Only the base's note, which kubeadm was not given, makes the difference."""
    new = read_manifest(planned.encode(), current.file).manifest
    if new is None:
        return False
    pod = new.pod
    (pod["metadata"].get("annotations") or {}).pop(BASE_ANNOTATION, None)
    return _meaning(pod, new.container_index) == _meaning(current.pod, current.container_index)


def _meaning(pod: Value, index: int) -> Value:
    """Without the order in which flags and named items stand: kubeadm sorts them."""
    pod = copy.deepcopy(pod)
    container = pod["spec"]["containers"][index]
    flags = effective(container)
    program = [word for word in container.get("command") or () if not word.startswith("-")][:1]
    container["command"], container["args"] = program, flags
    for owner, key, name in (
        (container, "env", "name"),
        (container, "volumeMounts", "mountPath"),
        (pod["spec"], "volumes", "name"),
    ):
        owner[key] = {item.get(name): _plain(item) for item in owner.get(key) or ()}
    return pod


def _plain(item: Value) -> Value:
    """A volume or a mount without what says nothing: kubeadm leaves out, or spells out."""
    plain = {key: value for key, value in item.items() if (key, value) != ("readOnly", False)}
    if isinstance(plain.get("hostPath"), dict):
        host = plain["hostPath"].items()
        plain["hostPath"] = {key: value for key, value in host if (key, value) != ("type", "")}
    return plain


def unpatched(
    current: Manifest, before: Manifest, after: Manifest, version: KubeVersion | None
) -> Manifest | None:
    """``current`` without what led from ``before`` to ``after``, as far as it is still so in it.
    ``version`` is what kubeadm runs on this node. None where the base can't be told."""
    pod = copy.deepcopy(current.pod)
    old, new = before.pod, after.pod
    container = pod["spec"]["containers"][current.container_index]
    was = old["spec"]["containers"][before.container_index]
    made = new["spec"]["containers"][after.container_index]
    _flags(container, effective(was), effective(made))
    if not _image(container, was, made, version):
        return None
    special = frozenset({"name", "command", "args", "image", "env", "volumeMounts"})
    _fields(container, was, made, special)
    _listed(container, was, made, "env", "name")
    _listed(container, was, made, "volumeMounts", "mountPath")
    _fields(pod["spec"], old["spec"], new["spec"], frozenset({"containers", "volumes"}))
    _listed(pod["spec"], old["spec"], new["spec"], "volumes", "name")
    metadata = pod["metadata"]
    _fields(metadata, old["metadata"], new["metadata"], frozenset({"annotations"}))
    _notes(metadata, old["metadata"].get("annotations"), new["metadata"].get("annotations"))
    text = respell(current.text, current.root, pod).text
    return read_manifest(text.encode(), f"{current.file} (un-patched)").manifest


def _flags(container: Value, was: dict[str, str], made: dict[str, str]) -> None:
    now = effective(container)
    for name in (*made, *(name for name in was if name not in made)):
        before, after = was.get(name), made.get(name)
        if before == after or now.get(name) != after:
            continue
        if before is None:
            remove_flag(container, name)
        else:
            set_flag(container, name, before)


def _image(container: Value, was: Value, made: Value, version: KubeVersion | None) -> bool:
    """kubeadm's own image has the version of what it renders now. False: nobody knows that."""
    before, after = str(was.get("image")), str(made.get("image"))
    if before == after or container.get("image") != after:
        return True
    then = version_of_image(before)
    if version is None or then is None:
        return False
    container["image"] = f"{before.removesuffix(f':v{then}')}:v{version}"
    return True


def _fields(now: Value, was: Value, made: Value, special: frozenset[str] = frozenset()) -> None:
    for key in (*made, *(key for key in was if key not in made)):
        before, after = was.get(key, _MISSING), made.get(key, _MISSING)
        there = now.get(key, _MISSING)
        if key in special or before == after:
            continue
        if isinstance(before, dict) and isinstance(after, dict) and isinstance(there, dict):
            _fields(there, before, after)
            continue
        if there != after:
            continue
        if before is _MISSING:
            now.pop(key, None)
        else:
            now[key] = copy.deepcopy(before)


def _listed(now: Value, was: Value, made: Value, key: str, name: str) -> None:
    """Lists whose items have a name of their own."""
    old, new = ({item[name]: item for item in part.get(key) or ()} for part in (was, made))
    brought = {at: _plain(item) for at, item in new.items() if old.get(at) != item}
    items = list(now.get(key) or ())
    result = []
    for item in items:
        at = item.get(name)
        if at in brought and brought[at] == _plain(item):
            if at in old:
                result.append(copy.deepcopy(old[at]))
            continue
        result.append(item)
    there = {item.get(name) for item in result}
    result += [copy.deepcopy(item) for at, item in old.items() if at not in new and at not in there]
    if result:
        now[key] = result
    elif key in now:
        del now[key]


def _notes(metadata: Value, was: Value | None, made: Value | None) -> None:
    notes = dict(metadata.get("annotations") or {})
    _fields(notes, was or {}, made or {}, frozenset(_OURS))
    for key in _OURS:
        notes.pop(key, None)
    if notes:
        metadata["annotations"] = notes
    else:
        metadata.pop("annotations", None)
