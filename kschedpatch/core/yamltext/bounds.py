"""What is read at all: a kubeadm manifest has 2 KiB and 110 nodes. The bounds keep a hostile file
within a second."""

from __future__ import annotations

MAX_BYTES = 128 * 1024
MAX_NODES = 5000
MAX_DEPTH = 32

TOO_DEEP = f"nested more than {MAX_DEPTH} levels deep"
