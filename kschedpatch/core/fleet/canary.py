"""The canary: the planned pod once more, beside the live scheduler and as a standby on its lease.

It has the real mounts, image, rights and API server, so what can't start shows here, and the live
scheduler is not touched. While that one is exchanged, the canary does its work.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.fleet.serving import health_of, scheduler_container
from kschedpatch.core.manifest.document import Manifest, is_wrapped
from kschedpatch.core.manifest.edits import HostMount, put_mount
from kschedpatch.core.manifest.flags import effective, remove_flag, set_flag
from kschedpatch.core.manifest.quantity import quantity
from kschedpatch.core.manifest.rules.ports import PROBES
from kschedpatch.core.manifest.rules.scheduler import DEFAULT_PORT, resolve_port
from kschedpatch.core.schedconfig.election import Election, election
from kschedpatch.core.schedconfig.read import read_config
from kschedpatch.core.staging import CONFIG_NAME
from kschedpatch.core.yamltext import emit
from kschedpatch.model.facts import NodeFacts, Room
from kschedpatch.model.fleetplan import PORT_MARK, RUN_MARK, Canary, FleetPlan
from kschedpatch.model.kubeversion import KubeVersion
from kschedpatch.model.plan import Generation

#: Of pod, container and file. Not «kube-scheduler-…»: globs of that kind would count it.
NAME = "kschedpatch-canary"
#: Where the node puts the copy of the configuration (agent/65-canary.sh).
CONFIG_COPY = "/var/lib/kschedpatch/txn/canary-config.yaml"
RUN_ANNOTATION = "kschedpatch.io/run"
#: A standby of kubeadm's asks for the lease every 2 to 4.4 s; this one every 0.2 to 0.44 s.
_RETRY = 0.2
_KUBEADM_RETRY = 2.0
_SPARE_KIB = 64 * 1024
_UNKNOWN_SCHEDULER_KIB = 100 * 1024
_SECURITY = ("container.apparmor.security.", "container.seccomp.security.", "seccomp.security.")
_LIMITS = ("cpu", "memory", "ephemeral-storage")


class Without(NamedTuple):
    """There can be no canary on this node."""

    reason: str


class Scheduler(NamedTuple):
    """A scheduler as far as its manifest and configuration tell."""

    manifest: Manifest
    config: dict[str, Any] | None
    """Empty without --config; None: nobody could read it."""

    @property
    def election(self) -> Election | None:
        if self.config is None:
            return None
        return election(self.config, effective(scheduler_container(self.manifest)))

    @property
    def lease(self) -> str:
        """``namespace/name``; empty where it elects nobody, or nobody knows on what."""
        chosen = self.election
        return f"{chosen.namespace}/{chosen.name}" if chosen is not None and chosen.enabled else ""


def live_scheduler(current: Manifest, facts: NodeFacts) -> Scheduler:
    if "config" not in effective(scheduler_container(current)):
        return Scheduler(current, {})
    return Scheduler(current, _config_value(facts.live_config))


def planned_scheduler(after: Manifest, generation: Generation | None, live: Scheduler) -> Scheduler:
    """The configuration that the patch brings, else the live one's where that stays."""
    path = effective(scheduler_container(after)).get("config")
    if path is None:
        return Scheduler(after, {})
    for item in generation.files if generation is not None else ():
        if item.name == CONFIG_NAME:
            return Scheduler(after, _config_value(item.file.content))
    same = effective(scheduler_container(live.manifest)).get("config") == path
    return Scheduler(after, live.config if same else None)


def _config_value(content: bytes | None) -> dict[str, Any] | None:
    config = read_config(content, CONFIG_NAME).config if content is not None else None
    return config.value if config is not None else None


def canary_for(
    live: Scheduler, planned: Scheduler, kubelet: KubeVersion | None, room: Room | None
) -> Canary | Without:
    reason = _no_two(live, planned) or _no_pod(planned.manifest, kubelet) or _no_room(room)
    held = live.election
    if reason or held is None:
        return Without(reason or "it is not known on which lease the live scheduler elects")
    config = planned.config or {}
    # Without its caches a standby never becomes ready, and proves nothing.
    waits = config.get("delayCacheUntilActive") is True
    copy = emit.document({**config, "delayCacheUntilActive": False}) if waits else ""
    health = health_of(planned.manifest, kubelet)
    return Canary(
        manifest=emit.document(_pod(planned.manifest, held, with_copy=waits)),
        config=copy,
        health=health._replace(port=0),
        more_requests=_more_requests(live.manifest, planned.manifest),
        retry=_retry(planned.election),
    )


def without_canaries(plan: FleetPlan) -> FleetPlan:
    """As the operator wishes it: what is told of the plan is told without them."""
    nodes = tuple(node._replace(canary=None, no_canary="") for node in plan.nodes)
    findings = tuple(finding for finding in plan.findings if finding.code != "N031")
    return plan._replace(nodes=nodes, findings=findings)


def _no_two(live: Scheduler, planned: Scheduler) -> str:
    """Why a second scheduler could be at work at the same time as the first."""
    old, new = live.election, planned.election
    flags = effective(scheduler_container(live.manifest))
    if any(name.startswith("lock-object") for name in flags):
        return "the live scheduler's --lock-object-… flags may name another lease"
    if old is None:
        return ""
    if not old.enabled:
        return "the live scheduler runs without leader election: both would be at work"
    if new is not None and not new.enabled:
        return "the new scheduler runs without leader election: both would be at work"
    if new is not None and (new.namespace, new.name) != (old.namespace, old.name):
        return (
            f"the new scheduler elects on {new.namespace}/{new.name}, the live one on "
            f"{old.namespace}/{old.name}: both would be at work"
        )
    return ""


def _no_pod(planned: Manifest, kubelet: KubeVersion | None) -> str:
    """Why the pod can't run twice on one node."""
    spec = planned.pod["spec"]
    others = [
        str(item.get("name"))
        for index, item in enumerate(spec["containers"])
        if index != planned.container_index
    ]
    others += [str(item.get("name")) for item in spec.get("initContainers") or ()]
    container = scheduler_container(planned)
    if others:
        return f"the pod has other containers ({', '.join(others)}), which are not run twice"
    if is_wrapped(container):
        return "the scheduler is started by another program, which hides its flags"
    minor = (planned.version or kubelet or KubeVersion(0, 0)).minor
    flags = effective(container)
    if minor == 22 and ("config" in flags or flags.get("port") != "0"):
        return "1.22 serves its unencrypted port 10251 as well, and it can't be moved"
    return ""


def _no_room(room: Room | None) -> str:
    if room is None:
        return ""
    if not room.free_port:
        return "the node has no free port for it"
    needed = (room.live_kib or _UNKNOWN_SCHEDULER_KIB) * 5 // 4 + _SPARE_KIB
    if room.available_kib < needed:
        return (
            f"the node has {room.available_kib // 1024} MiB of memory available, and a second "
            f"scheduler may need {needed // 1024} MiB"
        )
    return ""


def _pod(planned: Manifest, held: Election, *, with_copy: bool) -> dict[str, Any]:
    pod = planned.pod
    container = pod["spec"]["containers"][planned.container_index]
    serving = effective(container).get("secure-port", DEFAULT_PORT)
    pod.pop("status", None)
    pod["metadata"] = {
        # A uid of its own with each run: what the kubelet remembers of a crash goes by it.
        "annotations": {**_security(planned.annotations), RUN_ANNOTATION: RUN_MARK},
        "labels": {"app.kubernetes.io/managed-by": "kschedpatch", "kschedpatch.io/canary": "true"},
        "name": NAME,
        "namespace": "kube-system",
    }
    container["name"] = NAME
    pod["spec"].pop("resources", None)
    if with_copy:
        path = effective(container)["config"]
        put_mount(pod, planned.container_index, HostMount(NAME, CONFIG_COPY, path, "File"))
    _move_ports(container, serving)
    _ask_for_nothing(container)
    _stand_by(container, held)
    return pod


def _security(annotations: dict[str, Any]) -> dict[str, Any]:
    """Those that decide how the container runs; by the others people find the main pod."""
    kept = {}
    for key, value in annotations.items():
        if key.startswith(_SECURITY):
            # container.…/NAME names the container that it is for.
            own = f"{key.partition('/')[0]}/{NAME}" if key.startswith("container.") else key
            kept[own] = value
    return kept


def _move_ports(container: dict[str, Any], serving: str) -> None:
    """A declared port that the live pod has declared too is denied by the kubelet."""
    for name in PROBES:
        probe = container.get(name)
        for kind in ("httpGet", "tcpSocket"):
            target = probe.get(kind) if isinstance(probe, dict) else None
            if isinstance(target, dict):
                asked = resolve_port(container, target.get("port"))
                target["port"] = PORT_MARK if str(asked) == serving else asked
    container.pop("ports", None)
    set_flag(container, "secure-port", PORT_MARK)


def _ask_for_nothing(container: dict[str, Any]) -> None:
    """On a full node the kubelet would evict others for it. Limits count as requests where there
    are none, so those are said to be nothing."""
    resources = container.pop("resources", None)
    limits = resources.get("limits") if isinstance(resources, dict) else None
    kept = {name: limits[name] for name in _LIMITS if name in limits} if limits else {}
    if kept:
        container["resources"] = {"limits": kept, "requests": dict.fromkeys(kept, "0")}


def _stand_by(container: dict[str, Any], held: Election) -> None:
    """Flags win over the configuration: never two that are at work."""
    for name in ("lock-object-name", "lock-object-namespace"):
        remove_flag(container, name)
    lease, renew, _ = held.durations
    deadline = renew if renew is not None else 10.0
    set_flag(container, "leader-elect", "true")
    set_flag(container, "leader-elect-resource-name", held.name)
    set_flag(container, "leader-elect-resource-namespace", held.namespace)
    set_flag(container, "leader-elect-resource-lock", held.lock)
    set_flag(container, "leader-elect-lease-duration", _spelt(lease if lease is not None else 15.0))
    set_flag(container, "leader-elect-renew-deadline", _spelt(deadline))
    # The elector wants the deadline to exceed 1.2 retries.
    set_flag(container, "leader-elect-retry-period", _spelt(min(_RETRY, deadline / 2)))


def _retry(planned: Election | None) -> float:
    period = planned.durations[2] if planned is not None else None
    return _KUBEADM_RETRY if period is None else period


def _spelt(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def _more_requests(live: Manifest, planned: Manifest) -> tuple[tuple[str, str], ...]:
    before, after = _requests(live), _requests(planned)
    more = []
    for name, amount in after.items():
        wanted, had = quantity(amount), quantity(before.get(name))
        if wanted is not None and had is not None and wanted > had:
            more.append((name, str(wanted - had)))
    return tuple(sorted(more))


def _requests(manifest: Manifest) -> dict[str, Any]:
    """Of the whole pod's one container: other pods have no canary."""
    resources = scheduler_container(manifest).get("resources")
    asked = resources.get("requests") if isinstance(resources, dict) else None
    limits = resources.get("limits") if isinstance(resources, dict) else None
    return {**(limits or {}), **(asked or {})}
