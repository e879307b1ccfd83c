#!/bin/sh
# Asks the simulation.
# shellcheck source=kschedpatch/sandbox/stubs/ask.sh
. "${0%/*}/.ask"
ask systemctl "$@"
