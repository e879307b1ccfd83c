"""What the API server allows the scheduler, and where Services are: asked in few calls."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kschedpatch.cluster.kubectl import Kubectl
from kschedpatch.core.fleet.verifying.extenders import ServiceAddress
from kschedpatch.core.fleet.verifying.rights import MOST, USER, Answered, Right
from kschedpatch.model.clusterplan import Object


def ask_rights(kubectl: Kubectl, rights: Sequence[Right], user: str = USER) -> tuple[Answered, ...]:
    """All in one call: reviews are created as other objects are, and answered at once."""
    asked = rights[:MOST]
    if not asked:
        return ()
    reviews = kubectl.created([right.review(user) for right in asked])
    told = {_key(review["spec"]): review for review in reviews}
    answers = []
    for right in asked:
        review = told.get(_key(right.review()["spec"]))
        status = review.get("status") if review is not None else None
        if isinstance(status, dict):
            reason = str(status.get("reason") or status.get("evaluationError") or "")
            answers.append(Answered(right, status.get("allowed") is True, reason))
    return tuple(answers)


def _key(spec: Any) -> tuple[tuple[str, str], ...]:
    """By what was asked: answers need not come in the order of the questions."""
    fields: dict[str, Any] = {}
    if isinstance(spec, dict):
        for name in ("resourceAttributes", "nonResourceAttributes"):
            fields |= spec.get(name) or {}
    return tuple(sorted((key, str(value)) for key, value in fields.items() if value))


def service_addresses(
    kubectl: Kubectl, services: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], ServiceAddress]:
    return {
        (namespace, name): _address(kubectl.get("service", name, namespace))
        for namespace, name in dict.fromkeys(services)
    }


def _address(service: Object | None) -> ServiceAddress:
    """What the cluster's DNS would answer."""
    if service is None:
        return ServiceAddress("", "there is no such Service")
    spec = service.get("spec") or {}
    if spec.get("type") == "ExternalName":
        return ServiceAddress("", "it only names another host (ExternalName)")
    address = str(spec.get("clusterIP") or "")
    if address in {"", "None"}:
        return ServiceAddress("", "it has no address of its own (headless)")
    return ServiceAddress(address)
