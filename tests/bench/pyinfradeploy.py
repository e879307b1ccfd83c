"""The job as people write it for pyinfra, which runs this file. Nothing is brought to the disk."""

from __future__ import annotations

# pyinfra lives in an environment of its own (.venv-bench).
from pyinfra import host  # type: ignore[import-not-found]
from pyinfra.facts.files import File, Sha256File  # type: ignore[import-not-found]
from pyinfra.facts.server import Arch, Hostname  # type: ignore[import-not-found]
from pyinfra.operations import files, server  # type: ignore[import-not-found]

root, source = host.data.root, host.data.files
directory = f"{root}/etc/kubernetes/manifests"
manifest, new = f"{directory}/kube-scheduler.yaml", f"{directory}/.kube-scheduler.new"
backup, staged = f"{root}/var/backups/kube-scheduler.yaml", f"{root}/etc/kubernetes/scheduler"

for fact in (Hostname, Arch):
    host.get_fact(fact)
assert host.get_fact(File, path=manifest)
host.get_fact(Sha256File, path=manifest)

server.shell(
    name="Keep the manifest",
    commands=[f"mkdir -p {root}/var/backups", f"cp -p {manifest} {backup}"],
)
for name in host.data.names:
    files.put(name=f"Stage {name}", src=f"{source}/{name}", dest=f"{staged}/{name}", mode="644")
files.put(
    name="Bring the manifest", src=f"{source}/kube-scheduler.yaml", dest=new, mode="600", force=True
)
server.shell(name="Replace the manifest", commands=[f"mv -f {new} {manifest}"])
server.shell(
    name="Read everything back",
    commands=[f"echo '{digest}  {path}' | sha256sum -c" for path, digest in host.data.hashes],
)
