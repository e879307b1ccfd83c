"""What becomes of each object: create, change, nothing; what goes, what stays, what is left."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from kschedpatch.core.objects import ledger, marks
from kschedpatch.core.objects.deciding import (
    Seen,
    decide,
    go_to,
    loose_ones,
    removal,
    undone,
    unseen,
    wishes,
)
from kschedpatch.core.objects.order import in_order
from kschedpatch.core.objects.strangers import strangers
from kschedpatch.model.clusterplan import Action, Entry, Ledger, Object, Ref, ref_of
from kschedpatch.model.plan import ClusterObject
from kschedpatch.model.revision import Revision
from tests.unit.fleet.nodes import node

A, B, C = "20261101-000000-aaaa", "20261102-000000-bbbb", "20261103-000000-cccc"
CRD = "apiextensions.k8s.io/v1/CustomResourceDefinition"


def body(kind: str = "v1/ConfigMap", name: str = "x", **fields: Any) -> Object:
    api, _, kind = kind.rpartition("/")
    metadata: dict[str, Any] = {"name": name}
    if kind not in {"Namespace", "CustomResourceDefinition", "ClusterRole"}:
        metadata["namespace"] = "kube-system"
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **fields}


def by(*managers: str) -> list[dict[str, str]]:
    return [{"manager": name, "operation": "Update", "time": "t"} for name in managers]


def live(given: Object, *others: str, run: str = A, origin: str = "created") -> Object:
    """As the API server shows what a run of ours has applied."""
    result = marks.marked(given, "trial", run, origin)
    result["metadata"] |= {"uid": "u", "resourceVersion": "7"}
    result["metadata"]["managedFields"] = by("kschedpatch", *others)
    result["status"] = {"any": 1}
    return result


def theirs(given: Object) -> Object:
    metadata = {**given["metadata"], "managedFields": by("kubectl-create"), "uid": "u"}
    return {**given, "metadata": metadata}


def seen(*there: Object, **more: Any) -> Seen:
    items = {ref_of(item).key: item for item in there}
    return Seen(items, frozenset({"kube-system"}), **more)


def dry(*items: Object) -> dict[Any, Object]:
    return {ref_of(item).key: item for item in items}


def entry(given: Object, original: Object | None = None, **fields: Any) -> Entry:
    mark = marks.footprint(live(given))
    return Entry(ref_of(given), given, original, None, mark)._replace(**fields)


def wanted(*bodies: Object) -> Any:
    return wishes(ClusterObject(item, "objects.yaml") for item in bodies)


def one(plan: Any) -> Any:
    (change,) = plan.steps
    return change


X = body(data={"a": "1"})
X2 = body(data={"a": "2"})
IN_FORCE = Ledger(A, "trial", (entry(X),))


def test_what_is_not_there_is_created() -> None:
    change = one(decide(wanted(X), "trial", None, seen()))
    assert (change.action, change.original, change.live) == (Action.CREATE, None, None)


def test_what_the_api_server_would_not_change_is_unchanged() -> None:
    there = live(X)
    after = {**live(X, run=""), "metadata": {**live(X, run="")["metadata"], "generation": 9}}
    change = one(decide(wanted(X), "trial", IN_FORCE, seen(there, dry=dry(after))))
    assert change.action is Action.UNCHANGED
    change = one(decide(wanted(X2), "trial", IN_FORCE, seen(there, dry=dry(live(X2)))))
    assert (change.action, change.original) == (Action.CHANGE, None)
    assert change.after["data"] == {"a": "2"}


def test_somebody_else_s_object_is_adopted_with_a_warning_and_its_content_kept() -> None:
    there = theirs(body(data={"a": "0"}))
    plan = decide(wanted(X), "trial", None, seen(there, dry=dry(live(X))))
    assert [f.code for f in plan.findings] == ["N063"]
    assert one(plan).original["data"] == {"a": "0"}
    assert "managedFields" not in one(plan).original["metadata"]


def test_the_first_content_of_an_adopted_object_is_kept_over_later_runs() -> None:
    first = body(data={"a": "0"})
    before = Ledger(A, "trial", (entry(X, original=first),))
    there = seen(live(X, origin="adopted"), dry=dry(live(X2, origin="adopted")))
    assert one(decide(wanted(X2), "trial", before, there)).original == first


def test_ours_of_which_no_node_knows_is_still_ours() -> None:
    plan = decide(wanted(X2), "trial", None, seen(live(X), dry=dry(live(X2))))
    assert (plan.findings, one(plan).original) == ((), None)


def test_a_change_by_somebody_else_is_told_before_it_is_overwritten() -> None:
    there = live(X, "kubectl-edit")
    plan = decide(wanted(X2), "trial", IN_FORCE, seen(there, dry=dry(live(X2))))
    assert [f.code for f in plan.findings] == ["N064"]
    assert one(plan).action is Action.CHANGE


def test_controllers_are_no_strangers() -> None:
    there = live(X, "kube-controller-manager")
    there["metadata"]["managedFields"] += [{"manager": "an-operator", "subresource": "status"}]
    assert marks.footprint(there) == marks.footprint(live(X))
    assert marks.footprint(live(X, "kubectl-edit")) != marks.footprint(live(X))


@pytest.mark.parametrize(
    "there, kept, action",
    [
        (live(X), entry(X), Action.DELETE),
        (live(X, "kubectl-edit"), entry(X), Action.LEFT),
        (theirs(X), entry(X), Action.LEFT),
        (live(X), entry(X, original=X2), Action.RESTORE),
        (live(X, "helm"), entry(X, original=X2), Action.LEFT),
        (live(body(CRD)), entry(body(CRD)), Action.STAYS),
        (live(body(CRD)), entry(body(CRD), original=body(CRD)), Action.RESTORE),
    ],
)
def test_what_the_patch_no_longer_has(there: Object, kept: Entry, action: Action) -> None:
    before = Ledger(A, "trial", (kept,))
    change = one(decide((), "trial", before, seen(there)))
    assert change.action is action
    assert one(go_to(Ledger("", ""), before, seen(there))).action is action
    assert decide((), "trial", before, seen()).steps == (), "it is gone already"


def test_what_a_failed_run_did_is_undone_and_nothing_else() -> None:
    changed, made, kept, gone = (body(name=n) for n in ("changed", "made", "kept", "gone"))
    crd = body(CRD)
    run = Ledger(
        B,
        "trial",
        (
            entry(changed, before=X2),
            entry(made),
            entry(kept, before=kept),
            entry(gone, before=gone),
            entry(crd),
        ),
    )
    there = seen(live(changed, run=B), live(made, run=B), live(kept, run=A), live(crd, run=B))
    steps = {step.ref.name: step for step in undone(run, there)}
    assert {name: step.action for name, step in steps.items()} == {
        "changed": Action.RESTORE,
        "made": Action.DELETE,
        "x": Action.STAYS,
    }
    assert steps["changed"].body == X2


def test_a_rollback_goes_from_one_ledger_to_another() -> None:
    y, z = body(name="y"), body(name="z")
    target = Ledger(A, "trial", (entry(X), entry(y)))
    before = Ledger(B, "trial", (entry(X2), entry(z)))
    plan = go_to(target, before, seen(live(X2), live(z)))
    assert {(c.ref.name, c.action) for c in plan.brought} == {
        ("x", Action.CHANGE),
        ("y", Action.CREATE),
    }
    assert [(c.ref.name, c.action) for c in plan.removed] == [("z", Action.DELETE)]
    same = go_to(before, before, seen(live(X2), live(z)))
    assert {c.action for c in same.steps} == {Action.UNCHANGED}
    blind = unseen(target, before)
    assert {(c.ref.name, c.action) for c in blind.steps} == {
        ("x", Action.CHANGE),
        ("y", Action.CHANGE),
        ("z", Action.DELETE),
    }


def test_what_an_unconfirmed_run_left_is_taken_over_by_who_wants_it() -> None:
    """And the way back leads to before both."""
    loose = Ledger(B, "trial", (entry(X2, before=X, original=None, footprint=""),))
    there = seen(live(X2, "kubectl-edit", run=B))
    there = there._replace(loose=loose_ones([loose], there))
    change = one(decide(wanted(X2), "trial", IN_FORCE, there._replace(dry=dry(live(X2)))))
    assert (change.action, change.live) == (Action.CHANGE, X)
    assert one(go_to(Ledger("", ""), IN_FORCE, there)).action is Action.DELETE
    elsewhere = seen(live(X2, run=C))
    assert loose_ones([loose], elsewhere) == {}, "it is another run's by now"


@pytest.mark.parametrize(
    "given, more, code",
    [
        (body(name="x") | {"metadata": {"name": "x", "namespace": "gone"}}, {}, "N060"),
        (body("example.com/v1/Sticky"), {"unknown": {("example.com/v1", "Sticky")}}, "N061"),
        (X, {"refused": {ref_of(X).key: "field is immutable"}}, "N062"),
    ],
)
def test_what_can_t_work_is_an_error(given: Object, more: dict[str, Any], code: str) -> None:
    plan = decide(wanted(given), "trial", None, seen(**more))
    assert [(f.code, f.is_error, f.file) for f in plan.findings] == [(code, True, "objects.yaml")]


def test_namespaces_and_kinds_may_come_with_the_patch() -> None:
    spec = {"group": "example.com", "names": {"kind": "Sticky"}}
    sticky = body("example.com/v1/Sticky") | {"metadata": {"name": "s", "namespace": "new"}}
    bodies = wanted(sticky, body(CRD, spec=spec), body("v1/Namespace", "new"))
    plan = decide(bodies, "trial", None, seen(unknown={("example.com/v1", "Sticky")}))
    assert plan.findings == ()
    kinds = [change.ref.kind for change in plan.brought]
    assert kinds == ["Namespace", "CustomResourceDefinition", "Sticky"]


def test_what_others_need_comes_first_otherwise_the_file_s_order() -> None:
    kinds = "Deployment Widget Service ClusterRole ConfigMap ValidatingWebhookConfiguration Secret"
    refs = [Ref("v1", kind, "", "x") for kind in (*kinds.split(), "Namespace", "Gadget")]
    assert " ".join(ref.kind for ref in in_order((ref, ref) for ref in refs)) == (
        "Namespace ClusterRole ConfigMap Secret Service Deployment Widget Gadget "
        "ValidatingWebhookConfiguration"
    )


def test_a_ledger_survives_the_way_to_a_node_and_back() -> None:
    kept = Ledger(A, "trial", (entry(X, original=X2, source="f.yaml"), entry(X2, body=None)))
    assert ledger.decode(ledger.encode(kept)) == kept


BODY_IS_TEXT = (
    b'{"format":1,"run":"a","patch":"p","entries":[{"ref":["v1","A","","x"],"footprint":"",'
    b'"source":"","body":"text","original":null,"before":null}]}'
)


@pytest.mark.parametrize(
    "data",
    [
        None,
        b"",
        b"{",
        b"[]",
        b'{"format": 2, "run": "a", "patch": "p", "entries": []}',
        b'{"format": 1, "run": "a", "patch": "p", "entries": [{"ref": ["v1"]}]}',
        BODY_IS_TEXT,
        b" " * (ledger.MAX_BYTES + 1),
    ],
)
def test_what_is_no_ledger_is_not_acted_upon(data: bytes | None) -> None:
    assert ledger.decode(data) is None


def test_which_ledger_counts() -> None:
    def run(name: str, outcome: str, objects: str = "settled") -> Revision:
        return Revision(name, "apply", 0, "", "", "trial", "", "", outcome, "", objects)

    cp1 = node("cp1").but(revisions=(run(C, "restored"), run(B, "confirmed"), run(A, "confirmed")))
    cp2 = node("cp2").but(revisions=(run(C, "open"), run(A, "restored")))
    facts = [cp1.facts, cp2.facts]
    assert ledger.last_confirmed_run(facts) == B
    assert ledger.last_confirmed_run(facts, before=B) == A
    assert ledger.keepers(facts, B) == ("cp1",)
    assert list(ledger.dangling_runs(facts)) == [C]
    older = node("cp3").but(revisions=(run(A, "restored"),)).facts
    assert list(ledger.dangling_runs([older])) == [A]
    assert (
        list(ledger.dangling_runs([older, cp1.but(revisions=(run(B, "confirmed"),)).facts])) == []
    )
    assert list(ledger.dangling_runs([cp2.open_run(run=C).facts])) == [A], "it is at work"


def test_a_secret_is_never_shown() -> None:
    secret = body("v1/Secret", data={"k": base64.b64encode(b"sesame-1").decode()})
    other = body("v1/Secret", stringData={"k": "sesame-2"})
    applied = marks.marked(other, "trial", A, marks.CREATED)
    assert "stringData" not in applied
    for item in (marks.shown(secret), marks.shown(other), marks.shown(applied, secret)):
        assert "sesame" not in str(item)
        assert secret["data"]["k"] not in str(item)
    assert marks.shown(applied, secret)["data"] == {"k": "(hidden, differs)"}
    words = f"Invalid value: sesame-1 {secret['data']['k']} sesame-2"
    assert marks.without_secrets(words, [secret, other]) == (
        "Invalid value: (hidden) (hidden) (hidden)"
    )


def test_whose_things_are_in_a_namespace() -> None:
    ours = {Ref("apps/v1", "Deployment", "gpu", "extender").key}
    names = [
        "configmap/kube-root-ca.crt",
        "serviceaccount/default",
        "secret/default-token-x7f2q",
        "deployment.apps/extender",
        "pod/extender-5d4f-x",
        "pod/theirs",
        "configmap/extender-x",
    ]
    assert strangers(names, "gpu", ours) == ("pod/theirs", "configmap/extender-x")
    assert strangers(names[:3], "gpu", set()) == ()


def test_the_command_that_removes_by_hand() -> None:
    ref = Ref("apps/v1", "Deployment", "kube-system", "x")
    assert removal(ref) == "kubectl delete deployment.apps x -n kube-system"


def test_what_kubectl_notes_for_itself_makes_no_difference() -> None:
    notes = {marks.LAST_APPLIED: "{}", marks.RUN: "20261118-074749-2752", "mine": "stays"}
    noted = {"kind": "ConfigMap", "metadata": {"name": "x", "annotations": notes}}
    plain = {"kind": "ConfigMap", "metadata": {"name": "x", "annotations": {"mine": "stays"}}}
    assert marks.comparable(noted) == marks.comparable(plain)
