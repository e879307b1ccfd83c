"""A sudo in the place of the real one, in all its moods. It knows the password's hash only."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

_STUB = """#!/bin/sh
# $0's directory holds: mood, sha256, calls (what it was called with), answers (how many it read).
here=${0%/*}
mood=$(cat "$here/mood")
echo "$*" | cut -c1-60 >>"$here/calls"
mode= prompt=
while [ $# -gt 0 ]; do
  case $1 in
    -n) mode=never; shift ;;
    -S) mode=stdin; shift ;;
    -p) prompt=$2; shift 2 ;;
    --) shift; break ;;
    *) echo "sudo: unexpected $1" >&2; exit 9 ;;
  esac
done
case $mood in
  silent) exec "$@" ;;
  stranger) echo "operator is not in the sudoers file." >&2; exit 1 ;;
esac
if [ "$mode" = never ]; then
  echo "sudo: a password is required" >&2
  exit 1
fi
case $mood in
  calm) exec "$@" ;;  # it remembers the last time after all: nothing is asked
  lecture) echo "We trust you have received the usual lecture. Password: " >&2 ;;
  factor) printf 'Verification code: ' >&2; read -r code; exit 1 ;;
esac
for attempt in 1 2 3; do
  printf '%s' "$prompt" >&2
  IFS= read -r answer || exit 1
  echo read >>"$here/answers"
  [ "$mood" = blabber ] && echo "debug: got $answer" >&2
  if [ "$(printf '%s' "$answer" | sha256sum | cut -d' ' -f1)" = "$(cat "$here/sha256")" ]; then
    exec "$@"
  fi
  echo "Sorry, try again." >&2
done
echo "sudo: 3 incorrect password attempts" >&2
exit 1
"""


class SudoStub:
    def __init__(self, directory: Path, password: str) -> None:
        self.directory = directory
        directory.mkdir()
        program = directory / "sudo"
        program.write_text(_STUB)
        program.chmod(0o755)
        (directory / "sha256").write_text(hashlib.sha256(password.encode()).hexdigest())
        self.be("asking")

    def be(self, mood: str) -> None:
        for name in ("calls", "answers"):
            (self.directory / name).write_text("")
        (self.directory / "mood").write_text(mood)

    @property
    def calls(self) -> list[str]:
        """Each way in which it was called: the flags alone."""
        lines = (self.directory / "calls").read_text().splitlines()
        return [line.split()[0] for line in lines]

    @property
    def answers(self) -> int:
        return (self.directory / "answers").read_text().count("read")

    def search_path(self) -> str:
        return f"{self.directory}:{Path(shutil.which('sh') or '/bin/sh').parent}:/usr/bin:/bin"
