"""paramiko. Everybody takes it from here: it is loaded without two modules that would take a
quarter of its time each. By ``invoke`` it runs the commands of `Match exec` where it reads a
configuration itself; ``importlib.metadata`` it asks for nothing but its own version."""

from __future__ import annotations

import importlib
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any


class _Versions(ModuleType):
    """In the place of ``importlib.metadata``; whoever asks it for more gets the real one."""

    def version(self, name: str) -> str:
        spec = find_spec(name)
        found: list[str] = []
        if spec is not None and spec.origin:
            beside = Path(spec.origin).parents[1]
            found = [path.name for path in beside.glob(f"{name}-*.dist-info")]
        if len(found) == 1:
            return found[0].removeprefix(f"{name}-").removesuffix(".dist-info")
        told: str = self.__getattr__("version")(name)
        return told

    def __getattr__(self, name: str) -> Any:
        _take_out(self.__name__, self)
        return getattr(importlib.import_module(self.__name__), name)


def _put_in(name: str, module: ModuleType | None) -> None:
    sys.modules[name] = module  # type: ignore[assignment]  # typeshed knows of modules only
    package, _, attribute = name.rpartition(".")
    # By that name too, as after every import. There it stays until somebody imports the real one:
    # who has imported the package by this name may ask later.
    if package:
        setattr(sys.modules[package], attribute, module)


def _take_out(name: str, module: ModuleType | None) -> None:
    if sys.modules.get(name, name) is module:
        sys.modules.pop(name, None)


def _left_out() -> dict[str, ModuleType | None]:
    found: dict[str, ModuleType | None] = {}
    # Where there is an ssh, that one reads the configuration (sshconfig.py). An entry of None is
    # how Python is told that a module can't be imported; paramiko does without.
    if shutil.which("ssh") is not None:
        found["invoke"] = None
    found["importlib.metadata"] = _Versions("importlib.metadata")
    return {name: module for name, module in found.items() if name not in sys.modules}


_instead = _left_out()
for _name, _module in _instead.items():
    _put_in(_name, _module)
try:
    import paramiko
finally:
    for _name, _module in _instead.items():
        _take_out(_name, _module)

__all__ = ["paramiko"]
