"""What the scheduler accepts without a word although nobody can mean it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches

from kschedpatch.core.kubeversions import IGNORED_WITH_CONFIG
from kschedpatch.core.kubeversions.plugins import POINTS, plugin_points
from kschedpatch.core.manifest.mounts import is_mounted
from kschedpatch.core.schedconfig.election import election
from kschedpatch.core.schedconfig.framework import ENOUGH_HINTS, effective
from kschedpatch.core.schedconfig.merge import EVERY, Sets, forgotten_points
from kschedpatch.core.schedconfig.profiles import DEFAULT_SCHEDULER, scheduler_names
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.model.finding import Finding, Path

# Filters that fail on every pod when nothing was stored for them at preFilter.
_NEED_PRE_FILTER = (
    "NodeResourcesFit", "NodePorts", "PodTopologySpread", "InterPodAffinity", "VolumeBinding",
)  # fmt: skip


def oversight_findings(decoded: Decoded, sets: Sequence[Sets]) -> Iterator[Finding]:
    names = scheduler_names(decoded.profiles)
    if DEFAULT_SCHEDULER not in names:
        message = f"no profile is named {DEFAULT_SCHEDULER}"
        hint = f"add `- schedulerName: {DEFAULT_SCHEDULER}`, or name the scheduler in every pod"
        yield decoded.at("C015", ("profiles",), message, hint)
    for index, own in enumerate(sets):
        yield from _without_effect(decoded, index, own)
        if "plugins" in decoded.profiles[index]:
            yield from _starved(decoded, index, own)
    if decoded.value.get("delayCacheUntilActive"):
        yield from _delayed(decoded)
    yield from _connection(decoded)


def _without_effect(decoded: Decoded, index: int, sets: Sets) -> Iterator[Finding]:
    """Names under `disabled` and in pluginConfig that fit nothing."""
    if not decoded.profiles[index].keys() & {"plugins", "pluginConfig"}:
        return
    enabled = {name for chosen in sets.values() for name in chosen.names}
    path: Path = ("profiles", index)
    plugins = decoded.profiles[index].get("plugins") or {}
    for point in forgotten_points(decoded.version):
        if plugins.get(point):
            message = f"the scheduler forgets {point} in configurations of {decoded.version}"
            yield decoded.at("C034", (*path, "plugins", point), message, "use a later version")
    for point in ("multiPoint", *POINTS):
        for at, item in enumerate((plugins.get(point) or {}).get("disabled") or ()):
            name = item.get("name", "")
            here = (*path, "plugins", point, "disabled", at, "name")
            if name != EVERY and name not in enabled and decoded.points(name) is None:
                message = f"there is no plugin {name!r} that could be disabled"
                yield decoded.at("C034", here, message, _near(decoded, name, at))
    for at, item in enumerate(decoded.profiles[index].get("pluginConfig") or ()):
        name = item.get("name", "")
        if name not in enabled:
            what = "not enabled in this profile" if decoded.points(name) else "no plugin at all"
            message = f"{name!r} is {what}: its arguments count for nothing"
            here = (*path, "pluginConfig", at, "name")
            yield decoded.at("C034", here, message, _near(decoded, name, at))


def _near(decoded: Decoded, name: str, at: int) -> str:
    if decoded.points(name) is not None or at >= ENOUGH_HINTS:
        return ""
    near = get_close_matches(name[:40], plugin_points(decoded.minor), n=1, cutoff=0.6)
    return f"did you mean {near[0]}?" if near else ""


def _starved(decoded: Decoded, index: int, sets: Sets) -> Iterator[Finding]:
    filters, _ = effective(decoded, sets, "filter")
    before, _ = effective(decoded, sets, "preFilter")
    starved = [name for name in _NEED_PRE_FILTER if name in filters and name not in before]
    if starved:
        message = f"at filter, without preFilter to prepare for it: {', '.join(starved)}"
        hint = "disable them at filter too, or leave them enabled at preFilter"
        path = ("profiles", index, "plugins", "preFilter")
        yield decoded.at("C038", path, message, hint)


def _delayed(decoded: Decoded) -> Iterator[Finding]:
    if election(decoded.config.value, decoded.around.flags).enabled:
        message = "a standby that waits for the lease never becomes ready"
        yield decoded.at(
            "C036", ("delayCacheUntilActive",), message, "delayCacheUntilActive: false"
        )


def _connection(decoded: Decoded) -> Iterator[Finding]:
    around = decoded.around
    kubeconfig = (decoded.value.get("clientConnection") or {}).get("kubeconfig", "")
    if kubeconfig and around.mounted is not None and not is_mounted(kubeconfig, around.mounted):
        here = ("clientConnection", "kubeconfig")
        message = f"no mount brings {kubeconfig} into the container"
        yield decoded.at("C013", here, message, "add a mount for it, or leave it out")
    for flag, where in IGNORED_WITH_CONFIG.items():
        # kubeadm always sets --kubeconfig; the same path is filled into the file.
        same = flag == "kubeconfig" and kubeconfig in ("", around.flags.get(flag))
        if flag in around.flags and not same:
            message = f"--{flag}={around.flags[flag]} counts for nothing beside --config"
            yield decoded.at("C003", (), message, f"{where} in the configuration says it")
