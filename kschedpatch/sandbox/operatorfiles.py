"""What the operator of a sandbox is handed: the way to its nodes, and patches to try, as texts."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SSH_CONFIG = "ssh_config"
KNOWN_HOSTS = "known_hosts"
IDENTITY = "identity"

_REPOSITORY = "registry.sandbox/kube-scheduler-gpumps"
GOOD_IMAGE = f"{_REPOSITORY}:v1.34.11"
#: Patch file → the image that it names. What is wrong with one is told by its tag.
IMAGES = {
    "gpumps.yaml": GOOD_IMAGE,
    "without-plugin.yaml": f"{GOOD_IMAGE}-without-plugin",
    "breaks-on-first-pod.yaml": f"{GOOD_IMAGE}-breaks-on-first-pod",
}


class Door(NamedTuple):
    """Where the SSH server of a node listens, on the loopback."""

    node: str
    port: int


def ssh_config(doors: Sequence[Door], directory: Path) -> str:
    """For ``ssh -F`` and ``--ssh-config``: the nodes by their names, and nothing of the user's."""
    hosts = [f"Host {door.node}\n  Hostname 127.0.0.1\n  Port {door.port}\n" for door in doors]
    rest = (
        "Host *\n"
        "  User root\n"
        f"  IdentityFile {directory / IDENTITY}\n"
        "  IdentitiesOnly yes\n"
        "  IdentityAgent none\n"
        f"  UserKnownHostsFile {directory / KNOWN_HOSTS}\n"
        "  GlobalKnownHostsFile /dev/null\n"
        "  ProxyJump none\n"
    )
    return "\n".join([*hosts, rest])


def can_be_named(directory: Path) -> bool:
    """Whether an SSH configuration can name files there: blanks part words in it, and % is its
    own."""
    return not any(character.isspace() or character in "%\"'\\#" for character in str(directory))


def named_images(recipe: Mapping[str, bytes]) -> set[str]:
    """All that a recipe's files name, those in its comments too."""
    texts = (content.decode() for content in recipe.values())
    return {name for text in texts for name in re.findall(r"\bimage: *(\S+)", text)}


def patches(recipe: Mapping[str, bytes]) -> dict[str, bytes]:
    """The recipe gpumps with the images of the sandbox's registry in the place of its own."""
    text = recipe["gpumps.yaml"].decode()
    (line,) = [line for line in text.splitlines() if line.strip().startswith("image: ")]
    placeholder = line.partition("image: ")[2]
    made = {name: text.replace(placeholder, image).encode() for name, image in IMAGES.items()}
    return {**recipe, **made}
