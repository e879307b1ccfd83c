"""Names as Kubernetes spells them: which texts can be one."""

from __future__ import annotations

import re

_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?", re.ASCII)
_ENV_NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*", re.ASCII)
# Distribution's reference grammar: the runtime refuses what does not fit it («InvalidImageName»).
_IMAGE = re.compile(
    r"(?:(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/)?"
    r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?",
    re.ASCII,
)


def is_dns_label(text: str) -> bool:
    return len(text) <= 63 and _LABEL.fullmatch(text) is not None


def is_dns_subdomain(text: str) -> bool:
    return len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None


def is_qualified_name(text: str) -> bool:
    """``name`` or ``prefix.example.com/name``, as label and annotation keys are."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_subdomain(prefix):
        return False
    return len(name) <= 63 and _QUALIFIED.fullmatch(name) is not None


def is_label_value(text: str) -> bool:
    return len(text) <= 63 and (not text or _QUALIFIED.fullmatch(text) is not None)


def is_env_name(text: str) -> bool:
    fits = len(text) <= 256 and _ENV_NAME.fullmatch(text) is not None
    return fits and not text.startswith("..") and text != "."


def is_image(text: str) -> bool:
    return len(text) <= 512 and _IMAGE.fullmatch(text) is not None


def is_extended_resource(name: str) -> bool:
    """A name with a domain that is not Kubernetes' own, also with the «requests.» of quotas."""
    if "/" not in name or is_native_resource(name) or name.startswith("requests."):
        return False
    return is_qualified_name(name) and is_qualified_name(f"requests.{name}")


def is_native_resource(name: str) -> bool:
    """A resource of Kubernetes' own, under its domain."""
    return "kubernetes.io/" in name
