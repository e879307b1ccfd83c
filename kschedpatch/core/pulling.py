"""Why an image could not be pulled, out of what the runtime said: in words that say what to do."""

from __future__ import annotations

import re

_MAX_MESSAGE = 600

#: In the order of how much they tell; registries that hide what exists speak of both. Not compiled
#: here: few runs need them.
_KINDS = (
    (
        "the node has no space left for it",
        r"no space left",
    ),
    (
        "its registry's certificate is not trusted by the runtime, or it speaks no TLS",
        r"x509|certificate|tls: |HTTP response to HTTPS client",
    ),
    (
        "the name of its registry does not resolve on the node",
        r"no such host|name resolution|server misbehaving",
    ),
    (
        "its registry does not let the node in (credentials of the runtime?), or has no such image",
        (
            r"unauthori[sz]ed|authorization failed|authentication required|access denied|forbidden"
            r"|no basic auth|denied:|\b40[13]\b"
        ),
    ),
    (
        "its registry asks for patience: too many requests",
        r"too many requests|toomanyrequests|\b429\b",
    ),
    (
        "it has no image for this node's processor",
        r"no match for platform|no matching manifest|no image found in",
    ),
    (
        "its registry has no such image",
        r"not found|manifest unknown|name unknown|\b404\b",
    ),
    (
        "its registry does not answer",
        (
            r"connection refused|i/o timeout|no route to host|network is unreachable|timed? ?out"
            r"|deadline exceeded|connection reset|\bEOF\b|\b50[0-9]\b"
        ),
    ),
)


def told(image: str, log: str) -> str:
    """``log``: what crictl printed; only its last words count, and only so many."""
    said = last_words(log)
    kind = next((words for words, pattern in _KINDS if re.search(pattern, said, re.I)), "")
    head = f"{image} can't be pulled"
    return ": ".join(part for part in (head, kind, said) if part)


def last_words(log: str) -> str:
    """The message itself, without the parts that crictl and gRPC put before it."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    if not lines:
        return ""
    framed = re.search(r'msg="(.*)"$', lines[-1])
    said = framed[1].replace('\\"', '"') if framed else lines[-1]
    said = said.rpartition(" desc = ")[2]
    return said if len(said) <= _MAX_MESSAGE else f"{said[:_MAX_MESSAGE]}…"
