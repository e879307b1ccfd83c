"""What the cluster keeps of runs on a Deployment: read strictly, and which of it counts."""

from __future__ import annotations

import base64
import gzip
from typing import Any

import pytest

from kschedpatch.core.deployment import records
from kschedpatch.core.deployment.former import Way, returned, way_back, without_patch
from kschedpatch.core.deployment.records import Record
from kschedpatch.core.objects import marks
from kschedpatch.model.clusterplan import Entry, Ledger
from kschedpatch.model.deploymentplan import DeploymentTarget
from kschedpatch.model.finding import Finding
from tests.unit.deployments.values import LIVE, live

TARGET = DeploymentTarget("kube-system", "gpu")
A, B, C = "20261118-060000-000a", "20261118-070000-000b", "20261118-080000-000c"


def as_image(image: str, run: str = "") -> dict[str, Any]:
    body = live()
    body["spec"]["template"]["spec"]["containers"][0]["image"] = image
    if run:
        body["metadata"]["annotations"] = {marks.RUN: run}
    return body


def record(
    run: str, image: str, before: str, outcome: str = "confirmed", kind: str = "apply"
) -> Record:
    document = {
        "spec": {"template": {"spec": {"containers": [{"name": "kube-scheduler", "image": image}]}}}
    }
    entry = Entry(TARGET.ref, document, as_image("one"), as_image(before))
    ledger = Ledger(run, "mine", (entry,))
    return Record(run, kind, "mine", "text", "me", "why", outcome, ledger, as_image(image, run))


def test_a_record_comes_back_as_it_was() -> None:
    kept = record(A, "two", "one")
    secret = records.encode(kept, TARGET)
    assert secret["metadata"]["name"] == f"kschedpatch-gpu-{A}"
    assert not records.is_too_large(secret)
    assert records.decode(secret) == kept


BOMB = base64.b64encode(gzip.compress(b" " * (64 << 20))).decode()
NOT_OURS: dict[str, dict[str, Any]] = {
    "another type": {"type": "Opaque"},
    "no base64": {"data": {"record": "%"}},
    "no gzip": {"data": {"record": base64.b64encode(b"{}").decode()}},
    "nothing": {"data": {}},
    "no mapping": {"data": {"record": base64.b64encode(gzip.compress(b"[]")).decode()}},
    "too much": {"data": {"record": BOMB}},
    "a newer format": {
        "data": {"record": base64.b64encode(gzip.compress(b'{"format": 2}')).decode()}
    },
    "a run that is none": {"metadata": {"labels": {records.RECORD_LABEL: "../x"}}},
}


@pytest.mark.parametrize("change", NOT_OURS.values(), ids=NOT_OURS)
def test_what_is_not_ours_is_not_taken_for_it(change: dict[str, Any]) -> None:
    assert records.decode({**records.encode(record(A, "two", "one"), TARGET), **change}) is None


def image_of(way: Way | Finding) -> str:
    assert isinstance(way, Way), way
    assert way.deployment is not None
    return str(way.deployment["spec"]["template"]["spec"]["containers"][0]["image"])


def test_one_step_back_and_further() -> None:
    runs = [record(A, "two", "one"), record(B, "three", "two")]
    assert image_of(way_back(runs, TARGET, None)) == "two"
    assert image_of(way_back(runs, TARGET, A)) == "two"
    assert image_of(way_back(runs, TARGET, "original")) == "one"
    # A second rollback goes on, and not back to where the first one came from.
    back = [*runs, record(C, "two", "three", kind="rollback")]
    assert image_of(way_back(back, TARGET, None)) == "one"


def test_an_open_run_is_taken_back_first() -> None:
    runs = [record(A, "two", "one"), record(B, "three", "two", "open")]
    assert [run.run for run in records.open_ones(runs)] == [B]
    assert image_of(way_back(runs, TARGET, None)) == "two"
    assert records.open_ones([*runs, record(C, "four", "two")]) == ()


@pytest.mark.parametrize(
    ("kept", "to"),
    [([], None), ([record(A, "two", "one", "restored")], None), ([record(A, "two", "one")], B)],
)
def test_there_may_be_no_way_back(kept: list[Record], to: str | None) -> None:
    way = way_back(kept, TARGET, to)
    assert isinstance(way, Finding)
    assert way.code == "N085"


def test_the_first_and_the_newest_are_kept() -> None:
    runs = [record(f"20261118-0600{n:02}-0000", "two", "one") for n in range(15)]
    gone = [run.run for run in records.superfluous(runs)]
    assert len(gone) == 15 - records.KEPT - 1
    assert runs[0].run not in gone


def test_a_patch_is_for_what_was_there_before_the_last_one() -> None:
    base, applied = without_patch(as_image("two", A), [record(A, "two", "one")], TARGET)
    assert base["spec"] == as_image("one")["spec"]
    assert applied["spec"]
    # Somebody has put another image there since: that is theirs.
    other, _ = without_patch(as_image("theirs", A), [record(A, "two", "one")], TARGET)
    assert other["spec"] == as_image("theirs")["spec"]
    unknown, nothing = without_patch(LIVE, [], TARGET)
    assert (unknown["spec"], nothing) == (LIVE["spec"], {})


def test_going_back_leaves_alone_what_is_not_the_runs_business() -> None:
    now = as_image("two", A)
    now["spec"]["replicas"] = 7
    now["metadata"] |= {
        "resourceVersion": "12",
        "managedFields": [],
        "labels": {"app": "gpu", "new": "x"},
    }
    body = returned(now, LIVE)
    assert body["spec"]["replicas"] == 7
    assert body["spec"]["template"] == LIVE["spec"]["template"]
    assert body["metadata"]["resourceVersion"] == "12"
    assert body["metadata"]["labels"] == {"app": "gpu", "new": "x"}
    assert body["metadata"]["annotations"] == {}
