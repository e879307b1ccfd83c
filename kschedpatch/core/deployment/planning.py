"""plan_deployment(patch, files, what is there) → what is applied. A pure function."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, NamedTuple

from kschedpatch.core.clusterobjects import object_files, rbac_for, twice
from kschedpatch.core.deployment import second
from kschedpatch.core.deployment.files import MOST_BYTES, config_map, mount_files
from kschedpatch.core.deployment.leases import keep_lease
from kschedpatch.core.deployment.merging import addition, given_back
from kschedpatch.core.deployment.served import (
    Serving,
    lease_findings,
    names_of,
    second_findings,
    served_findings,
)
from kschedpatch.core.deployment.strategy import (
    PROGRESS_DEADLINE,
    ends_by_itself,
    strategy_findings,
)
from kschedpatch.core.deployment.template import container_index, named_as_seen, version_in
from kschedpatch.core.deployment.trial import trial_of
from kschedpatch.core.fleet.keptpatch import kept_text
from kschedpatch.core.fleet.verifying.expectations import DEFAULT
from kschedpatch.core.generation import make_generation
from kschedpatch.core.kubeversions import image_is_stock
from kschedpatch.core.manifest import edits
from kschedpatch.core.manifest.flags import effective, set_flag
from kschedpatch.core.manifest.mounts import mount_paths
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.rbac.objects import Grantee, service_account
from kschedpatch.core.schedconfig.checks import Surroundings
from kschedpatch.core.schedconfig.complete import complete
from kschedpatch.core.schedconfig.election import Election, election
from kschedpatch.core.schedconfig.judge import judge_config
from kschedpatch.core.schedconfig.read import ConfigText, config_text
from kschedpatch.core.staging import Staged, stage_config, stage_files
from kschedpatch.model.clusterplan import Object
from kschedpatch.model.codes import found
from kschedpatch.model.deploymentplan import DeploymentPlan, DeploymentTarget
from kschedpatch.model.finding import Finding, Path, in_reading_order
from kschedpatch.model.fleetplan import Preflight
from kschedpatch.model.kubeversion import KubeVersion, unsupported
from kschedpatch.model.patch import SchedulerPatch
from kschedpatch.model.plan import ClusterObject, Generation


class Around(NamedTuple):
    """What a plan for a Deployment goes by, beside the patch."""

    base: Object | None = None
    """The Deployment without what kschedpatch has applied to it; None where there is none."""
    former: Object = {}  # noqa: RUF012  never changed
    """What the last run has applied to it."""
    version: KubeVersion | None = None
    stock_image: str = ""
    """What the stock scheduler runs; empty: the image of that version."""
    others: tuple[Serving, ...] = ()
    """The other schedulers of the cluster."""
    known_plugins: tuple[str, ...] | None = None


def target_of(patch: SchedulerPatch) -> DeploymentTarget | None:
    """None: the patch is for the static pod."""
    target = patch.spec.target
    named = target.deployment or target.new_deployment
    if named is None:
        return None
    namespace, _, name = named.partition("/")
    return DeploymentTarget(namespace, name, is_new=target.new_deployment is not None)


def plan_deployment(given: PatchInput, around: Around) -> DeploymentPlan:
    target = target_of(given.patch)
    assert target is not None  # noqa: S101  the caller has asked
    return _Planner(given, target, around).plan()


class _Planner:
    def __init__(self, given: PatchInput, target: DeploymentTarget, around: Around) -> None:
        self.given, self.target, self.around = given, target, around
        self.patch = given.patch
        self.name = given.patch.metadata.name
        self.findings: list[Finding] = []
        base = around.base
        self.version = around.version or version_in(base, self.patch)
        self.config, problems = config_text(given)
        self.findings += [*problems, *self._version_findings()]
        if target.is_new:
            base = self._second()
        elif base is not None:
            self.findings += strategy_findings(base, target.title)
        self.base = base or {}
        self.wanted = copy.deepcopy(self.base)
        template = (self.wanted.get("spec") or {}).get("template") or {"spec": {}}
        self.pod: dict[str, Any] = template
        self.index = container_index(template)

    @property
    def minor(self) -> int | None:
        return self.version.minor if self.version and self.version.is_known else None

    @property
    def container(self) -> dict[str, Any]:
        containers = (self.pod.get("spec") or {}).get("containers") or [{}]
        found_one: dict[str, Any] = containers[self.index or 0]
        return found_one

    def plan(self) -> DeploymentPlan:
        generation: Generation | None = None
        files: list[ClusterObject] = []
        if self.base and self.index is not None:
            generation, files = self._change()
        elif self.base:
            message = f"{self.target.title}: no container of it runs kube-scheduler"
            self.findings.append(found("N081", message))
        chosen = election(self.config.value if self.config else {}, effective(self.container))
        self._judge(chosen)
        rbac = self._rights(chosen)
        objects = object_files(self.given)
        self.findings += objects.findings
        every = (*rbac, *files, *objects.objects)
        self.findings += twice(every)
        account = self._account
        return DeploymentPlan(
            target=self.target,
            patch_name=self.name,
            patch_text=kept_text(self.given),
            version=self.version,
            document=self._document(),
            template=copy.deepcopy(self.pod),
            objects=every,
            account=account,
            profiles=names_of(self.config.value) if self.config else (),
            lease=f"{chosen.namespace}/{chosen.name}" if self.config and chosen.enabled else "",
            config=self.config.value if self.config else {},
            generation=generation,
            preflight=self._trial(generation),
            findings=in_reading_order(self.findings),
        )

    def _second(self) -> dict[str, Any]:
        scheduler = self.patch.spec.scheduler
        version = self.version or KubeVersion(0)
        image = scheduler.image or self.around.stock_image or second.stock_image(version)
        return second.deployment(
            self.target, self.name, image, version.minor, scheduler.replicas or 1
        )

    def _document(self) -> Object:
        """Of a Deployment that we make, all of it; of somebody's, what the patch asks for."""
        identity = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.target.name, "namespace": self.target.namespace},
        }
        if self.target.is_new:
            return copy.deepcopy(self.wanted)
        base = self.base.get("spec") or {}
        more = addition(base, self.wanted.get("spec") or {})
        more = given_back(base, self.around.former.get("spec") or {}, more)
        if not more:
            return identity
        if not ends_by_itself(self.base):
            more["progressDeadlineSeconds"] = PROGRESS_DEADLINE
        return {**identity, "spec": more}

    # What the patch asks for.

    def _change(self) -> tuple[Generation | None, list[ClusterObject]]:
        spec, index = self.patch.spec, self.index or 0
        before = effective(self.container)
        edits.change_container(self.pod, index, spec.scheduler)
        self._change_mounts()
        volumes = {v["name"] for v in self.pod["spec"].get("volumes") or ()}
        volumes |= {mount.name for mount in spec.mounts}
        staged = stage_files(spec.files, self.given.sources, volumes)
        if self.config is not None and self.minor is not None:
            staged.insert(0, self._stage_config(self.config, self.minor))
        generation = make_generation(item.file for item in staged)
        files = self._bring(staged, generation) if generation is not None else []
        config = self.config.value if self.config is not None else None
        keep_lease(self.container, config, self.target, self._itself)
        edits.follow_serving_flags(self.container, before)
        return generation, files

    def _change_mounts(self) -> None:
        for at, mount in enumerate(self.patch.spec.mounts):
            path: Path = ("spec", "mounts", at)
            if mount.type is None:
                message = f"{mount.host_path} is taken for a directory"
                self.findings.append(self._at("P011", path, message, "type: Directory, or File"))
            message = f"{mount.host_path} is that of the node on which Kubernetes starts the pod"
            self.findings.append(self._at("P016", path, message))
            inside, kind = mount.mount_path or mount.host_path, mount.type or "Directory"
            wanted = edits.HostMount(mount.name, mount.host_path, inside, kind, mount.read_only)
            try:
                edits.put_mount(self.pod, self.index or 0, wanted)
            except edits.VolumeInUse as error:
                self._taken(error.name, (*path, "name"))

    def _taken(self, name: str, path: Path) -> None:
        message = f"a volume named {name!r} is there already, for something else"
        self.findings.append(self._at("M028", path, message, "choose another name"))

    def _stage_config(self, config: ConfigText, minor: int) -> Staged:
        assert self.patch.spec.config is not None  # noqa: S101  it was read from there
        flags = effective(self.container)
        text = complete(config, minor, flags.get("kubeconfig", ""))
        staged = named_as_seen(stage_config(self.patch.spec.config, text), self.patch)
        old = flags.get("config")
        if old not in (None, staged.mount_path):
            message = f"--config={old} is replaced by {staged.mount_path}"
            self.findings.append(self._at("C016", ("spec", "config"), message))
        set_flag(self.container, "config", staged.mount_path)
        return staged

    def _bring(self, staged: list[Staged], generation: Generation) -> list[ClusterObject]:
        size = sum(item.file.file.size for item in staged)
        if size > MOST_BYTES or any(item.file.file.content is None for item in staged):
            message = f"{size >> 10} KiB of files do not fit into a ConfigMap"
            self.findings.append(self._at("P014", ("spec", "files"), message))
            return []
        config = self.patch.spec.config
        stem = (config.name if config else None) or f"{self.target.name}-config"
        brought = config_map(self.target, self.name, stem, generation)
        name = str(brought.body["metadata"]["name"])
        for volume in mount_files(self.pod, self.index or 0, staged, name):
            self._taken(volume, ("spec",))
        return [brought]

    @property
    def _itself(self) -> Serving | None:
        """What the Deployment serves now, where that is known."""
        every = (one for one in self.around.others if one.title == self.target.title)
        return next((one for one in every if one.known), None)

    # Who it acts as, and what that may do.

    @property
    def _account(self) -> str:
        spec = self.pod.get("spec") or {}
        return str(spec.get("serviceAccountName") or spec.get("serviceAccount") or "default")

    def _rights(self, chosen: Election) -> tuple[ClusterObject, ...]:
        grantee = service_account(self.target.namespace, self.target.name, self._account)
        # Of a Deployment whose configuration stays, the lease stays as well.
        asked = chosen if self.config is not None else chosen._replace(enabled=False)
        rbac = rbac_for(self.given, self.version, asked, grantee)
        self.findings += rbac.findings
        if not self.target.is_new:
            return rbac.objects
        return (*self._own_objects(grantee), *rbac.objects)

    def _own_objects(self, grantee: Grantee) -> list[ClusterObject]:
        own = [second.account(self.target, self.name)]
        usual = second.usual_rights(self.name, grantee)
        return own + (usual if self.patch.spec.rbac.manage else [])

    # Judgement.

    def _at(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        return self.given.places.at(code, path, message, hint)

    def _version_findings(self) -> Iterator[Finding]:
        if self.version is None:
            if self.target.is_new or self.config is not None:
                message = "nothing tells the cluster's Kubernetes version"
                hint = "say it with --kubernetes-version"
                yield found("V002", message, file=self.given.places.file, hint=hint)
        elif not self.version.is_known:
            yield found("V001", unsupported(self.version), file=self.given.places.file)

    def _judge(self, chosen: Election) -> None:
        if self.config is not None:
            stock = image_is_stock(str(self.container.get("image")))
            around = Surroundings(
                minor=self.minor,
                flags=effective(self.container),
                stock_image=stock and bool(self.base),
                mounted=mount_paths(self.container) if self.base else None,
                known_plugins=self.around.known_plugins,
                may_be_completed=True,
            )
            # Pods that name no scheduler are the stock one's business.
            unasked = {"C015"} if self.target.is_new else set()
            judged = judge_config(self.config, around)
            self.findings += [finding for finding in judged if finding.code not in unasked]
        names = names_of(self.config.value if self.config else {})
        lease = f"{chosen.namespace}/{chosen.name}" if chosen.enabled else ""
        if self.target.is_new:
            self.findings += second_findings(self.given, names, chosen)
        if self.config is not None:
            others = [one for one in self.around.others if one.title != self.target.title]
            itself = None if self.target.is_new else self._itself
            self.findings += lease_findings(self.target.title, lease, itself)
            new = [name for name in names if name != DEFAULT or not self.target.is_new]
            self.findings += served_findings(self.target.title, new, lease, others)

    def _trial(self, generation: Generation | None) -> Preflight | None:
        if self.index is None or not self.base:
            return None
        return trial_of(self.container, self.config.value if self.config else {}, generation)
