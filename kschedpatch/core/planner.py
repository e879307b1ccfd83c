"""plan(patch, files, manifest, version) → the exact bytes of everything. A pure function."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kschedpatch.core.clusterobjects import object_files, rbac_for
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
from kschedpatch.core.manifest.flags import effective, remove_flag, set_flag
from kschedpatch.core.manifest.rules.scheduler import mount_paths
from kschedpatch.core.manifest.validate import judge
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.schedconfig.checks import (
    Surroundings,
    config_findings,
    service_names,
)
from kschedpatch.core.schedconfig.complete import INSECURE_LOOPBACK, complete
from kschedpatch.core.schedconfig.election import election
from kschedpatch.core.schedconfig.read import ConfigText, config_text
from kschedpatch.core.schedconfig.versions import version_findings
from kschedpatch.core.staging import Staged, stage_binary, stage_config, stage_files
from kschedpatch.core.yamltext.nodes import Node, same
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.splice import respell
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, has_errors, in_reading_order
from kschedpatch.model.kubeversion import KubeVersion, unsupported, version_of_image
from kschedpatch.model.plan import Plan

DEFAULT_KUBECONFIG = "/etc/kubernetes/scheduler.conf"


def plan_static_pod(
    given: PatchInput,
    base: Manifest,
    *,
    version: KubeVersion | None = None,
    host_types: Mapping[str, str] | None = None,
) -> Plan:
    """``host_types`` is what a node says its paths are (File, Directory, …); empty offline."""
    planner = _Planner(given, base, version or base.version, host_types or {})
    return planner.plan()


class _Planner:
    def __init__(
        self,
        given: PatchInput,
        base: Manifest,
        version: KubeVersion | None,
        host_types: Mapping[str, str],
    ) -> None:
        self.given = given
        self.patch = given.patch
        self.base = base
        self.version = version
        self.minor = version.minor if version else None
        self.host_types = host_types
        self.findings: list[Finding] = []
        self.pod = base.pod
        self.container: dict[str, Any] = self.pod["spec"]["containers"][base.container_index]

    def plan(self) -> Plan:
        spec = self.patch.spec
        if spec.target.deployment or spec.target.new_deployment:
            message = "this patch is for a Deployment, not for the static pod"
            self.findings.append(self._at("P009", ("spec", "target"), message))
            return self._result(self.base.text, None)
        self.findings += self._version_findings()
        if self.version is not None and not self.version.is_known:
            return self._result(self.base.text, None)  # no tables, no judgement
        self.findings += judge(self.base.pod, self.minor, self.base.places)
        if has_errors(self.findings):
            return self._result(self.base.text, None)
        before = effective(self.container)
        self._change_container()
        self._change_mounts()
        config, problems = config_text(self.given)
        self.findings += problems
        staged = stage_files(spec.files, self.given.sources)
        if config is not None and self.minor is not None and not has_errors(self.findings):
            staged.insert(0, self._stage_config(config))
        binary = self.given.sources.get(spec.scheduler.binary or "")
        if binary is not None:
            staged.append(stage_binary(binary, self.container.get("command", [""])[0]))
        generation = make_generation(item.file for item in staged)
        for item in staged if generation else ():
            self._put_mount(item.mount(generation), ("spec",))  # type: ignore[arg-type]
        if config is not None:
            self._resolve_services(config)
        edits.follow_serving_flags(self.container, before)
        self._annotate(generation.id if generation else None)
        if has_errors(self.findings):
            return self._result(self.base.text, None)
        spelling = respell(self.base.text, self.base.root, self.pod)
        if config is not None:
            self.findings += self._config_findings(config)
        self.findings += self._policy_findings()
        self.findings += self._new_findings(spelling.root)
        return self._result(spelling.text, generation, config)

    def _result(self, after: str, generation: Any, config: ConfigText | None = None) -> Plan:
        flags = effective(self.container)
        value = config.value if config else {}
        rbac = rbac_for(self.given, self.version, election(value, flags))
        objects = object_files(self.given)
        findings = in_reading_order((*self.findings, *rbac.findings, *objects.findings))
        if has_errors(findings):
            after, generation = self.base.text, None  # a plan with errors changes nothing
        return Plan(
            patch_name=self.patch.metadata.name,
            version=self.version,
            before=self.base.text,
            after=after,
            generation=generation,
            rbac=rbac.objects,
            objects=objects.objects,
            findings=findings,
        )

    def _at(self, code: str, path: tuple[str | int, ...], message: str, hint: str = "") -> Finding:
        return self.given.places.at(code, path, message, hint)

    def _version_findings(self) -> Iterator[Finding]:
        if self.version is None:
            if self.patch.spec.config is not None:
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
            yield self._at("M030", ("spec", "scheduler", "image"), message)

    def _change_container(self) -> None:
        scheduler = self.patch.spec.scheduler
        if scheduler.image:
            edits.put(self.container, "image", scheduler.image)
        for name, value in scheduler.args.items():
            if value is None:
                remove_flag(self.container, name)
            else:
                set_flag(self.container, name, value)
        for variable in scheduler.env:
            edits.set_env(self.container, variable.name, variable.value)
        if scheduler.dns_policy:
            edits.put(self.pod["spec"], "dnsPolicy", scheduler.dns_policy)

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

    def _put_mount(self, mount: edits.HostMount, path: tuple[str | int, ...]) -> None:
        try:
            edits.put_mount(self.pod, self.base.container_index, mount)
        except edits.VolumeInUse as error:
            message = f"a volume named {error.name!r} is there already, for something else"
            self.findings.append(self._at("M028", path, message, "choose another name"))

    def _stage_config(self, config: ConfigText) -> Staged:
        wanted = self.patch.spec.config
        minor = self.minor
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
        set_flag(self.container, "config", staged.mount_path)
        return staged

    def _resolve_services(self, config: ConfigText) -> None:
        """A hostNetwork pod knows no Service names unless its dnsPolicy says so."""
        spec = self.pod["spec"]
        hosts = service_names(config.value)
        if not hosts or not spec.get("hostNetwork") or self.patch.spec.scheduler.dns_policy:
            return
        if spec.get("dnsPolicy") in (None, "", "ClusterFirst"):
            edits.put(spec, "dnsPolicy", "ClusterFirstWithHostNet")
            message = f"dnsPolicy ClusterFirstWithHostNet is set, so that {hosts[0]} resolves"
            self.findings.append(config.at("C012", ("extenders",), message))

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
        image = self.container.get("image", "")
        own_binary = self.patch.spec.scheduler.binary is not None
        around = Surroundings(
            minor=self.minor,
            flags=effective(self.container),
            stock_image=image_is_stock(image) and not own_binary and not self._brings_image(),
            mounted=mount_paths(self.container),
        )
        yield from version_findings(config, self.minor)
        yield from config_findings(config, around)

    def _brings_image(self) -> bool:
        """An image of the user's own may have any plugin, whatever its name is."""
        return bool(self.patch.spec.scheduler.image or self.patch.spec.scheduler.image_archive)

    def _policy_findings(self) -> Iterator[Finding]:
        if self.minor is None or self.minor < 23:
            return
        for index, file in enumerate(self.patch.spec.files):
            source = self.given.sources.get(file.source)
            if source and source.content and b'"Policy"' in source.content[:4096]:
                message = f"no flag of 1.{self.minor} reads the Policy at {file.mount_path}"
                yield self._at("M031", ("spec", "files", index), message)

    def _new_findings(self, root: Node) -> list[Finding]:
        """What the patched manifest would be told, minus what the base is told anyway."""
        known = {(f.code, f.message) for f in self.findings}
        name = f"{self.base.file} (patched)"
        judged = judge(self.pod, self.minor, Places(name, root))
        return [finding for finding in judged if (finding.code, finding.message) not in known]
