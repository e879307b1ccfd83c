# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# canary: the planned scheduler as a second static pod, a standby on the live one's lease. And how the
# lease goes from one process to the next without anybody waiting for it.

# The first port that nobody listens on, into PORT. Below the ranges of NodePorts and of outgoing connections.
free_port() {
  for PORT in 10269 10270 10271 10272 10273 10274 10275 10276 10277 10278 10279; do
    listens "$PORT" || return 0
  done
  PORT=''
  return 1
}

# canary run=... host=... health=PATH settle=SECONDS timeout=SECONDS [log=1], payloads: manifest,
# configuration (empty: the planned one). Ends when it is proven, or gone again.
canary() {
  mine
  find_state
  [ "$STATE" = armed ] || stop "$REFUSED" state "the transaction is $STATE, not armed"
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
  free_port || stop "$COULD_NOT" room "no port from 10269 to 10279 is free for the canary"
  arg_port=$PORT
  read_kubelet
  room_most=$KUBELET_PODS
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
  goes_holder=''
  if [ -n "$LIVE_PID" ] && has_acquired "$LIVE_LOGS"; then goes_holder=$(own_holder); fi
  # It is waited for: the leader of the next node must not give the lease to one that is about to end.
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
  find_host
  case $own_said in
    "${HOST}_"*) printf %s "${own_said%% *}" ;;
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

# hand_over: the canary lets go of the lease when the new scheduler (arg_port) is sure to ask for it at once.
# Its first request was in vain, and the next one comes after one to 2.2 retry periods (arg_retry, hundredths of
# a second), nobody knows when: the poll of a standby is jittered. So it is held before the first of these
# moments until after the last: its timer has run out then, and it asks as soon as it goes on. The kubelet
# starts the canary again, as a standby. 1: not yet.
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
    grep -qs '[Aa]ttempting to acquire leader lease' "$hand_log" || return 1
    hand_over_is_due || return 1
    canary_lets_go
  fi
  true 2>/dev/null >"$T/handed"
  return 0
}

# It has asked. 1: not yet, or it has ended meanwhile.
hand_over_is_due() {
  now
  # The watch may go on with what the switch began.
  [ -s "$T/asked" ] || printf '%s\n' "$NOW" 2>/dev/null >"$T/asked"
  hand_asked=$(txn asked)
  hand_asked=${hand_asked:-$NOW}
  # Longer than this nobody is to be held: the gap of a poll is the smaller evil.
  [ "$arg_retry" -le 450 ] || return 0
  [ $NOW -ge $((hand_asked + arg_retry / 2)) ] || return 1
  # Somebody was slow, and it has asked again since.
  [ $NOW -lt $((hand_asked + arg_retry)) ] || hand_asked=$NOW
  hand_rest=$((hand_asked + arg_retry * 22 / 10 + 40 - NOW))
  stop_process "$hand_main" $((hand_rest / 100 + 4))
  sleep "$(printf '%d.%02d' $((hand_rest / 100)) $((hand_rest % 100)))"
  [ -d "$R/proc/$hand_main" ]
}

# stop_process PID [SECONDS]: stops the scheduler that is to take the lease, while the other one ends: so that it asks
# neither too early nor, at its next poll, too late. Its timer runs on, and it asks as soon as it is free.
# Whatever becomes of this shell, after these seconds it goes on.
stop_process() {
  [ -n "$1" ] || return 0
  (trap '' HUP INT PIPE TERM && sleep "${2:-3}" && signal CONT "$1") 3<&- >/dev/null 2>&1 &
  signal STOP "$1"
}

go_on() { [ -z "$1" ] || signal CONT "$1"; }

# kubectl takes a good part of a processor: on a small machine it would slow down the one that asks.
let_heir_ask() { sleep 0.2; }

# signal NAME PID. The program, not the shell's own: simulated nodes have one that knows their processes.
signal() { env kill "-$1" "$2" 2>/dev/null || kill "-$1" "$2" 2>/dev/null; }

canary_lets_go() {
  signal TERM "$LIVE_PID"
  emit_step "the canary hands over"
  hand_tries=0
  while [ -d "$R/proc/$LIVE_PID" ] && [ $hand_tries -lt 100 ]; do
    hand_tries=$((hand_tries + 1))
    # It takes longer than it should: that is no reason to keep the new one from its work.
    [ $hand_tries != 40 ] || go_on "$hand_main"
    sleep 0.03
  done
  # Before anything else: each call of kubectl takes some tenths of a second, and the lease is free.
  go_on "$hand_main"
  let_heir_ask
  [ -d "$R/proc/$LIVE_PID" ] || bury "$(first_line "$T/canary-holder")"
}
