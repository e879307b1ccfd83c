"""What the JSON files in an image archive mean: ``docker save`` and OCI layouts.

Works on members that were read within bounds; believes none of them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kschedpatch.core.imagenames import full_name, is_full
from kschedpatch.model.images import ArchiveVariant

_OCI_NAME = "org.opencontainers.image.ref.name"
_CONTAINERD_NAME = "io.containerd.image.name"
_MAX_MANIFESTS = 64
_MAX_DEPTH = 3
#: A layer that is packed in a way whose length is not told: how much larger it gets, about.
_ZSTD_GROWTH = 4


class NotAnArchive(Exception):
    """What is wrong with it, in words."""


class Member(NamedTuple):
    """A regular file of the archive."""

    size: int
    unpacked: int
    """Its size once it is decompressed; of a plain one its size."""
    text: bytes | None
    """The bytes of what is small and looks like JSON."""


class NamedImage(NamedTuple):
    name: str
    variants: tuple[ArchiveVariant, ...]


Members = Mapping[str, Member]


def unpacked_size(head: bytes, tail: bytes, size: int) -> int:
    """``head`` and ``tail`` are the first and the last four bytes of a layer."""
    if head.startswith(b"\x1f\x8b"):
        return max(size, int.from_bytes(tail, "little"))  # gzip tells it at its end
    return size * _ZSTD_GROWTH if head == b"\x28\xb5\x2f\xfd" else size


def images_in(members: Members) -> list[NamedImage]:
    """All that have a name by which a runtime could find them."""
    found: dict[str, tuple[ArchiveVariant, ...]] = {}
    if "manifest.json" in members:
        found |= dict(_docker_images(members))
    if not found and "index.json" in members:
        found |= dict(_oci_images(members))
    if not {"manifest.json", "index.json"} & members.keys():
        raise NotAnArchive("neither manifest.json nor index.json is in it")
    return [NamedImage(name, variants) for name, variants in found.items()]


def _docker_images(members: Members) -> Iterator[tuple[str, tuple[ArchiveVariant, ...]]]:
    manifest = _json(members, "manifest.json")
    wrong = "manifest.json in it is not what docker save writes"
    if not isinstance(manifest, list) or not all(isinstance(item, dict) for item in manifest):
        raise NotAnArchive(wrong)
    digests = _named_digests(members)
    for item in manifest[:_MAX_MANIFESTS]:
        tags = item.get("RepoTags") or []
        if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
            raise NotAnArchive(wrong)
        for tag in tags:
            name = _checked_name(tag)
            layers = item.get("Layers")
            names = [layer for layer in layers or () if isinstance(layer, str)]
            made = _variant(members, item.get("Config"), names, digests.get(name, ()))
            yield name, (made,) if made is not None else ()


def _oci_images(members: Members) -> Iterator[tuple[str, tuple[ArchiveVariant, ...]]]:
    for item, name in _oci_entries(members):
        yield name, tuple(_oci_variants(members, item, (), set()))


def _named_digests(members: Members) -> dict[str, tuple[str, ...]]:
    """Of a layout beside docker's own file: dockers of today write both."""
    if "index.json" not in members:
        return {}
    return {name: (item["digest"],) for item, name in _oci_entries(members) if _is_digest(item)}


def _oci_entries(members: Members) -> Iterator[tuple[dict[str, Any], str]]:
    index = _json(members, "index.json")
    entries = index.get("manifests") if isinstance(index, dict) else None
    if not isinstance(entries, list):
        raise NotAnArchive("index.json in it is no OCI index")
    for item in entries[:_MAX_MANIFESTS]:
        notes = item.get("annotations") if isinstance(item, dict) else None
        if isinstance(notes, dict):
            name = notes.get(_CONTAINERD_NAME) or notes.get(_OCI_NAME)
            if isinstance(name, str) and is_full(name):
                yield item, _checked_name(name)


def _oci_variants(
    members: Members, item: Any, above: tuple[str, ...], seen: set[str]
) -> Iterator[ArchiveVariant]:
    """What a descriptor leads to; platforms whose parts were not saved are passed over."""
    if len(above) == _MAX_DEPTH or not _is_digest(item) or item["digest"] in seen:
        return
    seen.add(item["digest"])
    path = _blob(item["digest"])
    if path not in members:
        return
    body = _json(members, path)
    _check_digest(members[path], item["digest"])
    digests = (item["digest"], *above)
    if not isinstance(body, dict):
        raise NotAnArchive(f"{path} in it is no OCI manifest")
    if isinstance(body.get("manifests"), list):
        for below in body["manifests"][:_MAX_MANIFESTS]:
            yield from _oci_variants(members, below, digests, seen)
        return
    config = body.get("config")
    if not isinstance(config, dict) or not _is_digest(config):
        return
    _check_digest(members.get(_blob(config["digest"])), config["digest"])
    layers = body.get("layers")
    names = [_blob(layer["digest"]) for layer in layers or () if _is_digest(layer)]
    made = _variant(members, _blob(config["digest"]), names, digests)
    if made is not None:
        yield made


def _variant(
    members: Members, config: Any, layers: list[str], digests: tuple[str, ...]
) -> ArchiveVariant | None:
    if not isinstance(config, str) or config not in members:
        return None
    body = _json(members, config)
    text = members[config].text or b""
    system = body.get("os") if isinstance(body, dict) else None
    architecture = body.get("architecture") if isinstance(body, dict) else None
    if system != "linux" or not isinstance(architecture, str) or not architecture.isalnum():
        return None  # an attestation, or for another system
    held = [members[name] for name in dict.fromkeys(layers) if name in members]
    return ArchiveVariant(
        architecture=architecture[:20],
        image_id=f"sha256:{hashlib.sha256(text).hexdigest()}",
        digests=digests,
        stored=sum(member.size for member in held),
        unpacked=sum(member.unpacked for member in held),
    )


def _is_digest(item: Any) -> bool:
    digest = item.get("digest") if isinstance(item, dict) else None
    if not isinstance(digest, str) or not digest.startswith("sha256:"):
        return False
    return len(digest) == 71 and all(sign in "0123456789abcdef" for sign in digest[7:])


def _blob(digest: str) -> str:
    return f"blobs/sha256/{digest[7:]}"


def _check_digest(member: Member | None, digest: str) -> None:
    if member is None or member.text is None:
        return  # not saved, or nothing that could be a configuration
    if hashlib.sha256(member.text).hexdigest() != digest[7:]:
        raise NotAnArchive(f"{_blob(digest)} in it is damaged")


def _checked_name(name: str) -> str:
    if not name.isascii() or not name.isprintable() or len(name) > 512 or " " in name:
        raise NotAnArchive("the name of an image in it is unreadable")
    return full_name(name)


def _json(members: Members, name: str) -> Any:
    text = members[name].text
    if text is None:
        raise NotAnArchive(f"{name} in it is too large, or no JSON")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise NotAnArchive(f"{name} in it is no JSON") from None
