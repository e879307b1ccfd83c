"""Every right that a patch asks for: what is asked of the API server, and what its answers mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any, NamedTuple

from kschedpatch.core.fleet.verifying.checking import checked, several, unchecked
from kschedpatch.core.patchinput import PatchInput
from kschedpatch.core.rbac.objects import manifest_objects, policy_rule, static_pod
from kschedpatch.model.checks import Check
from kschedpatch.model.codes import found

USER = "system:kube-scheduler"
_ACCOUNT = "system:serviceaccount:"
_EVERYBODY = "system:authenticated"
#: More rights than a scheduler's plugin ever needs; the rest is named as not asked.
MOST = 200
# Groups of resources that people write without one, as kubectl knows them from the API server.
_GROUPS = {
    "leases": "coordination.k8s.io",
    "deployments": "apps",
    "daemonsets": "apps",
    "replicasets": "apps",
    "statefulsets": "apps",
    "jobs": "batch",
    "cronjobs": "batch",
    "csinodes": "storage.k8s.io",
    "csidrivers": "storage.k8s.io",
    "storageclasses": "storage.k8s.io",
    "volumeattachments": "storage.k8s.io",
    "poddisruptionbudgets": "policy",
    "priorityclasses": "scheduling.k8s.io",
    "resourceclaims": "resource.k8s.io",
    "resourceslices": "resource.k8s.io",
    "deviceclasses": "resource.k8s.io",
}


class Right(NamedTuple):
    verb: str
    resource: str = ""
    group: str = ""
    subresource: str = ""
    name: str = ""
    namespace: str = ""
    url: str = ""
    """A non-resource URL instead of all that."""

    @property
    def told(self) -> str:
        if self.url:
            return f"{self.verb} {self.url}"
        text = f"{self.verb} {self.resource}"
        text += f".{self.group}" if self.group else ""
        text += f"/{self.subresource}" if self.subresource else ""
        text += f" {self.name}" if self.name else ""
        return f"{text} in {self.namespace}" if self.namespace else text

    def review(self, user: str = USER) -> dict[str, Any]:
        """A SubjectAccessReview: what kubectl auth can-i asks, for another user."""
        spec: dict[str, Any] = {"user": user, "groups": list(groups_of(user))}
        if self.url:
            spec["nonResourceAttributes"] = {"verb": self.verb, "path": self.url}
        else:
            fields = {
                "verb": self.verb,
                "group": self.group,
                "resource": self.resource,
                "subresource": self.subresource,
                "name": self.name,
                "namespace": self.namespace,
            }
            spec["resourceAttributes"] = {key: value for key, value in fields.items() if value}
        return {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": spec,
        }


def account_user(namespace: str, account: str) -> str:
    """As whom the pods of a ServiceAccount are known."""
    return f"{_ACCOUNT}{namespace}:{account}"


def groups_of(user: str) -> tuple[str, ...]:
    if not user.startswith(_ACCOUNT):
        return (_EVERYBODY,)
    namespace = user.removeprefix(_ACCOUNT).partition(":")[0]
    return ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _EVERYBODY)


def rights_of(given: PatchInput) -> tuple[Right, ...]:
    patch = given.patch
    rights: list[Right] = []
    for rule in patch.spec.rbac.rules:
        rights += _of_rule(policy_rule(rule), rule.namespace or "")
    # Whom they are given to makes no difference to what is asked.
    anybody = static_pod(patch.metadata.name)
    for item in manifest_objects(patch, given.sources, anybody).objects:
        rules = item.body.get("rules")
        namespace = str(item.body["metadata"].get("namespace") or "")
        for one in rules if isinstance(rules, list) else ():
            rights += _of_rule(one, namespace)
    groups = {right.resource: right.group for right in rights if right.group}
    for can in patch.spec.verify.can:
        if can.resource.startswith("/"):
            rights.append(Right(can.verb, url=can.resource))
            continue
        name, _, below = can.resource.partition("/")
        name, _, group = name.partition(".")
        group = group or groups.get(name) or _GROUPS.get(name, "")
        rights.append(Right(can.verb, name, group, below, namespace=can.namespace or ""))
    return tuple(dict.fromkeys(rights))


def _of_rule(rule: dict[str, Any], namespace: str) -> Iterator[Right]:
    verbs = [str(verb) for verb in rule.get("verbs") or ()]
    for verb, url in product(verbs, rule.get("nonResourceURLs") or ()):
        yield Right(verb, url=str(url))
    every = product(
        rule.get("apiGroups") or ("",),
        rule.get("resources") or (),
        rule.get("resourceNames") or ("",),
        verbs,
    )
    for group, resource, name, verb in every:
        plain, _, below = str(resource).partition("/")
        yield Right(verb, plain, str(group), below, str(name), namespace)


class Answered(NamedTuple):
    right: Right
    allowed: bool
    reason: str = ""


def right_checks(
    asked: Sequence[Right],
    answers: Sequence[Answered] | None,
    problem: str,
    user: str = USER,
) -> Iterator[Check]:
    """``answers`` is None where nobody could be asked; ``problem`` says why."""
    if not asked:
        return
    told = [right.told for right in asked]
    if answers is None:
        yield unchecked("", f"rights: {several(told)}", problem)
        return
    known = {answer.right: answer for answer in answers}
    for right in asked:
        answer = known.get(right)
        subject = f"right {right.told}"
        if answer is None:
            yield unchecked("", subject, problem or "the API server gave no answer")
        elif answer.allowed:
            yield checked("", subject, answer.reason or f"allowed to {user}")
        else:
            message = f"refused to {user}" + (f": {answer.reason}" if answer.reason else "")
            hint = "kschedpatch apply brings the patch's rbac.rules; can-i asks by: "
            hint += can_i(right, user)
            finding = found("N136", f"{right.told}: {message}", hint=hint)
            yield checked("", subject, message, [finding])


def can_i(right: Right, user: str = USER) -> str:
    what = right.url or (f"{right.resource}.{right.group}" if right.group else right.resource)
    words = ["kubectl auth can-i", right.verb, f"{what}/{right.name}" if right.name else what]
    words += [f"--subresource={right.subresource}"] if right.subresource else []
    words += [f"-n {right.namespace}"] if right.namespace else []
    return " ".join([*words, f"--as {user}"])
