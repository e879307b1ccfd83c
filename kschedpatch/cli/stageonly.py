"""``apply --stage-only``: before a node joins the control plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from kschedpatch.cli import fleets, options
from kschedpatch.model import exitcodes
from kschedpatch.model.outcome import Outcome
from kschedpatch.report.terminal import complain, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kschedpatch.cli.fleets import Show, Way
    from kschedpatch.cli.options import Format
    from kschedpatch.cli.planned import Given
    from kschedpatch.model.finding import Finding
    from kschedpatch.model.rollout import RolloutSettings

_KIND = "StageResult"


def show_stage_only(
    way: Way, given: Given, settings: RolloutSettings, show: Show, output: Format, *, yes: bool
) -> NoReturn:
    from contextlib import ExitStack

    from kschedpatch.core.fleet.planning import plan_fleet
    from kschedpatch.core.fleet.questions import about_patch
    from kschedpatch.model.events import nobody
    from kschedpatch.model.finding import has_errors, in_reading_order
    from kschedpatch.rollout.cancel import Cancel
    from kschedpatch.rollout.joining import plan_joining, stage_joining
    from kschedpatch.rollout.persisting import PATCHES

    with ExitStack() as open_ones:
        with show.listener() as listener:
            fleet = open_ones.enter_context(fleets.connected(way, listener))
            facts = fleets.look(fleet, about_patch(given.given))
            lost = fleets.unreached(fleet)
            new = [node for node in facts if node.manifest_problem == "missing"]
            models = [node for node in facts if node.manifest is not None]
            if lost:
                fleets.give_up(_outcome(lost), output, "Nothing was changed.")
            if not new or not models:
                missing = "has no scheduler yet" if not new else "has one: it is the model"
                options.refuse(
                    f"--stage-only: name the nodes that will join, and one that is in the cluster. "
                    f"None of these {missing}. Nothing was changed."
                )
            plan = plan_fleet(given.given, models, partial=True)
            if has_errors(plan.findings) or not plan.nodes:
                fleets.give_up(_outcome(plan.findings), output, "Nothing was changed.")
            joining = plan_joining(fleet, given.given, plan, new)
        fleet.listener = nobody
        findings = in_reading_order((*given.findings, *plan.findings, *joining.findings))
        if has_errors(joining.findings):
            fleets.give_up(_outcome(findings), output, "Nothing was changed.")
        fleets.tell(findings, output)
        names = ", ".join(printable(label) for label, _ in joining.nodes)
        if not show.quiet:
            complain(_told(names, PATCHES))
        fleets.asked_to_go_on(f"Bring this to {names}?", yes=yes)
        with show.listener() as fleet.listener:
            done = fleets.carried_out(lambda: stage_joining(fleet, joining, settings, Cancel()))
    failed = [one for one in done if one.problem]
    code = exitcodes.REFUSED if failed else exitcodes.OK
    data = {
        "nodes": [{"node": one.node, "problem": one.problem or None} for one in done],
        "patches": PATCHES,
    }
    outcome = Outcome(_KIND, findings, len(failed) < len(done), data, code)
    lines = [
        f"{printable(one.node)}  {printable(one.problem) if one.problem else 'staged'}\n"
        for one in done
    ]
    if not failed:
        lines.append(f"Now join it: kubeadm join … --control-plane --patches {PATCHES}\n")
    options.show(outcome, output, lambda _: "".join(lines))


def _outcome(findings: Sequence[Finding]) -> Outcome:
    return Outcome(_KIND, tuple(findings), code=exitcodes.REFUSED)


def _told(names: str, patches: str) -> str:
    return (
        f"{names}: the image, the patch's files, and what kubeadm is given when it joins\n"
        f"({patches}). Nothing runs there before, and no other node is changed.\n"
    )
