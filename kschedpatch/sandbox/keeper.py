"""The process that keeps a sandbox: it starts the nodes, says so, and takes all away at its end.

``python -m kschedpatch.sandbox.keeper DIRECTORY NODES SPEED``. Whoever starts it holds its standard
input: when that ends before the word ``stay`` came, the sandbox ends too. So nothing is left behind
by a program that was killed. SIGTERM ends it always.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

from kschedpatch.inputs.recipes import all_recipes, recipe_named
from kschedpatch.node.sshlibrary import paramiko
from kschedpatch.sandbox import operatorfiles, residence
from kschedpatch.sandbox.deviceplugin import SOCKET, DevicePlugin
from kschedpatch.sandbox.operatorfiles import Door
from kschedpatch.sandbox.sandbox import Sandbox
from kschedpatch.sandbox.sshserver import SshServer


def main(directory: Path, nodes: int, speed: int) -> None:
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    threading.Thread(target=_hold, args=(ended,), daemon=True).start()
    names = tuple(f"cp{number}" for number in range(1, nodes + 1))
    keeper = residence.Keeper(residence.this_process(), names, speed)
    residence.write_record(directory, keeper)
    try:
        with ExitStack() as kept:
            _start(directory, nodes, speed, kept)
            _say({"ready": True})
            # Files that somebody has taken away are no nodes any more.
            while not ended.wait(1.0) and residence.read_record(directory) == keeper:
                pass
    except Exception as error:  # noqa: BLE001  whoever waits for it is told in words
        _say({"problem": f"{type(error).__name__}: {error}"})
    finally:
        residence.remove(directory)


def _hold(ended: threading.Event) -> None:
    """Until whoever started it lets go, with the word or without."""
    if sys.stdin.buffer.readline().strip() != residence.STAY:
        ended.set()


def _say(body: dict[str, object]) -> None:
    """One line, then nothing more: a reader need not wait for an end."""
    os.write(1, json.dumps(body).encode() + b"\n")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _start(directory: Path, nodes: int, speed: int, kept: ExitStack) -> None:
    sandbox = Sandbox(directory / residence.NODES, nodes, speed=speed)
    kept.callback(sandbox.close)
    sandbox.registry.update(operatorfiles.IMAGES.values())
    for recipe in all_recipes():
        sandbox.registry.update(operatorfiles.named_images(recipe.files()))
    sandbox.start()
    key = paramiko.ECDSAKey.generate()
    key.write_private_key_file(str(directory / operatorfiles.IDENTITY))
    doors, known = [], []
    for node in sandbox.nodes:
        plugin = DevicePlugin(node.path(SOCKET))
        kept.callback(plugin.leave)
        server = SshServer(key, node.environment, directory=node.root)
        kept.callback(server.close)
        node.on_power_off.append(server.drop_connections)
        doors.append(Door(node.name, server.port))
        known.append(server.known_hosts_line())
    _write(directory / operatorfiles.KNOWN_HOSTS, "".join(known).encode())
    _write(
        directory / operatorfiles.SSH_CONFIG, operatorfiles.ssh_config(doors, directory).encode()
    )
    for name, content in operatorfiles.patches(recipe_named("gpumps").files()).items():
        _write(directory / name, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
