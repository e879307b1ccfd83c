"""``rollback``: back, on every node that can be reached. Made for three in the morning."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.model.rollout import RolloutSettings


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
    yes: fleets.Yes = False,
    reason: fleets.Reason = "",
    settle: fleets.Settle = 5.0,
    timeout: fleets.Timeout = 60.0,
    confirm_timeout: fleets.ConfirmTimeout = 90,
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
    _roll_back(way, to, settings, show, output, yes=yes)


def _roll_back(
    way: Way,
    to: str | None,
    settings: RolloutSettings,
    show: Show,
    output: Format,
    *,
    yes: bool,
) -> None:
    from contextlib import ExitStack

    from kschedpatch.cli.targets import targets_of, with_the_others
    from kschedpatch.model.events import nobody
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.fleetplans import rollback_text
    from kschedpatch.report.rollouts import result_data, result_text
    from kschedpatch.report.terminal import complain, paint_for
    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.rollback import roll_back

    with ExitStack() as open_ones:
        with show.listener() as listener:
            fleet = open_ones.enter_context(fleets.connected(way, listener))
            chosen = targets_of(fleet, to)
        fleet.listener = nobody
        if not chosen.targets:
            code = exitcodes.REFUSED if chosen.refused else exitcodes.OK
            outcome = Outcome("RollbackResult", chosen.findings, code=code)
            if code != exitcodes.OK:
                fleets.give_up(outcome, output, "Nothing was changed.")
            fleets.tell(chosen.findings, output)
            options.show(outcome, output, lambda _: "Nothing to change: it is there already.\n")
        if not show.quiet:
            complain(rollback_text(chosen.targets, paint_for(sys.stderr)))
        fleets.tell(chosen.findings, output)
        names = ", ".join(target.label for target in chosen.targets)
        fleets.asked_to_go_on(f"Roll back {names}?", yes=yes)
        cancel = Cancel()
        with show.listener() as fleet.listener:
            result = fleets.carried_out(lambda: roll_back(fleet, chosen.targets, settings, cancel))
    result = with_the_others(result, chosen)
    outcome = Outcome(
        "RollbackResult", chosen.findings, result.changed, result_data(result), result.exit_code
    )
    options.show(outcome, output, lambda paint: result_text(result, paint))
