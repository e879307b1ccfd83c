"""What is expected of the cluster as a whole: log lines, rights, extenders."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.cluster.access import ask_rights
from kschedpatch.core.fleet.verifying.extenders import (
    ServiceAddress,
    asked_extender,
    extender_checks,
    extenders_of,
)
from kschedpatch.core.fleet.verifying.fleet import Evidence, verify_fleet
from kschedpatch.core.fleet.verifying.logs import log_checks, log_lines
from kschedpatch.core.fleet.verifying.rights import Answered, Right, right_checks, rights_of
from kschedpatch.model.checks import CheckState
from kschedpatch.model.inspection import ExtenderLook, Inspection
from tests.unit.fleet.nodes import Node, node
from tests.unit.patches import patch_input

LINE = b'2026-11-16T20:00:00.1Z stderr F I1116 1 x.go:1] "GPUMPSPlugin Reserve" node="cp9"\n'


def logged(
    *, unseen: str = "", could_probe: bool = False, **logs: bytes
) -> tuple[CheckState, str, list[str]]:
    seen = {label: Inspection(label, pid=7, log=log) for label, log in logs.items()}
    (check,) = log_checks(
        ["GPUMPSPlugin.*Reserve"],
        seen,
        leaders=["cp2"],
        unseen_leader=unseen,
        could_probe=could_probe,
    )
    return check.state, check.evidence, [finding.code for finding in check.findings]


def test_a_line_that_only_the_leader_has_does_not_fail_the_standbys() -> None:
    state, evidence, _ = logged(cp1=b"2026 stderr F started\n", cp2=LINE)
    assert state is CheckState.OK
    assert evidence.startswith('cp2: I1116 1 x.go:1] "GPUMPSPlugin Reserve"')


def test_a_line_that_nobody_has() -> None:
    quiet = b"2026 stderr F started\n"
    assert logged(cp1=quiet, cp2=quiet)[::2] == (CheckState.FAILED, ["N135"])
    assert logged(cp1=quiet, could_probe=True)[::2] == (CheckState.WARNING, ["N148"])
    assert logged(cp1=quiet, unseen="cp9")[::2] == (CheckState.WARNING, ["N150"])
    assert logged(cp1=b"")[0] is CheckState.NOT_CHECKED


def test_lines_that_the_runtime_has_cut_are_joined_again() -> None:
    assert log_lines(b"t stderr P one \nt stderr F line\nt stdout F two\nbare\n") == [
        "one line",
        "two",
        "bare",
    ]


SPEC: dict[str, Any] = {
    "rbac": {
        "rules": [
            {"apiGroups": ["example.com"], "resources": ["stickyjobs", "stickyjobs/status"],
             "verbs": ["get", "update"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
             "resourceNames": ["my-scheduler"], "verbs": ["get"], "namespace": "mine"},
            {"nonResourceURLs": ["/metrics"], "verbs": ["get"]},
        ],
        "manifests": ["./extra.yaml"],
    },
    "verify": {"can": [
        {"verb": "list", "resource": "stickyjobs"},
        {"verb": "update", "resource": "pods/status", "namespace": "default"},
        {"verb": "get", "resource": "leases"},
    ]},
}  # fmt: skip
EXTRA = """apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: extra, namespace: apart}
rules: [{apiGroups: [""], resources: [secrets], verbs: [get]}]
"""


def test_every_right_that_the_patch_asks_for() -> None:
    given = patch_input(SPEC, name="mine", files={"./extra.yaml": EXTRA})
    assert [right.told for right in rights_of(given)] == [
        "get stickyjobs.example.com",
        "update stickyjobs.example.com",
        "get stickyjobs.example.com/status",
        "update stickyjobs.example.com/status",
        "get leases.coordination.k8s.io my-scheduler in mine",
        "get /metrics",
        "get secrets in apart",
        "list stickyjobs.example.com",
        "update pods/status in default",
        "get leases.coordination.k8s.io",
    ]


class OneCall:
    """An API server that answers in another order than it was asked in."""

    def __init__(self, allowed: str) -> None:
        self.allowed = allowed
        self.calls = 0

    def created(self, bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
        self.calls += 1
        assert {body["spec"]["user"] for body in bodies} == {"system:kube-scheduler"}
        return [
            {
                **body,
                "status": {"allowed": body["spec"]["resourceAttributes"]["verb"] == self.allowed},
            }
            for body in reversed(bodies)
        ]


def test_answers_belong_to_their_questions() -> None:
    asked = (Right("get", "pods"), Right("patch", "pods"))
    api = OneCall("get")
    answers = ask_rights(api, asked)  # type: ignore[arg-type]  # all of it that is used
    assert api.calls == 1
    checks = [*right_checks(asked, answers, "")]
    assert [check.state for check in checks] == [CheckState.OK, CheckState.FAILED]
    assert checks[1].findings[0].code == "N136"


def test_rights_that_nobody_could_be_asked_about_are_not_called_good() -> None:
    (check,) = right_checks((Right("get", "pods"),), None, "the API server does not answer")
    assert check.state is CheckState.NOT_CHECKED
    (check,) = right_checks((Right("get", "pods"),), (Answered(Right("get", "x"), True),), "")
    assert check.state is CheckState.NOT_CHECKED


URL = "http://gpu-admission.kube-system:3456/scheduler"
SERVICES = {("kube-system", "gpu-admission"): ServiceAddress("10.96.7.7")}


def config(url: str = URL, *, ignorable: bool = False) -> dict[str, Any]:
    return {"extenders": [{"urlPrefix": url, "ignorable": ignorable}]}


def resolving() -> Node:
    item = node("cp1")
    assert item.facts.manifest is not None
    text = item.facts.manifest.content
    return item.with_manifest(
        text.replace(
            b"  hostNetwork: true\n", b"  hostNetwork: true\n  dnsPolicy: ClusterFirstWithHostNet\n"
        )
    )


REACHED = ExtenderLook(URL, 0, 404)
CASES: list[tuple[str, CheckState, str, Node, dict[str, Any], Any, ExtenderLook]] = [
    ("", CheckState.OK, "HTTP 404 from 10.96.7.7:3456, the address of Service", resolving(),
     config(), SERVICES, REACHED),
    ("N137", CheckState.FAILED, "not reached at 10.96.7.7:3456", resolving(), config(), SERVICES,
     ExtenderLook(URL, 7, 0, "curl: (7) Failed to connect")),
    ("N138", CheckState.WARNING, "Failed to connect", resolving(), config(ignorable=True), SERVICES,
     ExtenderLook(URL, 7, 0, "curl: (7) Failed to connect")),
    ("N139", CheckState.FAILED, "host's resolver", node("cp1"), config(), SERVICES, REACHED),
    ("N139", CheckState.FAILED, "no such Service", resolving(), config(),
     {("kube-system", "gpu-admission"): ServiceAddress("", "there is no such Service")}, REACHED),
    ("", CheckState.NOT_CHECKED, "nobody could be asked", resolving(), config(), {}, REACHED),
    ("", CheckState.OK, "HTTP 200 from 10.0.0.9:80", node("cp1"), config("http://10.0.0.9/"), {},
     ExtenderLook("http://10.0.0.9/", 0, 200)),
    ("", CheckState.OK, "a connection", node("cp1"), config("https://10.0.0.9/"), {},
     ExtenderLook("https://10.0.0.9/", 56, 0, "alert certificate required")),
    ("", CheckState.NOT_CHECKED, "without curl", node("cp1"), config("http://10.0.0.9/"), {},
     ExtenderLook("http://10.0.0.9/")),
]  # fmt: skip


@pytest.mark.parametrize("code, state, words, item, value, services, look", CASES)
def test_extenders(
    code: str,
    state: CheckState,
    words: str,
    item: Node,
    value: dict[str, Any],
    services: Any,
    look: ExtenderLook,
) -> None:
    seen = Inspection("cp1", pid=7, extenders=(look,))
    (check,) = extender_checks(item.facts, value, services, seen)
    assert (check.state, [f.code for f in check.findings]) == (state, [code] if code else [])
    assert words in check.evidence


@pytest.mark.parametrize(
    "url, asked",
    [
        (URL, "gpu-admission.kube-system:3456:10.96.7.7"),
        ("https://gpu-admission/x", "gpu-admission:443:10.96.7.7"),
        ("http://10.0.0.9:1/x", ""),
    ],
)
def test_a_service_is_tried_by_its_address(url: str, asked: str) -> None:
    (extender,) = extenders_of(config(url))
    question = asked_extender(extender, SERVICES)
    assert question is not None
    assert question.resolve == asked


@pytest.mark.parametrize(
    "url", ["", "no url", "http://[broken", "ftp://x/", "http://a b/", None, 3]
)
def test_what_is_no_url_is_not_tried(url: Any) -> None:
    assert extenders_of({"extenders": [{"urlPrefix": url}]}) == ()


def test_of_a_cluster_that_was_not_reached_nothing_is_said() -> None:
    assert verify_fleet([], Evidence()).checks == ()
