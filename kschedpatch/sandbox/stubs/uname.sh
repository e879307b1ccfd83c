#!/bin/sh
# The machine is what the sandbox says; everything else is this one's.
sim=${0%/*}/../../sim
[ "$*" = -m ] || exec /bin/uname "$@"
exec cat "$sim/machine"
