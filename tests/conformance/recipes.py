"""`python -m tests.conformance recipes`: every recipe, linted, rendered, and given to the real
scheduler of every minor as the preflight would.

A recipe for a plugin of one's own is given to the stock scheduler, where nothing but that plugin
may be missing, and to the demo scheduler, which has it, for the minor that this is built for.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from tests.e2e.cluster import demo
from tests.e2e.cluster.versions import kubernetes_version
from tests.recipenames import OF_STATIC_PODS, OWN_PLUGIN

from .scheduler import Scheduler, leave_the_network, scratch_base
from .surroundings import KUBECONFIG
from .verdicts import Blame, blames

TOO_NEW = {("gpu-admission", "1.22"): "C019"}
"""Its second profile uses multiPoint, which comes with 1.23: lint says so."""
_MANIFESTS = Path(__file__).parents[2] / "fixtures" / "manifests" / "kubeadm"
_NODES_KUBECONFIG = "/etc/kubernetes/scheduler.conf"
_NO_CLIENT = f"the client's kubeconfig: stat {_NODES_KUBECONFIG}: no such file or directory"
"""The plugin is there, with a client of its own, which has nothing to read outside a node."""


class Asked(NamedTuple):
    recipe: str
    minor: str
    scheduler: str
    said: str
    fault: str
    """Empty where all is as it should be."""


class Rendered(NamedTuple):
    config: bytes
    flags: tuple[tuple[str, str], ...]


def ask_all(minors: list[str]) -> Iterator[Asked]:
    alone = leave_the_network()
    with tempfile.TemporaryDirectory(dir=scratch_base()) as directory:
        for minor in minors:
            stock = Scheduler(minor, Path(directory), alone)
            own = None
            if demo.demo_release().startswith(f"{minor}."):
                binary = demo.demo_binary(kubernetes_version(minor))
                own = Scheduler(minor, Path(directory), alone, binary=binary)
            # Those for Deployments have the same configurations.
            for name in OF_STATIC_PODS:
                yield from _ask(name, minor, stock, own)


def _ask(name: str, minor: str, stock: Scheduler, own: Scheduler | None) -> Iterator[Asked]:
    code, codes = _lint(name, minor)
    too_new = TOO_NEW.get((name, minor))
    if too_new is not None:
        fault = "" if code and codes == {too_new} else f"lint: exit {code}, {sorted(codes)}"
        yield Asked(name, minor, "-", f"lint refuses it ({too_new})", fault)
        return
    if code:
        yield Asked(name, minor, "-", "", f"lint: exit {code}, {sorted(codes)}")
        return
    rendered = _render(name, minor)
    verdict = stock.judge(*rendered)
    plugin = OWN_PLUGIN.get(name)
    if plugin is None:
        yield Asked(name, minor, "stock", "taken", "" if verdict.accepted else verdict.text)
        return
    alone = not verdict.accepted and blames(verdict.text) == [Blame("plugin", plugin)]
    fault = "" if alone else verdict.text or f"taken without {plugin}"
    yield Asked(name, minor, "stock", f"only {plugin} is missing", fault)
    if own is not None:
        verdict = own.judge(*rendered)
        if name == "alnair" and verdict.text.endswith(_NO_CLIENT):
            yield Asked(name, minor, "demo", "asks for the node's scheduler.conf", "")
        else:
            yield Asked(name, minor, "demo", "taken", "" if verdict.accepted else verdict.text)


def _kschedpatch(command: str, name: str, minor: str) -> subprocess.CompletedProcess[str]:
    manifest = _MANIFESTS / f"v{minor}.yaml"
    words = [command, "--recipe", name, "--manifest", str(manifest), "-o", "json"]
    return subprocess.run(
        [sys.executable, "-m", "kschedpatch", *words], capture_output=True, text=True, check=False
    )


def _lint(name: str, minor: str) -> tuple[int, set[str]]:
    """The exit code, and the codes of its errors."""
    result = _kschedpatch("lint", name, minor)
    findings = json.loads(result.stdout)["findings"]
    return result.returncode, {f["code"] for f in findings if f["severity"] == "error"}


def _render(name: str, minor: str) -> Rendered:
    document = json.loads(_kschedpatch("render", name, minor).stdout)
    files = {file["name"]: file["content"] for file in document["generation"]["files"]}
    config = files["scheduler-config.yaml"].replace(_NODES_KUBECONFIG, KUBECONFIG)
    pod = value_of(read(document["manifest"].encode()).documents[0])
    assert isinstance(pod, dict)
    words = pod["spec"]["containers"][0]["command"][1:]
    pairs = [word.removeprefix("--").partition("=") for word in words]
    flags = [
        (flag, value.replace(_NODES_KUBECONFIG, KUBECONFIG))
        for flag, _, value in pairs
        if flag != "config"
    ]
    return Rendered(config.encode(), tuple(flags))


def table(asked: list[Asked]) -> str:
    rows = [("recipe", "minor", "scheduler", "verdict")]
    rows += [(a.recipe, a.minor, a.scheduler, a.fault or a.said) for a in asked]
    return "\n".join(f"{a:<14}{b:<7}{c:<11}{d}" for a, b, c, d in rows)
