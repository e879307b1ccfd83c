"""Codes of findings about nodes: N0xx before a change, N1xx by verify, N2xx before a rollback,
N3xx about plan files, N4xx before a purge. Listed in ``codes``."""

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
         "It is pulled, or uploaded and imported, before anything else happens: a slow or failing "
         "registry costs nothing."),
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
    Code("N040", _ERROR, "image can't be pulled",
         "It is not on the node, and only `crictl` asks the runtime in the kubelet's way, with its "
         "mirrors and credentials. Bring it as `imageArchive`, or pull it on the node by hand."),
    Code("N041", _WARNING, "nobody can tell whether the image is there",
         "Neither crictl, ctr nor docker is on the node. The kubelet pulls the image when the pod "
         "starts; where that fails, the canary shows it."),
    Code("N042", _ERROR, "image archive for another processor",
         "The archive holds no image for this node's architecture: the program could not start."),
    Code("N043", _ERROR, "binary for another processor",
         "The kernel of this node can't run it: `exec format error`."),
    Code("N044", _ERROR, "archive would take the running image's name",
         "Another image of this name runs now. After the import the name would mean the new one, "
         "and the old manifest with it: there would be no way back. Give the new image a tag of "
         "its own."),
    Code("N045", _WARNING, "archive takes a name that the node knows",
         "The node has another image of this name. After the import the name means the new one; a "
         "kept manifest that names it would run the new one, too."),
    Code("N046", _ERROR, "archive can't be imported",
         "The runtime's own tool imports it (ctr, podman or docker), and what was imported is "
         "compared with the archive by the image's ID."),
    Code("N047", _WARNING, "the same image under another name",
         "From 1.35 on the kubelet remembers under which name it pulled an image, and asks the "
         "registry again before it uses it under another one. Where that registry does not answer, "
         "the pod does not start; the canary shows it."),
    Code("N048", _WARNING, "the kubelet asks the registry all the same",
         "With imagePullPolicy Always an image that is on the node already is asked for at every "
         "start. One that came as an archive may be in no registry."),
    Code("N060", _ERROR, "namespace is missing",
         "The object can't be made, and the patch does not bring its namespace either."),
    Code("N061", _ERROR, "kind that the API server does not know",
         "There is no CustomResourceDefinition for it, in the cluster or in the patch."),
    Code("N062", _ERROR, "object that the API server refuses",
         "It was asked with a dry run: nothing was changed."),
    Code("N063", _WARNING, "object of somebody else's",
         "It is there already and was not brought by kschedpatch. It is changed as the patch says; "
         "`rollback` puts back what it was."),
    Code("N064", _WARNING, "object was changed since",
         "Somebody else has written to it since the last run. What the patch says wins."),
    Code("N065", _NOTE, "object that the patch no longer has",
         "It was brought by an earlier run. It is taken away after the switch, when no scheduler "
         "needs it any more."),
    Code("N066", _NOTE, "definition stays",
         "With a CustomResourceDefinition everything of its kind would be lost. Delete it yourself "
         "when nobody needs it."),
    Code("N067", _WARNING, "object is left as it is",
         "Somebody else has changed it since kschedpatch brought it: their work is not thrown "
         "away. The hint is the command that removes it."),
    Code("N068", _ERROR, "objects can't be looked at",
         "Without knowing what is there, nothing is changed."),
    Code("N069", _WARNING, "objects to be put in order",
         "An earlier run could not finish with them: there was no API server, or its operator was "
         "gone. They do no harm."),
    Code("N070", _ERROR, "too much to keep",
         "Each node keeps what a run does to objects, and what was there before, so that "
         "`rollback` can put it back."),
    Code("N071", _WARNING, "objects of a run that was not confirmed",
         "Its operator was gone before the end. They are put back as they were before it."),
    Code("N080", _ERROR, "fields of somebody else's",
         "Another field manager (Helm, Argo CD, somebody's kubectl) has set them, and may set them "
         "again. `--take-over MANAGER` takes them all the same."),
    Code("N081", _ERROR, "no scheduler in the Deployment",
         "Which container runs the scheduler is known by its name, kube-scheduler, by its command, "
         "or because there is only one."),
    Code("N082", _ERROR, "Deployment that could be without a scheduler",
         "The old pods must stay until a new one is ready, and a roll-out must be able to begin. "
         "That is a matter of the Deployment's own strategy, replicas and pauses."),
    Code("N083", _ERROR, "scheduler name that is served already",
         "Two schedulers that serve one name, and do not share a lease, bind the same pods."),
    Code("N084", _WARNING, "scheduler whose configuration can't be seen",
         "Which names it serves is not known; that it serves default-scheduler is taken for "
         "granted."),
    Code("N085", _ERROR, "nothing to go back to",
         "The runs on a Deployment are kept in Secrets beside it."),
    Code("N086", _ERROR, "Deployment of somebody else's",
         "A second scheduler is made, never taken over; and what somebody else has made is not "
         "purged. `target: {deployment: …}` changes one that is there."),
    Code("N087", _ERROR, "Deployment is missing",
         "`target: {deployment: …}` changes a scheduler that is there; `newDeployment` makes one."),
    Code("N088", _ERROR, "the cluster can't be asked",
         "kubectl, on a control-plane node or with `--kubeconfig` the operator's own, got no "
         "answer from the API server."),
    Code("N089", _WARNING, "a run was not ended",
         "Its operator was gone before the end. Kubernetes finishes what it began, or gives it up "
         "after progressDeadlineSeconds with the old pods at work."),
    Code("N090", _ERROR, "another lease for a Deployment",
         "Its old and new pods would both schedule while it rolls out. Without a word about leader "
         "election in the patch, the lease stays."),
    Code("N095", _ERROR, "kubeadm's configuration can't be edited",
         "kube-system/kubeadm-config is missing, can't be read, or is not what kubeadm writes. "
         "Without --persist the patch can be applied; `export` writes what kubeadm needs."),
    Code("N096", _ERROR, "nodes that kubeadm's configuration can't serve at once",
         "It is one for the whole cluster, and the change of the flags and mounts differs from "
         "node to node."),
    Code("N097", _WARNING, "kubeadm would bring another patch back",
         "What kubeadm is given at its next rendering could not be brought in step. Until that is "
         "done, an upgrade or a join may render a patch that is not wanted any more."),
    Code("N098", _NOTE, "kubeadm is kept in step",
         "An earlier run was persisted, so what kubeadm is given follows this one as well."),
    Code("N099", _WARNING, "kubeadm would join a node without the patch",
         "Flags and mounts of a node that joins come from kubeadm's configuration in the cluster, "
         "which does not hold them."),
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
    Code("N113", _NOTE, "files of a run that was killed",
         "Staged, uploaded or half taken away when it ended. Nothing that runs uses them; another "
         "upload of the same archive goes on there."),
    Code("N114", _ERROR, "object of the patch is gone",
         "A run has brought it to the cluster, and somebody has deleted it since. What needs it, a "
         "right or an extender, does not work."),
    Code("N115", _ERROR, "object of the patch was changed",
         "Somebody else has written into it since the last run, and it no longer is what the patch "
         "asks for."),
    Code("N116", _WARNING, "files of a kept generation are not intact",
         "A rollback to a run that names them would bring back a scheduler without its files."),
    Code("N120", _ERROR, "flags of the running scheduler are not the manifest's",
         "The process on the node was started with others: the kubelet has not taken the manifest "
         "up, or somebody else has started it."),
    Code("N121", _ERROR, "mounts of the running scheduler are not the manifest's",
         "A path is not mounted in its mount namespace, or can be written where it should not."),
    Code("N122", _WARNING, "mount shows a former file",
         "A container that mounts a single file keeps the one that was there when it started. "
         "What the host has under that name now is another file."),
    Code("N123", _ERROR, "image of the running scheduler is not the manifest's",
         "By the runtime's own record of the container."),
    Code("N124", _WARNING, "image's name stands for another image now",
         "The tag was moved since the container started: after its next restart another scheduler "
         "runs."),
    Code("N125", _ERROR, "configuration is not as planned",
         "What the scheduler's container sees under --config differs from what the patch makes."),
    Code("N126", _ERROR, "profile is not loaded",
         "The running scheduler does not serve this schedulerName: pods that name it wait for "
         "ever."),
    Code("N127", _ERROR, "plugin is not loaded",
         "By the scheduler's own /configz no profile has switched it on."),
    Code("N128", _ERROR, "arguments of a plugin are not as configured",
         "By the scheduler's own /configz."),
    Code("N129", _ERROR, "socket is not mounted",
         "No mount of the scheduler's pod brings the path into its container."),
    Code("N130", _ERROR, "socket is not there",
         "Its directory is mounted, and nobody on this host has made the socket: the device plugin "
         "does not run here, or puts it elsewhere."),
    Code("N131", _ERROR, "nobody listens on the socket",
         "The file is there and whoever made it is gone: the device plugin has ended."),
    Code("N132", _ERROR, "socket may not be used",
         "The scheduler's user lacks the right to write to the socket, or to reach its directory."),
    Code("N133", _ERROR, "socket does not answer as it should",
         "Somebody listens, and the answer is an error or none."),
    Code("N134", _NOTE, "only this host's own sockets",
         "A hostPath shows the sockets of the scheduler's own host. About other nodes a plugin "
         "knows nothing by it and must be neutral, so that its verdict hangs on where the leader "
         "runs."),
    Code("N135", _ERROR, "expected log line is missing",
         "No scheduler of the nodes that were looked at has logged it since it was started."),
    Code("N136", _ERROR, "right is missing",
         "The API server would refuse this to User system:kube-scheduler. A scheduler whose plugin "
         "lacks a right often looks healthy and does nothing."),
    Code("N137", _ERROR, "extender is not reached",
         "It is not ignorable: pods that it is asked about are not scheduled while this node "
         "leads."),
    Code("N138", _WARNING, "ignorable extender is not reached",
         "Scheduling goes on without it."),
    Code("N139", _ERROR, "extender's name can't be resolved",
         "Only the cluster's DNS knows Services; a pod in the host's network asks it with "
         "dnsPolicy ClusterFirstWithHostNet alone."),
    Code("N140", _ERROR, "probe pod could not be made",
         "Its manifest is no pod, or the API server refused it."),
    Code("N141", _ERROR, "probe pod was not bound",
         "No scheduler gave it a node within the time for that; its condition says why."),
    Code("N142", _ERROR, "probe pod was bound by another scheduler",
         "Its schedulerName is none of the profiles here, or its event names somebody else."),
    Code("N143", _ERROR, "probe pod is on another node than expected",
         "The scores, or the filters, did not choose as the patch predicts."),
    Code("N144", _ERROR, "probe pod lacks annotations",
         "The plugin that writes them was not asked, or was refused."),
    Code("N145", _WARNING, "score plugins can't be exercised",
         "With fewer than two feasible nodes the scheduler skips the score phase: what a plugin "
         "does there does not happen, and proves nothing."),
    Code("N146", _WARNING, "probe pods were left behind",
         "They could not be deleted. The next `verify --probe` removes them by their label."),
    Code("N147", _WARNING, "kept patch can't be read",
         "What the node keeps of its last run says nothing that this version understands: give the "
         "patch with -f."),
    Code("N148", _WARNING, "expected log line has not been seen yet",
         "It comes when a pod goes through the plugin, and none was sent: `--probe` sends one."),
    Code("N149", _NOTE, "left-over probe pods were removed",
         "An earlier verify was cut off before it could do so."),
    Code("N150", _WARNING, "leader was not looked at",
         "A node that was not named leads: what only the leader does can't be seen on the others."),
    Code("N151", _ERROR, "Deployment is not ready",
         "Not all of its pods are of the newest kind, and ready."),
    Code("N152", _ERROR, "Deployment or its objects are not as they should be",
         "Somebody changed them since the last run, or the patch asks for something else."),
    Code("N153", _ERROR, "none of the pods leads",
         "Only the holder of the lease schedules."),
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
    Code("N401", _ERROR, "manifest still needs what would go",
         "A scheduler whose files are gone does not come back after its next restart. Un-patch the "
         "node first."),
    Code("N402", _ERROR, "kubeadm's configuration still needs what would go",
         "The next `kubeadm upgrade` or `join` would write a manifest that names files that are "
         "gone."),
)
# fmt: on
