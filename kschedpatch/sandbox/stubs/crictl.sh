#!/bin/sh
# Containers and images: what the simulation wrote down is read here, the rest is asked for.
sim=${0%/*}/../../sim
# shellcheck source=kschedpatch/sandbox/stubs/ask.sh
. "${0%/*}/.ask"

ps_() {
  all='' quiet='' label='' state='' name=''
  while [ $# -gt 0 ]; do
    case $1 in
      -a | --all) all=1 ;;
      -q | --quiet) quiet=1 ;;
      -aq | -qa) all=1 quiet=1 ;;
      --label) label=$2; shift ;;
      --label=*) label=${1#*=} ;;
      --state | -s) state=$2; shift ;;
      --state=*) state=${1#*=} ;;
      --name) name=$2; shift ;;
      --name=*) name=${1#*=} ;;
    esac
    shift
  done
  name=${name#^}
  name=${name%\$}
  uid=
  case $label in
    io.kubernetes.pod.uid=*) uid=${label#*=} ;;
  esac
  [ -n "$quiet" ] || echo "CONTAINER STATE NAME ATTEMPT POD-UID IMAGE"
  while read -r c_id c_state c_name c_attempt c_uid c_image; do
    case $c_name in *"$name"*) ;; *) continue ;; esac
    [ -z "$uid" ] || [ "$uid" = "$c_uid" ] || continue
    case $state in
      '') [ -n "$all" ] || [ "$c_state" = Running ] || continue ;;
      [Rr]unning) [ "$c_state" = Running ] || continue ;;
      *) [ "$c_state" = Exited ] || continue ;;
    esac
    if [ -n "$quiet" ]; then
      echo "$c_id"
    else
      echo "$c_id $c_state $c_name $c_attempt $c_uid $c_image"
    fi
  done <"$sim/containers"
}

while :; do
  case ${1:-} in
    -r | --runtime-endpoint | -i | --image-endpoint | -t | --timeout | -c | --config) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
case ${1:-} in
  ps) shift; ps_ "$@"; exit 0 ;;
  exec)
    # shellcheck disable=SC2034 # read by ask
    want_stdin=1
    ;;
esac
ask crictl "$@"
