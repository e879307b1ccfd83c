"""Names that a generated configuration mentions and that are there when the scheduler runs: a
kubeconfig in its working directory, and a key pair in the text itself."""

from __future__ import annotations

import base64
from pathlib import Path

KUBECONFIG = "kubeconfig"
#: Refused at once on the loopback; `--master` says it again, whatever a file says.
NOBODY = "https://127.0.0.1:1"

_HERE = Path(__file__).parent / "tls"


def _data(name: str) -> str:
    return base64.b64encode((_HERE / name).read_bytes()).decode()


CA_DATA = CERT_DATA = _data("extender.crt")
KEY_DATA = _data("extender.key")


def furnish(directory: Path) -> None:
    text = f"""\
apiVersion: v1
kind: Config
clusters: [{{name: nobody, cluster: {{server: "{NOBODY}"}}}}]
contexts: [{{name: nobody, context: {{cluster: nobody, user: nobody}}}}]
current-context: nobody
users: [{{name: nobody, user: {{}}}}]
"""
    (directory / KUBECONFIG).write_text(text)
