"""``verify``: is it as asked, and does it work?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kschedpatch.cli import fleets, nodeoptions, options, reports
from kschedpatch.cli.nodeoptions import SshTransport
from kschedpatch.cli.options import Format
from kschedpatch.model import exitcodes
from kschedpatch.report.progressmode import ProgressMode

if TYPE_CHECKING:
    from collections.abc import Callable

    from kschedpatch.core.fleet.verifying.fleet import Evidence
    from kschedpatch.rollout.cancel import Cancel


@reports.reported
def verify(
    nodes: nodeoptions.Nodes = None,
    file: options.File = None,
    recipe: options.RecipeName = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe", help="Send the patch's probe pods through the scheduler; they are deleted."
        ),
    ] = False,
    probe_timeout: Annotated[
        float,
        typer.Option(
            "--probe-timeout",
            metavar="SECONDS",
            min=1,
            max=3600,
            help="How long a probe pod may take to be bound.",
        ),
    ] = 60.0,
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
    image: options.Image = None,
    image_archive: options.ImageArchive = None,
    binary: options.Binary = None,
    config: options.Config = None,
    mount: options.Mounts = None,
    device_plugins: options.DevicePlugins = False,
    arg: options.Args = None,
    rbac: options.RbacFiles = None,
) -> None:
    """Compare the nodes with a patch, or with what the last run left there: do they work as asked?

    Exit code 0: all is as it should be; 1: differences found; 2: the patch is wrong; 3: a node
    is not reached.
    """
    from kschedpatch.cli.planned import loaded_or_given_up, planned
    from kschedpatch.core.fleet.standing import statuses
    from kschedpatch.core.fleet.verifying.fleet import verify_fleet
    from kschedpatch.model.facts import Hashes
    from kschedpatch.model.finding import has_errors, in_reading_order
    from kschedpatch.model.outcome import Outcome
    from kschedpatch.report.checks import checklist_text, checks_data, checks_summary
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.report.statuses import status_data, status_text
    from kschedpatch.rollout.cancel import Cancel, Cancelled
    from kschedpatch.rollout.verification import Wish, gather

    flags = options.quick_flags(
        image, image_archive, binary, config, mount, device_plugins, arg, rbac
    )
    given = None
    if file is not None or recipe is not None or flags.given:
        loaded = options.loaded_patch(file, recipe, flags)
        given = loaded_or_given_up(loaded, "VerifyResult", output)
    target = fleets.deployment_named(deployment, given.given if given else None, kubeconfig)
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
        from kschedpatch.cli.deployments import show_verify

        cancel = Cancel()
        patch = given.given if given else None
        wish = Wish(patch, None, probe, probe_timeout, cancel.check)
        show_verify(way, target, wish, cancel, fleets.Show(progress, quiet, verbose), output)
    show = fleets.Show(progress, quiet, verbose)
    cancel = Cancel()
    wish = Wish(probe=probe, probe_seconds=probe_timeout, go_on=cancel.check)
    with show.listener() as listener, fleets.connected(way, listener) as fleet:
        if given is not None:
            result = planned(fleet, given.given, partial=True)
            wish, facts = wish._replace(given=given.given, plan=result.plan), result.facts
        else:
            facts = fleet.look(hashes=Hashes.ALL)
        try:
            evidence = _gathered(lambda: gather(fleet, facts, wish), cancel, held=probe)
        except Cancelled:
            raise typer.Exit(exitcodes.INTERRUPTED) from None
    verdict = verify_fleet(facts, evidence)
    findings = in_reading_order((*fleets.unreached(fleet), *verdict.findings))
    code = exitcodes.DIFFERENCES if has_errors(findings) else exitcodes.OK
    code = exitcodes.REFUSED if fleet.failures else code
    told = statuses(facts)
    reports.record().checked(verdict.checks, told, findings)
    data = {**status_data(told), "checks": checks_data(verdict.checks)}
    outcome = Outcome("VerifyResult", findings, data=data, code=code)
    options.show(
        outcome,
        output,
        lambda paint: (
            status_text(told, paint)
            + checklist_text(verdict.checks, paint)
            + finding_lines(findings, paint)
            + checks_summary(verdict.checks, paint)
            + summary(findings, paint)
        ),
    )


def _gathered(work: Callable[[], Evidence], cancel: Cancel, *, held: bool) -> Evidence:
    """With probe pods out there a signal is a request, not an end: they are deleted first."""
    if not held:
        return work()
    with cancel.by_signals():
        return work()
