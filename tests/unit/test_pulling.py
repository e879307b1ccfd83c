"""Why an image can't be pulled, from what runtimes say."""

from __future__ import annotations

import pytest

from kschedpatch.core.pulling import told

IMAGE = "registry.example.com/own:v1"
_RPC = 'E1118 02:00:00.1 remote_image.go:180] "PullImage from image service failed" err="..."\n'
_FATAL = 'time="2026-11-18T02:00:00Z" level=fatal msg="pulling image: {}"\n'
_RESOLVE = (
    'rpc error: code = Unknown desc = failed to pull and unpack image "{0}": failed to resolve '
    'reference "{0}": {1}'
)

SAID = {
    "not found": ("has no such image", "{0}: not found"),
    "CRI-O": ("has no such image", "reading manifest v1 in {0}: manifest unknown"),
    "login": (
        "does not let the node in",
        (
            "failed to authorize: failed to fetch anonymous token: unexpected status "
            "from GET request to https://auth/token: 401 Unauthorized"
        ),
    ),
    "hub": (
        "does not let the node in",
        (
            "pull access denied, repository does not exist or may require authorization: server "
            "message: insufficient_scope: authorization failed"
        ),
    ),
    "host": (
        "does not resolve",
        (
            'failed to do request: Head "https://registry.example.com/v2/own": dial tcp: '
            "lookup registry.example.com on 10.0.0.2:53: no such host"
        ),
    ),
    "certificate": (
        "certificate is not trusted",
        (
            "failed to do request: Head: tls: failed to verify certificate: x509: certificate "
            "signed by unknown authority"
        ),
    ),
    "plain HTTP": (
        "speaks no TLS",
        "failed to do request: Head: http: server gave HTTP response to HTTPS client",
    ),
    "dead": ("does not answer", "failed to do request: Head: dial tcp 10.9.9.9:443: i/o timeout"),
    "refused": ("does not answer", "dial tcp 10.9.9.9:443: connect: connection refused"),
    "limit": ("too many requests", "unexpected status code: 429 Too Many Requests"),
    "full": ("no space left", "write /var/lib/containerd/x: no space left on device"),
    "processor": ("this node's processor", "no match for platform in manifest: not found"),
}


@pytest.mark.parametrize("words, said", SAID.values(), ids=SAID)
@pytest.mark.parametrize("framed", [False, True])
def test_each_kind_is_told(words: str, said: str, framed: bool) -> None:
    message = _RESOLVE.format(IMAGE, said.format(IMAGE))
    quoted = message.replace('"', '\\"')
    log = _RPC + _FATAL.format(quoted) if framed else f"pulling image: {message}\n"
    shown = told(IMAGE, log)
    assert shown.startswith(f"{IMAGE} can't be pulled: ")
    assert words in shown
    # The runtime's own words are there, without what gRPC and crictl put before them.
    assert said.format(IMAGE)[:30] in shown
    assert "rpc error" not in shown
    assert shown.endswith(said.format(IMAGE))
    assert "\\" not in shown


def test_what_nobody_knows_is_shown_as_it_is() -> None:
    assert told(IMAGE, "strange\n") == f"{IMAGE} can't be pulled: strange"
    assert told(IMAGE, "") == f"{IMAGE} can't be pulled"


def test_a_long_message_is_cut() -> None:
    assert len(told(IMAGE, "x" * 100_000)) < 1000
