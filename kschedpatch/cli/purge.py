"""``purge``: every trace of kschedpatch goes from nodes that are un-patched; or a second scheduler
goes, with all that kschedpatch has made for it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NoReturn

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.cli.fleets import Show, Way


def purge(
    nodes: nodeoptions.Nodes = None,
    deployment: nodeoptions.DeploymentName = None,
    yes: fleets.Yes = False,
    partial: fleets.Partial = False,
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
) -> None:
    """Take everything of kschedpatch off un-patched nodes, and its objects off the cluster; or,
    with --deployment, a second scheduler that it has made.

    Exit code 0: done, or nothing to do; 3: refused, nothing was touched; 5: something is left.
    """
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
    show = fleets.Show(progress, quiet, verbose)
    if target is not None:
        from kschedpatch.cli.deployments import show_purge

        show_purge(way, target, show, output, yes=yes)
    _purge_nodes(way, show, output, partial=partial, yes=yes)


def _purge_nodes(way: Way, show: Show, output: Format, *, partial: bool, yes: bool) -> NoReturn:
    from contextlib import ExitStack

    from kschedpatch.model.events import nobody
    from kschedpatch.model.finding import has_errors
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.purges import done_data, done_text, plan_data, plan_text
    from kschedpatch.report.terminal import complain, paint_for
    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.nodepurge import plan_nodes_purge, purge_nodes

    with ExitStack() as open_ones:
        with show.listener() as listener:
            fleet = open_ones.enter_context(fleets.connected(way, listener))
            fleet.look()
            plan = plan_nodes_purge(fleet, partial=partial)
        fleet.listener = nobody
        findings = (*fleets.unreached(fleet), *plan.findings)
        code = exitcodes.REFUSED if has_errors(findings) else exitcodes.OK
        outcome = Outcome("PurgeResult", findings, data=plan_data(plan), code=code)
        if code != exitcodes.OK:
            fleets.give_up(outcome, output, "Nothing was changed.")
        if plan.empty:
            fleets.tell(findings, output)
            words = "Nothing of kschedpatch is on these nodes.\n"
            options.show(outcome, output, lambda _: words)
        if not show.quiet:
            complain(plan_text(plan, paint_for(sys.stderr)))
        fleets.tell(findings, output)
        fleets.asked_to_go_on("Take all of this away?", yes=yes)
        # It is short, and half of it is worse than all or nothing: signals wait until it is done.
        with show.listener() as fleet.listener, Cancel().by_signals():
            done = fleets.carried_out(lambda: purge_nodes(fleet, plan, fleets.who()))
    outcome = Outcome("PurgeResult", findings, done.changed, done_data(done), done.exit_code)
    options.show(outcome, output, lambda paint: done_text(done, paint))
