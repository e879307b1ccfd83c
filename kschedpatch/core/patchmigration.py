"""What a patch itself must change for another minor: flags that are gone, and a Policy that a
flag names."""

from __future__ import annotations

from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import REMOVED_FLAGS
from kschedpatch.core.schedconfig.conversion.journal import Journal
from kschedpatch.model.finding import Path

ARGS: Path = ("spec", "scheduler", "args")
_FETCH = (
    "kubectl -n {namespace} get configmap {name} -o jsonpath='{{.data.policy\\.cfg}}' fetches it; "
    "then: migrate -f"
)
# Flags that said something else than the default only with another value.
_HARMLESS = {
    "port": "0", "logtostderr": "true", "alsologtostderr": "false", "one-output": "false",
    "add-dir-header": "false", "skip-headers": "false", "skip-log-headers": "false",
    "experimental-logging-sanitization": "false", "use-legacy-policy-config": "",
    "stderrthreshold": "2", "log-file-max-size": "1800",
}  # fmt: skip
_RENAMED = {
    "lock-object-name": "leader-elect-resource-name",
    "lock-object-namespace": "leader-elect-resource-namespace",
}
_LOG_HINT = "the container's own log has it"
_PORT_HINT = "10259 serves health and metrics, with TLS"


class NamedPolicy(NamedTuple):
    """A Policy file that the patch brings along and a flag names."""

    file_index: int
    source: str


def gone_flags(args: dict[str, Any], minor: int) -> list[str]:
    """Flags with a value that this minor does not have; null already takes a flag away."""
    return [
        name for name, value in args.items()
        if value is not None and REMOVED_FLAGS.get(name, 1000) <= minor
    ]  # fmt: skip


def change_flags(spec: dict[str, Any], minor: int, journal: Journal) -> None:
    """Takes flags away that the minor no longer has, or says them otherwise."""
    scheduler = spec.get("scheduler") or {}
    args = scheduler.get("args") or {}
    gone = gone_flags(args, minor)
    for name in gone:
        value = args[name]
        here: Path = (*ARGS, name)
        if name.startswith("policy-configmap"):
            _config_map(args, name, journal, here)
        elif name in _RENAMED and not spec.get("config"):
            args[_RENAMED[name]] = value
            journal.changed(here, f"it is called {_RENAMED[name]} today")
        elif name in _RENAMED:
            journal.changed(here, "taken away: with a configuration it never counted")
        elif name in {"port", "address"}:
            journal.changed(here, "taken away: the unencrypted port is gone", _PORT_HINT)
        elif name == "use-legacy-policy-config" or str(value) == _HARMLESS.get(name):
            journal.changed(here, f"taken away: 1.{minor} has no such flag")
        elif name != "policy-config-file":
            hint = _LOG_HINT if name.startswith(("log", "also", "stderr")) else ""
            journal.lost(here, f"1.{minor} has no flag {name}", hint)
    for name in gone:
        del args[name]
    if gone and not args:
        del scheduler["args"]
        if not scheduler:
            del spec["scheduler"]


def _config_map(args: dict[str, Any], name: str, journal: Journal, here: Path) -> None:
    if name == "policy-configmap":
        namespace = args.get("policy-configmap-namespace") or "kube-system"
        hint = _FETCH.format(namespace=namespace, name=args[name])
        journal.noted("U005", here, "its Policy is in the cluster, not in this patch", hint)


def named_policy(spec: dict[str, Any], minor: int) -> NamedPolicy | None:
    """The file of the patch that --policy-config-file reads, for a minor without that flag."""
    args = (spec.get("scheduler") or {}).get("args") or {}
    path = args.get("policy-config-file")
    if path is None or "policy-config-file" not in gone_flags(args, minor):
        return None
    for index, file in enumerate(spec.get("files") or ()):
        if file.get("mountPath") == path:
            return NamedPolicy(index, str(file.get("source")))
    return NamedPolicy(-1, str(path))
