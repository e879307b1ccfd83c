"""A TCP proxy that makes the way longer: half of a round-trip time in each direction.

What goes through is held back, never held up: each piece has its own due time, so the way gets
longer and no narrower. It stands beside the client, and counts how often that waited for an answer.
"""

from __future__ import annotations

import queue
import socket
import threading
import time
from contextlib import suppress

_CHUNK = 65536


class Connection:
    """What went over one connection. A turn: the client says something after it has heard
    something, so it may have waited for that."""

    def __init__(self) -> None:
        self.turns = 0
        self._heard = True  # the connection itself was answered
        self._lock = threading.Lock()

    def client_spoke(self) -> None:
        with self._lock:
            self.turns += self._heard
            self._heard = False

    def client_hears(self) -> None:
        with self._lock:
            self._heard = True


class DelayProxy:
    """Listens on a free port of 127.0.0.1; ``round_trip`` counts for connections made later."""

    def __init__(self, target: tuple[str, int]) -> None:
        self.round_trip = 0.0
        self.connections: list[Connection] = []
        self._target = target
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> DelayProxy:
        return self

    def __exit__(self, *_: object) -> None:
        for sock in (self._listener, *self._sockets):
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        way = self.round_trip / 2
        connection = Connection()
        self.connections.append(connection)
        # The kernel has answered the client at once; from a far node that takes a round trip.
        time.sleep(2 * way)
        server = socket.create_connection(self._target, 5)
        self._sockets += (client, server)
        for sock in (client, server):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _Direction(client, server, way, connection, from_client=True)
        _Direction(server, client, way, connection, from_client=False)


class _Direction:
    def __init__(
        self,
        source: socket.socket,
        target: socket.socket,
        way: float,
        connection: Connection,
        *,
        from_client: bool,
    ) -> None:
        self._source, self._target = source, target
        self._way, self._connection, self._from_client = way, connection, from_client
        self._held: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
        for part in (self._take, self._hand_on):
            threading.Thread(target=part, daemon=True).start()

    def _take(self) -> None:
        data = b"-"
        while data:
            try:
                data = self._source.recv(_CHUNK)
            except OSError:
                data = b""
            if data and self._from_client:
                self._connection.client_spoke()
            self._held.put((time.perf_counter() + self._way, data))

    def _hand_on(self) -> None:
        with suppress(OSError):
            while True:
                due, data = self._held.get()
                time.sleep(max(0.0, due - time.perf_counter()))
                if not data:
                    self._target.shutdown(socket.SHUT_WR)
                    return
                if not self._from_client:
                    self._connection.client_hears()
                self._target.sendall(data)
