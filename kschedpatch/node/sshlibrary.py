"""paramiko. Everybody takes it from here: it is loaded without ``invoke``, which is a third of its
time, and by which it runs the commands of `Match exec` where it reads a configuration itself."""

from __future__ import annotations

import shutil
import sys

# Where there is an ssh, that one reads the configuration (sshconfig.py). An entry of None is how
# Python is told that a module can't be imported; paramiko does without.
_LEFT_OUT = "invoke" not in sys.modules and shutil.which("ssh") is not None
if _LEFT_OUT:
    sys.modules["invoke"] = None  # type: ignore[assignment]  # typeshed knows of modules only
try:
    import paramiko
finally:
    if _LEFT_OUT:
        del sys.modules["invoke"]

__all__ = ["paramiko"]
