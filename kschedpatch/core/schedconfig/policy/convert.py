"""A Policy as a configuration: what it chose in 1.22, said as differences from the target's
defaults, so that what the target has learnt since stays on."""

from __future__ import annotations

import base64
from typing import Any

from kschedpatch.core.kubeversions import CONFIG_GROUP, CONFIG_KIND, stock_plugins
from kschedpatch.core.schedconfig import durations
from kschedpatch.core.schedconfig.conversion.configuration import Choices, Conversion
from kschedpatch.core.schedconfig.conversion.journal import Journal
from kschedpatch.core.schedconfig.conversion.meaning import keep
from kschedpatch.core.schedconfig.conversion.roles import Roles, default_roles
from kschedpatch.core.schedconfig.conversion.settings import Setting, target_setting
from kschedpatch.core.schedconfig.conversion.successors import CLOUD_LIMITS, succeed
from kschedpatch.core.schedconfig.policy import names
from kschedpatch.core.schedconfig.policy.judge import as_configured
from kschedpatch.core.schedconfig.policy.read import LAST_MINOR, PolicyText
from kschedpatch.core.schedconfig.policy.selection import select
from kschedpatch.model.finding import Path


def mended(policy: PolicyText, journal: Journal) -> PolicyText:
    """The Policy with the names that were meant, where 1.22 refuses the ones written."""
    value = dict(policy.value)
    for kind, known in (
        ("predicates", names.predicate),
        ("priorities", names.priority),
    ):
        items = []
        for index, item in enumerate(value.get(kind) or ()):
            name = item.get("name", "")
            meant = names.meant_by(name, kind)
            here: Path = (kind, index, "name")
            if known(name) or item.get("argument") or name == names.EQUAL_PRIORITY:
                items.append(item)
            elif names.is_covered_by_taints(name):
                journal.changed(here, f"{name} left out: taints say it, and they always count")
            elif meant is not None and meant not in names.NEED_ARGUMENT:
                journal.changed(here, f"{name} is taken for {meant}; 1.22 knows only that")
                items.append({**item, "name": meant})
            else:
                items.append(item)
        if value.get(kind) is not None:
            value[kind] = items
    return policy._replace(value=value)


def convert_policy(policy: PolicyText, target: Setting, choices: Choices) -> Conversion:
    """The whole configuration, of a Policy that 1.22 takes (``mended`` makes many to one)."""
    journal = Journal(policy.places.at, accept=choices.accept_changes)
    chosen = select(policy.value)
    message = (
        f"its predicates and priorities are a profile, said as what differs from 1.{target.minor}"
    )
    hint = "give it as config.file of a patch, which also fills in clientConnection.kubeconfig"
    journal.changed(("kind",), message, hint)
    roles: Roles = {
        **default_roles(target_setting(LAST_MINOR)),
        "filter": dict.fromkeys(chosen.filters, 0),
        "score": dict(chosen.scores),
    }
    args = dict(chosen.args)
    ratio = args.get("RequestedToCapacityRatio", {"resources": True})
    if not ratio.get("resources"):
        # 1.22 fills in no resources here, and with none every node gets 0.
        where = chosen.asked["score", "RequestedToCapacityRatio"]
        message = "it names no resources, so that it gave every node 0: left out"
        journal.changed(where, message, "resources in its argument make it count")
        del roles["score"]["RequestedToCapacityRatio"]
    succession = succeed(roles, args, target.usable_plugins)
    _tell_limits(chosen.asked, target, journal)
    for loss in succession.losses:
        place = chosen.asked.get((loss.role, loss.plugin))
        if place is None and loss.was_default:
            message = f"{loss.message}; a Policy without priorities has it"
            journal.noted("U004", (), message, loss.hint)
        else:
            journal.lost(place or (), loss.message, loss.hint)
    if choices.new_weights and policy.value.get("priorities") is None:
        defaults = default_roles(target)["score"]
        succession.roles["score"].update(
            {name: defaults[name] for name in succession.roles["score"] if name in defaults}
        )
    foreign = stock_plugins(target.minor) - stock_plugins(LAST_MINOR)
    profile: dict[str, Any] = {"schedulerName": "default-scheduler"}
    plugins: dict[str, Any] = {}
    keep(plugins, succession.roles, target, foreign=foreign)
    if plugins:
        profile["plugins"] = plugins
    if settings := _plugin_config({**_plain(args), **succession.args}, succession.roles):
        profile["pluginConfig"] = settings
    if policy.value.get("alwaysCheckAllPredicates"):
        message = "nothing says it any more: a node's first reason is the one that is told"
        journal.noted("U004", ("alwaysCheckAllPredicates",), message)
    value: dict[str, Any] = {
        "apiVersion": f"{CONFIG_GROUP}/{target.version}",
        "kind": CONFIG_KIND,
        "profiles": [profile],
    }
    if policy.value.get("extenders"):
        value["extenders"] = [_extender(item) for item in policy.value["extenders"]]
    return Conversion(value, tuple(journal.findings))


def _tell_limits(asked: dict[tuple[str, str], Path], target: Setting, journal: Journal) -> None:
    usable = target.usable_plugins
    for plugin in CLOUD_LIMITS:
        place = asked.get(("filter", plugin))
        if place is not None and plugin not in usable:
            journal.changed(place, f"{plugin} is NodeVolumeLimits today, which counts all volumes")


def _plain(args: dict[str, Any]) -> dict[str, Any]:
    """Arguments that differ from the defaults of every version."""
    kept = {}
    if args.get("PodTopologySpread", {}).get("defaultingType") == "List":
        kept["PodTopologySpread"] = args["PodTopologySpread"]
    if args.get("InterPodAffinity", {}).get("hardPodAffinityWeight", 1) != 1:
        kept["InterPodAffinity"] = args["InterPodAffinity"]
    return kept


def _plugin_config(args: dict[str, Any], roles: Roles) -> list[dict[str, Any]]:
    used = {name for plugins in roles.values() for name in plugins}
    return [
        {"name": name, "args": arguments}
        for name, arguments in sorted(args.items())
        if name in used and arguments
    ]


def _extender(extender: dict[str, Any]) -> dict[str, Any]:
    converted = as_configured(extender)
    timeout = converted.get("httpTimeout")
    if timeout:
        converted["httpTimeout"] = durations.written(timeout)
    elif timeout is not None:
        del converted["httpTimeout"]  # the default, as it was
    if tls := converted.get("tlsConfig"):
        converted["tlsConfig"] = {key: _as_text(item) for key, item in tls.items()}
    return converted


def _as_text(item: Any) -> Any:
    return base64.b64encode(item).decode() if isinstance(item, bytes) else item
