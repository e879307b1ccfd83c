"""``status``: who leads, what runs, whether it is as it was left, and what is open."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.model.finding import Finding
    from kschedpatch.report.watchview import Sight
    from kschedpatch.rollout.fleet import Fleet


def status(
    nodes: nodeoptions.Nodes = None,
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Keep it on the screen until Ctrl-C.")
    ] = False,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="SECONDS",
            min=0.2,
            max=3600,
            help="With --watch: from one look to the next.",
        ),
    ] = 2.0,
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
) -> None:
    """Show how each node stands: leader, version, patch, run, drift, an open run.

    Exit code 0: shown; 3: a node is not reached; 130: a watch was ended.
    """
    target = fleets.deployment_named(deployment, None, kubeconfig)
    if target is not None and watch:
        options.refuse(
            "--watch is for nodes. Of a Deployment, kubectl get deployment -w shows the pods."
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
        kubeconfig=kubeconfig,
    )
    show = fleets.Show(progress, quiet, verbose)
    if target is not None:
        from kschedpatch.cli.deployments import show_status

        show_status(way, target, show, output)
    if watch:
        _keep_showing(way, show, output, interval)
    _show(way, show, output)


def _show(way: Way, show: Show, output: Format) -> NoReturn:
    from kschedpatch.core.fleet.questions import Questions
    from kschedpatch.report.statuses import status_text
    from kschedpatch.rollout.clusterlook import object_findings

    with show.listener() as listener, fleets.connected(way, listener) as fleet:
        fleets.look(fleet, Questions(), again=False)
        sight = _sight(fleet, object_findings(fleet))
    fleets.tell(sight.outcome.findings, output)
    options.show(sight.outcome, output, lambda paint: status_text(sight.nodes, paint))


def _keep_showing(way: Way, show: Show, output: Format, interval: float) -> NoReturn:
    from contextlib import ExitStack

    from kschedpatch.model.events import nobody
    from kschedpatch.report.terminal import OutputLost
    from kschedpatch.report.watchview import Documents, screen
    from kschedpatch.rollout.cancel import Cancel, Cancelled
    from kschedpatch.rollout.clusterlook import object_findings
    from kschedpatch.rollout.watching import Watch

    cancel = Cancel()
    try:
        with ExitStack() as open_ones:
            with show.listener() as listener:
                fleet = open_ones.enter_context(fleets.connected(way, listener))
            fleet.listener = nobody  # one thing at a time is on the screen
            open_ones.enter_context(cancel.by_signals())
            watch = Watch(fleet)
            open_ones.callback(watch.close)
            told = (
                open_ones.enter_context(screen(sys.stdout, interval))
                if output is Format.TABLE
                else Documents(sys.stdout, yaml=output is Format.YAML)
            )
            of_objects: tuple[Finding, ...] = ()
            # Whoever read this may be gone (`| head`): then nobody ends it by Ctrl-C.
            while not cancel.requested and not getattr(sys.stdout, "is_lost", False):
                if watch.round(cancel):
                    of_objects = cancel.run(lambda: object_findings(fleet))
                cancel.check()
                told(_sight(fleet, of_objects))
                cancel.wait(interval)
    except Cancelled:
        pass
    except OutputLost as error:
        options.refuse(f"the result could not be written to standard output: {error}")
    # Ctrl-C is how a watch ends: nothing was interrupted that anybody has to be told of.
    raise SystemExit(exitcodes.INTERRUPTED if cancel.requested else exitcodes.OK)


def _sight(fleet: Fleet, of_objects: tuple[Finding, ...]) -> Sight:
    from kschedpatch.core.fleet.drifting import drift_findings
    from kschedpatch.core.fleet.standing import statuses
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.statuses import status_data
    from kschedpatch.report.watchview import Sight

    findings = (*fleets.unreached(fleet), *drift_findings(fleet.facts), *of_objects)
    code = exitcodes.REFUSED if fleet.failures else exitcodes.OK
    found = {node.label: node for node in statuses(fleet.facts, fleet.failures)}
    # As they were named, whether they are reached or not: rows that jump can't be read.
    order = [address.label or address.host for address in fleet.addresses]
    nodes = tuple(found[label] for label in order if label in found)
    outcome = Outcome("StatusResult", findings, data=status_data(nodes), code=code)
    return Sight(nodes, outcome)
