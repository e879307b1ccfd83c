"""Rules of single fields: numbers within bounds, addresses, the connection to the API server."""

from __future__ import annotations

from collections.abc import Iterator

from kschedpatch.core.schedconfig.addresses import address_problem, listeners_clash
from kschedpatch.core.schedconfig.surroundings import Decoded
from kschedpatch.model.finding import Finding, Path


def general_findings(decoded: Decoded) -> Iterator[Finding]:
    value = decoded.value
    burst = (value.get("clientConnection") or {}).get("burst", 0)
    if burst < 0:
        yield decoded.at("C028", ("clientConnection", "burst"), f"burst is negative ({burst})")
    parallelism = value.get("parallelism", 16)
    if parallelism <= 0:
        message = f"parallelism must be positive, not {parallelism}"
        yield decoded.at("C028", ("parallelism",), message)
    yield from _percentage(decoded, value.get("percentageOfNodesToScore"), ())
    for index, profile in enumerate(decoded.profiles):
        share = profile.get("percentageOfNodesToScore")
        yield from _percentage(decoded, share, ("profiles", index))
    yield from _backoff(decoded)
    yield from _listeners(decoded)
    for key in ("healthzBindAddress", "metricsBindAddress"):
        problem = address_problem(value.get(key), decoded.version, decoded.minor)
        if problem:
            yield decoded.at("C028", (key,), f"{key} {problem}")


def _listeners(decoded: Decoded) -> Iterator[Finding]:
    healthz, metrics = (decoded.value.get(f"{key}BindAddress") for key in ("healthz", "metrics"))
    # Of one alone the other is filled in to match, where a patch brings the configuration.
    alone = decoded.around.may_be_completed and (healthz is None or metrics is None)
    if decoded.minor == 22 and not alone and listeners_clash(healthz, metrics, decoded.version):
        key = "metricsBindAddress" if healthz is None else "healthzBindAddress"
        message = "healthzBindAddress and metricsBindAddress clash on one port"
        yield decoded.at("C028", (key,), message, "give both the same address")


def _percentage(decoded: Decoded, share: int | None, path: Path) -> Iterator[Finding]:
    if share is not None and not 0 <= share <= 100:
        yield decoded.at("C028", (*path, "percentageOfNodesToScore"), f"{share} is not in 0…100")


def _backoff(decoded: Decoded) -> Iterator[Finding]:
    initial = decoded.value.get("podInitialBackoffSeconds", 1)
    highest = decoded.value.get("podMaxBackoffSeconds", 10)
    if initial <= 0:
        message = f"podInitialBackoffSeconds must be positive, not {initial}"
        yield decoded.at("C028", ("podInitialBackoffSeconds",), message)
    if highest < initial:
        message = (
            f"podMaxBackoffSeconds ({highest}) is less than podInitialBackoffSeconds ({initial})"
        )
        yield decoded.at("C028", ("podMaxBackoffSeconds",), message)
