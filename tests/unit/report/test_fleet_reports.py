"""Plans, results, tables and progress as people and programs read them, at 80 columns."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from kschedpatch.core.fleet.retelling import RunChange
from kschedpatch.core.fleet.standing import statuses
from kschedpatch.model import exitcodes
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.facts import LivePod, Room
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
from kschedpatch.report.statuses import (
    age_told,
    history_data,
    history_text,
    status_data,
    status_text,
)
from kschedpatch.report.terminal import Paint
from tests.printed import check_data
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
  - confirmed together at the end; if anything fails, or this program dies,
    every node goes back to what it runs now
"""
    )


def test_a_plan_without_a_canary_says_what_that_costs() -> None:
    full = [item.but(room=Room(0, 6_000_000, 52_000)) for item in three()]
    assert fleet_plan_text(planned(VERBOSE, *full), PLAIN).endswith(
        """
  - switched one at a time: cp1, cp3, cp2 (cp2 leads now)
    each about 3 s without its scheduler; another node's takes over within 2 s
  - confirmed together at the end; if anything fails, or this program dies,
    every node goes back to what it runs now
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
    check_data("PlanResult", data)
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
        "  → Read its last words; correct the patch, its image or its configuration.\n"
        "\n"
        "Every node is back on what it ran before, and its scheduler is ready.\n"
    )


def test_a_failure_whose_cause_is_elsewhere_says_where() -> None:
    failure = Failure(
        "cp1", Phase.PREFLIGHT, FailureReason.PREFLIGHT, log=('ScorePlugin "X" does not exist',)
    )
    node = NodeResult("cp1", "cp1", NodeOutcome.UNCHANGED)
    end = result(exitcodes.REFUSED, node, failure=failure)
    text = result_text(end, PLAIN)
    assert "  → The image that ran has no plugin X" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    [meaning] = result_data(end)["failure"]["meaning"]
    assert meaning.startswith("The image that ran has no plugin X")


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
            check_data("ApplyResult", result_data(end), end.exit_code)


def test_status_at_80_columns() -> None:
    first, second, third = changed_cluster()
    aged = first.but(clock=1_794_861_912 + 3 * 3600)
    nodes = [aged, second.open_run(), third.at("1.35.1")]
    told_nodes = statuses((item.facts for item in nodes), ["cp4"])
    text = status_text(told_nodes, PLAIN)
    assert text == (
        "NODE  VERSION  LEADS  READY  PATCH  DRIFT             RUN                   AGE\n"
        "cp1   1.34.11         yes    mine   none              20261116-204512-3fa9  3h\n"
        "cp2   1.34.11  yes    yes    mine   open, 42s left    -\n"
        "cp3   1.35.1          yes    -      wiped by kubeadm  -\n"
        "cp4   ?               ?      ?      not reached       -\n"
        "cp2: apply 20261116-204512-3fa9 by ada, switched; the node restores by itself in 42 s\n"
    )
    data = status_data(told_nodes)
    check_data("StatusResult", data)
    assert data["nodes"][0]["ageSeconds"] == 3 * 3600
    assert data["nodes"][0]["since"] == "2026-11-16T20:45:12+00:00"
    assert data["nodes"][1]["transaction"]["deadlineIn"] == 42
    assert [item["state"] for item in data["nodes"][2:]] == ["wiped", "not reached"]
    assert [item["drift"] for item in data["nodes"][2:]] == ["wiped by kubeadm", "not reached"]


@pytest.mark.parametrize(
    "change, words",
    [
        (lambda n: n.open_run(deadline_in=-3), "open, restoring"),
        (lambda n: n.open_run(dead_man=False), "open, unguarded"),
        (lambda n: n.open_run(deadline_in=3600), "open, 3600s left"),
        (lambda n: n.but(generation_problem="gone"), "files changed"),
        (lambda n: n.without_manifest(), "no manifest"),
        (lambda n: n.but(live=LivePod("0f4c", 1, 12, ready=False)), "no (12×)"),
    ],
)
def test_a_row_of_status_says_what_is_wrong(change: Callable[[Node], Node], words: str) -> None:
    item = node("control-plane-1")
    item = change(item.after(planned(VERBOSE, item), RUN))
    [_, row, *_] = status_text(statuses([item.facts]), PLAIN).splitlines()
    assert words in row
    assert len(row) <= 80


def test_other_revisions_than_most_have() -> None:
    first, second, third = changed_cluster()
    other = node("cp3").after(planned({"scheduler": {"args": {"v": "6"}}}, node("cp3")), RUN)
    rows = status_text(statuses(n.facts for n in (first, second, other)), PLAIN).splitlines()
    assert ["other revision" in row for row in rows] == [False, False, False, True]
    told_nodes = statuses([first.facts, node("cp2").facts])
    assert [item.drift_told for item in told_nodes] == ["other revision than its peers"] * 2
    assert {item.drift_told for item in statuses([first.facts, second.open_run().facts])} == {
        "none",
        "run is open",
    }
    assert [item.drift_told for item in statuses([first.facts, third.at("1.35.1").facts])] == [
        "none",
        "wiped by kubeadm",
    ]


@pytest.mark.parametrize(
    "seconds, told_age",
    [
        (0, "0s"),
        (99, "99s"),
        (100, "1m"),
        (6000, "1h"),
        (99 * 3600, "99h"),
        (100 * 3600, "4d"),
        (100 * 86_400, "14w"),
        (700 * 86_400, "1y"),
        (10**11, "99y"),
    ],
)
def test_ages_have_three_columns(seconds: int, told_age: str) -> None:
    assert age_told(seconds) == told_age


def test_long_names_are_cut_and_runs_are_not() -> None:
    item = node("root@control-plane-1.example.com:2222")
    long = [item.after(planned(VERBOSE, item), RUN)]
    lines = status_text(statuses(n.facts for n in long), PLAIN).splitlines()
    assert max(len(line) for line in lines) <= 80
    assert RUN in lines[1]
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
    nodes = [item._replace(clock=1_794_861_912 + 7200) for item in nodes]
    changes = {RUN: RunChange(3, 1, ("scheduler-config.yaml",), ("Role a/b", "Role a/c"))}
    lines = history_text(nodes, changes, PLAIN).splitlines()
    assert lines[0].split() == ["RUN", "AGE", "KIND", "PATCH", "OUTCOME", "WHO"]
    assert lines[1].startswith(f"{RUN}  2h   apply  mine   confirmed on cp1")
    assert lines[2] == "    +3 -1 lines, 1 file, 2 objects changed; a trial"
    assert lines[3].startswith("20261101-100000-0001  2h   apply  mine   confirmed ")
    assert lines[4] == "    \\x1b[31mred\\x0d\\n"
    assert max(len(line) for line in lines) <= 80
    data = history_data(nodes, changes)
    check_data("HistoryResult", data)
    assert data["runs"][0]["changes"] == {
        "linesAdded": 3,
        "linesRemoved": 1,
        "files": ["scheduler-config.yaml"],
        "objects": ["Role a/b", "Role a/c"],
    }
    assert data["runs"][1]["changes"] is None
    assert [run["run"] for run in data["runs"]] == [RUN, "20261101-100000-0001"]
    assert data["runs"][0]["nodes"][1]["outcome"] == "restored"
    assert history_text([node("cp1").facts], {}, PLAIN) == "No run is kept on these nodes.\n"


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


def test_counts_are_shown_now_and_then_as_lines_and_all_as_json() -> None:
    stream, seconds = io.StringIO(), [0.0]
    lines = PlainLines(stream, PLAIN, clock=lambda: seconds[0])
    for percent in range(0, 101, 5):
        seconds[0] += 0.4
        text = f"own.tar: {percent}.0 of 100.0 MiB, 10.1 MiB/s"
        lines(Event(Phase.IMAGE, State.PROGRESS, "cp1", text, percent / 100))
        lines(Event(Phase.IMAGE, State.PROGRESS, "cp2", text, percent / 100))
    shown = [line for line in stream.getvalue().splitlines() if line.startswith("cp1")]
    assert len(shown) == 3
    assert "100.0 of 100.0 MiB" in shown[-1]
    stream = io.StringIO()
    JsonLines(stream)(Event(Phase.IMAGE, State.PROGRESS, "cp1", "own.tar", 1 / 3))
    assert json.loads(stream.getvalue())["fraction"] == 0.3333


@pytest.mark.parametrize(
    "counts, shown",
    [
        (["0 of 1", "1 of 1"], ["0 of 1", "1 of 1"]),
        (["0 of 12", "1 of 12", "11 of 12", "12 of 12"], ["0 of 12", "12 of 12"]),
        (["1 of 11", "1 of 10"], ["1 of 11"]),
    ],
)
def test_the_end_of_a_count_is_told_however_soon_it_comes(
    counts: list[str], shown: list[str]
) -> None:
    stream = io.StringIO()
    lines = PlainLines(stream, PLAIN, clock=lambda: 1.0)
    for count in counts:
        lines(Event(Phase.PROBE, State.PROGRESS, "", f"{count} pods done"))
    ends = [line.rpartition(": ")[2] for line in stream.getvalue().splitlines()]
    assert ends == [f"{count} pods done" for count in shown]


def test_every_event_has_words() -> None:
    for phase in Phase:
        for state in State:
            assert told(Event(phase, state))


@pytest.mark.parametrize(
    "reach, command",
    [
        ("", "kschedpatch rollback cp1 cp2    # takes it back"),
        ("--ssh-config 'my hosts' -K", "kschedpatch rollback --ssh-config 'my hosts' -K cp1 cp2"),
        ("--local", "kschedpatch rollback --local    # takes it back"),
    ],
)
def test_the_next_command_goes_the_way_of_the_last(reach: str, command: str) -> None:
    nodes = tuple(NodeResult(name, name, NodeOutcome.CHANGED) for name in ("cp1", "cp2"))
    result = RolloutResult("r", "apply", exitcodes.OK, nodes, reach=reach)
    assert next_command(result).startswith(command)


def test_the_next_command_for_a_deployment_goes_the_way_of_the_last() -> None:
    nodes = (NodeResult("a/b", "", NodeOutcome.CHANGED),)
    result = RolloutResult(
        "r", "apply", exitcodes.OK, nodes, deployment="a/b", reach="--kubeconfig k"
    )
    assert next_command(result).startswith("kschedpatch rollback --deployment a/b --kubeconfig k ")
