"""``verify``: is it as asked, and does it work?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kschedpatch.cli import fleets, nodeoptions, options
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from kschedpatch.model.facts import NodeFacts
    from kschedpatch.rollout.fleet import Fleet


def verify(
    nodes: nodeoptions.Nodes = None,
    file: options.File = None,
    recipe: options.RecipeName = None,
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
    """Compare the nodes with what the last run left there, or with a patch; are they healthy?

    Exit code 0: all is as it should be; 1: differences found; 2: the patch is wrong; 3: a node
    is not reached.
    """
    from kschedpatch.cli.planned import loaded_or_given_up, planned
    from kschedpatch.core.fleet.questions import Questions
    from kschedpatch.core.fleet.standing import statuses
    from kschedpatch.core.fleet.verifying import verify_fleet
    from kschedpatch.model.finding import has_errors, in_reading_order
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.report.statuses import status_data, status_text

    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    given = None
    if file is not None or recipe is not None or flags.given:
        loaded = options.loaded_patch(file, recipe, flags)
        given = loaded_or_given_up(loaded, "VerifyResult", output)
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
        plan = None
        if given is not None:
            result = planned(fleet, given.given, partial=True)
            plan, facts = result.plan, result.facts
        else:
            facts = fleets.look(fleet, Questions(), again=False)
        kept = _left_there(fleet, facts)
    findings = in_reading_order((*fleets.unreached(fleet), *verify_fleet(facts, kept, plan)))
    code = exitcodes.DIFFERENCES if has_errors(findings) else exitcodes.OK
    code = exitcodes.REFUSED if fleet.failures else code
    told = statuses(facts)
    outcome = Outcome("VerifyResult", findings, data=status_data(told), code=code)
    options.show(
        outcome,
        output,
        lambda paint: (
            status_text(told, paint) + finding_lines(findings, paint) + summary(findings, paint)
        ),
    )


def _left_there(fleet: Fleet, facts: tuple[NodeFacts, ...]) -> dict[str, bytes]:
    """What the last run left, of nodes that are not like that any more: to show what differs."""
    from kschedpatch.core.fleet.standing import Drift, drift_of, last_confirmed
    from kschedpatch.node.agent import VerbFailed
    from kschedpatch.node.errors import NodeError

    kept = {}
    for node in facts:
        last = last_confirmed(node)
        if last is None or drift_of(node) is not Drift.EDITED:
            continue
        try:
            content = fleet.kept(node.label, last.run).after
        except (NodeError, VerbFailed):
            continue  # the difference is told without its lines then
        if content is not None:
            kept[node.label] = content
    return kept
