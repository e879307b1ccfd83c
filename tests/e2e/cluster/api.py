"""The cluster's API for the tests: JSON over the balancer with the administrator's certificate."""

from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .console import RigError
from .settings import API_PORT, GATE_ADDRESS

Object = dict[str, Any]
_SILENT_SECONDS = 10.0


class ApiError(RigError):
    """The API server's refusal."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(f"API: {status} {text}")
        self.status = status


class Api:
    """One connection per thread, made anew when it breaks."""

    def __init__(self, kubeconfig: Path, *, timeout: float = 10) -> None:
        self.kubeconfig = kubeconfig
        self._timeout = timeout
        self._context = _tls(kubeconfig)
        self._local = threading.local()

    def get(self, path: str) -> Object:
        return self._call("GET", path)

    def create(self, path: str, body: Object) -> Object:
        return self._call("POST", path, body)

    def replace(self, path: str, body: Object) -> Object:
        return self._call("PUT", path, body)

    def patch(self, path: str, body: Object) -> Object:
        return self._call("PATCH", path, body, "application/strategic-merge-patch+json")

    def delete(self, path: str, *, grace: int | None = None) -> None:
        query = "" if grace is None else f"?gracePeriodSeconds={grace}"
        try:
            self._call("DELETE", path + query)
        except ApiError as error:
            if error.status != 404:
                raise

    def text(self, path: str) -> str:
        """For what is not JSON: logs."""
        return self._raw("GET", path, None, None).decode(errors="replace")

    def exists(self, path: str) -> bool:
        try:
            self.get(path)
        except ApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    def watch(self, path: str, seconds: int) -> Iterator[Object]:
        """Events until the time is over or the connection breaks."""
        connection = http.client.HTTPSConnection(
            GATE_ADDRESS, API_PORT, context=self._context, timeout=seconds + 10
        )
        try:
            joint = "&" if "?" in path else "?"
            connection.request("GET", f"{path}{joint}watch=1&timeoutSeconds={seconds}")
            response = connection.getresponse()
            while line := response.readline():
                event = json.loads(line)
                # A refusal comes as a Status of its own, a lost place in the history as an event.
                if event.get("type", "ERROR") == "ERROR":
                    raise RigError(f"API: watch of {path}: {event}")
                yield event
        finally:
            connection.close()

    def _call(
        self, method: str, path: str, body: Object | None = None, kind: str = "application/json"
    ) -> Object:
        content = None if body is None else json.dumps(body).encode()
        answer: Object = json.loads(self._raw(method, path, content, kind))
        return answer

    def _raw(self, method: str, path: str, content: bytes | None, kind: str | None) -> bytes:
        headers = {"Content-Type": kind} if content is not None and kind else {}
        # A kept connection may have died with its API server, or of old age; only a
        # request that does no more the second time is sent twice without asking.
        for attempt in (1, 2):
            connection = self._connection()
            try:
                connection.request(method, path, content, headers)
                response = connection.getresponse()
                said = response.read()
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if attempt == 2 or method not in ("GET", "DELETE"):
                    raise RigError(f"API: {method} {path}: {error!r}") from error
                continue
            if response.status >= 400:
                raise ApiError(response.status, said.decode(errors="replace")[:600])
            return said
        raise AssertionError("unreachable")

    def _connection(self) -> http.client.HTTPSConnection:
        # The balancer ends one that is silent for long, and nobody is told before the next request.
        if time.monotonic() - getattr(self._local, "used", 0.0) > _SILENT_SECONDS:
            self.close()
        self._local.used = time.monotonic()
        kept: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if kept is None:
            kept = http.client.HTTPSConnection(
                GATE_ADDRESS, API_PORT, context=self._context, timeout=self._timeout
            )
            self._local.connection = kept
        return kept

    def close(self) -> None:
        kept: http.client.HTTPSConnection | None = getattr(self._local, "connection", None)
        if kept is not None:
            kept.close()
            self._local.connection = None


def named(collection: str, name: str) -> str:
    return f"{collection}/{quote(name)}"


def client_pair(kubeconfig: Path) -> Path:
    """The administrator's certificate and key in one file: ssl reads them from a file only."""
    pair = kubeconfig.with_suffix(".pem")
    parts = _embedded(kubeconfig)
    content = parts["client-certificate"] + parts["client-key"]
    # Written once: other threads and runs read it meanwhile.
    if not pair.exists() or pair.read_bytes() != content:
        pair.touch(mode=0o600)
        pair.write_bytes(content)
    return pair


def _tls(kubeconfig: Path) -> ssl.SSLContext:
    authority = _embedded(kubeconfig)["certificate-authority"].decode()
    context = ssl.create_default_context(cadata=authority)
    context.load_cert_chain(client_pair(kubeconfig))
    return context


def _embedded(kubeconfig: Path) -> dict[str, bytes]:
    text = kubeconfig.read_text()
    return {
        key: base64.b64decode(re.search(rf"^\s*{key}-data: (\S+)$", text, re.MULTILINE)[1])  # type: ignore[index]
        for key in ("certificate-authority", "client-certificate", "client-key")
    }
