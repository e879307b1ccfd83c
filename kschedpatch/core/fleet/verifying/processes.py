"""Does the container that runs have the manifest's flags, mounts and image? As the kernel and the
runtime show it, not as the API server repeats it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from kschedpatch.core.fleet.noderules import about
from kschedpatch.core.fleet.questions import manifest_of
from kschedpatch.core.fleet.serving import image_of, scheduler_container
from kschedpatch.core.fleet.verifying.checking import checked, several, unchecked
from kschedpatch.core.manifest.document import Manifest, is_wrapped
from kschedpatch.core.manifest.flags import effective
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.inspection import Inspection

_RESTART = "the kubelet has not taken the manifest up; look at its journal"
_REFERENCE = re.compile(r"\$\$|\$\(([^()]*)\)")


def process_checks(node: NodeFacts, seen: Inspection) -> Iterator[Check]:
    manifest = manifest_of(node)
    if manifest is None:
        return
    if not seen.pid:
        yield unchecked(node.label, "flags, mounts and image", "no scheduler runs")
        return
    yield _flags(node, manifest, seen)
    yield _mounts(node, manifest, seen)
    yield _image(node, manifest, seen)


def _flags(node: NodeFacts, manifest: Manifest, seen: Inspection) -> Check:
    container = scheduler_container(manifest)
    subject = "flags"
    if not seen.words:
        return unchecked(node.label, subject, f"/proc/{seen.pid}/cmdline can't be read")
    if is_wrapped(container):
        return unchecked(node.label, subject, "another program starts the scheduler")
    env = {
        str(item.get("name")): str(item.get("value", ""))
        for item in container.get("env") or ()
        if isinstance(item, dict)
    }
    words = [
        _expanded(str(word), env)
        for key in ("command", "args")
        for word in container.get(key) or ()
    ]
    wanted, runs = effective({"command": words}), effective({"command": list(seen.words)})
    lines = [*_differing(wanted, runs)]
    if container.get("command"):
        program, running = (PurePosixPath(line[0]).name for line in (words, seen.words))
        if program != running:
            lines.insert(0, f"runs {running}, the manifest says {program}")
    if not lines:
        evidence = f"/proc/{seen.pid}/cmdline has the manifest's {len(wanted)}"
        return checked(node.label, subject, evidence)
    message = several(lines)
    return checked(
        node.label, subject, message, [about(node, "N120", message, _RESTART)], lines[4:]
    )


def _expanded(word: str, env: dict[str, str]) -> str:
    """$(NAME) as the kubelet replaces it; what it does not know it leaves alone."""
    return _REFERENCE.sub(lambda m: "$" if m[1] is None else env.get(m[1], m[0]), word)


def _differing(wanted: dict[str, str], runs: dict[str, str]) -> Iterator[str]:
    for name in dict.fromkeys((*wanted, *runs)):
        if name not in runs:
            yield f"runs without --{name}={wanted[name]}"
        elif name not in wanted:
            yield f"runs with --{name}={runs[name]}, which the manifest has not"
        elif wanted[name] != runs[name]:
            yield f"runs with --{name}={runs[name]}, the manifest says {wanted[name]}"


def mounted_paths(mountinfo: str) -> dict[str, bool]:
    """Mount point → is it read-only; of several at one place the last lies on top."""
    found = {}
    for line in mountinfo.splitlines():
        fields = line.split(" ")
        if len(fields) > 6:
            path = re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[4])
            found[path] = "ro" in fields[5].split(",")
    return found


def _mounts(node: NodeFacts, manifest: Manifest, seen: Inspection) -> Check:
    subject = "mounts"
    there = mounted_paths(seen.mountinfo)
    if not there:
        return unchecked(node.label, subject, f"/proc/{seen.pid}/mountinfo can't be read")
    asked: list[dict[str, Any]] = [
        mount
        for mount in scheduler_container(manifest).get("volumeMounts") or ()
        if isinstance(mount, dict) and isinstance(mount.get("mountPath"), str)
    ]
    problems, former = [], []
    for mount in asked:
        path = str(PurePosixPath(mount["mountPath"]))
        if path not in there:
            problems.append(f"{path} is not mounted")
        elif mount.get("readOnly") is True and not there[path]:
            problems.append(f"{path} can be written")
        elif seen.same_file.get(mount["mountPath"], "same") != "same":
            former.append(path)
    findings = [about(node, "N121", several(problems), _RESTART)] if problems else []
    if former:
        message = f"{several(former)}: the host has another file under that name since"
        hint = "the scheduler sees it after its next start"
        findings.append(about(node, "N122", message, hint))
    evidence = (
        several([*problems, *(f"{path} shows a former file" for path in former)])
        or f"all {len(asked)} of the manifest are in /proc/{seen.pid}/mountinfo, and the host's own"
    )
    return checked(node.label, subject, evidence, findings)


def _image(node: NodeFacts, manifest: Manifest, seen: Inspection) -> Check:
    subject, wanted = "image", image_of(manifest)
    if "crictl" not in seen.tools:
        return unchecked(node.label, subject, "no crictl on the node")
    if not seen.image and not seen.image_ref:
        return unchecked(node.label, subject, "crictl has no record of the running container")
    known = set(seen.wanted_image)
    same_content = bool({seen.image, seen.image_ref} & known)
    if _plain(seen.image) != _plain(wanted) and not same_content:
        message = f"it runs {seen.image or seen.image_ref}, the manifest says {wanted}"
        return checked(node.label, subject, message, [about(node, "N123", message, _RESTART)])
    if known and seen.image_ref and not same_content:
        running = _digest(seen.image_ref)
        message = f"{wanted} is another image now than the one that runs ({running})"
        return checked(node.label, subject, message, [about(node, "N124", message)])
    digest = f", {_digest(seen.image_ref)}" if seen.image_ref else ""
    return checked(node.label, subject, f"crictl: {wanted}{digest}")


def _plain(image: str) -> str:
    return image.removeprefix("docker.io/").removeprefix("library/")


def _digest(reference: str) -> str:
    digest = reference.rpartition("@")[2]
    return digest[:19] if digest.startswith("sha256:") else digest[:80]
