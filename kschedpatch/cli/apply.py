"""``apply``: shows the plan, asks, and carries it out on all nodes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.model.rollout import OnFailure
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.core.patchinput import PatchInput
    from kschedpatch.model.finding import Finding
    from kschedpatch.model.fleetplan import FleetPlan
    from kschedpatch.model.rollout import RolloutSettings
    from kschedpatch.rollout.fleet import Fleet


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
    on_failure: Annotated[
        OnFailure,
        typer.Option(help="What the first failure does to nodes that are changed already."),
    ] = OnFailure.ROLLBACK_ALL,
    settle: fleets.Settle = 5.0,
    timeout: fleets.Timeout = 60.0,
    confirm_timeout: fleets.ConfirmTimeout = 90,
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
    """Change the scheduler on all nodes: standbys first, proven one by one, confirmed together.

    Exit code 0: done, or nothing to do; 2: the patch is wrong; 3: refused, unreachable or proven
    bad, nothing live was touched; 4: failed and rolled back; 5: failed and not restored.
    """
    from kschedpatch.cli.planned import loaded_or_given_up
    from kschedpatch.model.rollout import RolloutSettings

    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    kept = given = None
    if plan is not None:
        if file is not None or recipe is not None or flags.given:
            options.refuse("--plan excludes a patch: the plan has everything in it.")
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
        confirm_timeout=confirm_timeout,
        preflight=not no_preflight,
        canary=not no_canary,
        probe=not no_probe,
    )
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
    wish = _Wish(given.given if given else None, kept, given.findings if given else ())
    _apply(way, wish, settings, show, output, yes=yes, partial=partial)


class _Wish(NamedTuple):
    """A patch, or a plan that was made of one."""

    given: PatchInput | None
    kept: FleetPlan | None
    findings: tuple[Finding, ...]


def _read(path: Path, output: Format) -> FleetPlan:
    from kschedpatch.inputs.planfiles import read_plan
    from kschedpatch.model.outcome import Outcome

    decoded = read_plan(path)
    if decoded.plan is None:
        outcome = Outcome("ApplyResult", decoded.findings)
        fleets.give_up(outcome, output, "No node was contacted.")
    return decoded.plan


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
            wanted, labels = _wanted(fleet, wish, partial=partial)
        if not settings.canary:
            wanted = without_canaries(wanted)
        fleet.listener = nobody
        code = fleets.refusal(wanted.findings, labels)
        outcome = Outcome("ApplyResult", wanted.findings, code=code)
        if code != exitcodes.OK:
            fleets.give_up(outcome, output, "Nothing was changed.")
        _refuse_what_is_not_brought(wish, wanted)
        findings = (*wish.findings, *wanted.findings)
        if not wanted.changed and not wanted.rbac:
            fleets.tell(findings, output)
            words = "Nothing to change: the nodes are as the patch asks.\n"
            options.show(outcome, output, lambda _: words)
        if not show.quiet:
            complain(fleet_plan_text(wanted, paint_for(sys.stderr)))
        fleets.tell(findings, output)
        names = ", ".join(node.label for node in wanted.nodes if node.changed)
        question = f"Apply this to {names}?" if names else "Apply these objects to the cluster?"
        fleets.asked_to_go_on(question, yes=yes)
        cancel, probed = Cancel(), probed_profile(wanted)
        with show.listener() as fleet.listener:
            result = fleets.carried_out(
                lambda: roll_out(fleet, wanted, settings, cancel, probed_scheduler=probed)
            )
    outcome = Outcome(
        "ApplyResult", findings, result.changed, result_data(result), result.exit_code
    )
    options.show(outcome, output, lambda paint: result_text(result, paint))


def _refuse_what_is_not_brought(wish: _Wish, wanted: FleetPlan) -> None:
    """A wish that is silently not granted would be worse than none."""
    if wanted.objects:
        titles = ", ".join(item.title for item in wanted.objects)
        options.refuse(
            f"apply does not bring `objects` to the cluster yet ({titles}). Use kubectl for them, "
            "and leave them out of the patch. Nothing was changed."
        )
    if wish.given is not None and wish.given.patch.spec.scheduler.image_archive:
        options.refuse(
            "apply does not import image archives yet. Import it on each node "
            "(ctr -n k8s.io images import FILE) and name the image instead. Nothing was changed."
        )


def _wanted(fleet: Fleet, wish: _Wish, *, partial: bool) -> tuple[FleetPlan, tuple[str, ...]]:
    from kschedpatch.cli.planned import planned, renewed_plan

    if wish.given is not None:
        result = planned(fleet, wish.given, partial=partial)
        return result.plan, result.labels
    assert wish.kept is not None  # noqa: S101  one of both is there
    result = renewed_plan(fleet, wish.kept, partial=partial)
    return result.plan, result.labels
