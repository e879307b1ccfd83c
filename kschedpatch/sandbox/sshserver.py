"""An SSH server for sandbox nodes where no sshd is installed: one key, exec, and direct-tcpip.

For throwaway nodes only: every command runs as the user who started it. It listens on the loopback.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

from kschedpatch.node.sshlibrary import paramiko

_CHUNK = 32768


class SshServer:
    """Listens from its making until ``close``. ``environment`` is what commands see."""

    def __init__(
        self,
        client_key: paramiko.PKey,
        environment: Callable[[], Mapping[str, str]],
        *,
        host_key: paramiko.PKey | None = None,
        directory: Path | None = None,
        port: int = 0,
        banner: str = "",
    ) -> None:
        self.client_key = client_key
        self.environment = environment
        self.directory = directory
        self.host_key = host_key or paramiko.ECDSAKey.generate()
        self.banner = banner
        self._listener = socket.create_server(("127.0.0.1", port))
        self.port: int = self._listener.getsockname()[1]
        self._transports: set[paramiko.Transport] = set()
        self._lock = threading.Lock()
        self._closed = False
        threading.Thread(target=self._accept, name="sandbox-ssh", daemon=True).start()

    def known_hosts_line(self) -> str:
        key = self.host_key
        return f"[127.0.0.1]:{self.port} {key.get_name()} {key.get_base64()}\n"

    def drop_connections(self) -> None:
        """All connections end at once: the node lost power."""
        with self._lock:
            transports, self._transports = self._transports, set()
        for transport in transports:
            transport.close()

    def close(self) -> None:
        self._closed = True
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()

    def _accept(self) -> None:
        while not self._closed:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        transport = paramiko.Transport(connection)
        session = _Session(self)
        transport.add_server_key(self.host_key)
        with self._lock:
            self._transports.add(transport)
        try:
            transport.start_server(server=session)
        except (paramiko.SSHException, EOFError, OSError):
            transport.close()  # a client that does not like our key, or only knocked
            return
        while transport.is_active():
            # Sessions are served by what their requests start; jumps begin here.
            channel = transport.accept(1)
            if channel is not None:
                session.opened(channel)
        with self._lock:
            self._transports.discard(transport)


class _Session(paramiko.ServerInterface):
    def __init__(self, server: SshServer) -> None:
        self._server = server
        self._targets: dict[int, socket.socket] = {}

    def get_allowed_auths(self, username: str) -> str:  # noqa: ARG002 (paramiko's interface)
        return "publickey"

    def get_banner(self) -> tuple[str | None, str | None]:
        return (self._server.banner, "en-US") if self._server.banner else (None, None)

    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:  # noqa: ARG002
        known = key.asbytes() == self._server.client_key.asbytes()
        return paramiko.common.AUTH_SUCCESSFUL if known else paramiko.common.AUTH_FAILED

    def check_channel_request(self, kind: str, chanid: int) -> int:  # noqa: ARG002
        if kind == "session":
            return paramiko.common.OPEN_SUCCEEDED
        return paramiko.common.OPEN_FAILED_ADMINISTRATIVELY_PROHIBITED

    def check_channel_exec_request(self, channel: paramiko.Channel, command: bytes) -> bool:
        threading.Thread(target=self._run, args=(channel, command), daemon=True).start()
        return True

    def check_channel_env_request(
        self,
        channel: paramiko.Channel,  # noqa: ARG002
        name: bytes,  # noqa: ARG002
        value: bytes,  # noqa: ARG002
    ) -> bool:
        return False

    def check_channel_direct_tcpip_request(
        self,
        chanid: int,
        origin: tuple[str, int],  # noqa: ARG002
        destination: tuple[str, int],
    ) -> int:
        try:
            target = socket.create_connection(destination, timeout=5)
        except OSError:
            return paramiko.common.OPEN_FAILED_CONNECT_FAILED
        target.settimeout(None)
        target.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._targets[chanid] = target
        return paramiko.common.OPEN_SUCCEEDED

    def opened(self, channel: paramiko.Channel) -> None:
        target = self._targets.pop(channel.get_id(), None)
        if target is not None:
            threading.Thread(target=_jump, args=(channel, target), daemon=True).start()

    def _run(self, channel: paramiko.Channel, command: bytes) -> None:
        process = subprocess.Popen(  # noqa: S603 (what sshd does: the client's command by a shell)
            ["/bin/sh", "-c", os.fsdecode(command)],
            env={**os.environ, **self._server.environment()},
            cwd=self._server.directory,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        assert process.stdout is not None  # noqa: S101 (for the types)
        assert process.stderr is not None  # noqa: S101
        pumps = [
            threading.Thread(target=_pump, args=(process.stdout.fileno(), channel.sendall)),
            threading.Thread(target=_pump, args=(process.stderr.fileno(), channel.sendall_stderr)),
        ]
        for pump in pumps:
            pump.start()
        threading.Thread(target=_feed, args=(channel, process), daemon=True).start()
        for pump in pumps:
            pump.join()
        code = process.wait()
        with contextlib.suppress(OSError, EOFError, paramiko.SSHException):
            channel.send_exit_status(code if code >= 0 else 128 - code)
            channel.close()


def _jump(channel: paramiko.Channel, target: socket.socket) -> None:
    def inwards() -> None:
        with contextlib.suppress(OSError):
            while data := channel.recv(_CHUNK):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    threading.Thread(target=inwards, daemon=True).start()
    with contextlib.suppress(OSError):
        while data := target.recv(_CHUNK):
            channel.sendall(data)
    channel.close()
    target.close()


def _pump(descriptor: int, send: Callable[[bytes], object]) -> None:
    with contextlib.suppress(OSError, EOFError):
        while data := os.read(descriptor, _CHUNK):
            send(data)


def _feed(channel: paramiko.Channel, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin is not None  # noqa: S101 (for the types)
    with contextlib.suppress(OSError, ValueError):
        while data := channel.recv(_CHUNK):
            process.stdin.write(data)
            process.stdin.flush()
    with contextlib.suppress(OSError, ValueError):
        process.stdin.close()
    # As sshd does it: a command whose connection is gone gets a hang-up.
    transport = channel.get_transport()
    if (transport is None or not transport.is_active()) and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGHUP)
