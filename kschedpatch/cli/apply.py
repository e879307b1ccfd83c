"""``apply``: shows the plan, asks, and carries it out on all nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kschedpatch.cli import fleets, nodeoptions, options, persistoptions, reports
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.model.rollout import OnFailure
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.cli.planned import Given, Planned
    from kschedpatch.core.patchinput import PatchInput
    from kschedpatch.model.finding import Finding
    from kschedpatch.model.fleetplan import FleetPlan
    from kschedpatch.model.rollout import RolloutSettings
    from kschedpatch.rollout.fleet import Fleet


@reports.reported
def apply(
    nodes: nodeoptions.Nodes = None,
    file: options.File = None,
    recipe: options.RecipeName = None,
    plan: Annotated[
        Path | None,
        typer.Option("--plan", metavar="FILE", help="A plan that `plan --out` wrote."),
    ] = None,
    yes: fleets.Yes = False,
    reason: fleets.Reason = "",
    partial: fleets.Partial = False,
    persist: persistoptions.Persist = False,
    stage_only: persistoptions.StageOnly = False,
    on_failure: Annotated[
        OnFailure,
        typer.Option(help="What the first failure does to nodes that are changed already."),
    ] = OnFailure.ROLLBACK_ALL,
    settle: fleets.Settle = 5.0,
    timeout: fleets.Timeout = 60.0,
    pull_timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=5,
            max=7200,
            help="How long the image may take on a node, to be pulled or imported.",
        ),
    ] = 300.0,
    confirm_timeout: fleets.ConfirmTimeout = 90,
    objects_timeout: Annotated[
        float,
        typer.Option(
            "--objects-timeout",
            metavar="SECONDS",
            min=5,
            max=3600,
            help="How long the patch's objects may take to become ready.",
        ),
    ] = 120.0,
    no_preflight: Annotated[
        bool,
        typer.Option("--no-preflight", help="Leave out the trial run of the scheduler."),
    ] = False,
    no_canary: Annotated[
        bool,
        typer.Option(
            "--no-canary",
            help="Switch without having run the new scheduler beside the live one first.",
        ),
    ] = False,
    no_probe: Annotated[
        bool, typer.Option("--no-probe", help="Leave out the pod that the new leader must judge.")
    ] = False,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe", help="Also send the patch's own probe pods through the new scheduler."
        ),
    ] = False,
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
    """Change the scheduler on all nodes: standbys first, proven one by one, confirmed together.

    Exit code 0: done, or nothing to do; 2: the patch is wrong; 3: refused, unreachable or proven
    bad, nothing live was touched; 4: failed and rolled back; 5: failed and not restored.
    """
    from kschedpatch.cli.planned import loaded_or_given_up
    from kschedpatch.model.rollout import RolloutSettings

    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    if probe and no_probe:
        options.refuse("--probe and --no-probe exclude each other.")
    kept = given = None
    changes = ""
    if plan is not None:
        if file is not None or recipe is not None or flags.given:
            options.refuse("--plan excludes a patch: the plan has everything in it.")
        from kschedpatch.inputs.deploymentplans import is_for_deployment

        if is_for_deployment(plan):
            given, take_over, changes = _read_for_deployment(plan, output)
        else:
            kept = _read(plan, output)
            if not nodes and inventory is None and not local:
                nodes = [node.label for node in kept.nodes]
    else:
        loaded = options.loaded_patch(file, recipe, flags)
        given = loaded_or_given_up(loaded, "ApplyResult", output)
    settings = RolloutSettings(
        reason=fleets.checked_reason(reason),
        who=fleets.who(),
        on_failure=on_failure,
        settle=settle,
        watch_timeout=timeout,
        pull_timeout=pull_timeout,
        confirm_timeout=confirm_timeout,
        preflight=not no_preflight,
        canary=not no_canary,
        probe=not no_probe,
        probe_pods=probe,
        objects_timeout=objects_timeout,
    )
    is_deployment = given is not None and fleets.for_deployment(given.given, kubeconfig)
    persistoptions.check(persist, partial=partial, is_deployment=is_deployment)
    if stage_only and (persist or is_deployment):
        options.refuse("--stage-only is for a node that will join, and changes nothing else.")
    if kept is not None and persist:
        options.refuse("--persist goes with `plan --out`: the plan has everything in it.")
    if kept is not None and kubeconfig is not None:
        options.refuse("--kubeconfig goes with a patch for a Deployment.")
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
    if is_deployment and given is not None:
        from kschedpatch.cli.deployments import show_apply

        shown = fleets.Show(progress, quiet, verbose)
        taken = take_over or ()
        show_apply(way, given, settings, shown, output, taken, yes=yes, planned=changes)
    show = fleets.Show(progress, quiet, verbose)
    if stage_only:
        from kschedpatch.cli.stageonly import show_stage_only

        if given is None:
            options.refuse("--stage-only goes with a patch, not with a plan.")
        show_stage_only(way, given, settings, show, output, yes=yes)
    wish = _Wish(given.given if given else None, kept, given.findings if given else (), persist)
    _apply(way, wish, settings, show, output, yes=yes, partial=partial)


class _Wish(NamedTuple):
    """A patch, or a plan that was made of one."""

    given: PatchInput | None
    kept: FleetPlan | None
    findings: tuple[Finding, ...]
    persist: bool = False


def _read(path: Path, output: Format) -> FleetPlan:
    from kschedpatch.inputs.planfiles import read_plan
    from kschedpatch.model.outcome import Outcome

    decoded = read_plan(path)
    if decoded.plan is None:
        outcome = Outcome("ApplyResult", decoded.findings)
        fleets.give_up(outcome, output, "No node was contacted.")
    return decoded.plan


def _read_for_deployment(path: Path, output: Format) -> tuple[Given, list[str], str]:
    from kschedpatch.cli.planned import Given
    from kschedpatch.inputs.deploymentplans import read_deployment_plan
    from kschedpatch.model.outcome import Outcome

    decoded = read_deployment_plan(path)
    if decoded.plan is None:
        outcome = Outcome("ApplyResult", decoded.findings)
        fleets.give_up(outcome, output, "Nothing was changed.")
    plan = decoded.plan
    return Given(plan.given, ()), list(plan.take_over), plan.changes


def _apply(
    way: Way,
    wish: _Wish,
    settings: RolloutSettings,
    show: Show,
    output: Format,
    *,
    yes: bool,
    partial: bool,
) -> None:
    from contextlib import ExitStack

    from kschedpatch.core.fleet.canary import without_canaries
    from kschedpatch.core.fleet.election import probed_profile
    from kschedpatch.model.events import nobody
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.fleetplans import fleet_plan_text
    from kschedpatch.report.rollouts import result_data, result_text
    from kschedpatch.report.terminal import complain, paint_for
    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.rollout import roll_out

    with ExitStack() as open_ones:
        with show.listener() as listener:
            fleet = open_ones.enter_context(fleets.connected(way, listener))
            made = _wanted(fleet, wish, partial=partial)
        wanted, labels, cluster = made.plan, made.labels, made.cluster
        if not settings.canary:
            wanted = without_canaries(wanted)
        fleet.listener = nobody
        findings = (*wish.findings, *wanted.findings)
        noted = reports.record().by(settings).planned(wanted, cluster, made.persist, findings)
        code = fleets.refusal(wanted.findings, labels)
        outcome = Outcome("ApplyResult", wanted.findings, code=code)
        if code != exitcodes.OK:
            fleets.give_up(outcome, output, "Nothing was changed.")
        if not made.changed:
            fleets.tell(findings, output)
            words = "Nothing to change: the nodes are as the patch asks.\n"
            options.show(outcome, output, lambda _: words)
        if not show.quiet:
            complain(fleet_plan_text(wanted, paint_for(sys.stderr), cluster, made.persist))
        fleets.tell(findings, output)
        names = ", ".join(node.label for node in wanted.nodes if node.changed)
        question = f"Apply this to {names}?" if names else "Apply these objects to the cluster?"
        fleets.asked_to_go_on(question, yes=yes)
        cancel, probed = Cancel(), probed_profile(wanted)
        with show.listener() as fleet.listener:
            result = fleets.carried_out(
                lambda: roll_out(
                    fleet,
                    wanted,
                    settings,
                    cancel,
                    cluster=cluster,
                    persist=made.persist,
                    probed_scheduler=probed,
                )
            )
    noted.result = result = result._replace(reach=way.flags)
    outcome = Outcome(
        "ApplyResult", findings, result.changed, result_data(result), result.exit_code
    )
    options.show(outcome, output, lambda paint: result_text(result, paint))


def _wanted(fleet: Fleet, wish: _Wish, *, partial: bool) -> Planned:
    from kschedpatch.cli.planned import planned, renewed_plan, with_objects

    if wish.given is not None:
        made = planned(fleet, wish.given, partial=partial, persist=wish.persist)
        return with_objects(fleet, made)
    assert wish.kept is not None  # noqa: S101  one of both is there
    return with_objects(fleet, renewed_plan(fleet, wish.kept, partial=partial))
