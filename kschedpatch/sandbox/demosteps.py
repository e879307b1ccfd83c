"""What the demo shows, one command after the other, and what each must lead to. Values and texts
only; demo.py runs them."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from kschedpatch.model import exitcodes
from kschedpatch.sandbox.operatorfiles import SSH_CONFIG

NODES = ("cp1", "cp2", "cp3")
#: How many seconds of the nodes pass in one of ours.
SPEED = 8
#: The nodes count their deadline faster than the commands that renew it, on a busy machine too.
_PATIENT = ("--yes", "--confirm-timeout", "600")
_THERE = ("--ssh-config", SSH_CONFIG, *NODES)


class Manifests(Enum):
    """What the manifest is on all nodes."""

    ORIGINAL = "kubeadm's, byte for byte"
    PATCHED = "that of the first apply"


class Step(NamedTuple):
    title: str
    why: str
    words: tuple[str, ...]
    """The command, without the program's name."""
    code: int
    stands: Manifests
    """Afterwards."""


STEPS = (
    Step(
        "Look first",
        "plan logs in to every node, changes nothing, and shows what would change there. "
        "gpumps.yaml is the recipe gpumps with an image of the sandbox's own registry.",
        ("plan", "-f", "gpumps.yaml", *_THERE),
        exitcodes.OK,
        Manifests.ORIGINAL,
    ),
    Step(
        "Change it",
        "apply tries the new scheduler on every node, runs it as a canary beside the live one, and "
        "switches node by node, the leader last. A node that hears no more of it goes back by "
        "itself. --probe sends the recipe's own pod through the new scheduler.",
        ("apply", "-f", "gpumps.yaml", "--probe", *_PATIENT, *_THERE),
        exitcodes.OK,
        Manifests.PATCHED,
    ),
    Step(
        "See that it works",
        "verify asks the running processes, not the files: flags, mounts, image, plugin, the "
        "device plugin's socket as the scheduler sees it, and the line that the plugin logs.",
        ("verify", *_THERE),
        exitcodes.OK,
        Manifests.PATCHED,
    ),
    Step(
        "A mistake that never goes live",
        "without-plugin.yaml names a build that lacks the plugin. By hand this takes the scheduler "
        "away; here its trial run on the nodes fails, and nothing live is touched.",
        ("apply", "-f", "without-plugin.yaml", *_PATIENT, *_THERE),
        exitcodes.REFUSED,
        Manifests.PATCHED,
    ),
    Step(
        "A fault that shows at run time only",
        "breaks-on-first-pod.yaml names a build that starts, becomes ready, and panics on the "
        "first pod that it schedules. The probe is that pod, and every node goes back.",
        ("apply", "-f", "breaks-on-first-pod.yaml", *_PATIENT, *_THERE),
        exitcodes.ROLLED_BACK,
        Manifests.PATCHED,
    ),
    Step(
        "And back",
        "rollback puts back what stood there before, and waits until it is seen ready.",
        ("rollback", *_PATIENT, *_THERE),
        exitcodes.OK,
        Manifests.ORIGINAL,
    ),
)

INTRODUCTION = (
    f"Three control-plane nodes on this machine, made for these minutes: each has an SSH server on "
    f"the loopback and the files that kubeadm leaves. SSH, the script on the nodes and every step "
    f"of a change are the real ones. Kubelet, container runtime and API server are simulated, and "
    f"their clock runs {SPEED} times as fast; hence --confirm-timeout. At the end all of it goes."
)


def command_line(words: Sequence[str], width: int) -> str:
    """As one would type it; a line that is too long goes on in the next, before a flag."""
    lines = ["$ kschedpatch"]
    for group in re.split(r" (?=-)", " ".join(words)):
        # Room for the blank and the backslash of a line that goes on.
        if len(lines[-1]) + 1 + len(group) > width - 2:
            lines[-1] += " \\"
            lines.append("   ")
        lines[-1] += f" {group}"
    return "\n".join(lines)


def paragraph(text: str, width: int) -> str:
    return textwrap.fill(text, min(width, 80), break_on_hyphens=False, break_long_words=False)


def verdict(step: Step, code: int, stands: Manifests | None) -> str:
    """What went otherwise than the step says; empty: nothing."""
    if code != step.code:
        return f"it ended with exit code {code} instead of {step.code}"
    if stands is not step.stands:
        found = "another, or not the same everywhere" if stands is None else stands.value
        return f"the manifest is {found}, instead of {step.stands.value}"
    return ""
