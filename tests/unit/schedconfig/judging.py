"""Configurations in short: a body is put under the head that its minor reads."""

from __future__ import annotations

from typing import Any

from kschedpatch.core.kubeversions import best_config_version
from kschedpatch.core.schedconfig.checks import Surroundings
from kschedpatch.core.schedconfig.judge import judge
from kschedpatch.model.finding import Finding


def judged(
    body: str, minor: int | None = 34, *, version: str = "", stock: bool = True, **around: Any
) -> tuple[Finding, ...]:
    group = "kubescheduler.config.k8s.io"
    head = f"{group}/{version}" if version else best_config_version(minor or 34)
    text = f"apiVersion: {head}\nkind: KubeSchedulerConfiguration\n{body}\n"
    return judge(text.encode(), "c.yaml", Surroundings(minor, stock_image=stock, **around))


def errors(body: str, minor: int | None = 34, **around: Any) -> list[tuple[str, str]]:
    """(code, path) of what is refused."""
    return [(f.code, f.path) for f in judged(body, minor, **around) if f.is_error]


def profile(plugins: str, settings: str = "") -> str:
    return f"profiles: [{{plugins: {{{plugins}}}, pluginConfig: [{settings}]}}]"


def args(plugin: str, values: str) -> str:
    return profile("", f"{{name: {plugin}, args: {values}}}")
