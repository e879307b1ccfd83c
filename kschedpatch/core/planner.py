"""plan(patch, files, manifest, version) → the exact bytes of everything. A pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kschedpatch.core.clusterobjects import object_files, rbac_for, twice, unknown_lease
from kschedpatch.core.generation import make_generation
from kschedpatch.core.kubeversions import image_is_stock
from kschedpatch.core.manifest import edits
from kschedpatch.core.manifest.base import base_hash
from kschedpatch.core.manifest.document import (
    BASE_ANNOTATION,
    GENERATION_ANNOTATION,
    PATCH_ANNOTATION,
    Manifest,
)
from kschedpatch.core.manifest.flags import effective, set_flag
from kschedpatch.core.manifest.mounts import mount_paths
from kschedpatch.core.manifest.validate import judge
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.schedconfig.checks import Surroundings
from kschedpatch.core.schedconfig.complete import INSECURE_LOOPBACK, complete
from kschedpatch.core.schedconfig.election import election
from kschedpatch.core.schedconfig.extenders import service_names
from kschedpatch.core.schedconfig.judge import judge_config
from kschedpatch.core.schedconfig.read import ConfigText, config_text
from kschedpatch.core.staging import Staged, stage_binary, stage_config, stage_files
from kschedpatch.core.yamltext.nodes import Node, same
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.splice import respell
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, Path, has_errors, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion, unsupported, version_of_image
from kschedpatch.model.plan import Generation, Plan

DEFAULT_KUBECONFIG = "/etc/kubernetes/scheduler.conf"
_WITH_HOST_NET = "ClusterFirstWithHostNet"


def plan_static_pod(
    given: PatchInput,
    base: Manifest,
    *,
    current: Manifest | None = None,
    version: KubeVersion | None = None,
    host_types: Mapping[str, str] | None = None,
    known_plugins: tuple[str, ...] | None = None,
) -> Plan:
    """``base`` is what the patch is applied to, ``current`` what stands there now (the base, if it
    is not given). ``host_types`` is what a node says its paths are (File, Directory, …); empty
    offline. ``known_plugins``: what the image has beside the scheduler's own, if somebody knows."""
    before = (current or base).text
    planner = _Planner(given, base, before, version or base.version, host_types or {})
    planner.known_plugins = known_plugins
    return planner.plan()


class _Planner:
    def __init__(
        self,
        given: PatchInput,
        base: Manifest,
        before: str,
        version: KubeVersion | None,
        host_types: Mapping[str, str],
    ) -> None:
        self.given = given
        self.patch = given.patch
        self.base = base
        self.before = before
        self.version = version
        self.minor = version.minor if version else None
        self.host_types = host_types
        self.known_plugins: tuple[str, ...] | None = None
        self.findings: list[Finding] = []
        self.pod = base.pod
        self.container: dict[str, Any] = self.pod["spec"]["containers"][base.container_index]

    def plan(self) -> Plan:
        target = self.patch.spec.target
        if target.deployment or target.new_deployment:
            message = "this patch is for a Deployment, not for the static pod"
            self.findings.append(self._at("P009", ("spec", "target"), message))
            return self._result(self.before, None)
        self.findings += self._version_findings()
        if self.version is not None and not self.version.is_known:
            return self._result(self.before, None)  # no tables, no judgement
        config, problems = config_text(self.given)
        self.findings += problems
        about_base = judge(self.base.pod, self.minor, self.base.places)
        if has_errors((*self.findings, *about_base)):
            self.findings += about_base
            self.findings += self._config_findings(config) if config is not None else ()
            return self._result(self.before, None, config)
        generation = self._change(config)
        self.findings += self._config_findings(config) if config is not None else ()
        self.findings += self._policy_findings()
        if has_errors(self.findings):
            return self._result(self.before, None, config)
        spelling = respell(self.base.text, self.base.root, self.pod)
        self.findings += self._about_result(about_base, spelling.root)
        return self._result(spelling.text, generation, config)

    def _change(self, config: ConfigText | None) -> Generation | None:
        """Everything that the patch asks for, done to the pod; the files that it needs for that."""
        spec = self.patch.spec
        before = effective(self.container)
        edits.change_container(self.pod, self.base.container_index, spec.scheduler)
        self._change_mounts()
        staged = stage_files(spec.files, self.given.sources, self._volume_names())
        if config is not None:
            staged.insert(0, self._stage_config(config))
        binary = self.given.sources.get(spec.scheduler.binary or "")
        if binary is not None:
            staged.append(stage_binary(binary, self.container.get("command", [""])[0]))
        generation = make_generation(item.file for item in staged)
        if generation is not None:
            for item in staged:
                self._put_staged(item, generation)
        if config is not None:
            self._resolve_services(config)
        edits.follow_serving_flags(self.container, before)
        self._annotate(generation.id if generation else None)
        return generation

    def _volume_names(self) -> set[str]:
        """Names that are taken: the manifest's, and those that the patch gives itself."""
        spec = self.patch.spec
        chosen = {volume["name"] for volume in self.pod["spec"].get("volumes") or ()}
        chosen |= {mount.name for mount in spec.mounts}
        chosen |= {file.name for file in spec.files if file.name}
        return chosen | ({spec.config.name} if spec.config and spec.config.name else set())

    def _result(
        self, after: str, generation: Generation | None, config: ConfigText | None = None
    ) -> Plan:
        flags = effective(self.container)
        value = config.value if config else {}
        chosen = election(value, flags)
        rbac = rbac_for(self.given, self.version, chosen)
        if self.version is None:
            self.findings += unknown_lease(chosen, self.given)
        objects = object_files(self.given)
        doubled = twice((*rbac.objects, *objects.objects))
        findings = in_reading_order((*self.findings, *rbac.findings, *objects.findings, *doubled))
        if has_errors(findings):
            after, generation = self.before, None  # a plan with errors changes nothing
        return Plan(
            patch_name=self.patch.metadata.name,
            version=self.version,
            base=self.base.text,
            before=self.before,
            after=after,
            generation=generation,
            rbac=rbac.objects,
            objects=objects.objects,
            findings=findings,
        )

    def _at(self, code: str, path: Path, message: str, hint: str = "") -> Finding:
        return self.given.places.at(code, path, message, hint)

    def _version_findings(self) -> Iterator[Finding]:
        if self.version is None:
            if self.patch.spec.config is not None and self._config_minor() is None:
                hint = "say it with --kubernetes-version"
                message = "the manifest's image does not tell the Kubernetes version"
                yield found("V002", message, file=self.base.file, hint=hint)
            return
        if not self.version.is_known:
            yield found("V001", unsupported(self.version), file=self.base.file)
        image = self.patch.spec.scheduler.image
        tagged = version_of_image(image) if image else None
        if tagged is not None and tagged.is_known and tagged.minor != self.version.minor:
            message = f"the image is of Kubernetes 1.{tagged.minor}, the node of {self.version}"
            hint = f"the configuration is made for 1.{self.version.minor}"
            yield self._at("M030", ("spec", "scheduler", "image"), message, hint)

    def _change_mounts(self) -> None:
        for index, mount in enumerate(self.patch.spec.mounts):
            kind = mount.type or self.host_types.get(mount.host_path)
            if kind is None:
                kind = "Directory"
                message = f"{mount.host_path} is taken for a directory"
                path = ("spec", "mounts", index)
                self.findings.append(self._at("P011", path, message, "type: Directory, or File"))
            wanted = edits.HostMount(
                mount.name,
                mount.host_path,
                mount.mount_path or mount.host_path,
                kind,
                mount.read_only,
            )
            self._put_mount(wanted, ("spec", "mounts", index, "name"))

    def _put_mount(self, mount: edits.HostMount, path: Path) -> None:
        try:
            edits.put_mount(self.pod, self.base.container_index, mount)
        except edits.VolumeInUse as error:
            message = f"a volume named {error.name!r} is there already, for something else"
            self.findings.append(self._at("M028", path, message, "choose another name"))

    def _put_staged(self, item: Staged, generation: Generation) -> None:
        outer = edits.read_only_parent(self.container, item.mount_path)
        if outer is not None:
            message = f"{item.mount_path} lies inside {outer}, which is mounted read-only"
            hint = "choose a mountPath elsewhere: the runtime can't make the mount point there"
            self.findings.append(self._at("M036", ("spec",), message, hint))
        self._put_mount(item.mount(generation), ("spec",))

    def _stage_config(self, config: ConfigText) -> Staged:
        wanted = self.patch.spec.config
        minor = self._config_minor()
        assert wanted is not None  # noqa: S101  both hold where a configuration was read
        assert minor is not None  # noqa: S101
        flags = effective(self.container)
        text = complete(config, minor, flags.get("kubeconfig") or DEFAULT_KUBECONFIG)
        staged = stage_config(wanted, text)
        if INSECURE_LOOPBACK in text:
            message = f"health and metrics are served without TLS on {INSECURE_LOOPBACK}"
            self.findings.append(self._at("C020", ("spec", "config"), message))
        old = flags.get("config")
        if old is not None and old != staged.mount_path:
            message = f"--config={old} is replaced by {staged.mount_path}"
            self.findings.append(self._at("C016", ("spec", "config"), message))
            edits.remove_mount(self.pod, self.base.container_index, old)
        set_flag(self.container, "config", staged.mount_path)
        return staged

    def _config_minor(self) -> int | None:
        """The node's minor; where nothing tells it, that of the patch's own image."""
        image = self.patch.spec.scheduler.image
        tagged = version_of_image(image) if image else None
        return self.minor if self.minor is not None or tagged is None else tagged.minor

    def _resolve_services(self, config: ConfigText) -> None:
        """A hostNetwork pod knows no Service names unless its dnsPolicy says so."""
        spec = self.pod["spec"]
        hosts = service_names(config.value)
        policy = spec.get("dnsPolicy")
        if not hosts or not spec.get("hostNetwork") or policy == _WITH_HOST_NET:
            return
        if policy in (None, "", "ClusterFirst") and not self.patch.spec.scheduler.dns_policy:
            edits.put(spec, "dnsPolicy", _WITH_HOST_NET)
            message = f"dnsPolicy {_WITH_HOST_NET} is set, so that {hosts[0]} resolves"
            self.findings.append(config.at("C012", ("extenders",), message))
        else:
            message = f"with dnsPolicy {policy} the Service name {hosts[0]} does not resolve"
            hint = f"scheduler.dnsPolicy: {_WITH_HOST_NET}"
            self.findings.append(config.at("C022", ("extenders",), message, hint))

    def _annotate(self, generation: str | None) -> None:
        """Names patch, generation and base in the manifest, if anything in it changed at all."""
        if same(self.pod, self.base.pod):
            return
        metadata = self.pod["metadata"]
        annotations = dict(metadata.get("annotations") or {})
        edits.put(annotations, BASE_ANNOTATION, base_hash(self.base.text))
        if generation:
            edits.put(annotations, GENERATION_ANNOTATION, generation)
        edits.put(annotations, PATCH_ANNOTATION, self.patch.metadata.name)
        edits.put(metadata, "annotations", annotations)

    def _config_findings(self, config: ConfigText) -> Iterator[Finding]:
        scheduler = self.patch.spec.scheduler
        own = scheduler.binary is not None or scheduler.image_archive is not None
        minor = self._config_minor()
        around = Surroundings(
            minor=minor,
            flags=effective(self.container),
            stock_image=not own and image_is_stock(str(self.container.get("image"))),
            mounted=mount_paths(self.container),
            known_plugins=self.known_plugins,
            may_be_completed=True,
        )
        yield from judge_config(config, around)

    def _policy_findings(self) -> Iterator[Finding]:
        if self.minor is None or self.minor < 23:
            return
        for index, file in enumerate(self.patch.spec.files):
            source = self.given.sources.get(file.source)
            if source and source.content and b'"Policy"' in source.content[:4096]:
                message = f"no flag of 1.{self.minor} reads the Policy at {file.mount_path}"
                yield self._at("M031", ("spec", "files", index), message)

    def _about_result(self, about_base: tuple[Finding, ...], root: Node) -> list[Finding]:
        """What the base is told and the patch does not mend, and what the patch brings."""
        judged = judge(self.pod, self.minor, Places(f"{self.base.file} (patched)", root))
        after = {(finding.code, finding.message) for finding in judged}
        kept = [finding for finding in about_base if (finding.code, finding.message) in after]
        known = {(finding.code, finding.message) for finding in kept}
        return [*kept, *(f for f in judged if (f.code, f.message) not in known)]
