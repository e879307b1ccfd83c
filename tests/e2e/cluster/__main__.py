"""`python -m tests.e2e.cluster`: build, up, down, ssh and status for people."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from types import FrameType

from . import cluster, reaper
from .access import Access
from .build import build
from .console import RigError, say
from .packages import install_missing
from .rootfs import base_tree
from .settings import NODE_COUNTS, STATE, why_not_here
from .teardown import exclusive, leftovers, take_down
from .versions import DEFAULT_MINOR, known_minors, kubernetes_version


def main() -> int:
    signal.signal(signal.SIGTERM, _interrupt)
    options = _parser().parse_args()
    reason = why_not_here()
    if reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    try:
        return int(options.command(options))
    except RigError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    except KeyboardInterrupt:
        return 130


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.cluster", description=__doc__)
    parser.add_argument("--cache", help="where binaries, images and the file tree are kept")
    parser.add_argument(
        "--binaries", help="a directory with ready binaries, instead of building them"
    )
    commands = parser.add_subparsers(required=True)
    for name, command, help_text in (
        ("build", _build, "compile what the cache lacks"),
        ("up", _up, "boot a cluster and leave it running"),
    ):
        sub = commands.add_parser(name, help=help_text)
        sub.add_argument("--kubernetes", choices=known_minors(), default=DEFAULT_MINOR)
        sub.set_defaults(command=command)
        if command is _up:
            sub.add_argument("--nodes", type=int, choices=NODE_COUNTS, default=max(NODE_COUNTS))
    commands.add_parser("down", help="take everything of the rig away").set_defaults(command=_down)
    commands.add_parser("status", help="what is there of the rig").set_defaults(command=_status)
    ssh = commands.add_parser("ssh", help="log in to a machine")
    ssh.add_argument("machine")
    ssh.add_argument("words", nargs=argparse.REMAINDER)
    ssh.set_defaults(command=_ssh)
    watch = commands.add_parser(
        "reap", help="take a run's cluster down when its owner dies (started by the tests)"
    )
    watch.add_argument("run")
    watch.set_defaults(command=lambda options: reaper.main(options.run))
    return parser


def _environment(options: argparse.Namespace) -> None:
    for variable, value in (
        ("KSCHEDPATCH_E2E_CACHE", options.cache),
        ("KSCHEDPATCH_E2E_BINARIES", options.binaries),
    ):
        if value:
            os.environ[variable] = str(Path(value).resolve())


def _build(options: argparse.Namespace) -> int:
    _environment(options)
    install_missing()
    build(kubernetes_version(options.kubernetes))
    base_tree()
    return 0


def _up(options: argparse.Namespace) -> int:
    _environment(options)
    with exclusive():
        cluster.refuse_beside_kept()
        try:
            up = cluster.bring_up(options.kubernetes, options.nodes, run="kept", keep=True)
        except BaseException:
            take_down()
            raise
    say(f"kubectl --kubeconfig={up.kubeconfig} get pods -A")
    say(f"ssh -F {up.access.ssh_config} cp1    (or cp2, cp3, bastion, cp1-inner …)")
    return 0


def _down(_options: argparse.Namespace) -> int:
    with exclusive():
        take_down()
    return 0


def _status(_options: argparse.Namespace) -> int:
    sys.stdout.writelines(f"{line}\n" for line in leftovers())
    return 0


def _ssh(options: argparse.Namespace) -> int:
    config = Access(STATE / "access").ssh_config
    if not config.exists():
        raise RigError("no cluster is up; start one with: make cluster-up")
    os.execvp("ssh", ["ssh", "-F", str(config), options.machine, *options.words])  # noqa: S606


if __name__ == "__main__":
    sys.exit(main())
