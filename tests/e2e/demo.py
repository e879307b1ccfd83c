"""`make demo-real`: the demo against the cluster of `make cluster-up`, its kubelets and all."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from kschedpatch.model import exitcodes
from kschedpatch.report.terminal import complain, width
from kschedpatch.sandbox.demoplay import Surprise, play, say
from kschedpatch.sandbox.demosteps import paragraph
from tests.e2e.cluster.cluster import attach
from tests.e2e.cluster.console import RigError
from tests.e2e.cluster.settings import why_not_here
from tests.e2e.realstage import real_stage
from tests.e2e.tool import NODES, kschedpatch

INTRODUCTION = (
    "Three control-plane nodes with a kubelet, a container runtime and an API server each: the "
    "cluster of make cluster-up. The steps are those of make demo, and so is what must come of "
    "them; only time is the real one."
)


def main() -> int:
    reason = why_not_here()
    if reason:
        complain(f"Error: {reason}")
        return exitcodes.REFUSED
    began = time.monotonic()
    try:
        cluster = attach()
        with tempfile.TemporaryDirectory(prefix="kschedpatch-demo-") as directory:
            with real_stage(cluster, Path(directory)) as stage:
                say(paragraph(INTRODUCTION, width()))
                play(stage)
            config = ("--ssh-config", str(cluster.access.ssh_config))
            kschedpatch(cluster, "purge", *NODES, *config, "--yes")
    except RigError as error:
        complain(f"Error: {error}")
        return exitcodes.REFUSED
    except KeyboardInterrupt:
        complain(
            "\nInterrupted: a node that was being changed goes back by itself,\nwithin ten minutes."
        )
        return exitcodes.INTERRUPTED
    except Surprise as error:
        complain(f"\nThe demo did not go as it should: {error}.")
        return exitcodes.INTERNAL
    say(f"\nDone in {time.monotonic() - began:.0f} s. make cluster-down ends the cluster.")
    return exitcodes.OK


if __name__ == "__main__":
    sys.exit(main())
