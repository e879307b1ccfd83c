"""Server-side apply: what has to be sent, what is left without it, and whose fields it takes."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.deployment.merging import (
    addition,
    conflicts,
    given_back,
    unapplied,
    with_client_side_fields,
)
from kschedpatch.core.objects.marks import LAST_APPLIED

BASE: dict[str, Any] = {
    "containers": [
        {
            "name": "a",
            "image": "one",
            "command": ["x", "--v=2"],
            "env": [{"name": "K", "value": "1"}],
        },
        {"name": "b", "image": "two"},
    ],
    "volumes": [{"name": "v", "emptyDir": {}}],
}

# what is wanted → what has to be applied for it
ADDITIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nothing": (BASE, {}),
    "a scalar of an item": (
        {"containers": [{"name": "a", "image": "three"}]},
        {"containers": [{"name": "a", "image": "three"}]},
    ),
    "a list that is one value": (
        {"containers": [{"name": "a", "command": ["x", "--v=5"]}]},
        {"containers": [{"name": "a", "command": ["x", "--v=5"]}]},
    ),
    "an item of a list within an item": (
        {"containers": [{"name": "a", "env": [{"name": "K", "value": "1"}, {"name": "L"}]}]},
        {"containers": [{"name": "a", "env": [{"name": "L"}]}]},
    ),
    "a new item": (
        {"volumes": [*BASE["volumes"], {"name": "w", "hostPath": {"path": "/w"}}]},
        {"volumes": [{"name": "w", "hostPath": {"path": "/w"}}]},
    ),
    "a key that was not there": ({"dnsPolicy": "Default"}, {"dnsPolicy": "Default"}),
}


@pytest.mark.parametrize(("wanted", "expected"), ADDITIONS.values(), ids=ADDITIONS)
def test_only_what_differs_is_applied(wanted: dict[str, Any], expected: dict[str, Any]) -> None:
    assert addition(BASE, wanted) == expected


def _applied(base: Any, more: Any) -> Any:
    """What the API server would make of it, for the shapes used here."""
    if isinstance(base, dict) and isinstance(more, dict):
        return {**base, **{k: _applied(base.get(k), v) for k, v in more.items()}}
    if isinstance(base, list) and more and isinstance(more[0], dict):
        names = [item["name"] for item in base]
        found = [
            _applied(item, next((m for m in more if m["name"] == item["name"]), {}))
            for item in base
        ]
        return found + [m for m in more if m["name"] not in names]
    return more


@pytest.mark.parametrize("wanted", [w for w, _ in ADDITIONS.values()], ids=ADDITIONS)
def test_taken_back_it_is_as_it_was(wanted: dict[str, Any]) -> None:
    more = addition(BASE, wanted)
    assert unapplied(_applied(BASE, more), more, BASE) == BASE


def test_what_others_have_changed_since_stays_theirs() -> None:
    more = {"containers": [{"name": "a", "image": "ours", "env": [{"name": "L", "value": "9"}]}]}
    live = _applied(BASE, more)
    live["containers"][0]["image"] = "theirs"
    live["containers"][0]["env"][0]["value"] = "2"
    live["replicas"] = 5
    back = unapplied(live, more, BASE)
    assert back["containers"][0]["image"] == "theirs"
    assert back["containers"][0]["env"] == [{"name": "K", "value": "2"}]
    assert back["replicas"] == 5


def test_defaults_of_the_api_server_do_not_keep_what_was_ours() -> None:
    more = {"volumes": [{"name": "w", "configMap": {"name": "c"}}]}
    live = {
        "volumes": [*BASE["volumes"], {"name": "w", "configMap": {"name": "c", "defaultMode": 420}}]
    }
    assert unapplied(live, more, {"volumes": BASE["volumes"]}) == {"volumes": BASE["volumes"]}


def owned(manager: str, fields: dict[str, Any]) -> dict[str, Any]:
    return {"manager": manager, "operation": "Update", "fieldsV1": fields}


IMAGE: dict[str, Any] = {
    "f:spec": {"f:containers": {'k:{"name":"a"}': {"f:image": {}, "f:command": {}}}}
}
PORT: dict[str, Any] = {
    "f:spec": {"f:ports": {'k:{"containerPort":1,"protocol":"TCP"}': {"f:name": {}}}}
}
LIVE: dict[str, Any] = {
    "metadata": {"managedFields": [owned("helm", IMAGE), owned("kschedpatch", IMAGE)]},
    "spec": {
        "containers": [{"name": "a", "image": "one"}],
        "ports": [{"containerPort": 1, "name": "p"}],
    },
}


def test_fields_of_others_are_named_as_kubectl_names_them() -> None:
    wanted = {"spec": {"containers": [{"name": "a", "image": "two"}]}}
    [conflict] = conflicts(wanted, LIVE)
    assert conflict == ("helm", '.spec.containers[name="a"].image')


def test_the_key_of_an_item_may_have_a_default() -> None:
    live = {**LIVE, "metadata": {"managedFields": [owned("argo", PORT)]}}
    [conflict] = conflicts({"spec": {"ports": [{"containerPort": 1, "name": "q"}]}}, live)
    assert conflict.manager == "argo"


@pytest.mark.parametrize(
    "wanted",
    [
        {"containers": [{"name": "a", "image": "one"}]},  # as it is
        {"containers": [{"name": "b", "image": "two"}]},  # a new one
        {"containers": [{"name": "a", "env": [{"name": "X"}]}]},  # nobody has set it
    ],
)
def test_what_nobody_else_has_set_otherwise_is_free(wanted: dict[str, Any]) -> None:
    assert conflicts({"spec": wanted}, LIVE) == ()


CLIENT_SIDE = {
    "f:metadata": {"f:annotations": {".": {}, f"f:{LAST_APPLIED}": {}}},
    "f:spec": {
        "f:replicas": {},
        "f:template": {
            "f:spec": {
                "f:containers": {
                    'k:{"name":"a"}': {".": {}, "f:name": {}, "f:image": {}, "f:args": {}},
                },
                "f:volumes": {".": {}, 'k:{"name":"v"}': {".": {}, "f:emptyDir": {}, "f:name": {}}},
            }
        },
    },
}


def test_what_kubectl_apply_has_set_is_sent_along() -> None:
    """kubectl hands it to the next field manager, and what that does not name would be gone."""
    spec = {
        "containers": [
            {"name": "a", "image": "one", "args": ["x"], "imagePullPolicy": "Always"},
            {"name": "injected", "image": "two"},
        ],
        "volumes": [{"name": "v", "emptyDir": {}}],
        "dnsPolicy": "ClusterFirst",
    }
    live = {
        "metadata": {
            "annotations": {LAST_APPLIED: "{}", "other": "x"},
            "managedFields": [owned("kubectl-client-side-apply", CLIENT_SIDE)],
        },
        "spec": {"replicas": 2, "template": {"spec": spec}},
        "status": {"replicas": 2},
    }
    ours = {"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "new"}]}}}}
    whole = with_client_side_fields(ours, live)
    assert whole == {
        "metadata": {"annotations": {LAST_APPLIED: "{}"}},
        "spec": {
            "replicas": 2,
            "template": {
                "spec": {
                    "containers": [{"name": "a", "image": "new", "args": ["x"]}],
                    "volumes": [{"name": "v", "emptyDir": {}}],
                }
            },
        },
    }
    live["metadata"]["managedFields"][0]["operation"] = "Apply"  # type: ignore[index]
    assert with_client_side_fields(ours, live) == ours


def test_what_a_document_no_longer_names_is_given_back() -> None:
    former = {"containers": [{"name": "a", "image": "ours", "env": [{"name": "L", "value": "9"}]}]}
    more = {"containers": [{"name": "a", "command": ["x", "--v=5"]}]}
    assert given_back(BASE, former, more) == {
        "containers": [{"name": "a", "image": "one", "command": ["x", "--v=5"]}]
    }
