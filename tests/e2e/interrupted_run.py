"""Runs that end badly, for test_interrupted.py; pytest collects this file by its name only."""

from __future__ import annotations

import sys
import time

from .cluster.cluster import Cluster


def test_waits(cluster: Cluster) -> None:
    sys.__stderr__.write("the cluster is up\n")  # type: ignore[union-attr]
    time.sleep(600)
    raise AssertionError("nobody has ended this run")


def test_fails(cluster: Cluster) -> None:
    # With everything that a fault run may have left about when it fails.
    node = cluster.nodes[0]
    node.cut_network()
    node.run("mkdir -p /mnt/more && mount -t tmpfs none /mnt/more")
    raise AssertionError("as it should be")
