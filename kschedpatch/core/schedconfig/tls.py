"""An extender's TLS settings: what the scheduler refuses when it builds the client, and the files
that it reads for it."""

from __future__ import annotations

import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_PEM = re.compile(
    rb"-----BEGIN ([A-Z0-9 ]+)-----\s*?\n(.*?)-----END \1-----", re.DOTALL
)  # fmt: skip


class ClientTLS(NamedTuple):
    problems: tuple[tuple[str, str], ...] = ()
    """(field of tlsConfig, why it is refused)."""
    files: tuple[str, ...] = ()
    """Fields whose files are read at the start."""
    unverified: bool = False
    """HTTPS that believes anybody, because nobody said whom to believe."""


def client_tls(extender: Mapping[str, Any]) -> ClientTLS:
    tls = extender.get("tlsConfig") or {}
    has_ca = bool(tls.get("caFile") or tls.get("caData"))
    unverified = bool(extender.get("enableHTTPS")) and not has_ca
    insecure = unverified or bool(tls.get("insecure"))
    has_cert = bool(tls.get("certData") or tls.get("certFile"))
    has_pair = has_cert and bool(tls.get("keyData") or tls.get("keyFile"))
    if not (has_ca or has_pair or insecure or tls.get("serverName")):
        return ClientTLS()  # plain HTTP: nothing else is looked at
    if has_ca and insecure:
        return ClientTLS((("insecure", "a CA and `insecure: true` exclude each other"),))
    data_of = {"caFile": "caData", "certFile": "certData", "keyFile": "keyData"}
    files = tuple(key for key, data in data_of.items() if tls.get(key) and not tls.get(data))
    own = unverified and not tls.get("insecure")
    return ClientTLS(tuple(_data_problems(tls, has_pair=has_pair)), files, own)


def _data_problems(tls: Mapping[str, Any], *, has_pair: bool) -> Iterator[tuple[str, str]]:
    authority = tls.get("caData")
    if authority and not _has_block(authority, "CERTIFICATE"):
        yield "caData", "there is no PEM certificate in it"
    if not has_pair:
        return
    certificate, key = tls.get("certData"), tls.get("keyData")
    if certificate and not _has_block(certificate, "CERTIFICATE"):
        yield "certData", "there is no PEM certificate in it"
    if key and not _has_block(key, "PRIVATE KEY"):
        yield "keyData", "there is no PEM private key in it"


def _has_block(data: bytes, label: str) -> bool:
    """A PEM block of this label whose content is DER of the right length."""
    for name, body in _PEM.findall(data):
        text = name.decode("ascii")
        if text == label or (label == "PRIVATE KEY" and text.endswith(" PRIVATE KEY")):
            try:
                if _is_der(binascii.a2b_base64(b"".join(body.split()), strict_mode=True)):
                    return True
            except (binascii.Error, ValueError):
                continue
    return False


def _is_der(data: bytes) -> bool:
    """One ASN.1 sequence that fills the block."""
    if len(data) < 2 or data[0] != 0x30:
        return False
    if data[1] < 0x80:
        return len(data) == 2 + data[1]
    size = data[1] & 0x7F
    return 0 < size <= 4 and len(data) == 2 + size + int.from_bytes(data[2 : 2 + size], "big")
