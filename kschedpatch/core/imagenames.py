"""Names of images: what a runtime makes of a short one, and the digest that some hold."""

from __future__ import annotations

import re

_DIGEST = re.compile(r"@(sha256:[0-9a-f]{64})$")


def full_name(name: str) -> str:
    """``own:v1`` is ``docker.io/library/own:v1`` to docker and containerd."""
    rest, at, digest = name.partition("@")
    first, slash, _ = rest.partition("/")
    if not slash:
        rest = f"docker.io/library/{rest}"
    elif "." not in first and ":" not in first and first != "localhost":
        rest = f"docker.io/{rest}"
    elif first == "docker.io" and rest.count("/") == 1:
        rest = f"docker.io/library/{rest.partition('/')[2]}"
    tagged = ":" in rest.rpartition("/")[2]
    return f"{rest}{at}{digest}" if tagged or digest else f"{rest}:latest"


def digest_of(name: str) -> str:
    """``sha256:…`` of an image that is named by its digest; empty otherwise."""
    found = _DIGEST.search(name)
    return found[1] if found else ""


def is_full(reference: str) -> bool:
    """A bare tag, as some OCI layouts have it, names nothing that a runtime could find."""
    return any(sign in reference for sign in "/:@")
