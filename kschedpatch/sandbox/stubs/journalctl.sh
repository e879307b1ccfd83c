#!/bin/sh
# The journal of the node: a file per unit, and a cursor that is an offset in it.
sim=${0%/*}/../../sim
unit=kubelet lines='' after='' show=''
while [ $# -gt 0 ]; do
  case $1 in
    -u | --unit) unit=$2; shift ;;
    --unit=*) unit=${1#*=} ;;
    -n | --lines) lines=$2; shift ;;
    --lines=*) lines=${1#*=} ;;
    -n*) lines=${1#-n} ;;
    --after-cursor) after=$2; shift ;;
    --after-cursor=*) after=${1#*=} ;;
    --show-cursor) show=1 ;;
    -o | --output | --since | -S) shift ;;
  esac
  shift
done
file=$sim/journal/${unit%.service}
[ -e "$file" ] || file=/dev/null
[ -z "$show" ] || size=$(wc -c <"$file")
if [ -n "$after" ]; then
  offset=${after##*i=}
  if [ -n "$lines" ]; then
    tail -c "+$((offset + 1))" "$file" | tail -n "$lines"
  else
    tail -c "+$((offset + 1))" "$file"
  fi
elif [ -n "$lines" ]; then
  tail -n "$lines" "$file"
else
  cat "$file"
fi
[ -z "$show" ] || echo "-- cursor: s=0123456789abcdef;i=$size"
