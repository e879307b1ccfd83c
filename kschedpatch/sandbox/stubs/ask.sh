#!/bin/sh
# Sourced by the other stubs: asks the simulation, prints its answer and ends with its code.
# Says want_stdin=1 before who passes its own stdin on; all others leave it alone, because it may
# be the rest of what an SSH client sends.
sim=${0%/*}/../../sim

ask() {
  if ! [ -p "$sim/requests" ]; then
    echo "${0##*/}: the sandbox is not running" >&2
    exit 1
  fi
  box=$sim/box.$$
  [ ! -e "$box" ] || rm -rf "$box"
  mkdir "$box"
  mkfifo "$box/done"
  printf '%s\0' "$@" >"$box/argv"
  [ -z "${want_stdin:-}" ] || cat >"$box/stdin"
  # Both ends open: neither side waits for the other to open, and a killed asker blocks nobody.
  exec 8<>"$box/done" 9<>"$sim/requests"
  echo $$ >&9
  read -r code <&8
  [ ! -s "$box/stdout" ] || cat "$box/stdout"
  [ ! -s "$box/stderr" ] || cat "$box/stderr" >&2
  rm -rf "$box"
  exit "$code"
}
