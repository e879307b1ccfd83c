"""The inspect verb as Python sees it: what is asked, and its records as a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import quote

from kschedpatch.model.inspection import (
    ExtenderAsked,
    ExtenderLook,
    FileMode,
    Identity,
    Inspection,
    InspectionAsked,
    SocketAsked,
    SocketLook,
)
from kschedpatch.node.chain import Reply

#: Of what an URL's path may hold, all but blanks and what no URL has.
_SAFE = "/?&=%:@!$'()*+,;~-._#[]"
_EACH = 6.0
"""Seconds that one socket or extender may take on the node."""


def inspection_arguments(asked: InspectionAsked) -> Iterator[tuple[str, str]]:
    yield "host", f"[{asked.host}]" if ":" in asked.host else asked.host
    yield "port", str(asked.port)
    yield "image", asked.image
    for host, inside in asked.mounts:
        yield "mount", f"{host}:{inside}"
    for socket in asked.sockets:
        path = "/" + quote(socket.http.lstrip("/"), safe=_SAFE)
        yield "socket", f"{path} {socket.path}"
    for extender in asked.extenders:
        yield "reach", f"{extender.resolve or '-'} {quote(extender.url, safe=_SAFE)}"


def seconds_for(asked: InspectionAsked) -> float:
    return 60.0 + _EACH * (len(asked.sockets) + len(asked.extenders))


def inspection_from(label: str, reply: Reply, asked: InspectionAsked) -> Inspection:
    image, _, image_ref = reply.first("image").partition(" ")
    known = re.findall(r"[^\s\[\]]+", reply.first("wanted_image"))
    return Inspection(
        label=label,
        pid=_number(reply.first("pid")),
        tools=frozenset(reply.all("tool")),
        words=_words(reply.blobs.get("words", b"")),
        mountinfo=reply.blobs.get("mountinfo", b"").decode("utf-8", "replace"),
        same_file={
            path: word for word, _, path in (value.partition(" ") for value in reply.all("same"))
        },
        identity=_identity(reply.all("identity")),
        image="" if image == "<no" else image,
        image_ref="" if "<no value>" in image_ref else image_ref.strip(),
        wanted_image=tuple(word for word in known if word not in {"<no", "value>"}),
        configz=_configz(reply.blobs.get("configz")),
        configz_problem=reply.first("configz_problem"),
        log=reply.blobs.get("log", b"") + reply.blobs.get("log_end", b""),
        log_is_cut=reply.first("log_is_cut") == "1",
        nameservers=reply.all("nameserver"),
        sockets=tuple(_socket(reply, at, item) for at, item in enumerate(asked.sockets)),
        extenders=tuple(_extender(reply, at, item) for at, item in enumerate(asked.extenders)),
    )


def _number(text: str) -> int:
    return int(text) if re.fullmatch(r"[0-9]{1,15}", text) else 0


def _words(data: bytes) -> tuple[str, ...]:
    text = data.decode("utf-8", "replace")
    return tuple(text.removesuffix("\0").split("\0")) if text else ()


def _configz(data: bytes | None) -> bytes | None:
    """Behind it stands the HTTP status, on a line of its own."""
    return None if data is None else data.rpartition(b"\n")[0]


def _identity(lines: tuple[str, ...]) -> Identity | None:
    fields = {key: rest.split() for key, _, rest in (line.partition(":") for line in lines)}
    uids, gids = fields.get("Uid", []), fields.get("Gid", [])
    if len(uids) < 4 or len(gids) < 4:
        return None
    mask = (fields.get("CapEff") or ["0"])[0]
    return Identity(
        # The fourth is the one by which files are judged.
        uid=_number(uids[3]),
        gid=_number(gids[3]),
        groups=tuple(_number(word) for word in fields.get("Groups", [])[:1000]),
        capabilities=int(mask, 16) if re.fullmatch(r"[0-9a-f]{1,16}", mask) else 0,
    )


def _numbered(reply: Reply, key: str, number: int) -> tuple[str, ...]:
    head = f"{number} "
    return tuple(v.removeprefix(head).strip() for v in reply.all(key) if v.startswith(head))


def _mode(words: list[str]) -> FileMode | None:
    if len(words) != 3 or not re.fullmatch(r"[0-7]{1,5}", words[0]):
        return None
    return FileMode(int(words[0], 8), _number(words[1]), _number(words[2]))


def _socket(reply: Reply, number: int, asked: SocketAsked) -> SocketLook:
    found = "".join(_numbered(reply, "socket", number)[:1]).split()
    if not found:
        return SocketLook(asked.path, "")
    ways = [_mode(value.split()) for value in _numbered(reply, "socket_way", number)]
    called = "".join(_numbered(reply, "socket_curl", number)[:1]).split()
    return SocketLook(
        path=asked.path,
        kind=found[0],
        mode=_mode(found[1:]),
        way=tuple(way for way in ways if way is not None),
        curl=_number(called[0]) if called else None,
        status=_number(called[1]) if len(called) > 1 else 0,
        body=reply.blobs.get(f"socket-{number}", b""),
        said="".join(_numbered(reply, "socket_said", number)[:1]).lstrip("* "),
    )


def _extender(reply: Reply, number: int, asked: ExtenderAsked) -> ExtenderLook:
    words = "".join(_numbered(reply, "extender", number)[:1]).split(" ", 2)
    if len(words) < 2:
        return ExtenderLook(asked.url)
    said = words[2].strip() if len(words) > 2 else ""
    return ExtenderLook(asked.url, _number(words[0]), _number(words[1]), said)
