"""Plans, results, tables and progress as people and programs read them, at 80 columns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from kschedpatch.core.fleet.standing import statuses
from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.facts import Room
from kschedpatch.model.rollout import (
    Failure,
    FailureReason,
    NodeOutcome,
    NodeResult,
    RolloutResult,
)
from kschedpatch.report.fleetplans import fleet_plan_data, fleet_plan_text
from kschedpatch.report.progress import JsonLines, PlainLines, told
from kschedpatch.report.rollouts import next_command, result_data, result_text
from kschedpatch.report.statuses import history_data, history_text, status_data, status_text
from kschedpatch.report.terminal import Paint
from tests.unit.fleet.nodes import Node, node, three
from tests.unit.fleet.test_planning import VERBOSE, planned

PLAIN = Paint(enabled=False)
RUN = "20261116-204512-3fa9"
ESCAPE = "\x1b[31mred\r\n"


@pytest.fixture(autouse=True)
def eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


def changed_cluster() -> list[Node]:
    return [item.after(planned(VERBOSE, item), RUN) for item in three()]


def result(code: int, *nodes: NodeResult, failure: Failure | None = None) -> RolloutResult:
    return RolloutResult(RUN, "apply", code, nodes, failure)


def test_a_plan_shows_the_same_diff_once_and_says_what_will_happen() -> None:
    text = fleet_plan_text(planned(VERBOSE, *three()), PLAIN)
    assert text.startswith("cp1, cp3, cp2:\n--- /etc/kubernetes/manifests/kube-scheduler.yaml\n")
    assert text.count("+    - --v=5") == 1
    assert text.endswith(
        """
What will happen:
  - on all nodes, nothing live being touched: files are staged, the scheduler is
    tried once without a network
  - a canary: the new scheduler beside the live one, a standby on its lease
    (kube-system/kube-scheduler); nothing live is touched until it is proven
  - switched one at a time: cp1, cp3, cp2 (cp2 leads now)
    the canary does the work meanwhile: mostly under a second without a leader;
    old and new configuration share the lease for that time
  - confirmed together at the end; if anything fails, or this program dies, every
    node goes back to what it runs now
"""
    )


def test_a_plan_without_a_canary_says_what_that_costs() -> None:
    full = [item.but(room=Room(0, 6_000_000, 52_000)) for item in three()]
    assert fleet_plan_text(planned(VERBOSE, *full), PLAIN).endswith(
        """
  - switched one at a time: cp1, cp3, cp2 (cp2 leads now)
    each about 3 s without its scheduler; another node's takes over within 2 s
  - confirmed together at the end; if anything fails, or this program dies, every
    node goes back to what it runs now
"""
    )
    mixed = fleet_plan_text(planned(VERBOSE, *three()[:2], full[2]), PLAIN)
    assert "  - a canary on cp1, cp2: the new scheduler" in mixed


def test_a_plan_of_which_one_node_is_done_already() -> None:
    first, second, third = three()
    text = fleet_plan_text(
        planned(VERBOSE, first.after(planned(VERBOSE, first)), second, third), PLAIN
    )
    assert text.startswith("cp1: nothing to change\n\ncp3, cp2:\n")
    assert "one at a time: cp3, cp2 (cp2" in text


def test_a_plan_as_data() -> None:
    data = fleet_plan_data(planned({"config": {"inline": {"parallelism": 8}}}, *three()))
    assert [item["node"] for item in data["nodes"]] == ["cp1", "cp3", "cp2"]
    assert data["nodes"][2]["leads"]
    assert data["generations"][0]["id"] == data["nodes"][0]["generation"]
    assert json.loads(json.dumps(data)) == data


def test_a_good_end() -> None:
    nodes = (
        NodeResult("cp1", "cp1", NodeOutcome.CHANGED, 3.14),
        NodeResult("cp2", "cp2", NodeOutcome.UNCHANGED),
    )
    assert result_text(result(exitcodes.OK, *nodes), PLAIN) == (
        "cp1  changed           proven after 3.1 s\n"
        "cp2  unchanged\n"
        "\n"
        "Applied, proven and confirmed on cp1.\n"
        "  kschedpatch rollback cp1 cp2    # takes it back\n"
    )


def test_a_failure_tells_step_reason_and_what_scheduler_and_kubelet_said() -> None:
    failure = Failure(
        "cp2",
        Phase.WATCH,
        FailureReason.CRASH,
        "exit code 1",
        (f"E1116 run.go:72] unknown plugin {ESCAPE}",),
        ("kubelet: back-off",),
    )
    nodes = (
        NodeResult("cp1", "cp1", NodeOutcome.RESTORED, 3.0, 4.06),
        NodeResult("cp2", "cp2", NodeOutcome.RESTORED, None, 3.5),
    )
    assert result_text(result(exitcodes.ROLLED_BACK, *nodes, failure=failure), PLAIN) == (
        "cp1  restored          proven after 3.0 s; back after 4.1 s\n"
        "cp2  restored          back after 3.5 s\n"
        "\n"
        "Failed on cp2 while waiting for the new scheduler: the scheduler crashed.\n"
        "  exit code 1\n"
        "The scheduler said:\n"
        "  | E1116 run.go:72] unknown plugin \\x1b[31mred\\x0d\\n\n"
        "The kubelet said:\n"
        "  | kubelet: back-off\n"
        "\n"
        "Every node is back on what it ran before, and its scheduler is ready.\n"
    )


@pytest.mark.parametrize(
    "code, outcome, reason, words, command",
    [
        (3, NodeOutcome.UNCHANGED, FailureReason.PREFLIGHT, "Nothing live was touched", ""),
        (
            5,
            NodeOutcome.NOT_RESTORED,
            FailureReason.DISK,
            "Not back on a proven scheduler: cp1.",
            "kschedpatch rollback cp1",
        ),
        (
            5,
            NodeOutcome.NOT_RESTORED,
            FailureReason.LOST,
            "Not back on a proven scheduler: cp1.",
            "on the node: sudo sh /var/lib/kschedpatch/agent.sh restore",
        ),
        (
            130,
            NodeOutcome.LEFT_TO_NODE,
            FailureReason.INTERRUPTED,
            "cp1 will go back",
            "kschedpatch status cp1",
        ),
        (130, NodeOutcome.RESTORED, FailureReason.INTERRUPTED, "Every node is back", ""),
    ],
)
def test_every_end_says_how_it_is_and_what_to_do(
    code: int, outcome: NodeOutcome, reason: FailureReason, words: str, command: str
) -> None:
    failure = Failure("cp1", Phase.SWITCH, reason)
    end = result(code, NodeResult("cp1", "cp1", outcome), failure=failure)
    assert words in result_text(end, PLAIN)
    assert next_command(end) == command


def test_every_reason_and_phase_has_words() -> None:
    for reason in FailureReason:
        for phase in Phase:
            end = result(4, failure=Failure("cp1", phase, reason))
            assert "Failed on cp1 while" in result_text(end, PLAIN)
            assert result_data(end)["failure"]["reason"] == reason


def test_status_at_80_columns() -> None:
    first, second, third = changed_cluster()
    nodes = [first, second.open_run(), third.at("1.35.1")]
    told_nodes = statuses(item.facts for item in nodes)
    text = status_text(told_nodes, PLAIN)
    assert text == (
        "NODE  LEADS  READY  KUBELET  PATCH  STATE        RUN\n"
        "cp1          yes    1.34.11  mine   as left      20261116-204512-3fa9\n"
        "cp2   yes    yes    1.34.11  mine   run is open  -\n"
        "cp3          yes    1.35.1   -      wiped        -\n"
        "cp2: apply 20261116-204512-3fa9 by ada, switched; the node restores by itself in 42 s\n"
    )
    data = status_data(told_nodes)
    assert data["nodes"][1]["transaction"]["deadlineIn"] == 42
    assert data["nodes"][2]["state"] == "wiped"


def test_long_names_are_cut_and_runs_are_not() -> None:
    item = node("root@control-plane-1.example.com:2222")
    long = [item.after(planned(VERBOSE, item), RUN)]
    lines = status_text(statuses(n.facts for n in long), PLAIN).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert lines[1].endswith(RUN)
    assert "…" in lines[1]


def test_history_is_by_run() -> None:
    first, second, third = changed_cluster()
    (revision,) = second.facts.revisions
    restored = second.but(revisions=(revision._replace(outcome="restored"),))
    older = revision._replace(run="20261101-100000-0001", reason=ESCAPE)
    nodes = [
        item.but(revisions=(*item.facts.revisions, older)).facts
        for item in (first, restored, third)
    ]
    lines = history_text(nodes, PLAIN).splitlines()
    assert lines[0].split() == ["RUN", "KIND", "PATCH", "OUTCOME", "WHO", "REASON"]
    assert lines[1].startswith(f"{RUN}  apply  mine   confirmed on cp1")
    assert lines[2].startswith("20261101-100000-0001  apply  mine   confirmed ")
    assert "\x1b" not in lines[2]
    assert max(len(line) for line in lines) <= 80
    data = history_data(nodes)
    assert [run["run"] for run in data["runs"]] == [RUN, "20261101-100000-0001"]
    assert data["runs"][0]["nodes"][1]["outcome"] == "restored"
    assert history_text([node("cp1").facts], PLAIN) == "No run is kept on these nodes.\n"


def ticking() -> Callable[[], float]:
    times = iter(range(0, 1000, 2))
    return lambda: float(next(times))


def test_progress_as_lines() -> None:
    stream = io.StringIO()
    lines = PlainLines(stream, PLAIN, clock=ticking())
    for event in (
        Event(Phase.LOCK, State.STARTED, "cp1"),
        Event(Phase.LOCK, State.DONE, "cp1"),
        Event(Phase.WATCH, State.PROGRESS, "cp1", "pulling"),
        Event(Phase.WATCH, State.PROGRESS, "cp1", "pulling"),
        Event(Phase.OBJECTS, State.FAILED, "", f"said {ESCAPE}"),
    ):
        lines(event)
    assert stream.getvalue() == (
        "cp1         2.0 s  locked\n"
        "cp1         4.0 s  waiting for the scheduler: pulling\n"
        "cluster     6.0 s  applying objects failed: said \\x1b[31mred\\x0d\\n\n"
    )


def test_progress_as_json() -> None:
    stream = io.StringIO()
    JsonLines(stream, ticking())(Event(Phase.SWITCH, State.DONE, "cp1", ESCAPE))
    (line,) = stream.getvalue().splitlines()
    assert json.loads(line) == {
        "apiVersion": "kschedpatch.io/v1",
        "kind": "Event",
        "elapsed": 2.0,
        "node": "cp1",
        "phase": "switch",
        "state": "done",
        "text": ESCAPE,
    }
    assert "\x1b" not in line


def test_every_event_has_words() -> None:
    for phase in Phase:
        for state in State:
            assert told(Event(phase, state))


def test_the_live_view_has_one_line_a_node_and_takes_nothing_for_markup() -> None:
    from rich.console import Console

    from kschedpatch.report.liveview import Board

    board = Board()
    for number in range(3):
        board(Event(Phase.WATCH, State.STARTED, f"cp{number}", f"[red]{'x' * 200}{ESCAPE}"))
    console = Console(width=60, file=io.StringIO(), force_terminal=False)
    with console.capture() as capture:
        console.print(board)
    lines = capture.get().splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 60 for line in lines)
    assert "waiting for the scheduler: [red]xxx" in lines[0]
