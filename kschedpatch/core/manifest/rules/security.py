"""Security contexts of the pod and of its containers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedpatch.core.yamltext.places import Places
from kschedpatch.model.finding import Finding, Path

_PROFILES = {
    "seccompProfile": ("RuntimeDefault", "Unconfined", "Localhost"),
    "appArmorProfile": ("RuntimeDefault", "Unconfined", "Localhost"),
}
_CHOICES = {
    "fsGroupChangePolicy": ("OnRootMismatch", "Always"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("Recursive", "MountOption"),
    "procMount": ("Default",),  # Unmasked needs a user namespace, which hostNetwork excludes
}
_NO_USE = {
    "sysctls": "the scheduler needs no kernel parameters, and the host's network is not its own",
    "windowsOptions": "a control-plane node runs linux",
}
_IDS = range(2**31)


def security_findings(owner: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    """The securityContext of a pod's spec or of a container."""
    context, path = owner.get("securityContext"), (*path, "securityContext")
    if not isinstance(context, dict):
        return
    yield from _ids(context, path, places)
    for key, allowed in _CHOICES.items():
        value = context.get(key)
        if isinstance(value, str) and value not in allowed:
            message = f"{value!r} is not possible here"
            yield places.at("M011", (*path, key), message, f"one of {', '.join(allowed)}")
    for key, kinds in _PROFILES.items():
        if isinstance(context.get(key), dict):
            yield from _profile(context[key], (*path, key), kinds, places)
    if context.get("allowPrivilegeEscalation") is False:
        capabilities = context.get("capabilities")
        added = capabilities.get("add") if isinstance(capabilities, dict) else None
        mighty = isinstance(added, list) and "CAP_SYS_ADMIN" in added
        if context.get("privileged") is True or mighty:
            message = "allowPrivilegeEscalation: false excludes privileged and CAP_SYS_ADMIN"
            yield places.at("M011", path, message)
    for key, reason in _NO_USE.items():
        if context.get(key) not in (None, []):
            yield places.at_key("M035", (*path, key), reason)


def _ids(context: dict[str, Any], path: Path, places: Places) -> Iterator[Finding]:
    groups = context.get("supplementalGroups")
    values = [((*path, key), context.get(key)) for key in ("runAsUser", "runAsGroup", "fsGroup")]
    if isinstance(groups, list):
        values += [((*path, "supplementalGroups", at), group) for at, group in enumerate(groups)]
    for here, value in values:
        if isinstance(value, int) and value not in _IDS:
            yield places.at("M011", here, f"{value} is no user or group id")


def _profile(
    profile: dict[str, Any], path: Path, kinds: tuple[str, ...], places: Places
) -> Iterator[Finding]:
    kind = profile.get("type")
    if not kind:
        yield places.at("M005", (*path, "type"), "the type is missing")
    elif isinstance(kind, str) and kind not in kinds:
        hint = f"one of {', '.join(kinds)}"
        yield places.at("M011", (*path, "type"), f"no profile {kind!r}", hint)
    local = profile.get("localhostProfile")
    if (kind == "Localhost") != (local is not None) or local == "":
        message = "localhostProfile goes with type Localhost, and only with it"
        yield places.at("M011", path, message)
    elif isinstance(local, str) and (
        local.startswith("/")
        or ".." in local.split("/")
        or local != local.strip()
        or len(local.encode()) > 4095
    ):
        message = f"{local!r} must be a relative path"
        yield places.at("M010", (*path, "localhostProfile"), message)
