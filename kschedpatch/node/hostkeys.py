"""Is this the host that it says it is? known_hosts, read and judged as OpenSSH does."""

from __future__ import annotations

import base64
import binascii
import fcntl
import fnmatch
import hashlib
import hmac
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from kschedpatch.node.errors import HostKeyChanged, HostKeyUnknown
from kschedpatch.node.sshconfig import Destination

_MAX_FILE = 16 * 1024 * 1024
_AUTHORITY = "@cert-authority"
_REVOKED = "@revoked"


class HostKey(NamedTuple):
    kind: str
    """ssh-ed25519, ssh-rsa, …"""
    blob: bytes

    @property
    def fingerprint(self) -> str:
        digest = hashlib.sha256(self.blob).digest()
        return "SHA256:" + base64.b64encode(digest).decode().rstrip("=")


class KnownLine(NamedTuple):
    name: str
    """Of those that were asked for, the first that it speaks of."""
    file: Path
    number: int
    marker: str
    key: HostKey


def lookup_name(destination: Destination) -> str:
    """How known_hosts names the host."""
    if destination.host_key_alias is not None:
        return destination.host_key_alias.lower()
    host = destination.host.lower()
    return host if destination.port == 22 else f"[{host}]:{destination.port}"


def _names(destination: Destination) -> tuple[str, ...]:
    """A key that is known without the port is good with it, as to ssh."""
    name = lookup_name(destination)
    return (name, destination.host.lower()) if name.startswith("[") else (name,)


class HostKeys:
    """The files that speak for a host, and what is done with a key that none of them knows."""

    def __init__(
        self,
        destination: Destination,
        label: str,
        *,
        only: Path | None = None,
        accept_new: bool = False,
        on_enrolled: Callable[[str], None] | None = None,
    ) -> None:
        self._destination = destination
        self._label = label
        user_files = (only,) if only is not None else destination.user_known_hosts
        self._files = (*user_files, *destination.global_known_hosts)
        self._enrol_in = user_files[0] if user_files else None
        self._accept_new = accept_new
        self._on_enrolled = on_enrolled

    def known_kinds(self) -> tuple[str, ...]:
        """The types of the keys that are known, to be asked for first: a host known by one type
        must not look unknown because the server would rather show another."""
        lines = self._lines(_names(self._destination))
        return tuple(dict.fromkeys(line.key.kind for line in lines if not line.marker))

    def check(self, key: HostKey) -> None:
        """Returns when the key is the host's; raises otherwise."""
        if self._is_known(key):
            return
        if not self._accept_new or self._enrol_in is None:
            raise self._unknown(key)
        with _locked(self._enrol_in) as descriptor:
            if self._is_known(key):  # somebody else was quicker
                return
            _append(descriptor, f"{lookup_name(self._destination)} {_text_of(key)}\n")
        if self._on_enrolled is not None:
            self._on_enrolled(
                f"{self._label}: its {key.kind} key {key.fingerprint} was not known and is now "
                f"trusted (added to {self._enrol_in})"
            )

    def _is_known(self, key: HostKey) -> bool:
        names = _names(self._destination)
        every = list(self._lines(names))
        own = [line for line in every if line.name == names[0]]
        for line in every:
            if line.marker == _REVOKED and line.key.blob == key.blob:
                raise self._bad(key, line, "is revoked")
        keys = [line for line in own if not line.marker]
        if any(line.key == key for line in every if not line.marker):
            return True
        for line in keys:
            if line.key.kind == key.kind:
                raise self._bad(key, line, "is not the one that is known")
        if keys:
            raise self._bad(key, keys[0], f"is of another type than the known one ({key.kind})")
        if any(line.marker == _AUTHORITY for line in own):
            raise HostKeyUnknown(
                f"{self._label}: only a certificate authority is known for this host "
                f"(its key is {key.fingerprint})",
                "host certificates need the system's ssh: --transport openssh",
            )
        return False

    def _bad(self, key: HostKey, line: KnownLine, what: str) -> HostKeyChanged:
        name = lookup_name(self._destination)
        return HostKeyChanged(
            f"{self._label}: the host key {key.fingerprint} ({key.kind}) {what}; "
            f"see {line.file}, line {line.number} ({line.key.fingerprint})",
            "somebody may be listening in. If the machine was set up anew, and only then: "
            f"ssh-keygen -R '{name}' -f {line.file}",
        )

    def _unknown(self, key: HostKey) -> HostKeyUnknown:
        destination = self._destination
        scan = f"ssh-keyscan -p {destination.port} {destination.host} | ssh-keygen -lf -"
        return HostKeyUnknown(
            f"{self._label}: the host key {key.fingerprint} ({key.kind}) is not known",
            f"compare it with what the node itself says (ssh-keygen -lf on its "
            f"/etc/ssh/ssh_host_*_key.pub; over the network: {scan}); then connect once with "
            "ssh, or give --accept-new-host-keys",
        )

    def _lines(self, names: Sequence[str]) -> Iterator[KnownLine]:
        for file in self._files:
            yield from known_lines(file, names)


def known_lines(file: Path, names: Sequence[str]) -> Iterator[KnownLine]:
    """The lines of a file that speak of one of these names. What can't be read says nothing."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_MAX_FILE).decode("utf-8", "replace")
    except OSError:
        return
    for number, raw in enumerate(text.split("\n"), 1):
        words = raw.split()
        marker = words.pop(0) if words and words[0].startswith("@") else ""
        if len(words) < 3 or words[0].startswith("#"):
            continue
        about = next((name for name in names if _matches(words[0], name)), None)
        if about is None:
            continue
        try:
            blob = base64.b64decode(words[2], validate=True)
        except (binascii.Error, ValueError):
            continue
        yield KnownLine(about, file, number, marker, HostKey(words[1], blob))


def _matches(patterns: str, name: str) -> bool:
    if patterns.startswith("|1|"):
        return _matches_hash(patterns, name)
    found = False
    for pattern in patterns.lower().split(","):
        if not pattern.startswith("!") and "*" not in pattern and "?" not in pattern:
            found = found or pattern == name  # most lines, and there may be thousands
            continue
        negated = pattern.startswith("!")
        # Only * and ? are special to ssh; brackets belong to [host]:port.
        glob = re.sub(r"\[", "[[]", pattern.removeprefix("!"))
        if fnmatch.fnmatchcase(name, glob):
            if negated:
                return False
            found = True
    return found


def _matches_hash(pattern: str, name: str) -> bool:
    try:
        salt, digest = (base64.b64decode(part, validate=True) for part in pattern[3:].split("|"))
    except (ValueError, binascii.Error):
        return False
    return hmac.compare_digest(hmac.new(salt, name.encode(), hashlib.sha1).digest(), digest)


def _text_of(key: HostKey) -> str:
    return f"{key.kind} {base64.b64encode(key.blob).decode()}"


@contextmanager
def _locked(file: Path) -> Iterator[int]:
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        message = f"{file} can't be written, so no host key can be added: {error.strerror}"
        raise HostKeyUnknown(message, "name another file with --known-hosts") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)


def _append(descriptor: int, line: str) -> None:
    """In one write; a last line without its line break gets one first."""
    size = os.fstat(descriptor).st_size
    open_line = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
    os.write(descriptor, ("\n" if open_line else "").encode() + line.encode())
