# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# canary: the planned scheduler as a second static pod, a standby on the live one's lease. And how the
# lease goes from one process to the next without anybody waiting for it.

# The first port that nobody listens on. Below the ranges of NodePorts and of outgoing connections.
free_port() {
  for port_free in 10269 10270 10271 10272 10273 10274 10275 10276 10277 10278 10279; do
    listens $port_free || { printf %s $port_free && return 0; }
  done
  return 1
}

# canary run=... host=... health=PATH settle=SECONDS timeout=SECONDS [log=1], payloads: manifest,
# configuration (empty: the planned one). Ends when it is proven, or gone again.
canary() {
  mine
  [ "$(txn_state)" = armed ] || stop "$REFUSED" state "the transaction is $(txn_state), not armed"
  dead_man_lives || stop "$REFUSED" dead-man "the dead man is gone; nothing was changed"
  # One that a former run could not take away: its successor of the same name would have to wait.
  if [ -e "$CANARY_MANIFEST" ]; then
    canary_ends
    sleep 2
  fi
  canary_room
  canary_file=$DIRECTORY/.kschedpatch-$arg_run.canary
  {
    frame_to "$T/canary.yaml" && frame_to "$T/canary-config.yaml" && chmod 644 "$T/canary-config.yaml" &&
      (umask 077 && sed "s/KSCHEDPATCH_CANARY_PORT/$arg_port/g" "$T/canary.yaml" >"$canary_file") &&
      [ "$(($(wc -l <"$canary_file")))" = "$(($(wc -l <"$T/canary.yaml")))" ]
  } 2>/dev/null || canary_failed "can't write $canary_file"
  if there chcon && [ -d /sys/fs/selinux ]; then chcon --reference="$MANIFEST" "$canary_file" 2>/dev/null; fi
  flush "$canary_file"
  remember_logs || canary_failed "can't write to $T"
  mv -f "$canary_file" "$CANARY_MANIFEST" 2>/dev/null || canary_failed "can't rename in $DIRECTORY"
  # The dead man may have ended the run a moment before, and would not come back for it.
  [ "$(txn run)" = "$arg_run" ] || {
    ! canary_is_mine || rm -f "$CANARY_MANIFEST"
    stop "$TOO_LATE" restored "the dead man has ended the run"
  }
  emit_fact port "$arg_port"
  POD=$CANARY arg_want=new
  watch
}

# A port; and a place among the node's pods: the kubelet would evict one for it, critical as it is.
canary_room() {
  arg_port=$(free_port) || stop "$COULD_NOT" room "no port from 10269 to 10279 is free for the canary"
  room_most=$(kubelet_setting maxPods)
  there crictl || return 0
  room_pods=$(timeout 10 crictl pods -q --state Ready 2>/dev/null | wc -l)
  [ "$((room_pods))" -lt "${room_most:-110}" ] ||
    stop "$COULD_NOT" room "the node runs $((room_pods)) pods, as many as it may: there is no place for the canary"
}

canary_failed() {
  rm -f "$canary_file"
  stop "$COULD_NOT" disk "$1; nothing was changed"
}

# Whoever is late must not take the next run's for its own.
canary_is_mine() { grep -qsF "kschedpatch.io/run: $arg_run" "$CANARY_MANIFEST"; }

# canary_ends: the kubelet ends it; 1: its process is still there
canary_ends() {
  ends_pod=$POD POD=$CANARY
  find_live
  POD=$ends_pod
  rm -f "$CANARY_MANIFEST"
  ends_tries=0
  while [ -n "$LIVE_PID" ] && [ -d "$R/proc/$LIVE_PID" ]; do
    ends_tries=$((ends_tries + 1))
    [ $ends_tries -le 50 ] || return 1
    sleep 0.1
  done
}

# The new scheduler is proven. The canary should be a standby by now; where the new one's first attempt
# was in vain, it leads again, and must not take the lease with it.
canary_goes() {
  canary_is_mine || return 0
  POD=$CANARY
  find_live
  if [ -z "$LIVE_PID" ] || ! has_acquired "$LIVE_LOGS"; then
    rm -f "$CANARY_MANIFEST"
    return
  fi
  goes_holder=$(own_holder)
  canary_ends && bury "$goes_holder"
}

# The canary leads, and so does the live one: they do not elect on the same lease.
canary_beside_leader() {
  has_acquired "$LIVE_LOGS" || return 1
  POD=kube-scheduler
  find_live
  POD=$CANARY
  [ -n "$LIVE_PID" ] && has_acquired "$LIVE_LOGS"
}

# lease_holder: who holds it, and the lease's resource version
lease_holder() {
  [ -n "$arg_lease" ] && there kubectl || return 1
  kubectl_within 4 --request-timeout=3s -n "${arg_lease%/*}" get lease "${arg_lease#*/}" \
    -o 'jsonpath={.spec.holderIdentity} {.metadata.resourceVersion}' 2>/dev/null
}

# own_holder: the identity in the lease, if it is of a process on this node
own_holder() {
  own_said=$(lease_holder) || return 1
  case $own_said in
    "$(hostname)_"*) printf %s "${own_said%% *}" ;;
    *) return 1 ;;
  esac
}

# bury IDENTITY: now and then a scheduler ends without giving the lease back, and all others would wait
# for 15 s. Who calls has seen its process end. The resource version guards it: whoever took the lease
# meanwhile keeps it.
bury() {
  [ -n "$1" ] && bury_said=$(lease_holder) && [ "${bury_said%% *}" = "$1" ] || return 0
  kubectl_within 4 --request-timeout=3s -n "${arg_lease%/*}" patch lease "${arg_lease#*/}" --type=merge \
    -p "{\"metadata\":{\"resourceVersion\":\"${bury_said##* }\"},\"spec\":{\"holderIdentity\":\"\",\"leaseDurationSeconds\":1}}" \
    >/dev/null 2>&1 && printf '%s\n' "$1" 2>/dev/null >>"$T/buried"
}

# has_acquired LOGS: the process of the newest log leads, or it would have ended. Rotated parts count.
has_acquired() { newest_log "$1" && grep -qs '[Ss]uccessfully acquired lease' "$1/$NEWEST.log"*; }

# log_cs FILE TEXT: when the log first said this, in hundredths of a second of its day
log_cs() {
  log_time=$(sed -n "/$2/{s/^[^T]*T\([0-9]*\):\([0-9]*\):\([0-9]*\)\.\([0-9][0-9]\).*/1\1 1\2 1\3 1\4/p;q;}" "$1" 2>/dev/null)
  # The ones before them keep 08 from being read as octal.
  set -- $log_time
  [ $# = 4 ] && printf %s $(((($1 - 100) * 60 + $2 - 100) * 6000 + ($3 - 100) * 100 + $4 - 100))
}

# span_cs FILE FROM TO: hundredths of a second between two things that a log says; nothing where it does not
span_cs() {
  span_from=$(log_cs "$1" "$2") && span_to=$(log_cs "$1" "$3") || return 1
  span=$(((span_to - span_from + 8640000) % 8640000))
  [ $span -le 6000 ] && printf %s $span
}

# hand_over: the canary lets go of the lease shortly before the new scheduler (arg_port) asks for it for the
# first time: too early, and nobody leads until then; too late, and its next attempt comes a retry period
# or two later. "Serving securely" in its log is the sign: what follows are its caches, then it asks. The
# kubelet starts the canary again, as a standby. 1: not yet.
hand_over() {
  [ "$arg_canary" = 1 ] && [ ! -e "$T/handed" ] && canary_is_mine || return 0
  listens "$arg_port" || return 1
  find_live
  newest_log "$LIVE_LOGS"
  hand_main=$LIVE_PID hand_log=$LIVE_LOGS/$NEWEST.log
  POD=$CANARY
  find_live
  POD=kube-scheduler
  if [ -n "$hand_main" ] && [ -n "$LIVE_PID" ] && has_acquired "$LIVE_LOGS"; then
    hand_over_awaits "$LIVE_LOGS/0.log" || return 1
    # The new one has ended meanwhile.
    listens "$arg_port" || return 1
    has_asked || hold_main
    if has_asked; then
      # It was quicker: to let go now would leave nobody until it asks again.
      free_main
      ! hand_over_is_early || return 1
    fi
    canary_lets_go
  fi
  true 2>/dev/null >"$T/handed"
  return 0
}

has_asked() { grep -qs '[Aa]ttempting to acquire leader lease' "$hand_log"; }

# hand_over_awaits LOG: whether the moment is there. The canary's own log tells how long its caches took.
hand_over_awaits() {
  hand_caches=$(span_cs "$1" 'Serving securely' '[Aa]ttempting to acquire leader lease') || return 0
  # They take long in a large cluster, and nobody knows how long this time: later is better.
  if [ $hand_caches -gt 250 ]; then
    has_asked
    return
  fi
  hand_tries=0
  until grep -qs 'Serving securely' "$hand_log"; do
    hand_tries=$((hand_tries + 1))
    listens "$arg_port" && [ $hand_tries -le 100 ] || return 1
    sleep 0.03
  done
  hand_rest=$((hand_caches * 4 / 10 - 30))
  [ $hand_rest -le 0 ] || sleep "$(printf '%d.%02d' $((hand_rest / 100)) $((hand_rest % 100)))"
}

# Its first attempt was in vain. The next one comes after its retry period (arg_retry, hundredths of a
# second) at the earliest: until then the canary goes on.
hand_over_is_early() {
  now
  hand_asked=${hand_asked:-$NOW}
  [ $NOW -lt $((hand_asked + arg_retry - 30)) ]
}

# While the canary ends, the new scheduler must not ask: for these tenths of a second it is stopped.
# Whatever becomes of this shell, it goes on.
hold_main() {
  (trap '' HUP INT PIPE TERM && sleep 3 && signal CONT "$hand_main") 3<&- >/dev/null 2>&1 &
  signal STOP "$hand_main"
  # What it said last is on its way to its log.
  sleep 0.02
}

free_main() { signal CONT "$hand_main"; }

# signal NAME PID. The program, not the shell's own: simulated nodes have one that knows their processes.
signal() { env kill "-$1" "$2" 2>/dev/null || kill "-$1" "$2" 2>/dev/null; }

canary_lets_go() {
  signal TERM "$LIVE_PID"
  emit_step "the canary hands over"
  hand_tries=0
  while [ -d "$R/proc/$LIVE_PID" ] && [ $hand_tries -lt 100 ]; do
    hand_tries=$((hand_tries + 1))
    # It takes longer than it should: that is no reason to keep the new one from its work.
    [ $hand_tries != 40 ] || free_main
    sleep 0.03
  done
  # Before anything else: each call of kubectl takes some tenths of a second, and the lease is free.
  free_main
  [ -d "$R/proc/$LIVE_PID" ] || bury "$(first_line "$T/canary-holder")"
}
