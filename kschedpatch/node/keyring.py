"""The keys that are offered to a host: the agent's, and files, unlocked once for all nodes."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from kschedpatch.node.become import Secret
from kschedpatch.node.sshlibrary import paramiko

_KINDS = (paramiko.Ed25519Key, paramiko.ECDSAKey, paramiko.RSAKey)

AskPassPhrase = Callable[[Path], Secret | None]


class Candidate(NamedTuple):
    name: str
    key: paramiko.PKey


class KeyRing:
    """``ask`` is called for an encrypted key, once for each file; None means: do without it."""

    def __init__(self, ask: AskPassPhrase | None = None) -> None:
        self._ask = ask
        self._loaded: dict[Path, paramiko.PKey | None] = {}
        self._locked: set[Path] = set()
        self._lock = threading.Lock()

    def seal(self) -> None:
        """No questions from here on: a live view may be on the terminal."""
        self._ask = None

    def load(self, path: Path) -> paramiko.PKey | None:
        with self._lock:  # held while asking: one question at a time
            if path not in self._loaded:
                self._loaded[path] = self._read(path)
            return self._loaded[path]

    def still_locked(self, path: Path) -> bool:
        """An encrypted key that nobody gave the pass phrase of."""
        return path in self._locked

    def _read(self, path: Path) -> paramiko.PKey | None:
        try:
            return _private_key(path, None)
        except paramiko.PasswordRequiredException:
            pass
        for _ in range(3):
            answer = self._ask(path) if self._ask is not None else None
            if answer is None or not answer.reveal():
                break
            key = _private_key(path, answer)
            if key is not None:
                return key
        self._locked.add(path)
        return None


def _private_key(path: Path, pass_phrase: Secret | None) -> paramiko.PKey | None:
    """None where it is no private key that paramiko can use, or the pass phrase is wrong."""
    needs_pass_phrase = False
    for kind in _KINDS:
        try:
            key = kind.from_private_key_file(
                str(path), pass_phrase.reveal() if pass_phrase is not None else None
            )
        except paramiko.PasswordRequiredException:
            needs_pass_phrase = True
        except (OSError, paramiko.SSHException, ValueError):
            continue
        else:
            certificate = Path(f"{path}-cert.pub")
            if certificate.exists():
                key.load_certificate(str(certificate))
            return key
    if needs_pass_phrase:
        raise paramiko.PasswordRequiredException("encrypted")
    return None


def public_blob(path: Path) -> bytes | None:
    """The public half that lies beside a key file, or is all there is of it (an agent's key)."""
    for file in (path, Path(f"{path}.pub")):
        if file.suffix != ".pub":
            continue
        try:
            words = file.read_text("utf-8").split()
            return base64.b64decode(words[1], validate=True)
        except (OSError, UnicodeDecodeError, IndexError, ValueError, binascii.Error):
            continue
    return None


def agent_blobs() -> frozenset[bytes]:
    """The public keys that the agent holds; empty where there is no agent."""
    try:
        with closing(paramiko.Agent()) as agent:
            return frozenset(key.asbytes() for key in agent.get_keys())
    except (paramiko.SSHException, OSError):
        return frozenset()


def candidates(
    ring: KeyRing,
    agent: paramiko.Agent | None,
    identity: Path | None,
    files: tuple[Path, ...],
    *,
    identities_only: bool,
) -> Iterator[Candidate]:
    """In the order in which they are offered: the named identity, what the agent has, the files.

    A server hangs up after a few wrong keys, so the most likely ones come first, and with
    IdentitiesOnly nothing is offered that was not configured.
    """
    wanted = ((identity,) if identity is not None else ()) + files
    held = {key.asbytes(): key for key in (agent.get_keys() if agent is not None else ())}
    public = {path: public_blob(path) for path in wanted}
    offered: set[bytes] = set()

    def from_path(path: Path) -> Iterator[Candidate]:
        blob = public[path]
        if blob is not None and blob in held:
            if blob not in offered:
                offered.add(blob)
                yield Candidate(f"{path} (by the agent)", held[blob])
            return
        key = ring.load(path) if path.suffix != ".pub" and path.exists() else None
        if key is not None and key.asbytes() not in offered:
            offered.add(key.asbytes())
            yield Candidate(str(path), key)

    if identity is not None:
        yield from from_path(identity)
    if not identities_only:
        for blob, key in held.items():
            if blob not in offered:
                offered.add(blob)
                yield Candidate(f"the agent's {key.get_name()} key", key)
    for path in files:
        yield from from_path(path)
