"""``plan``: a read-only look at the nodes, and the exact change for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import fleets, nodeoptions, options, persistoptions, reports
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.model.fleetplan import FleetPlan


@reports.reported
def plan(
    nodes: nodeoptions.Nodes = None,
    file: options.File = None,
    recipe: options.RecipeName = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep the plan for `apply --plan FILE`."),
    ] = None,
    exit_code: Annotated[
        bool, typer.Option("--exit-code", help="End with 1 when there are changes.")
    ] = False,
    partial: fleets.Partial = False,
    persist: persistoptions.Persist = False,
    kubernetes_version: Annotated[
        str | None,
        typer.Option(
            metavar="VERSION", help="Plan as if the nodes ran this one: before an upgrade."
        ),
    ] = None,
    take_over: nodeoptions.TakeOver = None,
    kubeconfig: nodeoptions.Kubeconfig = None,
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
    report: reports.ReportFile = None,  # noqa: ARG001  the decorator's
    image: options.Image = None,
    image_archive: options.ImageArchive = None,
    binary: options.Binary = None,
    config: options.Config = None,
    mount: options.Mounts = None,
    device_plugins: options.DevicePlugins = False,
    arg: options.Args = None,
    rbac: options.RbacFiles = None,
) -> None:
    """Show what a patch would change on the nodes. Changes nothing there.

    Exit code 0: planned; 1: there are changes (with --exit-code); 2: the patch is wrong;
    3: refused, or a node is not reached.
    """
    from kschedpatch.cli.planned import loaded_or_given_up, planned, with_objects
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.fleetplans import fleet_plan_data, fleet_plan_text

    version = options.parsed_version(kubernetes_version)
    if version is not None and out is not None:
        options.refuse("--out: a plan for another version than the nodes' can't be applied.")
    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    given = loaded_or_given_up(options.loaded_patch(file, recipe, flags), "PlanResult", output)
    is_deployment = fleets.for_deployment(given.given, kubeconfig)
    persistoptions.check(persist, partial=partial, is_deployment=is_deployment)
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
        kubeconfig=kubeconfig,
    )
    if is_deployment:
        from kschedpatch.cli.deployments import show_plan

        if version is not None:
            options.refuse("--kubernetes-version: a Deployment's plan goes by the API server's.")
        shown = fleets.Show(progress, quiet, verbose)
        show_plan(way, given, shown, output, take_over or (), exit_code=exit_code, out=out)
    show = fleets.Show(progress, quiet, verbose)
    with show.listener() as listener, fleets.connected(way, listener) as fleet:
        result = planned(fleet, given.given, partial=partial, persist=persist, version=version)
        result = with_objects(fleet, result)
    made = result.plan
    findings = (*given.findings, *made.findings)
    reports.record().planned(made, result.cluster, result.persist, findings)
    code = fleets.refusal(made.findings, result.labels)
    data = fleet_plan_data(made, result.cluster, result.persist)
    outcome = Outcome("PlanResult", made.findings, result.changed, data, code)
    if code != exitcodes.OK:
        fleets.give_up(outcome, output, "Nothing was changed.")
    if out is not None:
        _write(out, made)
    if exit_code and result.changed:
        outcome = outcome._replace(code=exitcodes.DIFFERENCES)
    fleets.tell(findings, output)
    options.show(
        outcome, output, lambda paint: fleet_plan_text(made, paint, result.cluster, result.persist)
    )


def _write(out: Path, made: FleetPlan) -> None:
    from kschedpatch.core.fleet.planfile import encode
    from kschedpatch.inputs.planfiles import with_absolute_paths

    options.write_plan(out, encode(with_absolute_paths(made)))
