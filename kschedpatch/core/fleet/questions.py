"""What has to be asked of the nodes before a plan or a rollback can be judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kschedpatch.core.fleet.serving import host_paths, image_of
from kschedpatch.core.manifest.document import Manifest, read_manifest
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.images import ImageArchive


class Questions(NamedTuple):
    paths: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    running: bool = False
    """Also the image that the manifest on the node names."""
    room: bool = False
    """Is there a port and memory for a second scheduler?"""


def about_patch(given: PatchInput) -> Questions:
    spec = given.patch.spec
    paths = dict.fromkeys(mount.host_path for mount in spec.mounts)
    image = spec.scheduler.image
    images = (image, *ids_in(given.archive)) if image else ()
    return Questions(tuple(paths), images, running=True, room=True)


def ids_in(archive: ImageArchive | None) -> tuple[str, ...]:
    """A runtime finds an image by its ID as well, whatever its name there is."""
    return tuple(one.image_id for one in archive.variants) if archive is not None else ()


def still_open(asked: Questions, facts: Iterable[NodeFacts]) -> Questions | None:
    """Images that run now and that no node has spoken of; None when all is answered."""
    missing: dict[str, None] = {}
    for node in facts:
        current = manifest_of(node)
        image = image_of(current) if current is not None else ""
        if image and image not in asked.images and image not in node.images:
            missing[image] = None
    if not missing:
        return None
    return asked._replace(images=(*asked.images, *missing), running=False)


def about_manifests(contents: Iterable[bytes]) -> Questions:
    """What kept manifests need on their node."""
    paths: dict[str, None] = {}
    images: dict[str, None] = {}
    for content in contents:
        manifest = read_manifest(content, "kept").manifest
        if manifest is not None:
            paths |= dict.fromkeys(path for _, path, _ in host_paths(manifest))
            images[image_of(manifest)] = None
    return Questions(tuple(paths), tuple(images))


def manifest_of(facts: NodeFacts) -> Manifest | None:
    if facts.manifest is None:
        return None
    return read_manifest(facts.manifest.content, located(facts, facts.manifest.path)).manifest


def located(facts: NodeFacts, path: str) -> str:
    """A node's file as findings name it: ``cp1:/etc/kubernetes/manifests/kube-scheduler.yaml``."""
    return f"{facts.label}:{path}"
