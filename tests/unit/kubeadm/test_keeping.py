"""What is put into kubeadm's configuration comes out again, whatever others do to it meanwhile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kschedpatch.core.kubeadm.clusterconfig import exchanged
from kschedpatch.core.kubeadm.keeping import UnreadableRecord, as_object, from_object, step
from kschedpatch.core.yamltext import emit
from kschedpatch.core.yamltext.nodes import value_of
from kschedpatch.core.yamltext.reader import read
from kschedpatch.model.persistplan import Kept

NAMES = ("v", "config", "profiling", "bind-address", "tls-min-version")
VALUES = st.sampled_from(["1", "2", "false", "/etc/x: y"])


def arguments() -> st.SearchStrategy[list[dict[str, str]]]:
    pair = st.fixed_dictionaries({"name": st.sampled_from(NAMES), "value": VALUES})
    return st.lists(pair, max_size=4, unique_by=lambda item: item["name"])


def volumes() -> st.SearchStrategy[list[dict[str, Any]]]:
    paths = st.sampled_from(["/a", "/b"])
    item = {"name": st.sampled_from(["one", "two", "three"]), "hostPath": paths, "mountPath": paths}
    return st.lists(st.fixed_dictionaries(item), max_size=3, unique_by=lambda one: one["name"])


def sections() -> st.SearchStrategy[dict[str, Any]]:
    both = st.fixed_dictionaries({"extraArgs": arguments(), "extraVolumes": volumes()})
    return both.map(lambda section: {key: value for key, value in section.items() if value})


def configuration(section: dict[str, Any], *, mapped: bool) -> str:
    if mapped and "extraArgs" in section:
        pairs = {item["name"]: item["value"] for item in section["extraArgs"]}
        section = {**section, "extraArgs": pairs}
    body = {
        "apiServer": {"certSANs": ["a"]},
        "apiVersion": f"kubeadm.k8s.io/v1beta{3 if mapped else 4}",
        "kind": "ClusterConfiguration",
        "scheduler": section,
    }
    return emit.document(body)


def scheduler_of(text: str) -> dict[str, Any]:
    value = value_of(read(text.encode()).documents[0])
    assert isinstance(value, dict)
    found: dict[str, Any] = value["scheduler"]
    return found


@given(before=sections(), first=sections(), second=sections(), mapped=st.booleans())
def test_there_over_and_back(
    before: dict[str, Any], first: dict[str, Any], second: dict[str, Any], mapped: bool
) -> None:
    text = configuration(before, mapped=mapped)
    one = step(text, None, Kept("r1", "p", first))
    two = step(one.after, one.kept, Kept("r2", "q", second))
    # As if the first had never been.
    assert scheduler_of(two.after) == scheduler_of(step(text, None, Kept("r", "q", second)).after)
    assert two.kept is not None
    assert two.kept.before == text
    assert scheduler_of(step(two.after, two.kept, None).after) == scheduler_of(text)
    # Once more changes nothing.
    assert step(two.after, two.kept, two.kept).after == two.after


def test_what_somebody_changed_since_is_theirs() -> None:
    ours = {"extraArgs": [{"name": "v", "value": "5"}, {"name": "config", "value": "/c"}]}
    text = configuration({}, mapped=False)
    put = exchanged(text, {}, {}, ours).text
    theirs = put.replace('"5"', '"9"')
    left = scheduler_of(exchanged(theirs, ours, {}, {}).text)
    assert left == {"extraArgs": [{"name": "v", "value": "9"}]}


def test_an_upgrade_of_the_api_in_between() -> None:
    """kubeadm writes a map anew as a list."""
    ours = {"extraArgs": {"v": "5"}}
    old = {"extraArgs": [{"name": "v", "value": "2"}]}
    put = step(configuration(old, mapped=True), None, Kept("r", "p", ours))
    now = configuration({"extraArgs": [{"name": "v", "value": "5"}]}, mapped=False)
    assert scheduler_of(step(now, put.kept, None).after) == old


def test_the_record_is_read_as_it_was_written_or_not_at_all() -> None:
    kept = Kept("20260101-000000-abcd", "p", {"extraArgs": []}, {"extraArgs": []}, "text\n")
    body = as_object(kept)
    assert from_object(body) == kept
    assert from_object(None) is None
    for record in ('{"format": "2"}', "{", "[]", '{"format": "1", "run": "r"}', "null"):
        with pytest.raises(UnreadableRecord):
            from_object({**body, "data": {"record": record}})
    with pytest.raises(UnreadableRecord):
        from_object({"metadata": {}})
