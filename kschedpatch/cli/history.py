"""``history``: the runs that the nodes keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedpatch.core.fleet.comparing import Compared
    from kschedpatch.model.facts import NodeFacts
    from kschedpatch.model.finding import Finding
    from kschedpatch.rollout.fleet import Fleet


def history(
    nodes: nodeoptions.Nodes = None,
    deployment: nodeoptions.DeploymentName = None,
    kubeconfig: nodeoptions.Kubeconfig = None,
    diff: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--diff",
            metavar="A B",
            help="What changed in the manifest from run A to run B; `original` is what stood "
            "there first, `now` what stands there.",
        ),
    ] = None,
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
    """List the runs that the nodes keep, newest first, or compare two of them.

    Exit code 0: shown; 3: a node is not reached, or keeps no such run.
    """
    from kschedpatch.core.fleet.questions import Questions
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.statuses import (
        comparison_data,
        comparison_text,
        history_data,
        history_text,
    )
    from kschedpatch.rollout.retelling import changes_of_runs

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
        if diff is not None:
            options.refuse("--diff compares manifests of nodes, not Deployments.")
        from kschedpatch.cli.deployments import show_history

        show_history(way, target, fleets.Show(progress, quiet, verbose), output)
    show = fleets.Show(progress, quiet, verbose)
    with show.listener() as listener, fleets.connected(way, listener) as fleet:
        facts = fleets.look(fleet, Questions(), again=False)
        found, problems = _compared(fleet, facts, diff) if diff is not None else ((), ())
        changes = changes_of_runs(fleet, facts) if diff is None else {}
    if diff is not None:
        findings = (*fleets.unreached(fleet), *problems)
        code = exitcodes.REFUSED if findings else exitcodes.OK
        outcome = Outcome("HistoryResult", findings, data=comparison_data(diff, found), code=code)
        fleets.tell(findings, output)
        options.show(outcome, output, lambda paint: comparison_text(diff, found, paint))
    code = exitcodes.REFUSED if fleet.failures else exitcodes.OK
    findings = fleets.unreached(fleet)
    outcome = Outcome("HistoryResult", findings, data=history_data(facts, changes), code=code)
    fleets.tell(findings, output)
    options.show(outcome, output, lambda paint: history_text(facts, changes, paint))


def _compared(
    fleet: Fleet, facts: Sequence[NodeFacts], moments: tuple[str, str]
) -> tuple[tuple[Compared, ...], tuple[Finding, ...]]:
    from kschedpatch.core.fleet.comparing import Compared, compared, kept_runs
    from kschedpatch.rollout.fleet import in_parallel

    def one(node: NodeFacts) -> Compared | Finding:
        left = {run: fleet.kept(node.label, run).after for run in kept_runs(node, moments)}
        return compared(node, moments, left)

    answers = in_parallel(one, facts)
    found = tuple(answer for answer in answers if isinstance(answer, Compared))
    return found, tuple(answer for answer in answers if not isinstance(answer, Compared))
