"""``status``: who leads, what runs, whether it is as it was left, and what is open."""

from __future__ import annotations

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode


def status(
    nodes: nodeoptions.Nodes = None,
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

    Exit code 0: shown; 3: a node is not reached.
    """
    from kschedpatch.core.fleet.questions import Questions
    from kschedpatch.core.fleet.standing import statuses
    from kschedpatch.core.fleet.verifying import cluster_state
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.statuses import status_data, status_text

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
        facts = fleets.look(fleet, Questions(), again=False)
    code = exitcodes.REFUSED if fleet.failures else exitcodes.OK
    findings = (*fleets.unreached(fleet), *cluster_state(facts))
    told = statuses(facts)
    outcome = Outcome("StatusResult", findings, data=status_data(told), code=code)
    fleets.tell(findings, output)
    options.show(outcome, output, lambda paint: status_text(told, paint))
