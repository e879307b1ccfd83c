"""Compiles the cluster's binaries from their pinned Go modules into the cache.

A module's binaries are kept under a key of everything that decides their
content, so a later run finds them and a changed pin builds anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from .console import RigError, run, say
from .settings import cache_directory, ready_binaries
from .versions import MODULES, KubernetesVersion

SCHEDULER = "kube-scheduler"
KUBERNETES_COMMANDS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    SCHEDULER,
    "kubeadm",
    "kubectl",
    "kubelet",
)
UPGRADED = ("kube-apiserver", "kube-controller-manager", SCHEDULER)
SCHEDULERS = Path(__file__).parents[3] / "fixtures" / "schedulers"
_PROGRESS_SECONDS = 15.0


@dataclass(frozen=True)
class Module:
    """One directory with go.mod and go.sum, and the commands built from it."""

    directory: Path
    packages: dict[str, str]
    """Import path by name of the binary."""
    linker_flags: str = "-s -w"

    @property
    def name(self) -> str:
        return self.directory.name


def _kubernetes(version: KubernetesVersion, *commands: str) -> Module:
    packages = {name: f"k8s.io/kubernetes/cmd/{name}" for name in commands}
    return Module(version.modules, packages, version.linker_flags)


def modules_of(version: KubernetesVersion) -> list[Module]:
    return [
        _kubernetes(version, *KUBERNETES_COMMANDS),
        Module(MODULES / "etcd", {"etcd": "go.etcd.io/etcd/server/v3"}),
        Module(MODULES / "crictl", {"crictl": "sigs.k8s.io/cri-tools/cmd/crictl"}),
        Module(MODULES / "coredns", {"coredns": "."}),
        Module(MODULES / "registry", {"registry": "."}),
        Module(MODULES / "pause", {"pause": "."}),
    ]


@dataclass(frozen=True)
class Binaries:
    """Where each binary of one cluster lies, by name."""

    paths: dict[str, Path]

    def __getitem__(self, name: str) -> Path:
        return self.paths[name]

    @property
    def key(self) -> str:
        return hashlib.sha256(
            "\n".join(f"{n}={p}" for n, p in sorted(self.paths.items())).encode()
        ).hexdigest()[:16]


def build(version: KubernetesVersion) -> Binaries:
    """All binaries of a cluster, compiled where the cache has none."""
    ready = ready_binaries()
    paths: dict[str, Path] = {}
    for module in modules_of(version):
        paths |= _ready(module, ready) if ready else _built(module)
    return Binaries(paths)


def build_scheduler(name: str, version: KubernetesVersion) -> Path:
    """A scheduler of `fixtures/schedulers`, which no cluster needs: compiled when a test asks."""
    module = Module(SCHEDULERS / name, {name: "."}, version.linker_flags)
    ready = ready_binaries()
    return (_ready(module, ready) if ready else _built(module))[name]


def build_companion(name: str) -> Path:
    """What stands beside a scheduler (`extender`, `deviceplugin`): it has no Kubernetes in it."""
    module = Module(SCHEDULERS / name, {name: "."})
    ready = ready_binaries()
    return (_ready(module, ready) if ready else _built(module))[name]


def build_stock_scheduler(version: KubernetesVersion) -> Path:
    """kube-scheduler alone: of the cluster's binaries where they are there, else compiled."""
    module = _kubernetes(version, SCHEDULER)
    ready = ready_binaries()
    if ready:
        return _ready(module, ready)[SCHEDULER]
    whole = _target("binaries", _kubernetes(version, *KUBERNETES_COMMANDS)) / SCHEDULER
    # A store of its own: a cluster that is being built for minutes holds the other one's lock.
    return whole if whole.is_file() else _built(module, "schedulers")[SCHEDULER]


def build_upgrade(version: KubernetesVersion) -> dict[str, Path]:
    """What `kubeadm upgrade` to this version needs on a node; the kubelet may stay as it is."""
    module = _kubernetes(version, *UPGRADED, "kubeadm")
    ready = ready_binaries()
    if ready:
        return _ready(module, ready)
    return _built(module, "upgrades")


def _ready(module: Module, directory: Path) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name in module.packages:
        candidates = (directory / module.name / name, directory / name)
        hit = next((path for path in candidates if path.is_file()), None)
        if hit is None:
            raise RigError(f"no ready {name}: neither {candidates[0]} nor {candidates[1]}")
        found[name] = hit.resolve()
    return found


def _target(store: str, module: Module) -> Path:
    return cache_directory() / store / f"{module.name}-{_key(module)}"


def _built(module: Module, kind: str = "binaries") -> dict[str, Path]:
    target = _target(kind, module)
    store = target.parent
    store.mkdir(parents=True, exist_ok=True)
    if not target.is_dir():
        # Per cache: two compilers on two cores help nobody, and the second run
        # finds what the first one made.
        with lock(store / ".lock", f"another build in {store}"):
            if not target.is_dir():
                _compile_into(target, module)
    return {name: target / name for name in module.packages}


def _compile_into(target: Path, module: Module) -> None:
    for abandoned in target.parent.glob(".new-*"):
        shutil.rmtree(abandoned, ignore_errors=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".new-") as scratch:
        output = Path(scratch) / "bin"
        output.mkdir()
        _compile(module, output)
        output.rename(target)


def _key(module: Module) -> str:
    digest = hashlib.sha256()
    digest.update(run(["go", "version"], env=go_environment()).stdout)
    digest.update(repr((sorted(module.packages.items()), module.linker_flags)).encode())
    digest.update(_content(module.directory))
    return digest.hexdigest()[:16]


def _content(directory: Path) -> bytes:
    """Every file with its name, but those that only tests and people read."""
    files = (path for path in sorted(directory.rglob("*")) if path.is_file())
    return b"".join(
        path.relative_to(directory).as_posix().encode() + b"\0" + path.read_bytes()
        for path in files
        if not path.name.endswith(("_test.go", ".md", ".yaml"))
    )


def go_environment() -> dict[str, str]:
    # The user's GOFLAGS (a -mod=mod, say) would undo the pins.
    return os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "", "GOTOOLCHAIN": "local", "GOWORK": "off"}


def _compile(module: Module, output: Path) -> None:
    go = shutil.which("go")
    if go is None:
        raise RigError(
            "not installed: go (or set KSCHEDPATCH_E2E_BINARIES to a directory with ready binaries)"
        )
    base = [
        go,
        "build",
        "-v",
        "-mod=readonly",
        "-trimpath",
        "-buildvcs=false",
        "-ldflags",
        module.linker_flags,
    ]
    # Named outputs: a package in the module's own directory would be called
    # after the module, and etcd's after `server`.
    if len(module.packages) == 1:
        [(name, package)] = module.packages.items()
        command = [*base, "-o", str(output / name), package]
    else:
        command = [*base, "-o", f"{output}/", *module.packages.values()]
    say(f"building {module.name}: {', '.join(module.packages)}")
    started = time.monotonic()
    compiled, other = 0, list[str]()
    over = threading.Event()

    def report() -> None:
        # By the clock: linking alone takes a minute and says nothing.
        while not over.wait(_PROGRESS_SECONDS):
            passed = f"{time.monotonic() - started:.0f} s"
            say(f"  {module.name}: {compiled} packages compiled, {passed}")

    # Compilers yield to whatever else runs here, and end with the run that wants them: also
    # when that is killed.
    with subprocess.Popen(
        ["setpriv", "--pdeathsig", "TERM", "nice", "-n", "5", *command],
        start_new_session=True,
        cwd=module.directory,
        env=go_environment(),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        threading.Thread(target=report, daemon=True).start()
        try:
            for line in process.stderr:
                if _names_a_package(line):
                    compiled += 1
                else:
                    other.append(line)
        except BaseException:
            # On its way out, the block waits for the compilers: they must not go on for minutes.
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            over.set()
    if process.returncode != 0:
        raise RigError(f"can't build {module.name}:\n{''.join(other)[-4000:]}")
    say(f"built {module.name} in {time.monotonic() - started:.0f} s")


def _names_a_package(line: str) -> bool:
    return " " not in line.strip() and ":" not in line


@contextmanager
def lock(path: Path, what: str) -> Iterator[None]:
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"waiting for {what}")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
