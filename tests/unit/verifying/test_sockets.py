"""A socket that is silent: is the path, a permission or the device plugin at fault?"""

from __future__ import annotations

from typing import Any

import pytest

from kschedpatch.core.fleet.verifying.expectations import Expected
from kschedpatch.core.fleet.verifying.sockets import may_connect, socket_checks
from kschedpatch.model.checks import Check, CheckState
from kschedpatch.model.inspection import FileMode, Identity, Inspection, SocketLook
from tests.unit.fleet.nodes import node
from tests.unit.patches import patch_input

PLUGINS = "/var/lib/kubelet/device-plugins"
PATH = f"{PLUGINS}/nvidia-gpu.sock.status"
MOUNTS = f"1 0 0:1 / / rw - overlay o rw\n2 1 0:1 {PLUGINS} {PLUGINS} ro - ext4 x rw\n"
ROOT = Identity(0, 0, (), 0xA80425FB)
NOBODY = Identity(65534, 65534)
OPEN, OWNERS = FileMode(0o777, 0, 0), FileMode(0o755, 0, 0)
GOOD = SocketLook(PATH, "socket", OWNERS, (OWNERS,), 0, 200, b'{"busy": 1}')


def judged(look: SocketLook, http: str | None = "/status", **fields: Any) -> Check:
    given = patch_input({"verify": {"sockets": [{"path": PATH, "http": http}]}}, name="mine")
    seen = Inspection("cp1", pid=7, mountinfo=MOUNTS, identity=ROOT, sockets=(look,))
    (check,) = socket_checks(node("cp1").facts, Expected(given), seen._replace(**fields))
    return check


def test_an_answer_is_shown_and_whose_sockets_these_are_is_said() -> None:
    check = judged(GOOD)
    assert (check.state, check.evidence) == (CheckState.OK, 'GET /status: HTTP 200, {"busy": 1}')
    (note,) = check.findings
    assert note.code == "N134"
    assert "own host only" in note.message


MISSING = SocketLook(PATH, "missing")
REFUSED = GOOD._replace(curl=7, status=0, said="connect to ./x failed: Connection refused")
CASES: list[tuple[str, str, SocketLook, dict[str, Any]]] = [
    ("N129", "path: no mount", MISSING, {"mountinfo": MOUNTS.splitlines()[0]}),
    ("N130", f"absent: {PLUGINS} is mounted and holds no such socket", MISSING, {}),
    ("N131", "nobody listens", REFUSED, {}),
    ("N132", "permission: connect to ./x failed: Permission denied",
     REFUSED._replace(said="connect to ./x failed: Permission denied"), {}),
    ("N132", "permission: the scheduler runs as uid 65534", GOOD, {"identity": NOBODY}),
    ("N133", "is no socket", GOOD._replace(kind="other"), {}),
    ("N133", "HTTP 500", GOOD._replace(status=500), {}),
    ("N133", "no HTTP answer: Empty reply",
     GOOD._replace(curl=52, status=0, said="Empty reply from server"), {}),
]  # fmt: skip


@pytest.mark.parametrize("code, words, look, fields", CASES)
def test_who_is_at_fault(code: str, words: str, look: SocketLook, fields: dict[str, Any]) -> None:
    check = judged(look, **fields)
    assert (check.state, check.findings[0].code) == (CheckState.FAILED, code)
    assert words in check.evidence


def test_without_http_it_is_enough_that_somebody_listens() -> None:
    assert judged(GOOD._replace(curl=52, status=0), http=None).state is CheckState.OK
    assert judged(REFUSED, http=None).state is CheckState.FAILED


def test_a_node_without_curl_can_not_tell() -> None:
    assert judged(GOOD._replace(curl=None, status=0)).state is CheckState.NOT_CHECKED


@pytest.mark.parametrize(
    "who, way, mode, allowed",
    [
        (ROOT, FileMode(0, 1, 1), FileMode(0, 1, 1), True),
        (Identity(0, 0), OWNERS, FileMode(0o600, 0, 0), True),
        (Identity(0, 0), OWNERS, FileMode(0o600, 1, 1), False),
        (NOBODY, OWNERS, OPEN, True),
        (NOBODY, FileMode(0o700, 0, 0), OPEN, False),
        (Identity(5, 5, (7,)), OWNERS, FileMode(0o660, 0, 7), True),
        (Identity(5, 5, (8,)), OWNERS, FileMode(0o660, 0, 7), False),
        (Identity(5, 5), OWNERS, FileMode(0o077, 5, 5), False),
    ],
)
def test_who_may_connect(who: Identity, way: FileMode, mode: FileMode, allowed: bool) -> None:
    look = GOOD._replace(way=(way,), mode=mode)
    assert may_connect(who, look) is allowed
