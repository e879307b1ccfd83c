"""The commands for a scheduler that runs as a Deployment; the flags are those of every target."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import typer

from kschedpatch.cli import fleets, options, reports
from kschedpatch.model import exitcodes
from kschedpatch.model.codes import found
from kschedpatch.model.events import nobody
from kschedpatch.model.finding import has_errors
from kschedpatch.model.outcome import Outcome
from kschedpatch.report import deployments as told
from kschedpatch.report.rollouts import result_data, result_text
from kschedpatch.report.terminal import complain, paint_for

if TYPE_CHECKING:
    from pathlib import Path

    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.cli.options import Format
    from kschedpatch.cli.planned import Given
    from kschedpatch.model.deploymentplan import DeploymentTarget
    from kschedpatch.model.events import Listener
    from kschedpatch.model.finding import Finding
    from kschedpatch.model.rollout import RolloutResult, RolloutSettings
    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.deploymentlook import DeploymentLook
    from kschedpatch.rollout.objects import Reach
    from kschedpatch.rollout.verification import Wish

_AS_BEFORE = "Nothing was changed."


@contextmanager
def reached(way: Way, listener: Listener, output: Format, kind: str) -> Iterator[Reach]:
    """By the operator's own kubectl, or by one on a control-plane node that gets answers."""
    from kschedpatch.rollout.reach import OwnReach

    if way.kubeconfig is not None:
        yield OwnReach(way.kubeconfig, listener)
        return
    with fleets.connected(way, listener) as fleet:
        fleet.look(api=True)
        if not fleet.facts:
            outcome = Outcome(kind, fleets.unreached(fleet), code=exitcodes.REFUSED)
            fleets.give_up(outcome, output, _AS_BEFORE)
        yield fleet


def _code(findings: Sequence[Finding]) -> int:
    return fleets.refusal(findings, ())


def _note(
    look: DeploymentLook, findings: Sequence[Finding], settings: RolloutSettings | None = None
) -> None:
    noted = reports.record()
    if settings is not None:
        noted.by(settings)
    patch = look.plan.patch_name if look.plan else ""
    noted.of_deployment(patch, told.whole(look), findings)


def show_plan(
    way: Way,
    given: Given,
    show: Show,
    output: Format,
    take_over: Sequence[str],
    *,
    exit_code: bool,
    out: Path | None = None,
) -> NoReturn:
    from kschedpatch.rollout.deploymentlook import look_for_apply

    with show.listener() as listener, reached(way, listener, output, "PlanResult") as reach:
        look = look_for_apply(reach, given.given, take_over)
    findings = (*given.findings, *look.findings)
    _note(look, findings)
    code = _code(look.findings)
    outcome = Outcome("PlanResult", findings, look.changed, told.look_data(look), code)
    if code != exitcodes.OK:
        fleets.give_up(outcome, output, _AS_BEFORE)
    if out is not None:
        from kschedpatch.inputs.deploymentplans import KeptPlan, encode, fingerprint

        changes = fingerprint(told.look_data(look))
        options.write_plan(out, encode(KeptPlan(given.given, tuple(take_over), changes)))
    if exit_code and look.changed:
        outcome = outcome._replace(code=exitcodes.DIFFERENCES)
    fleets.tell(findings, output)
    options.show(outcome, output, lambda paint: told.look_text(look, paint))


def show_apply(
    way: Way,
    given: Given,
    settings: RolloutSettings,
    show: Show,
    output: Format,
    take_over: Sequence[str],
    *,
    yes: bool,
    planned: str = "",
) -> NoReturn:
    """``planned`` is the fingerprint of a plan that was kept."""
    from contextlib import ExitStack

    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.deployment import roll_out_deployment
    from kschedpatch.rollout.deploymentlook import look_for_apply

    with ExitStack() as open_ones:
        with show.listener() as listener:
            reach = open_ones.enter_context(reached(way, listener, output, "ApplyResult"))
            look = look_for_apply(reach, given.given, take_over)
        reach.listener = nobody
        findings = (*given.findings, *look.findings)
        if planned and not has_errors(findings) and not _same(look, planned):
            message = f"what would become of {look.target.title} is not what was planned"
            findings = (*findings, found("N302", message, hint="plan again"))
        _note(look, findings, settings)
        code = _code(findings)
        outcome = Outcome("ApplyResult", findings, code=code)
        if code != exitcodes.OK:
            fleets.give_up(outcome, output, _AS_BEFORE)
        if not look.changed:
            fleets.tell(findings, output)
            words = f"Nothing to change: {look.target.title} is as the patch asks.\n"
            options.show(outcome, output, lambda _: words)
        if not show.quiet:
            complain(told.look_text(look, paint_for(sys.stderr)))
        fleets.tell(findings, output)
        fleets.asked_to_go_on(f"Apply this to {look.target.title}?", yes=yes)
        with show.listener() as reach.listener:
            result = fleets.carried_out(
                lambda: roll_out_deployment(reach, look, given.given, settings, Cancel())
            )
    _show_result("ApplyResult", findings, result._replace(reach=way.words), output)


def _same(look: DeploymentLook, planned: str) -> bool:
    from kschedpatch.inputs.deploymentplans import fingerprint

    return fingerprint(told.look_data(look)) == planned


def show_rollback(
    way: Way,
    target: DeploymentTarget,
    to: str | None,
    settings: RolloutSettings,
    show: Show,
    output: Format,
    *,
    yes: bool,
    dry_run: bool = False,
) -> NoReturn:
    from contextlib import ExitStack

    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.deployment import roll_back_deployment
    from kschedpatch.rollout.deploymentlook import look_for_rollback

    kind = "RollbackPlan" if dry_run else "RollbackResult"
    with ExitStack() as open_ones:
        with show.listener() as listener:
            reach = open_ones.enter_context(reached(way, listener, output, kind))
            look = look_for_rollback(reach, target, to)
        reach.listener = nobody
        _note(look, look.findings, settings)
        outcome = Outcome(kind, look.findings, code=_code(look.findings))
        if outcome.exit_code != exitcodes.OK:
            fleets.give_up(outcome, output, _AS_BEFORE)
        if not look.changed:
            fleets.tell(look.findings, output)
            options.show(outcome, output, lambda _: "Nothing to change: it is there already.\n")
        if dry_run:
            fleets.tell(look.findings, output)
            outcome = Outcome(kind, look.findings, True, told.look_data(look))
            options.show(outcome, output, lambda paint: told.look_text(look, paint))
        if not show.quiet:
            complain(told.look_text(look, paint_for(sys.stderr)))
        fleets.tell(look.findings, output)
        fleets.asked_to_go_on(f"Roll back {target.title}?", yes=yes)
        with show.listener() as reach.listener:
            result = fleets.carried_out(
                lambda: roll_back_deployment(reach, look, settings, Cancel())
            )
    _show_result(kind, look.findings, result._replace(reach=way.words), output)


def _show_result(
    kind: str, findings: Sequence[Finding], result: RolloutResult, output: Format
) -> NoReturn:
    reports.record().result = result
    data = result_data(result)
    outcome = Outcome(kind, tuple(findings), result.changed, data, result.exit_code)
    options.show(outcome, output, lambda paint: result_text(result, paint))


def show_status(way: Way, target: DeploymentTarget, show: Show, output: Format) -> NoReturn:
    from kschedpatch.rollout.deploymentverify import stands

    with show.listener() as listener, reached(way, listener, output, "StatusResult") as reach:
        standing = stands(reach, target)
    data = told.status_data(standing.status)
    outcome = Outcome("StatusResult", standing.findings, data=data, code=_code(standing.findings))
    fleets.tell(standing.findings, output)
    options.show(outcome, output, lambda paint: told.status_text(standing.status, paint))


def show_history(way: Way, target: DeploymentTarget, show: Show, output: Format) -> NoReturn:
    from kschedpatch.rollout.deploymentverify import stands

    with show.listener() as listener, reached(way, listener, output, "HistoryResult") as reach:
        standing = stands(reach, target)
    data = told.history_data(target, standing.runs)
    outcome = Outcome("HistoryResult", standing.findings, data=data, code=_code(standing.findings))
    fleets.tell(standing.findings, output)
    options.show(outcome, output, lambda paint: told.history_text(standing.runs, paint))


def show_verify(
    way: Way,
    target: DeploymentTarget,
    wish: Wish,
    cancel: Cancel,
    show: Show,
    output: Format,
) -> NoReturn:
    from kschedpatch.report.checks import checklist_text, checks_data, checks_summary
    from kschedpatch.report.findings import finding_lines, summary
    from kschedpatch.rollout.cancel import Cancelled
    from kschedpatch.rollout.deploymentverify import verify_deployment

    with show.listener() as listener, reached(way, listener, output, "VerifyResult") as reach:
        try:
            with cancel.by_signals():
                verdict = verify_deployment(reach, target, wish)
        except Cancelled:
            raise typer.Exit(exitcodes.INTERRUPTED) from None
    findings = verdict.findings
    reports.record().checked(verdict.checks, (), findings)
    code = exitcodes.DIFFERENCES if has_errors(findings) else exitcodes.OK
    code = exitcodes.REFUSED if any(f.code == "N088" for f in findings) else code
    data = {"deployment": str(target), "checks": checks_data(verdict.checks)}
    outcome = Outcome("VerifyResult", findings, data=data, code=code)
    options.show(
        outcome,
        output,
        lambda paint: (
            checklist_text(verdict.checks, paint)
            + finding_lines(findings, paint)
            + checks_summary(verdict.checks, paint)
            + summary(findings, paint)
        ),
    )


def show_purge(
    way: Way, target: DeploymentTarget, show: Show, output: Format, *, yes: bool
) -> NoReturn:
    from contextlib import ExitStack

    from kschedpatch.rollout.purging import plan_purge, purge

    with ExitStack() as open_ones:
        with show.listener() as listener:
            reach = open_ones.enter_context(reached(way, listener, output, "PurgeResult"))
            plan = plan_purge(reach, target)
        reach.listener = nobody
        outcome = Outcome("PurgeResult", plan.findings, code=_code(plan.findings))
        if outcome.exit_code != exitcodes.OK:
            fleets.give_up(outcome, output, _AS_BEFORE)
        if not plan.steps and not plan.runs:
            words = f"Nothing of kschedpatch is left of {target.title}.\n"
            options.show(outcome, output, lambda _: words)
        if not show.quiet:
            complain(told.purge_text(plan))
        fleets.asked_to_go_on(f"Take all of this away, {target.title} included?", yes=yes)
        done = fleets.carried_out(lambda: purge(reach, plan))
    code = exitcodes.NOT_RESTORED if done.left else exitcodes.OK
    outcome = Outcome("PurgeResult", (), bool(done.results), told.purged_data(done), code)
    options.show(outcome, output, lambda _: told.purged_text(done))
