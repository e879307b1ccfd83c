"""A TCP proxy that can cut, reset or swallow what goes through it, for tests."""

from __future__ import annotations

import select
import socket
import struct
import threading
from contextlib import suppress


class TcpProxy:
    """Listens on a free port of 127.0.0.1 and passes everything on to ``target``."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._swallow = threading.Event()
        self._stopped = threading.Event()
        self.accepted = 0
        self.passed = 0
        """Bytes from the client so far."""
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Ends every connection in an orderly way (FIN)."""
        self._end(reset=False)

    def reset(self) -> None:
        """Ends every connection at once (RST), on both sides."""
        self._end(reset=True)

    def black_hole(self) -> None:
        """From now on nothing is passed on, in either direction, and nobody is told."""
        self._swallow.set()

    def heal(self) -> None:
        self._swallow.clear()

    def stop(self) -> None:
        self._stopped.set()
        self._listener.close()
        self._end(reset=True)

    def __enter__(self) -> TcpProxy:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _end(self, *, reset: bool) -> None:
        with self._lock:
            pairs, self._pairs = self._pairs, []
        for sock in (sock for pair in pairs for sock in pair):
            with suppress(OSError):
                if reset:
                    linger = struct.pack("ii", 1, 0)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                else:
                    sock.shutdown(socket.SHUT_RDWR)
                sock.close()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self.accepted += 1
            try:
                server = socket.create_connection(self._target, 5)
            except OSError:
                client.close()
                continue
            with self._lock:
                self._pairs.append((client, server))
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        other = {client: server, server: client}
        with suppress(OSError, ValueError):
            while True:
                for sock in select.select([client, server], [], [], 0.05)[0]:
                    if self._swallow.is_set():
                        self._stopped.wait(0.05)
                        continue
                    data = sock.recv(65536)
                    if sock is client:
                        self.passed += len(data)
                    if not data:
                        other[sock].shutdown(socket.SHUT_WR)
                        return self._drain(other[sock], sock)
                    other[sock].sendall(data)

    def _drain(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                target.sendall(data)
            source.close()
            target.close()
