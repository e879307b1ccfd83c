"""A stand-in for the device plugin of a node: it answers /status on a unix socket, and nothing
else."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

DIRECTORY = "/var/lib/kubelet/device-plugins"
SOCKET = f"{DIRECTORY}/nvidia-gpu.sock.status"


class DevicePlugin:
    def __init__(self, path: Path, body: str = '{"busy": 3}') -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        self._path, self._body = path, body
        self._socket = socket.socket(socket.AF_UNIX)
        # Bound by a short name: a sandbox's directories are deeper than a socket's path may be.
        with _shortcut(path.parent) as short:
            self._socket.bind(f"{short}/{path.name}")
        self._socket.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self._socket.accept()
            except OSError:
                return
            with client:
                page = client.recv(4096).split(b" ")[1:2] == [b"/status"]
                body = self._body if page else "no such page"
                head = f"HTTP/1.1 {200 if page else 404} X\r\nContent-Length: {len(body)}\r\n\r\n"
                client.sendall((head + body).encode())

    def end(self) -> None:
        """The process is gone, its file stays."""
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def leave(self) -> None:
        self.end()
        self._path.unlink(missing_ok=True)


@contextmanager
def _shortcut(directory: Path) -> Iterator[str]:
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)
