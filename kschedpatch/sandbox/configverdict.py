"""What a scheduler says to its command line and its configuration, before it serves.

The same verdict counts for a real start and for a preflight with ``--write-config-to``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kschedpatch.core.kubeversions import (
    KNOWN_FLAGS,
    REMOVED_FLAGS,
    config_versions,
    stock_plugins,
)
from kschedpatch.core.schedconfig.checks import Surroundings, config_findings, enabled_plugins
from kschedpatch.core.schedconfig.read import ConfigText, read_config
from kschedpatch.model.finding import has_errors

#: Reads a file as the container sees it; None: it is not there.
ReadFile = Callable[[str], bytes | None]


class Verdict(NamedTuple):
    """``problem`` is empty where the scheduler goes on to serve."""

    problem: str = ""
    config: Mapping[str, Any] = {}
    is_flag_problem: bool = False
    is_extender_problem: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        if self.is_flag_problem:
            return (f"Error: {self.problem}",)
        escaped = self.problem.replace('"', '\\"')
        return (f'E1116 20:00:00.000000       1 run.go:72] "command failed" err="{escaped}"',)


def verdict(
    flags: Mapping[str, str],
    minor: int,
    *,
    stock: bool,
    read: ReadFile,
    in_cluster: bool = False,
) -> Verdict:
    """``in_cluster``: a ServiceAccount's token does where no kubeconfig is named. So does an
    address for it."""
    in_cluster = in_cluster or "master" in flags
    for name in flags:
        unknown = name not in KNOWN_FLAGS or minor >= REMOVED_FLAGS.get(name, 10_000)
        # A scheduler of somebody's own may have flags of its own.
        if unknown and (stock or name.startswith("bogus")):
            return Verdict(f"unknown flag: --{name}", is_flag_problem=True)
    path = flags.get("config")
    if not path:
        named = flags.get("kubeconfig", "")
        return Verdict() if in_cluster and not named else _kubeconfig(named, {}, read)
    data = read(path)
    if data is None:
        return Verdict(f"open {path}: no such file or directory")
    reading = read_config(data, path)
    if reading.config is None or has_errors(reading.findings):
        return Verdict(_unreadable(data, [f.message for f in reading.findings]))
    problem = _config_problem(reading.config, flags, minor, stock=stock)
    if problem:
        return Verdict(problem)
    value = reading.config.value
    connection = value.get("clientConnection") or {}
    named = str(connection.get("kubeconfig") or "")
    if in_cluster and not named:
        return _extenders(value, read)
    found = _kubeconfig(named, value, read)
    return found if found.problem else _extenders(value, read)


def _unreadable(data: bytes, messages: list[str]) -> str:
    if not data.strip():
        return "Object 'Kind' is missing in ''"
    return f"strict decoding error: {'; '.join(messages)}"


def _config_problem(
    config: ConfigText, flags: Mapping[str, str], minor: int, *, stock: bool
) -> str:
    api_version = str(config.value.get("apiVersion") or "")
    if not api_version:
        return "Object 'apiVersion' is missing in '…'"
    if api_version.rpartition("/")[2] not in config_versions(minor):
        return (
            f'no kind "KubeSchedulerConfiguration" is registered for version "{api_version}" '
            'in scheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:30"'
        )
    around = Surroundings(minor, flags, stock_image=False, mounted=None)
    for finding in config_findings(config, around):
        if finding.is_error and finding.code in {"C019", "C021"}:
            return f'strict decoding error: unknown field "{finding.path}"'
        if finding.is_error:
            return finding.message
    return _unknown_plugin(config.value, minor) if stock else ""


def _unknown_plugin(value: Mapping[str, Any], minor: int) -> str:
    known = stock_plugins(minor)
    for profile in value.get("profiles") or ():
        for _, point, name in enabled_plugins(profile, ()):
            if name in known:
                continue
            # With multiPoint the first point that is tried is named, whatever the plugin does.
            kind = "PreFilter" if point == "multiPoint" else point[:1].upper() + point[1:]
            scheduler = profile.get("schedulerName") or "default-scheduler"
            return (
                f"initializing profiles: creating profile for scheduler name {scheduler}: "
                f'{kind}Plugin "{name}" does not exist'
            )
    return ""


def _kubeconfig(path: str, config: Mapping[str, Any], read: ReadFile) -> Verdict:
    if not path:
        return Verdict(
            "invalid configuration: no configuration has been provided, "
            "try setting KUBERNETES_MASTER environment variable"
        )
    data = read(path)
    if data is None:
        return Verdict(f"stat {path}: no such file or directory")
    if not data.strip():
        return Verdict(
            "invalid configuration: no configuration has been provided, "
            "try setting KUBERNETES_MASTER environment variable"
        )
    return Verdict("", config)


def _extenders(value: Mapping[str, Any], read: ReadFile) -> Verdict:
    for extender in value.get("extenders") or ():
        tls = extender.get("tlsConfig")
        for key in ("caFile", "certFile", "keyFile"):
            path = tls.get(key) if isinstance(tls, dict) else None
            if path and read(str(path)) is None:
                problem = f"couldn't build extenders: open {path}: no such file or directory"
                return Verdict(problem, value, is_extender_problem=True)
    return Verdict("", value)
