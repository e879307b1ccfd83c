"""What a look at one node says about changing it: each rule takes facts and gives findings."""

from __future__ import annotations

from collections.abc import Iterator

from kschedpatch.core.fleet.bringing import bringing_findings
from kschedpatch.core.fleet.questions import located
from kschedpatch.core.fleet.runids import is_run_id
from kschedpatch.core.manifest.validate import directory_findings
from kschedpatch.model.codes import found
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.finding import Finding
from kschedpatch.model.fleetplan import NodePlan
from kschedpatch.model.revision import OpenTransaction

#: The newest format of /var/lib/kschedpatch that this version reads and writes.
STATE_FORMAT = 1
_MANIFEST = "kube-scheduler.yaml"
_WHY_NOT = {
    "symlink": "it is a symlink: a rename would replace the link, not the file behind it",
    "mount": "it is a mount point: no rename can replace it",
    "unreadable": "it can't be read, or is no regular file",
}
_RUNNERS = ("ctr", "crictl", "podman", "docker")


def node_findings(facts: NodeFacts) -> Iterator[Finding]:
    """All that can be said without knowing what is planned for the node."""
    yield from _manifest(facts)
    yield from competitors(facts)
    yield from _busy(facts)
    yield from _tools(facts)
    yield from _health(facts)


def planned_findings(facts: NodeFacts, plan: NodePlan) -> Iterator[Finding]:
    """What the plan needs of the node: images and space."""
    if facts.images.get(plan.image_before) is False:
        message = f"{plan.image_before}, which runs now, is not on the node any more"
        hint = f"pull it first: crictl pull {plan.image_before}"
        yield about(facts, "N015", message, hint)
    yield from bringing_findings(facts, plan)
    if plan.changed and plan.no_canary:
        hint = (
            "this node is switched without one: about 3 s without its scheduler, and one that "
            "can't start is seen only then, and taken back"
        )
        yield about(facts, "N031", plan.no_canary, hint)
    if plan.health.port == 0:
        yield about(facts, "N026", "--secure-port=0: nothing can be asked whether it works")


def about(facts: NodeFacts, code: str, message: str, hint: str = "", path: str = "") -> Finding:
    return found(code, message, file=located(facts, path), hint=hint)


def _manifest(facts: NodeFacts) -> Iterator[Finding]:
    path = f"{facts.manifests_directory}/{_MANIFEST}"
    problem = facts.manifest_problem
    if problem == "missing" or (facts.manifest is None and not problem):
        hint = "is this a control-plane node of a kubeadm cluster?"
        if facts.transaction is not None or facts.leftovers:
            hint = f"a run was cut off here: kschedpatch rollback {facts.label}"
        yield about(facts, "N001", "there is no such file", hint, path)
    elif problem:
        hint = "put a regular file there"
        yield about(facts, "N002", _WHY_NOT.get(problem, problem), hint, path)


def competitors(facts: NodeFacts) -> Iterator[Finding]:
    """Other files in the manifests directory that the kubelet takes for the scheduler's."""
    directory = {other.path.rpartition("/")[2]: other for other in facts.others}
    contents = {name: other.content for name, other in directory.items()}
    if facts.manifest is not None:
        contents[_MANIFEST] = facts.manifest.content
    for finding in directory_findings(contents):
        path = directory[finding.file].path if finding.file in directory else finding.file
        yield finding._replace(file=located(facts, path))


def _busy(facts: NodeFacts) -> Iterator[Finding]:
    if facts.kubeadm_at_work:
        yield about(facts, "N007", f"running now: {facts.kubeadm_at_work}", "wait until it is done")
    if facts.state_format > STATE_FORMAT:
        message = f"its state has format {facts.state_format}, this version knows {STATE_FORMAT}"
        yield about(facts, "N009", message, "use the kschedpatch that was used there")
    if facts.transaction is not None:
        hint = f"kschedpatch rollback {facts.label}, or wait"
        yield about(facts, "N008", transaction_told(facts.transaction), hint)
    else:
        yield from _dot_files(facts)


def _dot_files(facts: NodeFacts) -> Iterator[Finding]:
    if facts.leftovers:
        names = ", ".join(facts.leftovers)
        yield about(facts, "N023", names, path=facts.manifests_directory)


def left_behind(facts: NodeFacts) -> Iterator[Finding]:
    """By a run that was killed, where none is open that may still need it."""
    if facts.transaction is not None:
        return
    yield from _dot_files(facts)
    if facts.debris:
        names = ", ".join(facts.debris)
        yield about(facts, "N113", names, "the next apply or rollback sweeps them; so does purge")


def transaction_told(open_one: OpenTransaction) -> str:
    """Who, since when, how far, until when. The node's words are shown as far as they are ours."""
    run = open_one.run if is_run_id(open_one.run) else "?"
    who = f" by {open_one.who}" if open_one.who else ""
    return f"{open_one.kind} {run}{who}, {open_one.state}; {deadline_told(open_one)}"


def deadline_told(open_one: OpenTransaction) -> str:
    if not open_one.dead_man:
        return "nothing on the node counts its deadline"
    if open_one.deadline_in <= 0:
        return "its deadline has passed, the node is restoring"
    return f"the node restores by itself in {open_one.deadline_in} s"


def _tools(facts: NodeFacts) -> Iterator[Finding]:
    if facts.kubelet is None:
        yield about(facts, "N010", "kubelet --version says nothing that can be read")
    if not facts.tools & {"curl", "wget"}:
        message = "neither curl nor wget is there: readiness can't be asked"
        yield about(facts, "N016", message, "install curl")
    if not facts.has_systemd:
        yield about(facts, "N017", "without systemd a reboot during the run is not covered")
    if "journalctl" not in facts.tools:
        message = (
            "no journalctl: a missing image, a failed mount, a refused manifest and a denied "
            "admission are seen by the timeout only"
        )
        yield about(facts, "N018", message)
    if "crictl" not in facts.tools:
        message = (
            "no crictl: a container that ends without a word is seen late, and a restored "
            "scheduler may have to wait for the kubelet's back-off"
        )
        yield about(facts, "N018", message)
    if not facts.tools & set(_RUNNERS):
        message = f"none of {', '.join(_RUNNERS)} is there"
        yield about(facts, "N019", message)


def _health(facts: NodeFacts) -> Iterator[Finding]:
    if facts.transaction is not None or facts.manifest is None:
        return
    if facts.live is None:
        yield about(facts, "N022", "no scheduler runs here")
    elif not facts.live.ready:
        message = f"it runs and is not ready (restarts: {facts.live.restarts})"
        yield about(facts, "N022", message)
