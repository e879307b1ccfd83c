"""lint: takes whatever people have lying around and goes by its kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from kschedpatch.core.kubeversions import CONFIG_GROUP, CONFIG_KIND, POLICY_KIND
from kschedpatch.core.offline import lint_config, lint_patch
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.places import Places
from kschedpatch.core.yamltext.reader import Reading, read
from kschedpatch.inputs.files import NamedText, Unreadable, is_directory, read_named
from kschedpatch.inputs.loading import LoadedPatch, load_patch
from kschedpatch.inputs.quickflags import QuickFlags
from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding, in_reading_order
from kschedpatch.model.kubeversion import NEWEST_MINOR, KubeVersion
from kschedpatch.model.patch import KIND as PATCH_KIND

if TYPE_CHECKING:
    from kschedpatch.core.manifest.document import Manifest
    from kschedpatch.model.clusterplan import Object


def lint_path(
    name: str,
    flags: QuickFlags,
    manifest: Manifest | None,
    version: KubeVersion | None,
    known_plugins: tuple[str, ...] | None = None,
    deployment: Object | None = None,
) -> tuple[Finding, ...]:
    """Findings for a file, standard input (``-``), or a manifests directory."""
    if name not in {"-", ""} and is_directory(Path(name)):
        from kschedpatch.inputs.manifestfile import lint_directory

        if flags.given or manifest is not None or deployment is not None:
            return (_not_a_patch(name, "a directory"),)
        return lint_directory(Path(name), version)
    try:
        source = read_named(name)
    except Unreadable as error:
        return (error.finding(name or "-f"),)
    kind = kind_of(source.data)
    if kind == PATCH_KIND:
        loaded = load_patch(source, flags)
        return lint_loaded(loaded, manifest, version, known_plugins, deployment)
    beside_pod = kind == "Pod" and manifest is not None
    if kind in {CONFIG_KIND, POLICY_KIND, "Pod"} and (flags.given or beside_pod):
        return (_not_a_patch(source.name, f"a {kind}"),)
    if kind == CONFIG_KIND:
        return lint_config(source.data, source.name, manifest, version, known_plugins)
    if kind == "Pod":
        from kschedpatch.inputs.manifestfile import lint_manifest

        return lint_manifest(source, version)
    if kind == POLICY_KIND:
        return _lint_policy(source, version)
    return unknown_kind(source, kind)


def _lint_policy(source: NamedText, version: KubeVersion | None) -> tuple[Finding, ...]:
    """By the rules of 1.22, and what it is worth on the version asked for."""
    from kschedpatch.core.schedconfig.policy.judge import judge_policy
    from kschedpatch.core.schedconfig.policy.read import LAST_MINOR
    from kschedpatch.core.schedconfig.versions import migrate_command
    from kschedpatch.core.yamltext.goyaml.reading import read_as_go

    root = next(iter(read_as_go(source.data).documents), None)
    places = Places(source.name, root)
    hint = migrate_command(source.name, version.minor if version else NEWEST_MINOR)
    if version is None:
        worth = places.at("L010", ("kind",), "1.23 and later do not read a Policy", hint)
    elif version.minor > LAST_MINOR:
        message = f"{version} reads no Policy: the file is inert, its flag is refused"
        worth = places.at("L009", ("kind",), message, hint)
    else:
        return judge_policy(source.data, source.name)
    return in_reading_order((*judge_policy(source.data, source.name), worth))


def _not_a_patch(name: str, what: str) -> Finding:
    message = f"flags that change a patch (--image, --mount, --manifest, …) do not go with {what}"
    return found("P008", message, file=name, hint=f"leave them out, or give a {PATCH_KIND} with -f")


def lint_loaded(
    loaded: LoadedPatch,
    manifest: Manifest | None,
    version: KubeVersion | None,
    known_plugins: tuple[str, ...] | None = None,
    deployment: Object | None = None,
) -> tuple[Finding, ...]:
    if loaded.given is None:
        return in_reading_order(loaded.findings)
    findings = lint_patch(loaded.given, manifest, version, known_plugins, deployment)
    return in_reading_order((*loaded.findings, *findings))


def kind_of(data: bytes) -> str:
    """The kind that the strict reader sees; where that reads nothing, the scheduler's own."""
    kind = _kind(read(data))
    if kind:
        return kind
    from kschedpatch.core.yamltext.goyaml.reading import read_as_go

    kind = _kind(read_as_go(data))
    # Any other file is edited: what the strict reader refuses stays the matter.
    return kind if kind in {CONFIG_KIND, POLICY_KIND} else ""


def _kind(reading: Reading) -> str:
    documents = reading.documents
    value: Any = value_of(documents[0]) if documents else None
    if not isinstance(value, dict):
        return ""
    kind, group = value.get("kind"), str(value.get("apiVersion", ""))
    if kind is None and group.startswith(f"{CONFIG_GROUP}/"):
        return CONFIG_KIND
    if kind is None and "spec" in value and "metadata" in value and group.startswith("kschedpatch"):
        return PATCH_KIND
    return str(kind) if kind is not None else ""


def unknown_kind(source: NamedText, kind: str) -> tuple[Finding, ...]:
    reading = read(source.data)
    findings = [finding.in_file(source.name) for finding in reading.findings]
    root = reading.documents[0] if reading.documents else None
    empty = root is None or value_of(root) is None
    if empty and not findings:
        findings.append(found("Y014", "the file is empty", file=source.name))
    elif root is not None and not empty:
        what = f"kind is {kind}" if kind else "there is no kind"
        hint = f"a {PATCH_KIND}, a {CONFIG_KIND}, a {POLICY_KIND} or a Pod is read here"
        findings.append(Places(source.name, root).at("P013", ("kind",), what, hint))
    return in_reading_order(findings)
