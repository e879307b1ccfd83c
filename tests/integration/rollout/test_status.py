"""status, and status --watch, on simulated nodes to which somebody has done something."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable

from tests.integration.rollout.desk import BARE, QUICK, Desk
from tests.integration.rollout.rig import CONFIG, RBAC, patch

ROLE = "kschedpatch:trial"


def test_drift_of_nodes_and_objects_is_named_and_mended(desk: Desk) -> None:
    file = desk.writes(patch(desk.rig.fresh_v(), rest=CONFIG + RBAC))
    assert desk.types("apply", "-f", file, "--yes", *BARE).code == 0
    quiet = desk.types("status")
    assert (quiet.code, "error" in quiet.err) == (0, False), quiet.err
    assert quiet.out.count(" none ") == 3
    assert max(len(line) for line in quiet.out.splitlines()) <= 80

    first, second, third = desk.rig.nodes
    [config] = first.path("/etc/kubernetes/kschedpatch/generations").glob("*/*.yaml")
    config.chmod(0o644)
    config.write_bytes(config.read_bytes() + b"# by hand\n")
    backup = second.manifest.with_name("kube-scheduler.yaml.bak")
    backup.write_bytes(second.manifest.read_bytes())
    killed = third.path("/etc/kubernetes/kschedpatch/generations/.new-20260101-000000-0000")
    killed.mkdir()
    api = desk.rig.sandbox.api
    with desk.rig.sandbox.simulation.lock:
        api.patch("ClusterRole", ROLE, "", {"rules": []})
        api.delete("ClusterRoleBinding", ROLE)

    found = {f["code"]: f["message"] for f in desk.data("status")["findings"]}
    assert found.keys() >= {"N103", "M026", "N113", "N114", "N115"}, found
    assert ROLE in found["N114"]
    assert ROLE in found["N115"]
    assert "files changed" in desk.types("status").out
    verified = desk.data("verify")
    assert verified["exitCode"] == 1
    assert {f["code"] for f in verified["findings"]} >= {"N103", "M026", "N113", "N114", "N115"}
    against = desk.data("verify", "-f", file)
    assert {f["code"] for f in against["findings"]} >= {"N114", "N115"}

    backup.unlink()
    assert desk.types("rollback", "--yes", *QUICK).code == 0
    applied = desk.types("apply", "-f", file, "--yes", *BARE)
    assert applied.code == 0, applied.err
    mended = desk.types("status")
    assert (mended.code, mended.err.count("error")) == (0, 0), mended.err
    assert not killed.exists()


def until(shown: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not shown() and time.monotonic() < end:
        time.sleep(0.1)


def told() -> str:
    """What the watch has written by now."""
    return str(getattr(sys.stdout, "getvalue", str)())


def test_a_watch_outlives_a_node_and_ends_with_ctrl_c(desk: Desk) -> None:
    lost = desk.rig.nodes[1]

    def by_somebody() -> None:
        until(lambda: told().count("\n") > 1)
        lost.power_off()
        until(lambda: "not reached" in told())
        lost.power_on()
        until(lambda: "not reached" not in told().splitlines()[-1])
        os.kill(os.getpid(), signal.SIGINT)

    others = threading.Thread(target=by_somebody)
    others.start()
    ran = desk.types("status", "--watch", "--interval", "0.2", "-o", "json", "-q")
    others.join()
    assert (ran.code, ran.err) == (130, "")
    rounds = [json.loads(line) for line in ran.out.splitlines()]
    states = [[node["state"] == "not reached" for node in r["nodes"]] for r in rounds]
    assert states[0] == states[-1] == [False] * 3
    assert [False, True, False] in states
    assert {r["exitCode"] for r in rounds} == {0, 3}
    assert lost.wait_ready(60)


def test_a_watch_that_nobody_sees_shows_changes_only(desk: Desk) -> None:
    def by_somebody() -> None:
        until(lambda: "NODE" in told())
        backup = desk.rig.node.manifest.with_name("kube-scheduler.yaml.bak")
        backup.write_bytes(desk.rig.node.manifest.read_bytes())
        until(lambda: "M026" in told())
        backup.unlink()
        until(lambda: told().count("NODE") > 2)
        os.kill(os.getpid(), signal.SIGINT)

    others = threading.Thread(target=by_somebody)
    others.start()
    ran = desk.types("status", "--watch", "--interval", "0.2", "-q")
    others.join()
    assert ran.code == 130
    assert ran.out.count("NODE") == 3
    assert "\x1b" not in ran.out
