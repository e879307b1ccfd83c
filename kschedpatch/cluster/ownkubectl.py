"""The operator's own kubectl, for clusters whose nodes nobody has to log in to."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from kschedpatch.cluster.kubectl import ApiRefused
from kschedpatch.node.agent import Answer

PROGRAM = "kubectl"
#: Beyond what kubectl itself waits for the API server.
_MARGIN = 20
_LINES, _LONG = 40, 1000


class OwnKubectl:
    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig

    def api(self, words: Sequence[str], stdin: bytes | None = None, timeout: int = 10) -> Answer:
        head = [PROGRAM, f"--kubeconfig={self._kubeconfig}", f"--request-timeout={timeout}s"]
        try:
            done = subprocess.run(  # noqa: S603  words as a list, from this package
                [*head, *words],
                input=stdin if stdin is not None else b"",
                capture_output=True,
                check=False,
                timeout=timeout + _MARGIN,
                start_new_session=True,  # Ctrl-C at the terminal is this program's business alone
            )
        except FileNotFoundError:
            raise ApiRefused("there is no kubectl on this machine") from None
        except subprocess.TimeoutExpired:
            raise ApiRefused(f"kubectl took longer than {timeout + _MARGIN} s") from None
        lines = done.stderr.decode("utf-8", "replace").splitlines()[-_LINES:]
        return Answer(done.returncode, done.stdout, "\n".join(line[:_LONG] for line in lines))
