#!/bin/sh
# The dead man of kschedpatch: puts the former kube-scheduler manifest back unless the change is
# confirmed in time. Needs nothing but this file and the transaction in /var/lib/kschedpatch/txn:
# no network, no API server, no operator. Files in the kubelet's manifests directory decide:
#
#   .kschedpatch-RUN.old        the token: the former manifest. Confirming removes it.
#   .kschedpatch-RUN.restoring  the token, taken by this script: from here on it is too late to confirm.
#   .kschedpatch-RUN.new        the planned manifest, before the switch or after a restore.
#   kschedpatch-canary.yaml     a second scheduler, at work in the meantime: however it ends, it goes.
#   restore.sh boot     before the kubelet starts: after a reboot, restore at once
#   restore.sh watch    count down, then restore (what the unit runs)
#   restore.sh now      restore without waiting for the deadline
#
# Only renames are necessary: they work on a full disk. Everything else may fail.
set -u
LC_ALL=C mode=${1:-}
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
R=${KSCHEDPATCH_ROOT:-}
S=$R/var/lib/kschedpatch
T=$S/txn BOUND=$R/run/kschedpatch/bound

read_value() { v=; [ ! -r "$T/$1" ] || IFS= read -r v <"$T/$1"; } # into v, without a process
hash_of() { sha256sum <"$1" 2>/dev/null | cut -c1-64; }
note() { printf '%s %s\n' "$(date '+%F %T')" "$*" 2>/dev/null >>"$S/revisions/$run/log"; } 2>/dev/null

[ -d "$T" ] || exit 0
read_value run; run=$v; read_value manifest; manifest=$v; read_value boot; boot=$v
directory=${manifest%/*} M=${manifest##*/} CANARY=kschedpatch-canary.yaml
NEW=.kschedpatch-$run.new OLD=.kschedpatch-$run.old TAKEN=.kschedpatch-$run.restoring
# A lock without a manifest touched nothing yet; its owner or the next run clears it.
[ -n "$run" ] && [ -n "$manifest" ] || exit 0
[ ! -e "$BOUND" ] || { umount "$directory" && rm -f "$BOUND"; } 2>/dev/null
# All names are relative from here: they lead to this very directory, whatever is mounted over it.
cd "$directory" || exit 1

rebooted() {
  { IFS= read -r now <"$R/proc/sys/kernel/random/boot_id"; } 2>/dev/null || now=
  [ ! -e "$R/run/kschedpatch/$run" ] || [ "$boot" != "$now" ]
}

# Processes of static kube-scheduler pods: their uid is 32 hex digits, and the kubelet mounts
# /dev/termination-log from the pod's own directory.
running() {
  grep -lsE '/pods/[0-9a-f]{32}/containers/kube-scheduler/' "$R"/proc/[0-9]*/mountinfo >/dev/null 2>&1
}

# The pod's sandbox ends last, after a crash a second or two after the manifest went away.
sandboxed() {
  for log in "$R"/var/log/pods/kube-system_kube-scheduler-*_????????????????????????????????; do
    [ -z "$(timeout 5 crictl pods -q --state Ready --label "io.kubernetes.pod.uid=${log##*_}" 2>/dev/null)" ] || return 0
  done; return 1
}

# The kubelet makes a successor that comes too soon after that wait for 10 s more.
wait_for_its_end() {
  tries=0 rest=2
  command -v crictl >/dev/null 2>&1 || rest=3.5 # the sandbox can't be seen
  # A switch that was under way may bring the new one in meanwhile: the caller looks again then.
  while [ ! -e "$M" ] && { { sandboxed && rest=1.5; } || running; }; do
    tries=$((tries + 1)); if [ $tries -lt 120 ]; then sleep 0.2; else break; fi
  done
  [ -e "$M" ] || sleep $rest
}

# Same bytes, same uid: what the runtime remembers of its earlier containers counts as crashes.
forget_exited() {
  read_value uid; uid=$v; [ -n "$uid" ] || return
  gone=$(timeout 10 crictl ps -a -q --state Exited --label "io.kubernetes.pod.uid=$uid" 2>/dev/null)
  # shellcheck disable=SC2086  # ids, one a word
  [ -z "$gone" ] || timeout 10 crictl rm $gone >/dev/null 2>&1
}

# The manifest is away and can't be put back (read-only): show the kubelet a copy that lies in memory.
# It looks at the directory anew every 20 s.
last_resort() {
  [ ! -e "$BOUND" ] || return
  copy=$R/run/kschedpatch/manifests
  rm -rf "$copy" && mkdir -p "$copy" && cp -p ./[!.]* "$copy/" 2>/dev/null; rm -f "$copy/$CANARY"
  if cp -p "$TAKEN" "$copy/$M" 2>/dev/null || cp -p "$OLD" "$copy/$M"; then
    mount --bind "$copy" "$directory" && true >"$BOUND"
  fi
}

ended() {
  note "ended: $1"
  # Not again what `finish` has written: whoever looks in that moment would find an empty file.
  grep -qsx "$1" "$S/revisions/$run/outcome" || printf '%s\n' "$1" 2>/dev/null >"$S/revisions/$run/outcome"
  { rm -f "$NEW" ".kschedpatch-$run.canary" "$CANARY" || [ "$mode" = boot ] || exit 1; rm -f "$R/run/kschedpatch/$run"; } 2>/dev/null
  # In one step: half of a transaction would be neither a lock nor none.
  rm -rf "$S/ended" 2>/dev/null; mv "$T" "$S/ended" && rm -rf "$S/ended"
  [ -e "$M" ] || [ ! -e "$OLD" ] || mv -f "$OLD" "$M" # by a switch that went on in this very moment; the next finds no txn
  [ ! -d "$T" ] || [ "$mode" = boot ] || exit 1 # as above a read-only disk: systemd starts the next try
  exit 0
}

# Returns only when it could not be done; the caller tries again.
restore() {
  there=$([ ! -e "$M" ] || hash_of "$M")
  read_value old; old=$v; read_value new; new=$v; [ -n "$new" ] || return 1 # ended in this very moment
  if [ ! -e "$TAKEN" ]; then
    if [ ! -e "$OLD" ]; then
      case $there in
        "$new") ended confirmed ;;
        "$old") ! grep -qsx restored "$S/revisions/$run/outcome" || ended restored; ended unswitched ;; # or by another one
        # Somebody else's; and ours, still waiting beside it, was never switched in.
        *) if [ -e "$NEW" ]; then ended unswitched; else ended foreign; fi ;;
      esac
    fi
    # Neither ours nor what it replaced: kubeadm's or a person's, and theirs to keep.
    case $there in
      '' | "$old" | "$new") ;;
      *) rm -f "$OLD" && ended foreign ;;
    esac
    mv -f "$OLD" "$TAKEN" || { [ -e "$M" ] || last_resort; return 1; }
    note "restoring: token taken"
  fi
  case $there in
    "$old") rm -f "$TAKEN" && ended restored ;;
    # The switch may have been killed when both names were links to one file: no rename then.
    "$new") rm -f "$NEW" && mv -f "$M" "$NEW" || return 1 ;;
    '') ;;
    *) rm -f "$TAKEN" && ended foreign ;;
  esac
  if [ "$1" != boot ]; then
    wait_for_its_end
    forget_exited
  fi
  # Somebody may have put a manifest there while we waited.
  [ ! -e "$M" ] || return 1
  mv -f "$TAKEN" "$M" || { last_resort; return 1; }
  [ ! -e "$BOUND" ] || { umount "$directory" && rm -f "$BOUND"; } 2>/dev/null
  ended restored
}

case $mode in
  boot) ! rebooted || restore boot; exit 0 ;; # what could not be done now, `watch` does
  now) restore now; exit 1 ;;
  watch)
    deadline='' missed=0
    printf '%s\n' "$$" 2>/dev/null >"$T/armed"
    while [ -d "$T" ]; do
      # Another run's, made while we slept: its orders are read from the start.
      IFS= read -r owner 2>/dev/null <"$T/run" && [ "$owner" != "$run" ] && exec sh "$0" watch
      IFS= read -r said 2>/dev/null <"$T/deadline" || said=
      # Empty while it is being renewed: then the one before counts. One that stays so is none.
      case $said in '' | *[!0-9]*) missed=$((missed + 1)); [ $missed -lt 9 ] || deadline=${deadline:-0} ;; *) deadline=$said ;; esac
      IFS=. read -r up _ <"$R/proc/uptime" || up=0
      if [ "$up" -ge "${deadline:-999999999}" ] || rebooted; then restore watch; sleep 1; else sleep 0.3; fi
    done ;;
esac
