#!/bin/sh
# Asks the simulation; stdin is read only where a file is named "-".
# shellcheck source=kschedpatch/sandbox/stubs/ask.sh
. "${0%/*}/.ask"
previous=''
for arg; do
  case $previous$arg in
    -f- | --filename- | --filename=- | -f=-)
      # shellcheck disable=SC2034 # read by ask
      want_stdin=1
      ;;
  esac
  previous=''
  case $arg in -f | --filename) previous=$arg ;; esac
done
ask kubectl "$@"
