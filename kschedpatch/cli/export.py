"""``export``: what kubeadm has to be told so that its next rendering keeps the change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedpatch.cli.fleets import Way
    from kschedpatch.inputs.loading import LoadedPatch
    from kschedpatch.model.finding import Finding
    from kschedpatch.model.kubeversion import KubeVersion


def export(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Write the files there.")],
    nodes: nodeoptions.Nodes = None,
    file: options.File = None,
    recipe: options.RecipeName = None,
    manifest: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Offline: a node's kube-scheduler.yaml; - is standard input."
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="The manifest from before, if it is patched already."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Write into DIR although it is not empty.")
    ] = False,
    kubernetes_version: options.Version = None,
    inventory: nodeoptions.InventoryFile = None,
    discover: nodeoptions.Discover = False,
    local: nodeoptions.Local = False,
    identity: nodeoptions.Identity = None,
    known_hosts: nodeoptions.KnownHosts = None,
    ssh_config: nodeoptions.SshConfig = None,
    transport: nodeoptions.Transport = SshTransport.PARAMIKO,
    accept_new_host_keys: nodeoptions.AcceptNewHostKeys = False,
    ask_become_pass: nodeoptions.AskBecomePass = False,
    connect_timeout: nodeoptions.ConnectTimeout = None,
    progress: fleets.Progress = ProgressMode.AUTO,
    quiet: fleets.Quiet = False,
    verbose: fleets.Verbose = False,
    output: options.Output = Format.TABLE,
    image: options.Image = None,
    image_archive: options.ImageArchive = None,
    binary: options.Binary = None,
    config: options.Config = None,
    mount: options.Mounts = None,
    device_plugins: options.DevicePlugins = False,
    arg: options.Args = None,
    rbac: options.RbacFiles = None,
) -> None:
    """Write what makes kubeadm keep a patch: a ClusterConfiguration fragment and patches.

    By a node's manifest, or offline with --manifest. Nothing is changed anywhere. Exit code 0:
    written; 2: there are errors; 3: a node is not reached or can't be planned for.
    """

    version = options.parsed_version(kubernetes_version)
    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    if manifest is not None and (nodes or inventory is not None or local):
        options.refuse("either a node or --manifest, not both.")
    if manifest is None and (base is not None or version is not None):
        options.refuse("--base and --kubernetes-version go with --manifest: a node has its own.")
    if [file, manifest, base].count("-") > 1:
        options.refuse("only one file can be standard input.")
    options.check_target(out, force=force)
    loaded = options.loaded_patch(file, recipe, flags)
    if manifest is not None:
        _offline(loaded, manifest, base, version, out, output)
    way = fleets.way_to(
        nodes,
        inventory,
        discover=discover,
        local=local,
        identity=identity,
        known_hosts=known_hosts,
        ssh_config=ssh_config,
        transport=transport,
        accept_new_host_keys=accept_new_host_keys,
        ask_become_pass=ask_become_pass,
        connect_timeout=connect_timeout,
    )
    _by_node(loaded, way, fleets.Show(progress, quiet, verbose), out, output)


def _offline(
    loaded: LoadedPatch,
    manifest: str,
    base: str | None,
    version: KubeVersion | None,
    out: Path,
    output: Format,
) -> NoReturn:
    from kschedpatch.core.kubeadm.bundle import export_files
    from kschedpatch.inputs.manifestfile import load_manifest
    from kschedpatch.inputs.rendering import rendered
    from kschedpatch.model.outcome import Outcome

    before = load_manifest(base) if base is not None else None
    result = rendered(loaded, load_manifest(manifest), before, version)
    plan = result.plan
    if plan is None or not plan.ok:
        fleets.give_up(Outcome("ExportResult", result.findings), output, "Nothing was written.")
    if plan.version is None:
        options.refuse("the manifest's image does not tell its version: say --kubernetes-version.")
    files = export_files(plan.base, plan.after, plan.patch_name, plan.version, plan.generation)
    _written(files, out, result.findings, output)


def _by_node(
    loaded: LoadedPatch, way: Way, show: fleets.Show, out: Path, output: Format
) -> NoReturn:
    """Of the first node: what is exported is the same for all of them."""
    from kschedpatch.cli.planned import loaded_or_given_up, planned
    from kschedpatch.core.kubeadm.bundle import export_files
    from kschedpatch.model.outcome import Outcome

    given = loaded_or_given_up(loaded, "ExportResult", output)
    with show.listener() as listener, fleets.connected(way, listener) as fleet:
        result = planned(fleet, given.given, partial=True)
    made = result.plan
    code = fleets.refusal(made.findings, result.labels)
    if code != exitcodes.OK or not made.nodes:
        outcome = Outcome("ExportResult", made.findings, code=code or exitcodes.REFUSED)
        fleets.give_up(outcome, output, "Nothing was written.")
    node = made.nodes[0]
    [facts] = [facts for facts in result.facts if facts.label == node.label]
    if facts.kubelet is None:
        options.refuse(f"{node.label} does not tell its kubelet's version. Nothing was written.")
    base = facts.base.decode() if facts.base is not None else node.before
    files = export_files(base, node.after, made.patch_name, facts.kubelet, node.generation)
    _written(files, out, (*given.findings, *made.findings), output)


def _written(
    files: dict[str, str], out: Path, findings: Sequence[Finding], output: Format
) -> NoReturn:
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.directory import WriteError, write_files
    from kschedpatch.report.terminal import printable

    fleets.tell(findings, output)
    try:
        paths = write_files({out / name: text.encode() for name, text in files.items()}, force=True)
    except WriteError as error:
        options.refuse(str(error))
    listed = "".join(f"{printable(str(path))}\n" for path in paths)
    outcome = Outcome("ExportResult", tuple(findings), data={"files": files})
    options.show(outcome, output, lambda _: listed)
