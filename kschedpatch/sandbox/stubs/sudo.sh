#!/bin/sh
# sim/sudo says how: "root" and "free" ask nothing, "asks PASSWORD" does; sim/lecture is shown.
sim=${0%/*}/../../sim
read -r mode password <"$sim/sudo"
never='' stdin='' prompt='[sudo] password for ops: '
while [ $# -gt 0 ]; do
  case $1 in
    -n | --non-interactive) never=1 ;;
    -S | --stdin) stdin=1 ;;
    -nS | -Sn) never=1 stdin=1 ;;
    -p | --prompt) prompt=$2; shift ;;
    --prompt=*) prompt=${1#*=} ;;
    -u | --user) shift ;;
    --) shift; break ;;
    -*) ;;
    *) break ;;
  esac
  shift
done
[ ! -s "$sim/lecture" ] || cat "$sim/lecture" >&2
if [ "$mode" = asks ]; then
  if [ -n "$never" ]; then
    echo 'sudo: a password is required' >&2
    exit 1
  fi
  if [ -z "$stdin" ]; then
    echo 'sudo: a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper' >&2
    exit 1
  fi
  for try in 1 2 3; do
    printf '%s' "$prompt" >&2
    if ! IFS= read -r given; then
      printf '\nsudo: no password was provided\nsudo: a password is required\n' >&2
      exit 1
    fi
    echo >&2
    [ "$given" != "$password" ] || break
    if [ "$try" = 3 ]; then
      echo 'sudo: 3 incorrect password attempts' >&2
      exit 1
    fi
    echo 'Sorry, try again.' >&2
  done
fi
export KSCHEDPATCH_SANDBOX_SUDO=1
[ $# -gt 0 ] || exit 0
exec "$@"
