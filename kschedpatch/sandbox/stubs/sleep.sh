#!/bin/sh
# Sleeps in simulated time: sim/speed says how many simulated seconds one real second has.
sim=${0%/*}/../../sim
read -r speed <"$sim/speed"
micro=0
for arg; do
  arg=${arg%s}
  whole=${arg%%.*}
  fraction=
  case $arg in *.*) fraction=${arg#*.} ;; esac
  fraction=${fraction}000000
  fraction=${fraction%"${fraction#??????}"}
  micro=$((micro + ${whole:-0} * 1000000 + 1$fraction - 1000000))
done
micro=$((micro / speed))
rest=$((micro % 1000000 + 1000000))
exec /bin/sleep "$((micro / 1000000)).${rest#1}"
