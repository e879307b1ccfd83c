"""curl --unix-socket of a sandbox: the sockets of its nodes are real ones, made by the tests."""

from __future__ import annotations

import os
import socket
from pathlib import Path

from kschedpatch.sandbox.requests import Reply

_SECONDS = 1.0


def get(path: str, url_path: str) -> Reply:
    """The whole answer, head and body, on stdout; curl's codes and words where there is none."""
    where = Path(path)
    # By its directory: a socket's path may have 107 bytes only, and a test's is longer.
    try:
        directory = os.open(where.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        return Reply(7, "", f"* connect to {where.name} failed: {error.strerror}\n")
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(_SECONDS)
            client.connect(f"/proc/self/fd/{directory}/{where.name}")
            request = f"GET {url_path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            client.sendall(request.encode())
            answer = b""
            while data := client.recv(4096):
                answer += data
    except TimeoutError:
        return Reply(28, "", "curl: (28) Operation timed out\n")
    except OSError as error:
        return Reply(7, "", f"* connect to {where.name} failed: {error.strerror}\n")
    finally:
        os.close(directory)
    if not answer:
        return Reply(52, "", "curl: (52) Empty reply from server\n")
    return Reply(0, answer.decode("utf-8", "replace"))
