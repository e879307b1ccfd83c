"""RBAC: own objects for the scheduler's user, and a word about what a broad right allows."""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.clusterobjects import Objects, rbac_for
from kschedpatch.core.rbac.risks import risks_of
from kschedpatch.core.schedconfig.election import election
from kschedpatch.model.kubeversion import KubeVersion
from tests.unit.patches import patch_input

USER = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "system:kube-scheduler"}
ROLE = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: sticky-reader
  labels: {team: gpu}
rules:
- apiGroups: [example.com]
  resources: [stickyjobs]
  verbs: [get, list, watch]
"""
BINDING = """\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: sticky-reader}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sticky-reader}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: SUBJECT}]
"""


def objects_for(rbac: dict[str, Any], manifest: str = "") -> Objects:
    given = patch_input({"rbac": rbac}, name="mine", files={"own.yaml": manifest})
    return rbac_for(given, KubeVersion(34), election({}, {}))


def codes(result: Objects) -> list[str]:
    return [finding.code for finding in result.findings]


def test_rules_become_a_role_and_a_binding_of_our_own() -> None:
    rule = {"apiGroups": ["example.com"], "resources": ["jobs"], "verbs": ["get"]}
    role, binding = (item.body for item in objects_for({"rules": [rule]}).objects)
    assert role == {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {
            "name": "kschedpatch:mine",
            "labels": {
                "app.kubernetes.io/managed-by": "kschedpatch",
                "kschedpatch.io/patch": "mine",
            },
        },
        "rules": [rule],
    }
    assert binding["kind"] == "ClusterRoleBinding"
    assert binding["subjects"] == [USER]
    assert binding["roleRef"]["name"] == "kschedpatch:mine"
    assert binding["metadata"]["labels"] == role["metadata"]["labels"]


def test_a_role_of_the_users_is_labelled_and_bound() -> None:
    role, binding = (item.body for item in objects_for({"manifests": ["own.yaml"]}, ROLE).objects)
    assert role["metadata"]["labels"]["team"] == "gpu"
    assert role["metadata"]["labels"]["kschedpatch.io/patch"] == "mine"
    assert binding["roleRef"]["name"] == "sticky-reader"
    assert binding["subjects"] == [USER]


def test_a_role_that_is_bound_already_gets_no_second_binding() -> None:
    text = ROLE + "---\n" + BINDING.replace("SUBJECT", "system:kube-scheduler")
    result = objects_for({"manifests": ["own.yaml"]}, text)
    assert [item.body["kind"] for item in result.objects] == ["ClusterRole", "ClusterRoleBinding"]
    assert codes(result) == []


def test_a_binding_elsewhere_does_not_bind_a_role() -> None:
    role = ROLE.replace("ClusterRole", "Role").replace(
        "name: sticky", "namespace: a\n  name: sticky"
    )
    binding = BINDING.replace("ClusterRoleBinding", "RoleBinding").replace("ClusterRole", "Role")
    binding = binding.replace("{name:", "{namespace: b, name:", 1)
    text = role + "---\n" + binding.replace("SUBJECT", "system:kube-scheduler")
    titles = [item.title for item in objects_for({"manifests": ["own.yaml"]}, text).objects]
    assert titles == [
        "Role a/sticky-reader", "RoleBinding b/sticky-reader", "RoleBinding a/sticky-reader",
    ]  # fmt: skip


def test_what_the_server_added_is_left_out() -> None:
    text = ROLE.replace("metadata:", "metadata:\n  uid: x\n  resourceVersion: '5'")
    for item in objects_for({"manifests": ["own.yaml"]}, text).objects:
        assert set(item.body["metadata"]) == {"name", "labels"}


WRONG = {
    "not RBAC": ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", "R002"),
    "an edit of Kubernetes' own role": (
        ROLE.replace("sticky-reader", "system:kube-scheduler"),
        "R003",
    ),
    "a role without a namespace": (ROLE.replace("ClusterRole", "Role"), "R003"),
    "a role without rules": (ROLE.split("rules:", maxsplit=1)[0], "R003"),
    "a binding for somebody else": (BINDING.replace("SUBJECT", "jane"), "R004"),
    "not a mapping": ("- a\n", "Y016"),
    "a rule without verbs": (ROLE.replace("verbs: [get, list, watch]", "verbs: []"), "R003"),
    "a rule that is a word": (ROLE.split("rules:", maxsplit=1)[0] + "rules: [pods]\n", "R003"),
    "a broad right": (ROLE.replace("[get, list, watch]", "['*']"), "R001"),
}


@pytest.mark.parametrize(("text", "code"), WRONG.values(), ids=WRONG)
def test_manifests_that_do_not_do_what_they_should(text: str, code: str) -> None:
    assert code in codes(objects_for({"manifests": ["own.yaml"]}, text))


@pytest.mark.parametrize(
    "rule",
    [
        {"verbs": []},
        {"verbs": ["get"]},
        {"verbs": ["get"], "resources": ["a"], "nonResourceURLs": ["/b"]},
        {"verbs": ["get"], "nonResourceURLs": ["/b"], "namespace": "c"},
    ],
    ids=["no verbs", "nothing named", "both named", "a URL in a namespace"],
)
def test_rules_that_the_api_server_would_refuse(rule: dict[str, Any]) -> None:
    assert "R003" in codes(objects_for({"rules": [rule]}))


RISKS = {
    "pods update": (([""], ["pods"], ["update", "patch"]), "change any pod"),
    "secrets": (([""], ["secrets"], ["get"]), "read Secrets"),
    "everything": ((["*"], ["*"], ["*"]), "change everything in the cluster"),
    "every verb": ((["example.com"], ["jobs"], ["*"]), "delete included"),
    "exec": (([""], ["pods/exec"], ["create"]), "run commands in any container"),
    "impersonate": (([""], ["users"], ["impersonate"]), "become anybody"),
}


@pytest.mark.parametrize(("rule", "words"), RISKS.values(), ids=RISKS)
def test_a_broad_right_says_what_it_allows(
    rule: tuple[list[str], list[str], list[str]], words: str
) -> None:
    groups, resources, verbs = rule
    value = {"apiGroups": groups, "resources": resources, "verbs": verbs}
    assert any(words in risk.allows for risk in risks_of(value))
    (finding,) = [f for f in objects_for({"rules": [value]}).findings if words in f.message]
    assert finding.code == "R001"
    assert "whoever reads scheduler.conf" in finding.message


@pytest.mark.parametrize(
    "rule",
    [
        {"apiGroups": ["example.com"], "resources": ["jobs"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch"]},
    ],
)
def test_a_narrow_right_gives_no_warning(rule: dict[str, Any]) -> None:
    assert list(risks_of(rule)) == []
