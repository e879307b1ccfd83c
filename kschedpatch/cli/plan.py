"""``plan``: a read-only look at the nodes, and the exact change for each of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.model.fleetplan import FleetPlan


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
    """Show what a patch would change on the nodes. Changes nothing there.

    Exit code 0: planned; 1: there are changes (with --exit-code); 2: the patch is wrong;
    3: refused, or a node is not reached.
    """
    from kschedpatch.cli.planned import loaded_or_given_up, planned
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.fleetplans import fleet_plan_data, fleet_plan_text

    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    given = loaded_or_given_up(options.loaded_patch(file, recipe, flags), "PlanResult", output)
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
    show = fleets.Show(progress, quiet, verbose)
    with show.listener() as listener, fleets.connected(way, listener) as fleet:
        result = planned(fleet, given.given, partial=partial)
    made = result.plan
    code = fleets.refusal(made.findings, result.labels)
    outcome = Outcome("PlanResult", made.findings, made.changed, fleet_plan_data(made), code)
    if code != exitcodes.OK:
        fleets.give_up(outcome, output, "Nothing was changed.")
    if out is not None:
        _write(out, made)
    if exit_code and made.changed:
        outcome = outcome._replace(code=exitcodes.DIFFERENCES)
    fleets.tell((*given.findings, *made.findings), output)
    options.show(outcome, output, lambda paint: fleet_plan_text(made, paint))


def _write(out: Path, made: FleetPlan) -> None:
    from kschedpatch.core.fleet.planfile import encode
    from kschedpatch.inputs.planfiles import with_absolute_paths
    from kschedpatch.report.directory import WriteError, write_private

    try:
        write_private(out, encode(with_absolute_paths(made)))
    except WriteError as error:
        options.refuse(f"{error}. Nothing was changed.")
