"""Codes of findings about nodes: N0xx before a change, N1xx by verify, N2xx before a rollback,
N3xx about plan files. Listed in ``codes``."""

from __future__ import annotations

from kschedpatch.model.code import Code
from kschedpatch.model.finding import Severity

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE

# fmt: off
NODES = (
    Code("N001", _ERROR, "no manifest",
         "The kubelet's manifests directory holds no kube-scheduler.yaml: there is nothing to "
         "change, or the node is no control-plane node."),
    Code("N002", _ERROR, "manifest that can't be exchanged",
         "The switch is a rename within one directory. A symlink, a mount point or a file that "
         "can't be read does not allow that."),
    Code("N003", _ERROR, "base of the patched manifest is missing",
         "A patch is applied to what stood there before kschedpatch, and the node no longer keeps "
         "that. Put the un-patched manifest back (`kubeadm init phase control-plane scheduler` "
         "writes one), then apply."),
    Code("N004", _ERROR, "the same machine twice",
         "Two names lead to one machine: it would be switched twice in one run."),
    Code("N005", _ERROR, "control-plane nodes that were not named",
         "Schedulers that differ from node to node change the cluster's behaviour with every new "
         "leader. Name all nodes, or say `--partial`."),
    Code("N006", _WARNING, "control-plane nodes left out",
         "`--partial`: the nodes named here keep their scheduler, and one of them may lead."),
    Code("N007", _ERROR, "kubeadm is at work",
         "It writes the same manifest. Wait until it is done."),
    Code("N008", _ERROR, "a run is open on the node",
         "Somebody else's run, or one that was cut off. It ends by itself at its deadline; "
         "`rollback` ends it now."),
    Code("N009", _ERROR, "state of a newer kschedpatch",
         "A newer version has worked on this node. Use that version, or a later one."),
    Code("N010", _WARNING, "kubelet's version unknown",
         "The rules for manifest and configuration go by the version; the one of the scheduler's "
         "image is taken instead."),
    Code("N011", _ERROR, "too little space",
         "The way back must never hang on a full disk, so nothing is begun on a nearly full one."),
    Code("N012", _WARNING, "kubelets of different minors",
         "An upgrade seems to be under way. Each node is judged by its own version; "
         "`kubeadm upgrade` wipes what was patched before it."),
    Code("N013", _ERROR, "mount path missing or of another type",
         "The kubelet checks a hostPath's type when the pod starts: the scheduler would not "
         "start on this node."),
    Code("N014", _NOTE, "image is not on the node yet",
         "It is pulled before the switch, so that a slow or failing registry costs nothing."),
    Code("N015", _ERROR, "image of the running scheduler is gone",
         "There would be no way back: the old manifest needs it."),
    Code("N016", _WARNING, "neither curl nor wget",
         "The scheduler's health can't be asked. What is left are its process and its log, which "
         "prove less."),
    Code("N017", _WARNING, "no systemd",
         "The dead man runs as a plain process: a reboot in the middle of a run is not covered."),
    Code("N018", _NOTE, "signs of a failure that can't be read",
         "The kubelet's journal and the runtime tell why a pod does not start. Without them some "
         "failures are recognised by the timeout only."),
    Code("N019", _WARNING, "no preflight",
         "Nothing on the node can run the scheduler once before the switch. Mistakes show only "
         "when it starts; then it is rolled back."),
    Code("N020", _WARNING, "API server does not answer",
         "The order goes as the nodes were named, unnamed control-plane nodes are not noticed, "
         "and no probe is made."),
    Code("N021", _ERROR, "API server does not answer, and is needed",
         "The patch brings objects (RBAC, manifests) that must be there before the switch."),
    Code("N022", _WARNING, "scheduler is not healthy now",
         "A rollback could only bring back what did not work before."),
    Code("N023", _WARNING, "files of a former run in the manifests directory",
         "The next run that ends on this node sweeps them. The kubelet ignores dot files; a canary "
         "that was left behind runs on as a standby."),
    Code("N024", _ERROR, "two schedulers at work on the same pods",
         "During the roll-out old and new schedulers run side by side. On one lease only one of "
         "them works; with another lease, or without election, both bind the same pods. Use a "
         "second scheduler (`newDeployment`) with a profile name of its own."),
    Code("N025", _ERROR, "cluster objects that differ from node to node",
         "The nodes' versions ask for different objects of one name, and they can't be joined."),
    Code("N026", _ERROR, "the scheduler serves no port",
         "With --secure-port=0 nobody can tell whether it works."),
    Code("N027", _ERROR, "node of another cluster",
         "A run is for the control plane of one cluster."),
    Code("N028", _WARNING, "manifest was changed by hand",
         "It is not what the last run left. The patch is applied to the base, so that change goes "
         "away; the diff shows it."),
    Code("N029", _ERROR, "node not reached",
         "Nothing is begun as long as a node can't be reached: a cluster of two kinds of "
         "schedulers would be the result."),
    Code("N031", _WARNING, "no canary on this node",
         "The new scheduler can't run beside the live one first. It is switched in all the same: "
         "for about 3 s the node is without its scheduler, and if the new one does not start, the "
         "old one is put back."),
    Code("N101", _ERROR, "patch was wiped",
         "`kubeadm upgrade` and `kubeadm join` write the manifest anew. Apply the patch again."),
    Code("N102", _ERROR, "manifest is not as it was left",
         "Somebody changed it since the last run."),
    Code("N103", _ERROR, "files of the generation are not intact",
         "What the manifest points to was changed or removed: the scheduler would not come back "
         "after its next restart, or not as the same."),
    Code("N104", _ERROR, "scheduler is not ready",
         "It does not run, or does not answer as a ready one does."),
    Code("N105", _WARNING, "scheduler was restarted",
         "The container ended and was started again since the pod was made; its log says why."),
    Code("N106", _ERROR, "a run is open",
         "Neither confirmed nor taken back yet: the node goes back by itself at the deadline."),
    Code("N107", _ERROR, "mixed cluster",
         "The nodes run different schedulers: behaviour changes with every new leader."),
    Code("N108", _ERROR, "not as the patch asks",
         "Manifest or generation differ from what the patch makes of this node."),
    Code("N109", _NOTE, "nothing was applied here",
         "The node keeps no confirmed run: there is nothing to compare it with."),
    Code("N110", _WARNING, "nobody leads",
         "No node holds the scheduler's lease: no pod is scheduled."),
    Code("N111", _WARNING, "the last run failed",
         "Its outcome is kept in the history of the node."),
    Code("N112", _ERROR, "no dead man",
         "A run is open and nothing on the node counts: it does not go back by itself. "
         "`rollback` ends it."),
    Code("N201", _ERROR, "nothing to go back to",
         "No run that this node keeps led to the manifest that stands there."),
    Code("N202", _ERROR, "no such run",
         "The node keeps no confirmed run of this id."),
    Code("N203", _ERROR, "kept manifest is lost",
         "The node no longer keeps it, or it is not what was kept."),
    Code("N204", _ERROR, "kept manifest of another minor",
         "A scheduler more than one minor older than the kubelet can't work with its API server; "
         "that is not the way back any more. `--to original` un-patches today's manifest."),
    Code("N205", _ERROR, "paths of the kept manifest are gone",
         "The kubelet would not start the pod."),
    Code("N206", _ERROR, "image of the kept manifest is gone",
         "It is not on the node and has no registry to be pulled from."),
    Code("N207", _WARNING, "image of the kept manifest must be pulled",
         "It is no longer on the node: going back takes as long as the registry needs."),
    Code("N208", _WARNING, "change by hand goes away",
         "The manifest is not what the last run left; going back does not keep that change."),
    Code("N209", _NOTE, "un-patches today's manifest",
         "What stood there first is of another Kubernetes version. The manifest that kubeadm has "
         "written since is put back instead."),
    Code("N301", _ERROR, "not a plan file",
         "It was not written by `plan --out`, or by a version that writes another format."),
    Code("N302", _ERROR, "changed since it was planned",
         "A plan is the exact bytes for what was seen then. Plan again."),
    Code("N303", _ERROR, "file of the plan has changed",
         "The plan names large local files by their hash."),
    Code("N304", _ERROR, "not the nodes of the plan",
         "A plan is for the nodes that it was made on."),
)
# fmt: on
