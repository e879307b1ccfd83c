"""Sockets, from inside of the scheduler's mount namespace: who is at fault where one is silent?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import PurePosixPath

from kschedpatch.core.fleet.noderules import about
from kschedpatch.core.fleet.verifying.checking import checked, shortened, unchecked
from kschedpatch.core.fleet.verifying.expectations import Expected
from kschedpatch.core.fleet.verifying.processes import mounted_paths
from kschedpatch.model.checks import Check
from kschedpatch.model.facts import NodeFacts
from kschedpatch.model.inspection import FileMode, Identity, Inspection, SocketLook

_DAC_OVERRIDE = 1 << 1
_WRITE, _SEARCH = 2, 1
# curl's exit codes.
_NO_CONNECTION, _TIMED_OUT, _READER_GONE = 7, 28, 23


def socket_checks(node: NodeFacts, expected: Expected, seen: Inspection) -> Iterator[Check]:
    sockets = expected.given.patch.spec.verify.sockets if expected.given is not None else ()
    looks = {look.path: look for look in seen.sockets}
    for socket in sockets:
        look = looks.get(socket.path)
        subject = f"socket {socket.path}"
        if look is None or not look.kind:
            yield unchecked(node.label, subject, "no scheduler runs to look from")
            continue
        check = _socket(node, subject, look, seen, http=socket.http or "")
        note = (
            f"{socket.path}: a hostPath shows the sockets of the scheduler's own host only; about "
            "other nodes a plugin learns nothing by it"
        )
        yield check._replace(findings=(*check.findings, about(node, "N134", note)))


def _socket(
    node: NodeFacts, subject: str, look: SocketLook, seen: Inspection, *, http: str
) -> Check:
    def fails(code: str, message: str, hint: str = "") -> Check:
        finding = about(node, code, f"{look.path}: {message}", hint)
        return checked(node.label, subject, message, [finding])

    if look.kind == "missing":
        above = _mount_above(look.path, seen.mountinfo)
        if not above:
            message = "path: no mount brings it into the scheduler's container"
            return fails("N129", message, "add its directory to the patch's mounts")
        message = (
            f"absent: {above} is mounted and holds no such socket, so no device plugin on this "
            "host has made it"
        )
        return fails("N130", message, "does the device plugin run on this node?")
    if look.kind != "socket":
        return fails("N133", "path: it is there and is no socket")
    if seen.identity is not None and not may_connect(seen.identity, look):
        who = f"uid {seen.identity.uid}, gid {seen.identity.gid}"
        mode = look.mode
        shown = f"mode {mode.mode:04o} of {mode.uid}:{mode.gid}" if mode else "unknown mode"
        message = f"permission: the scheduler runs as {who} and may not connect ({shown})"
        return fails("N132", message, "let its group, or everybody, write to the socket")
    if look.curl is None:
        return unchecked(node.label, subject, "it is there; without curl nobody can ask it")
    if look.curl == _NO_CONNECTION:
        if "denied" in look.said:
            return fails("N132", f"permission: {shortened(look.said, 120)}")
        message = "absent: the socket's file is there and nobody listens (connection refused)"
        return fails("N131", message, "its device plugin has ended; start it again")
    if not http:
        if look.curl == _TIMED_OUT:
            return fails("N133", "it takes connections and says nothing for 3 s")
        return checked(node.label, subject, f"takes connections, seen in /proc/{seen.pid}/root")
    return _answered(node, subject, look, http, fails)


def _answered(
    node: NodeFacts,
    subject: str,
    look: SocketLook,
    http: str,
    fails: Callable[[str, str], Check],
) -> Check:
    body = shortened(look.body.decode("utf-8", "replace"), 80)
    if not look.status:
        said = look.said or f"curl ended with code {look.curl}"
        return fails("N133", f"GET {http} gets no HTTP answer: {shortened(said, 120)}")
    told = f"GET {http}: HTTP {look.status}" + (f", {body}" if body else "")
    if look.status >= 400:
        return fails("N133", told)
    if look.curl not in (0, _READER_GONE):
        return fails("N133", f"{told}; then {look.said or f'curl code {look.curl}'}")
    return checked(node.label, subject, told)


def _mount_above(path: str, mountinfo: str) -> str:
    mounts = [m for m in mounted_paths(mountinfo) if m != "/"]
    above = [m for m in mounts if PurePosixPath(path).is_relative_to(m)]
    return max(above, key=len, default="")


def may_connect(who: Identity, look: SocketLook) -> bool:
    """By owners and modes; what SELinux and the like say shows only when it is tried."""
    if who.capabilities & _DAC_OVERRIDE:
        return True
    ways = all(_allows(way, who, _SEARCH) for way in look.way)
    return ways and (look.mode is None or _allows(look.mode, who, _WRITE))


def _allows(file: FileMode, who: Identity, wanted: int) -> bool:
    if file.uid == who.uid:
        return bool(file.mode >> 6 & wanted)
    if file.gid in (who.gid, *who.groups):
        return bool(file.mode >> 3 & wanted)
    return bool(file.mode & wanted)
