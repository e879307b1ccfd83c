"""``history``: the runs that the nodes keep."""

from __future__ import annotations

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode


def history(
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
    """List the runs that the nodes keep, newest first.

    Exit code 0: shown; 3: a node is not reached.
    """
    from kschedpatch.core.fleet.questions import Questions
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.statuses import history_data, history_text

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
    findings = fleets.unreached(fleet)
    outcome = Outcome("HistoryResult", findings, data=history_data(facts), code=code)
    fleets.tell(findings, output)
    options.show(outcome, output, lambda paint: history_text(facts, paint))
