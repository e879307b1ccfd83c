"""Every code a finding can have, with its severity and the reason for it.

The reference page docs/reference/findings.md is made from this table. A code never changes its
meaning; one that is no longer used is not given to something else.
"""

from __future__ import annotations

from kschedpatch.model.code import Code
from kschedpatch.model.finding import Finding, Path, Severity, format_path
from kschedpatch.model.migrationcodes import MIGRATIONS
from kschedpatch.model.nodecodes import NODES

_ERROR, _WARNING, _NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE


# fmt: off
# M032 and C037 were never given out: a code does not change its meaning.
_TEXT = (
    Code("Y001", _ERROR, "file too large",
         "A manifest has 2 KiB. The bound of 128 KiB keeps a wrong or hostile file from taking "
         "seconds to parse.", runs=True),
    Code("Y002", _ERROR, "not UTF-8",
         "YAML for Kubernetes is UTF-8."),
    Code("Y003", _ERROR, "byte order mark",
         "An invisible character before the first key. Editors and patches lose it or double "
         "it; save the file without it.", runs=True),
    Code("Y004", _ERROR, "Windows line ends",
         "Edits would mix line ends, and a carriage return ends up inside block scalars. "
         "Convert the file (`sed -i 's/\\r$//'` on a copy).", runs=True),
    Code("Y005", _ERROR, "tab between tokens",
         "YAML parsers disagree about tabs, and nobody sees them. Use spaces.", runs=True),
    Code("Y006", _ERROR, "control character",
         "It can't be seen and has no use in these files.", runs=True),
    Code("Y007", _ERROR, "not YAML",
         "The kubelet would drop the pod at its next look at the directory, up to 20 s after "
         "the file was saved. (Go's parser takes some texts that are refused here: tabs between "
         "tokens, and text behind the end of a document, which it drops without a word.)",
         runs=True),
    Code("Y008", _ERROR, "duplicate key",
         "The kubelet takes the last one and says nothing; the scheduler refuses the file.", runs=True),
    Code("Y009", _ERROR, "tag",
         "A tag changes what a value means (`!!str 5`). Quote the value instead.", runs=True),
    Code("Y010", _ERROR, "anchor, alias or merge key",
         "One change to an anchored value changes other places too, and aliases can expand "
         "without end. Write the value out.", runs=True),
    Code("Y011", _ERROR, "nested too deep",
         "No pod or configuration needs more than 32 levels; deeper files are mistakes or "
         "attacks.", runs=True),
    Code("Y012", _ERROR, "too many values",
         "More than 5000 values in one file: not a scheduler's manifest or configuration.", runs=True),
    Code("Y013", _ERROR, "more than one document",
         "Only the first document counts; RBAC appended behind `---` does nothing at all. Put "
         "it into a file of its own.", runs=True),
    Code("Y014", _ERROR, "empty file",
         "There is nothing in it (or only comments)."),
    Code("Y015", _ERROR, "key that is not a string",
         "Keys are names; quote it if it is meant.", runs=True),
    Code("Y016", _ERROR, "not a mapping",
         "The file must hold one object (`key: value` lines).", runs=True),
    Code("Y017", _ERROR, "directive",
         "`%YAML` and `%TAG` lines change how the rest is read.", runs=True),
    Code("Y018", _ERROR, "value that Kubernetes can't read",
         "`.inf`, `.nan`, the escape `\\/` and half of a surrogate pair are YAML to others, but "
         "not to the kubelet and the scheduler.", runs=True),
    Code("Y019", _ERROR, "neither JSON nor YAML",
         "A text that starts with `{` is read as JSON by kubelet and scheduler, not as YAML in flow "
         "style: comments, unquoted keys and trailing commas make the pod vanish. (A number "
         "that JSON and YAML read differently is refused as well.)", runs=True),
)

_PATCH = (
    Code("P001", _ERROR, "unknown key",
         "An unknown key would be a wish that is silently not granted."),
    Code("P002", _ERROR, "missing key",
         "The key is necessary there."),
    Code("P003", _ERROR, "wrong type",
         "YAML guessed another type than is meant: `0644` is the number 420, `yes` is true. "
         "Quote what is text."),
    Code("P004", _ERROR, "invalid value",
         "The value can't work on a node."),
    Code("P005", _ERROR, "impossible combination",
         "Two wishes that exclude each other."),
    Code("P006", _ERROR, "file missing or unreadable",
         "A file that the patch names must be there before anything is done. Relative paths "
         "start at the patch file's directory."),
    Code("P007", _ERROR, "duplicate",
         "The same name or path is given twice."),
    Code("P008", _ERROR, "not a SchedulerPatch",
         "apiVersion must be kschedpatch.io/v1 and kind SchedulerPatch."),
    Code("P009", _ERROR, "target is not a static pod",
         "The command works on the manifest of a static pod, and the patch names another "
         "target."),
    Code("P010", _WARNING, "placeholder",
         "registry.example.com stands in recipes for a registry of yours."),
    Code("P011", _WARNING, "mount type not given",
         "Without a node to look at, a directory is assumed. A wrong type keeps the pod from "
         "starting."),
    Code("P012", _ERROR, "image archive without a usable name",
         "The archive must name exactly one Linux image, or `image` must say which is meant."),
    Code("P013", _ERROR, "unknown kind",
         "lint reads a SchedulerPatch, a KubeSchedulerConfiguration, or the pod manifest of a "
         "kube-scheduler."),
    Code("P014", _ERROR, "does not fit the target",
         "Pods of a Deployment run on any node, and nothing is put on a node for them: no image "
         "archive, no binary. Replicas are a matter of the second scheduler that kschedpatch "
         "makes."),
    Code("P015", _ERROR, "name of the stock scheduler",
         "A second scheduler needs a name, a lease and profiles of its own. With those of the "
         "stock one it would do its work, or keep it from doing it."),
    Code("P016", _WARNING, "path of whichever node the pod is on",
         "A hostPath shows the host that the pod runs on, and Kubernetes chooses that. A second "
         "scheduler runs as a user without rights, who must be able to read it there."),
    Code("P017", _WARNING, "two at work while it rolls out",
         "Without leader election the old pod and the new one both schedule for a moment: the "
         "old one stays until the new one is ready."),
    Code("P018", _NOTE, "better off as a second scheduler",
         "Profiles of other names do not need the stock scheduler's place. As a Deployment beside "
         "it (`target: {newDeployment: …}`) nothing of the stock one is touched."),
    Code("P020", _ERROR, "dynamically linked program",
         "A binary runs in the image that the node has, and the scheduler's image holds no dynamic "
         "loader: the kernel would say «no such file or directory» of the program itself."),
)

_MANIFEST = (
    Code("M001", _ERROR, "not a pod",
         "The kubelet takes only a v1 Pod from its manifests directory."),
    Code("M002", _ERROR, "not a kube-scheduler",
         "The tool changes the scheduler's manifest and no other.", runs=True),
    Code("M003", _ERROR, "unknown field",
         "The kubelet drops it silently: what it was meant to do does not happen.", runs=True),
    Code("M004", _ERROR, "wrong type",
         "The kubelet can't decode the file and drops the pod. (Of quantities and times only the usual spellings are taken here.)", runs=True),
    Code("M005", _ERROR, "required field missing",
         "The kubelet refuses the pod. (A volume without a source it makes an empty directory; "
         "that is never meant.)", runs=True),
    Code("M006", _ERROR, "invalid name",
         "The kubelet refuses the pod.", runs=True),
    Code("M007", _ERROR, "mount without a volume",
         "volumeMounts names a volume that is not in spec.volumes: the kubelet refuses the "
         "pod."),
    Code("M008", _ERROR, "duplicate name",
         "Names of containers, volumes and ports must differ."),
    Code("M009", _ERROR, "duplicate mountPath",
         "Two mounts at one place: the kubelet refuses the pod."),
    Code("M010", _ERROR, "invalid path",
         "The kubelet refuses it, or the container runtime fails on it. Paths on the host are "
         "absolute here, so that it is clear which are meant.", runs=True),
    Code("M011", _ERROR, "invalid value",
         "The kubelet refuses the pod. (An image's name it takes as it is; the runtime then "
         "says «InvalidImageName», after the old scheduler has gone.)", runs=True),
    Code("M012", _ERROR, "port clash",
         "Two listeners on one port of the node: one of them can't start.", runs=True),
    Code("M013", _ERROR, "reference to an API object",
         "A static pod can't use ConfigMaps, Secrets, ServiceAccounts or claims: the kubelet "
         "starts it without an API server. ≥ 1.34 refuses the file, before that the mirror pod "
         "is refused. Use a hostPath.", runs=True),
    Code("M014", _ERROR, "probe does not match the flags",
         "The kubelet would ask a port or host where nobody listens, and restart a healthy "
         "scheduler again and again.", runs=True),
    Code("M015", _WARNING, "volume is not mounted",
         "Still checked when the pod starts: a missing path of type File or Directory keeps "
         "the scheduler from starting."),
    Code("M016", _NOTE, "hostPath of type FileOrCreate",
         "If the file is missing, the kubelet makes an empty one and the scheduler crash-loops "
         "on it. `File` fails with a clear message instead. (kubeadm's own mount of "
         "scheduler.conf has this type.)"),
    Code("M017", _WARNING, "hostPath without a type",
         "If the path is missing, containerd makes a directory there, even where a file is "
         "meant."),
    Code("M018", _WARNING, "file inside the manifests directory",
         "The kubelet tries to run every file there as a pod. Keep configuration elsewhere."),
    Code("M019", _ERROR, "flag that this version does not have",
         "The scheduler exits at once with «unknown flag».", runs=True),
    Code("M020", _WARNING, "unknown flag",
         "Not a flag of kube-scheduler as far as known; a scheduler of your own may have it. "
         "An unknown flag makes it exit at once."),
    Code("M021", _ERROR, "scheduler started through a wrapper",
         "Flags inside a shell's command line can't be changed safely, and kubeadm ≥ 1.33 "
         "wants `kube-scheduler` as the first word.", runs=True),
    Code("M022", _ERROR, "several flags in one item",
         "Each flag is an item of its own: this one reaches the scheduler as a single, unknown "
         "flag.", runs=True),
    Code("M023", _WARNING, "flag given twice",
         "The last one counts."),
    Code("M024", _ERROR, "already patched",
         "A patch is applied to what stood there before kschedpatch. Give that file as the "
         "base.", runs=True),
    Code("M025", _ERROR, "wrong base",
         "The file is not the one that this manifest was made from.", runs=True),
    Code("M026", _ERROR, "another file defines the same pod",
         "The kubelet runs the one whose name sorts last: `kube-scheduler.yaml.bak` beats "
         "`kube-scheduler.yaml`.", runs=True),
    Code("M027", _ERROR, "field too new for this version",
         "This minor's kubelet does not know the field and drops it silently.", runs=True),
    Code("M028", _ERROR, "volume name already in use",
         "The manifest has a volume of this name for something else.", runs=True),
    Code("M029", _ERROR, "the scheduler serves no port",
         "With --secure-port=0 nothing answers the probes, and the kubelet restarts the "
         "scheduler again and again.", runs=True),
    Code("M030", _WARNING, "image of another minor",
         "The scheduler's minor should be the node's: configuration and rights are made for "
         "that."),
    Code("M031", _NOTE, "policy file without a reader",
         "No flag reads a Policy file from 1.23 on; the mount is inert."),
    Code("M033", _WARNING, "mounts that hide each other",
         "One mount lies inside another, and what the outer one holds there can't be seen."),
    Code("M034", _ERROR, "word that is no flag",
         "The scheduler takes nothing but flags and exits at once. A switch takes its value "
         "with `=`: `--leader-elect=false`.", runs=True),
    Code("M035", _ERROR, "setting that does not fit a static scheduler",
         "It is meant for pods that the API server creates or a scheduler places, or it keeps "
         "the scheduler from running all the time. The kubelet refuses it, takes the pod for "
         "something else, or ignores it.", runs=True),
    Code("M036", _ERROR, "mount point inside a read-only mount",
         "The container runtime can't make the mount point there, and the scheduler does not "
         "start.", runs=True),
)

_CONFIG = (
    Code("C001", _ERROR, "apiVersion not served by this minor",
         "The scheduler exits with «no kind KubeSchedulerConfiguration is registered for "
         "version …».", runs=True),
    Code("C002", _ERROR, "not a KubeSchedulerConfiguration",
         "The scheduler exits with «Object 'Kind' is missing» or «no kind … is registered».", runs=True),
    Code("C003", _WARNING, "flag without effect",
         "With --config the scheduler ignores this flag silently; say it in the configuration."),
    Code("C004", _WARNING, "deprecated apiVersion",
         "The next minors no longer read it."),
    Code("C005", _ERROR, "unknown plugin",
         "The stock scheduler of this minor has no such plugin and exits at once. (For another "
         "image: `--known-plugins` does not list it.)"),
    Code("C006", _ERROR, "resourceLock",
         "Only `leases` is left (≥ 1.27; `endpoints` and `configmaps` went with 1.24)."),
    Code("C007", _ERROR, "more than one binder",
         "At most one extender may have a bindVerb."),
    Code("C008", _ERROR, "managed resource twice",
         "A resource may be managed by one extender only."),
    Code("C009", _ERROR, "different queueSort",
         "All profiles share one queue, so its plugin and arguments must be the same in all."),
    Code("C010", _WARNING, "extender can block all scheduling",
         "When it is down, no pod is scheduled, its own included. Set `ignorable: true` or "
         "limit it by managedResources."),
    Code("C011", _WARNING, "extender is never called",
         "It has no verb (filterVerb, prioritizeVerb, preemptVerb, bindVerb), so nobody asks it."),
    Code("C012", _NOTE, "Service name in a hostNetwork pod",
         "Such a pod resolves names with the node's resolver, which knows no Services, unless "
         "dnsPolicy is ClusterFirstWithHostNet."),
    Code("C013", _ERROR, "file that no mount brings in",
         "The scheduler reads it at its start, in its container, and exits when it is not "
         "there.", runs=True),
    Code("C014", _WARNING, "flag overrides the configuration",
         "A --leader-elect… flag on the command line beats the file, and kubeadm sets "
         "--leader-elect=true."),
    Code("C015", _WARNING, "no profile for ordinary pods",
         "Pods without a schedulerName ask for `default-scheduler`; with no profile of that "
         "name they stay pending for ever."),
    Code("C016", _NOTE, "replaces the --config that is there",
         "The manifest already names a configuration; the patch's takes its place."),
    Code("C017", _ERROR, "leader election durations",
         "All three are positive and leaseDuration exceeds renewDeadline; the scheduler exits "
         "otherwise.", runs=True),
    Code("C018", _ERROR, "wrong type in the configuration",
         "Decoding is strict: the scheduler exits at once."),
    Code("C019", _ERROR, "field that this version does not have",
         "Decoding is strict: the scheduler exits with «unknown field»."),
    Code("C020", _NOTE, "unencrypted port of 1.22",
         "With --config, 1.22 serves health and metrics without TLS on port 10251 and can't be "
         "told not to. It is bound to the loopback."),
    Code("C021", _ERROR, "unknown field in the configuration",
         "Decoding is strict, and case counts: the scheduler exits with «unknown field»."),
    Code("C022", _WARNING, "Service name that does not resolve",
         "A pod in the host's network asks the node's resolver, which knows no Services, unless "
         "dnsPolicy is ClusterFirstWithHostNet."),
    Code("C023", _ERROR, "plugin at a point that it does not extend",
         "The scheduler exits with «plugin … does not extend … plugin»."),
    Code("C024", _ERROR, "plugin enabled twice",
         "The scheduler exits with «plugin … already registered»."),
    Code("C025", _ERROR, "number of queueSort or placementGenerate plugins",
         "Exactly one plugin sorts the queue, and at most one generates placements. A queueSort "
         "of your own goes with PrioritySort disabled."),
    Code("C026", _ERROR, "no plugin that binds",
         "At least one bind plugin is needed; DefaultBinder was disabled and nothing put in its "
         "place."),
    Code("C027", _ERROR, "plugin of the past",
         "Configurations of this version may not name it any more, whether the scheduler still "
         "has it or not."),
    Code("C028", _ERROR, "value out of bounds",
         "The scheduler validates the field and exits."),
    Code("C029", _ERROR, "name of a profile",
         "Each of several profiles needs a schedulerName of its own."),
    Code("C030", _ERROR, "plugin arguments",
         "The scheduler refuses them, when it reads the configuration or when it builds the "
         "plugin."),
    Code("C031", _ERROR, "arguments of another kind",
         "kind and apiVersion of a plugin's arguments may be left out; if they stand there, they "
         "must be the plugin's and the configuration's."),
    Code("C032", _ERROR, "arguments given twice",
         "A plugin may stand in a profile's pluginConfig once."),
    Code("C033", _ERROR, "extender that the scheduler refuses",
         "A prioritizeVerb needs a weight, managed resources are extended resources, a CA excludes "
         "`insecure`, and ignoredByScheduler needs NodeResourcesFit in every profile."),
    Code("C034", _WARNING, "name without effect",
         "The scheduler ignores unknown names under `disabled`, arguments of plugins that are not "
         "enabled, multiPoint in v1beta2, and preEnqueue in v1beta2 and v1beta3."),
    Code("C035", _NOTE, "plugin that is left to the preflight",
         "The image may have plugins of its own. `lint --known-plugins` says which; the preflight "
         "asks the image itself."),
    Code("C036", _WARNING, "delayCacheUntilActive",
         "A standby fills its caches only when it leads, so it is never ready before: with a "
         "readiness probe the pod stays unready, and a roll-out waits for it in vain."),
    Code("C038", _WARNING, "filter without its preFilter",
         "The plugin's filter reads what its preFilter stored; without that it fails for every "
         "pod."),
    Code("C039", _WARNING, "HTTPS without a CA",
         "The scheduler then checks no certificate at all."),
    Code("C040", _NOTE, "file that the scheduler reads at its start",
         "It must be in the container, by a mount; where it is missing, the scheduler exits."),
    Code("C041", _ERROR, "durations that only the elector refuses",
         "renewDeadline must exceed 1.2 × retryPeriod (and up to 1.25 nothing else tells that "
         "leaseDuration must exceed renewDeadline). The configuration is read without complaint, "
         "also by `--write-config-to`; the scheduler ends when its elector starts.", runs=True),
)

_RBAC = (
    Code("R001", _WARNING, "broad right",
         "Whoever can read scheduler.conf on a control-plane node has it too."),
    Code("R002", _ERROR, "not an RBAC object",
         "`rbac.manifests` takes Roles, ClusterRoles and their bindings; everything else "
         "belongs under `objects`."),
    Code("R003", _ERROR, "invalid rule",
         "The API server would refuse it."),
    Code("R004", _WARNING, "binding for somebody else",
         "None of its subjects is the scheduler (User system:kube-scheduler)."),
    Code("R005", _NOTE, "rights for another lease",
         "The scheduler's own role covers only the lease kube-scheduler; the rights for this "
         "one are added."),
    Code("R006", _WARNING, "rights that somebody else must give",
         "With `manage: false` nothing is created; these rights must be there before the "
         "switch."),
)

_VERSION = (
    Code("V001", _ERROR, "version not supported",
         "The tables reach from 1.22 to 1.36."),
    Code("V002", _ERROR, "version unknown",
         "The configuration depends on the minor, and the image's tag does not tell it."),
)
# fmt: on

CODES: dict[str, Code] = {
    code.code: code
    for code in (*_TEXT, *_PATCH, *_MANIFEST, *_CONFIG, *_RBAC, *_VERSION, *MIGRATIONS, *NODES)
}


def found(
    code: str,
    message: str,
    *,
    file: str = "",
    line: int = 0,
    column: int = 0,
    path: Path | str = "",
    hint: str = "",
) -> Finding:
    """A finding with the severity that its code has."""
    where = path if isinstance(path, str) else format_path(path)
    severity = CODES[code].severity
    return Finding(code, severity, message, file, line, column, where, hint)
