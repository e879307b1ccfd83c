"""The facts verb's records as a value. What a node says is data: read with care, never trusted."""

from __future__ import annotations

import hashlib
import re

from kschedpatch.core.objects.ledger import OPEN, SETTLED
from kschedpatch.model.facts import ControlPlaneNode, LivePod, ManifestFile, NodeFacts, Room
from kschedpatch.model.kubeversion import KubeVersion, parse_version
from kschedpatch.model.revision import OpenTransaction, Revision
from kschedpatch.node.chain import Reply

_UID = re.compile(r"[0-9a-f]{32}")
_ID = re.compile(r"sha256:[0-9a-f]{64}")
_RUN = re.compile(r"[0-9A-Za-z-]{1,64}")


def facts_from(label: str, reply: Reply) -> NodeFacts:
    first = reply.first
    content = reply.blobs.get("manifest")
    mode, _, owner = first("manifest_stat").partition(" ")
    manifest = _file(first("manifest"), content, mode, owner) if content is not None else None
    return NodeFacts(
        label=label,
        node_name=first("node_name"),
        machine_id=first("machine_id"),
        hostname=first("hostname"),
        kubelet=_kubelet(first("kubelet")),
        has_systemd=first("systemd") == "1",
        tools=frozenset(reply.all("tool")),
        runtime=first("runtime", "unknown"),
        manifests_directory=first("directory"),
        manifest_problem=first("manifest_problem"),
        manifest=manifest,
        others=tuple(_others(reply)),
        leftovers=reply.all("leftover"),
        base=reply.blobs.get("base"),
        kept_after=reply.blobs.get("kept_after"),
        kubeadm_patch=reply.blobs.get("kubeadm_patch"),
        control_plane_version=parse_version(first("control_plane_version")),
        original=reply.blobs.get("original"),
        live=_live(first("live")),
        live_config=reply.blobs.get("live_config"),
        room=_room(first("room")),
        revisions=_revisions(reply),
        transaction=_transaction(first("txn")),
        path_types=dict(_swapped(value) for value in reply.all("path")),
        images={
            name: there == "1" for name, there in (_swapped(value) for value in reply.all("image"))
        },
        image_ids={
            name: id_
            for name, id_ in (_swapped(value) for value in reply.all("image_id"))
            if _ID.fullmatch(id_)
        },
        machine=first("machine"),
        image_store=first("image_store"),
        uploads={
            hash_: _number(size)
            for hash_, size in (_swapped(value) for value in reply.all("upload"))
        },
        free_kib={
            place: int(size)
            for place, size in (_swapped(value) for value in reply.all("free_kib"))
            if size.isdecimal()
        },
        filesystems=dict(_swapped(value) for value in reply.all("filesystem")),
        kubeadm_at_work=first("kubeadm").strip(),
        generation_problem=first("generation_problem"),
        kept_generation_problems={
            id_: said
            for said, id_ in (_swapped(value) for value in reply.all("kept_generation_problem"))
        },
        state_format=_number(first("format")),
        traces=reply.all("trace"),
        debris=reply.all("debris"),
        clock=_number(first("clock")),
        manifest_changed=_number(first("manifest_time")),
        api_answers=first("api") == "1",
        lease_holder=first("holder"),
        control_plane=tuple(
            ControlPlaneNode(name, tuple(rest))
            for name, *rest in (line.split() for line in reply.all("control_plane") if line.strip())
        ),
    )


def _swapped(value: str) -> tuple[str, str]:
    """``1 registry/image`` → image and 1: names come last because they may hold blanks."""
    head, _, rest = value.partition(" ")
    return rest, head


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"-?[0-9]{1,15}", text) else 0


def _file(path: str, content: bytes, mode: str = "", owner: str = "") -> ManifestFile:
    return ManifestFile(path, content, hashlib.sha256(content).hexdigest(), mode, owner)


def _others(reply: Reply) -> list[ManifestFile]:
    found = []
    for value in reply.all("other"):
        number, _, path = value.partition(" ")
        content = reply.blobs.get(f"other-{number}")
        if content is not None:
            found.append(_file(path, content))
    return found


def _kubelet(text: str) -> KubeVersion | None:
    """``Kubernetes v1.34.4``."""
    return parse_version(text.rpartition(" ")[2])


def _live(text: str) -> LivePod | None:
    parts = text.split()
    if len(parts) != 4 or not _UID.fullmatch(parts[0]):
        return None
    return LivePod(parts[0], _number(parts[1]), max(0, _number(parts[2])), parts[3] == "1")


def _room(text: str) -> Room | None:
    parts = text.split()
    if len(parts) != 3:
        return None
    return Room(*(max(0, _number(part)) for part in parts))


def _transaction(text: str) -> OpenTransaction | None:
    parts = text.split(" ", 6)
    if len(parts) < 6:
        return None
    run, kind, since, state, left, lives, *who = parts
    return OpenTransaction(
        run, kind, " ".join(who), _number(since), state, _number(left), lives == "1"
    )


def _revisions(reply: Reply) -> tuple[Revision, ...]:
    outcomes = {}
    for value in reply.all("outcome"):
        run, _, outcome = value.partition(" ")
        outcomes[run] = outcome
    objects = {}
    for value in reply.all("objects"):
        run, _, state = value.partition(" ")
        objects[run] = state if state in (OPEN, SETTLED) else OPEN
    found = []
    for key, blob in reply.blobs.items():
        run = key.removeprefix("meta-")
        if not key.startswith("meta-") or not _RUN.fullmatch(run):
            continue
        text = blob.decode("utf-8", "replace")
        meta = dict(line.partition("=")[::2] for line in text.splitlines())
        original = run == "original"
        found.append(
            Revision(
                run=run,
                kind="" if original else meta.get("kind", ""),
                when=_number(meta.get("when", "")),
                who=meta.get("who", ""),
                reason="" if original else meta.get("reason", ""),
                patch="" if original else meta.get("patch", ""),
                before=meta.get("before", ""),
                after=meta.get("before" if original else "after", ""),
                outcome="confirmed" if original else outcomes.get(run, ""),
                generation="" if original else meta.get("generation", ""),
                objects=objects.get(run, ""),
            )
        )
    # Ids sort by time; «original» comes last.
    return tuple(sorted(found, key=lambda r: (r.run != "original", r.run), reverse=True))
