"""The page of a run: everything is on it, nothing on it can act, and it stays small."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kschedpatch.model import exitcodes
from kschedpatch.model.codes import found
from kschedpatch.model.events import Event, Phase, State
from kschedpatch.model.printable import printable
from kschedpatch.model.rollout import NodeOutcome, NodeResult
from kschedpatch.report.page.markup import element, text
from kschedpatch.report.page.page import MAX_BYTES, page
from kschedpatch.report.page.record import RunRecord
from kschedpatch.report.rollouts import conclusion, next_command
from tests.unit.report.pages import read
from tests.unit.report.runs import BEGAN, failed_run, recorded

HOSTILE = (
    '</script><script src="https://evil.example/x.js"></script>',
    "<img src=x onerror=alert(1)>",
    "' onload='alert(1)",
    '"><style>*{display:none}</style>',
    "</pre></title></style><!-- ",
    "]]><![CDATA[&amp;&#60;script&#62;",
    "\x1b[31mred\x1b]0;title\x07\r\n\x00",
    "\u202egnp.exe\u2066\ufeff",
    "\ud800",
)
#: None of these loads, runs or leads anywhere.
HARMLESS = {
    "aria-hidden", "aria-label", "aria-labelledby", "charset", "class", "content", "data-label",
    "data-phase", "height", "http-equiv", "id", "lang", "name", "open", "role", "rx", "scope",
    "text-anchor", "width", "x", "x1", "x2", "y", "y1", "y2",
}  # fmt: skip
PLAIN = read(page(failed_run("words")))


def assert_is_text(word: str) -> None:
    """The same tags as with harmless words: nothing of it became one."""
    body = page(failed_run(word))
    seen = read(body)
    assert seen.tags == PLAIN.tags
    assert seen.attributes == PLAIN.attributes
    assert printable(word) in seen.text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", body)
    body.encode("utf-8")


@pytest.mark.parametrize("word", HOSTILE)
def test_what_nodes_and_people_say_is_text(word: str) -> None:
    assert_is_text(word)


@settings(max_examples=30, deadline=None)
@given(st.text(min_size=1, max_size=60))
@example("&lt;b&gt;")
def test_whatever_they_say(word: str) -> None:
    assert_is_text(word)


@given(st.text(), st.text())
@settings(max_examples=50, deadline=None)
def test_elements_keep_text_and_attributes_apart(inside: str, attribute: str) -> None:
    seen = read(element("p", inside, title=attribute).html)
    assert seen.tags == ["p"]
    assert seen.values == [("title", printable(attribute))]


def test_it_loads_nothing_and_runs_nothing() -> None:
    body = page(failed_run())
    names = {name for _, name in PLAIN.attributes}
    assert names <= HARMLESS, names - HARMLESS
    assert not {"script", "link", "iframe", "object", "embed", "img", "a", "form", "base"} & set(
        PLAIN.tags
    )
    [style] = re.findall("<style>(.*?)</style>", body, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert ("content", policy) in PLAIN.values
    assert PLAIN.tags.index("meta") < PLAIN.tags.index("style"), "before the style that it allows"


def test_the_words_are_those_of_the_summary() -> None:
    record = failed_run()
    assert record.result is not None
    assert PLAIN.title == conclusion(record.result)
    assert "Failed on cp2words while waiting for the new scheduler: the scheduler crashed." in (
        PLAIN.text
    )
    assert "Secret words is left as it is: because words." in PLAIN.text
    assert "Still in the cluster: Role a/words." in PLAIN.text
    done = record.result._replace(
        exit_code=0, failure=None, nodes=(NodeResult("cp1", "cp1", NodeOutcome.CHANGED, 3.4),)
    )
    record.result, record.exit_code = done, 0
    good = read(page(record))
    assert good.title == "Applied, proven and confirmed on cp1."
    assert next_command(done) in good.text


def test_all_of_a_failure_is_there() -> None:
    assert PLAIN.headings == [
        "What failed", "Nodes", "Time line", "Objects and notes", "Checks", "Findings", "Changes",
    ]  # fmt: skip
    for words in (
        "The scheduler said", "unknown plugin words", "The kubelet said", "back-off words",
        "failed, rolled back", "at most 5.5 s", "at most 9.0 s", "not touched", "R001", "why words",
    ):  # fmt: skip
        assert words in PLAIN.text, words
    assert PLAIN.lanes["cp1"] == {"connect", "canary", "switch", "watch", "restore"}
    assert PLAIN.lanes["cluster"] == {"objects"}


def test_the_same_diff_is_shown_once_and_no_secret_at_all() -> None:
    assert PLAIN.text.count("+    - --v=5") == 1
    assert "/etc/kubernetes/manifests/kube-scheduler.yaml on cp1, cp3, cp2words" in PLAIN.flat
    body = page(failed_run())
    assert "(hidden)" in body
    assert "tr0ub4dor" not in body
    assert base64.b64encode(b"tr0ub4dor").decode() not in body


def test_nodes_with_nothing_to_change_are_named_together() -> None:
    record = failed_run()
    assert record.plan is not None
    same = [node._replace(after=node.before) for node in record.plan.nodes[:2]]
    record.plan = record.plan._replace(nodes=(*same, record.plan.nodes[2]))
    assert "Nothing to change on cp1, cp3." in read(page(record)).text


def test_a_page_stays_small_whatever_a_run_has_to_say() -> None:
    record = failed_run()
    result = record.result
    assert result is not None
    assert result.failure is not None
    long = tuple("<" * 3000 for _ in range(3000))
    nodes = tuple(NodeResult(f"n{n}" * 50, "", NodeOutcome.CHANGED) for n in range(1000))
    failure = result.failure._replace(log=long, journal=long, lines=long, detail="&" * 100_000)
    record.result = result._replace(failure=failure, nodes=nodes, notes=long)
    record.findings = tuple(found("N001", "'" * 3000, hint="<" * 3000) for _ in range(2000))
    record.reason = record.who = '"' * 100_000
    talk = [
        (float(n), Event(Phase.STAGE, State.DONE, f"n{n % 300}", "<" * 2000)) for n in range(6000)
    ]
    record.recorder = recorded(talk)
    record.end(4)
    body = page(record)
    assert 100_000 < len(body.encode()) <= MAX_BYTES
    assert "Left out: the page would become too large." in body
    assert '<h2 id="failure-title">What failed</h2>' in body
    assert body.endswith("</html>\n")


def test_long_logs_are_cut_with_a_note_and_their_end_is_kept() -> None:
    record = failed_run()
    assert record.result is not None
    assert record.result.failure is not None
    log = (*(f"line {n}" for n in range(500)), "x" * 5000 + "y")
    failure = record.result.failure._replace(log=log)
    record.result = record.result._replace(failure=failure)
    seen = read(page(record)).text
    assert "301 earlier lines are left out." in seen
    assert "line 499" in seen
    assert "line 300" not in seen
    assert "… (4001 more characters)" in seen


@pytest.mark.parametrize(
    "code, words",
    [
        (exitcodes.OK, "done"),
        (exitcodes.DIFFERENCES, "differences found"),
        (exitcodes.INVALID, "invalid input"),
        (exitcodes.REFUSED, "refused, nothing live was touched"),
        (exitcodes.ROLLED_BACK, "failed, rolled back"),
        (exitcodes.NOT_RESTORED, "failed, not restored"),
        (exitcodes.INTERNAL, "internal error"),
        (exitcodes.INTERRUPTED, "interrupted"),
        (None, "not ended"),
    ],
)
def test_every_end_has_words_beside_its_colour(code: int | None, words: str) -> None:
    record = RunRecord("apply", BEGAN)
    if code is not None:
        record.end(code, "Nothing was changed.")
    seen = read(page(record))
    assert words in seen.text
    assert seen.title.startswith("Nothing was changed." if code is not None else "This run has")


def test_tables_have_headers_and_drawings_have_names() -> None:
    assert PLAIN.tags.count("table") == PLAIN.tags.count("thead")
    assert ("th", "scope") in PLAIN.attributes
    assert ("svg", "aria-label") in PLAIN.attributes
    assert PLAIN.tags.count("h1") == 1


def test_a_cut_is_said() -> None:
    assert text("x" * 1001).html == "x" * 1000 + " … (1 more characters)"
