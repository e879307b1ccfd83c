"""``rollback``: back, on every node that can be reached. Made for three in the morning."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import fleets, nodeoptions, options, reports
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.model.rollout import RolloutSettings


@reports.reported
def rollback(
    nodes: nodeoptions.Nodes = None,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="RUN|original",
            help="What that run left, or what stood there before the first patch. "
            "Default: one step back.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be put back, and change nothing.")
    ] = False,
    yes: fleets.Yes = False,
    reason: fleets.Reason = "",
    settle: fleets.Settle = 5.0,
    timeout: fleets.Timeout = 60.0,
    confirm_timeout: fleets.ConfirmTimeout = 90,
    deployment: nodeoptions.DeploymentName = None,
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
) -> None:
    """Put the former scheduler back, or end a run that is open. Needs no API server.

    Exit code 0: done, or nothing to do; 3: refused, nothing live was touched; 4: failed, as
    before; 5: not every node is back.
    """
    from kschedpatch.core.fleet.runids import is_run_id
    from kschedpatch.model.revision import ORIGINAL
    from kschedpatch.model.rollout import RolloutSettings

    if to is not None and to != ORIGINAL and not is_run_id(to):
        options.refuse(f"--to {to!r} is no run: kschedpatch history shows them, or say original.")
    settings = RolloutSettings(
        reason=fleets.checked_reason(reason),
        who=fleets.who(),
        settle=settle,
        watch_timeout=timeout,
        confirm_timeout=confirm_timeout,
        preflight=False,
        probe=False,
    )
    target = fleets.deployment_named(deployment, None, kubeconfig)
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
    if target is not None:
        from kschedpatch.cli.deployments import show_rollback

        shown = fleets.Show(progress, quiet, verbose)
        show_rollback(way, target, to, settings, shown, output, yes=yes, dry_run=dry_run)
    show = fleets.Show(progress, quiet, verbose)
    _roll_back(way, to, settings, show, output, yes=yes, dry_run=dry_run)


def _roll_back(
    way: Way,
    to: str | None,
    settings: RolloutSettings,
    show: Show,
    output: Format,
    *,
    yes: bool,
    dry_run: bool,
) -> None:
    from contextlib import ExitStack

    from kschedpatch.cli.targets import targets_of, with_the_others
    from kschedpatch.model.clusterplan import ClusterPlan
    from kschedpatch.model.events import nobody
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.model.persistplan import PersistPlan
    from kschedpatch.report.fleetplans import rollback_data, rollback_text
    from kschedpatch.report.rollouts import result_data, result_text
    from kschedpatch.report.terminal import complain, paint_for
    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.clusterlook import plan_for_rollback
    from kschedpatch.rollout.persistlook import look_for_rollback
    from kschedpatch.rollout.rollback import roll_back

    kind = "RollbackPlan" if dry_run else "RollbackResult"
    with ExitStack() as open_ones:
        with show.listener() as listener:
            fleet = open_ones.enter_context(fleets.connected(way, listener))
            chosen = targets_of(fleet, to)
            cluster, persist = ClusterPlan(), PersistPlan()
            if fleet.members:
                cluster = plan_for_rollback(fleet, chosen.targets)
                persist = look_for_rollback(fleet, chosen.targets)
        fleet.listener = nobody
        findings = (*chosen.findings, *cluster.findings, *persist.findings)
        noted = reports.record().by(settings)
        noted.goes_back(chosen.targets, cluster, persist, findings)
        # A node that does not go back: the rollback itself will not end in success.
        code = exitcodes.REFUSED if chosen.refused else exitcodes.OK
        # Without a target for any node there may still be objects to put in order.
        for_objects = cluster.changed and not cluster.blind
        if not chosen.targets and (chosen.refused or not (for_objects or persist.changed)):
            outcome = Outcome(kind, findings, code=code)
            if code != exitcodes.OK:
                fleets.give_up(outcome, output, "Nothing was changed.")
            fleets.tell(findings, output)
            options.show(outcome, output, lambda _: "Nothing to change: it is there already.\n")
        if dry_run:
            data = rollback_data(chosen.targets, cluster, persist)
            fleets.tell(findings, output)
            options.show(
                Outcome(kind, findings, True, data, code),
                output,
                lambda paint: rollback_text(chosen.targets, paint, cluster, persist),
            )
        if not show.quiet:
            complain(rollback_text(chosen.targets, paint_for(sys.stderr), cluster, persist))
        fleets.tell(findings, output)
        names = ", ".join(target.label for target in chosen.targets)
        question = f"Roll back {names}?" if names else "Put these objects in order?"
        fleets.asked_to_go_on(question, yes=yes)
        cancel = Cancel()
        with show.listener() as fleet.listener:
            result = fleets.carried_out(
                lambda: roll_back(
                    fleet, chosen.targets, settings, cancel, cluster=cluster, persist=persist
                )
            )
    noted.result = result = with_the_others(result, chosen)._replace(reach=way.flags)
    outcome = Outcome(kind, findings, result.changed, result_data(result), result.exit_code)
    options.show(outcome, output, lambda paint: result_text(result, paint))
