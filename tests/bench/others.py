"""The job by tools that people use instead: ansible-core and pyinfra, as whole processes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from tests.bench.jobspec import AFTER, FILES, MANIFESTS, ROOT, STAGED, sha256, write_files
from tests.bench.measuring import progress, stopwatch
from tests.bench.sshnodes import SshNode, SshNodes

ANSIBLE = ROOT / ".venv-ansible/bin/ansible-playbook"
PYINFRA = ROOT / ".venv-bench/bin/pyinfra"
_HERE = Path(__file__).parent


def others(nodes: SshNodes) -> dict[str, Callable[[], float]]:
    """Those that are installed."""
    found: dict[str, Callable[[], float]] = {}
    write_files(nodes.directory / "files")
    if PYINFRA.exists():
        found["pyinfra"] = partial(_pyinfra, nodes)
    else:
        progress("pyinfra is not installed and is left out: make .venv-bench/.ready")
    if ANSIBLE.exists():
        found["Ansible with pipelining"] = partial(_ansible, nodes, pipelining=True)
        found["Ansible with its default settings"] = partial(_ansible, nodes, pipelining=False)
    else:
        progress("Ansible is not installed and is left out: make .venv-ansible/.ready")
    return found


def _hashes(node: SshNode) -> list[tuple[str, str]]:
    wanted = {f"{STAGED}/{name}": content for name, content in FILES.items()}
    wanted[f"{MANIFESTS}/kube-scheduler.yaml"] = AFTER
    return [(f"{node.root}/{path}", sha256(content)) for path, content in wanted.items()]


def _ansible(nodes: SshNodes, *, pipelining: bool) -> float:
    hosts = {
        node.name: {
            "root": str(node.root),
            "ansible_remote_tmp": str(node.root / "var/ansible"),
            "hashes": [{"path": path, "sha256": digest} for path, digest in _hashes(node)],
        }
        for node in nodes.nodes
    }
    common = {
        "ansible_ssh_common_args": f"-F {nodes.ssh_config}",
        "files": str(nodes.directory / "files"),
        "names": list(FILES),
    }
    inventory = nodes.directory / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": hosts, "vars": common}}))
    # Its masters stay for a minute: without a directory of its own, the next run would find them.
    with tempfile.TemporaryDirectory(prefix="kspa-") as sockets:
        environment = {
            "ANSIBLE_FORKS": str(len(nodes.nodes)),
            "ANSIBLE_PIPELINING": str(int(pipelining)),
            "ANSIBLE_SSH_CONTROL_PATH_DIR": sockets,
            "ANSIBLE_HOME": str(nodes.directory / "ansible"),
            "ANSIBLE_NOCOLOR": "1",
        }
        command = [str(ANSIBLE), "-i", str(inventory), str(_HERE / "playbook.yml")]
        try:
            return _seconds(command, nodes, environment)
        finally:
            for socket in Path(sockets).iterdir():
                end = ["ssh", "-o", f"ControlPath={socket}", "-O", "exit", "none"]
                subprocess.run(end, capture_output=True, timeout=10, check=False)


def _pyinfra(nodes: SshNodes) -> float:
    hosts = [
        (
            node.name,
            {
                "ssh_hostname": "127.0.0.1",
                "ssh_port": node.server.port,
                "ssh_user": nodes.user,
                "ssh_key": str(nodes.key),
                "ssh_known_hosts_file": str(nodes.known_hosts),
                "ssh_strict_host_key_checking": "yes",
                "root": str(node.root),
                "files": str(nodes.directory / "files"),
                "names": list(FILES),
                "hashes": _hashes(node),
            },
        )
        for node in nodes.nodes
    ]
    work = nodes.directory / "pyinfra"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    (work / "inventory.py").write_text(f"nodes = {hosts!r}\n")
    shutil.copy(_HERE / "pyinfradeploy.py", work / "deploy.py")
    command = [str(PYINFRA), "-y", "--parallel", str(len(hosts)), "inventory.py", "deploy.py"]
    return _seconds(command, nodes, {}, work)


def _seconds(
    command: Sequence[str],
    nodes: SshNodes,
    environment: Mapping[str, str],
    directory: Path | None = None,
) -> float:
    around = {**os.environ, "HOME": str(nodes.directory), "LC_ALL": "C.UTF-8", **environment}
    with stopwatch() as watch:
        run = subprocess.Popen(
            command,
            cwd=directory or nodes.directory,
            env=around,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = run.communicate(timeout=1800)
        except BaseException:
            # With its workers, which go on without it.
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            raise
    if run.returncode:
        words = said.decode(errors="replace")
        raise RuntimeError(f"{command[0]} ended with {run.returncode}: {words[-3000:]}")
    return watch.seconds
