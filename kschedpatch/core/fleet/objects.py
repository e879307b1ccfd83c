"""Cluster objects are the same for all nodes; where versions ask for more, the roles are joined."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from kschedpatch.model.codes import found
from kschedpatch.model.finding import Finding
from kschedpatch.model.plan import ClusterObject


class Joined(NamedTuple):
    objects: tuple[ClusterObject, ...]
    findings: tuple[Finding, ...]


def joined(by_node: Iterable[tuple[ClusterObject, ...]]) -> Joined:
    union: dict[tuple[str, str, int], ClusterObject] = {}
    findings = []
    for objects in by_node:
        times: Counter[str] = Counter()
        for item in objects:
            # A name that the user's own files hold twice is the API server's to judge.
            key = (str(item.body.get("apiVersion")), item.title, times[item.title])
            times[item.title] += 1
            both = _both(union[key].body, item.body) if key in union else item.body
            if both is None:
                message = f"{item.title} would have to be different for different nodes"
                findings.append(found("N025", message))
            else:
                union[key] = item._replace(body=both)
    return Joined(tuple(union.values()), tuple(findings))


def _both(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any] | None:
    if one == other:
        return one
    rules = "rules"
    rest = [{key: value for key, value in body.items() if key != rules} for body in (one, other)]
    if rest[0] != rest[1] or rules not in one or rules not in other:
        return None
    return {**one, rules: [*one[rules], *(rule for rule in other[rules] if rule not in one[rules])]}
