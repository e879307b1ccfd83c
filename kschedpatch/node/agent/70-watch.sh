# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# watch: until the scheduler is proven, or the earliest sign that it will not be. The pod's log and the
# runtime miss four classes of failure: the kubelet's own journal must be read.

# watch run=... want=new|old host=... port=... health=PATH settle=SECONDS timeout=SECONDS [canary=1 retry=...]
# [log=1: readiness proves little here, its log must say that it asks for the lease]
watch() {
  mine_or_ended
  watch_before=$(first_line "$WATCH/uid")
  watch_cursor=$(first_line "$WATCH/cursor")
  node_name
  watch_name=$POD-$NAME
  watch_file=${MANIFEST##*/}
  if [ "$POD" = "$CANARY" ]; then watch_file=${CANARY_MANIFEST##*/}; fi
  now && watch_start=$NOW watch_said='' watch_ready='' watch_pid='' watch_looked=0 watch_asked=0 watch_told=0
  while :; do
    now && watch_age=$((NOW - watch_start))
    hand_over
    find_live
    watch_log_signs
    if [ -n "$LIVE_PID" ] && is_wanted "$LIVE_UID"; then
      watch_running
      if [ "$POD" = "$CANARY" ] && canary_beside_leader; then
        watch_bad two-leaders "the canary leads although the live scheduler does: they do not elect on the same lease"
      fi
    else
      [ -z "$watch_ready" ] || watch_falls "it ended after it had been ready"
      watch_step "waiting for the kubelet to start it"
    fi
    # Each of these starts processes: not at every turn.
    if [ $((watch_age - watch_looked)) -ge 40 ]; then
      watch_looked=$watch_age
      watch_journal_signs
      watch_runtime_signs
      watch_event_signs
    fi
    if [ $watch_age -ge $((arg_timeout * 100)) ]; then
      watch_bad timeout "not proven within $arg_timeout s: ${watch_said:-nothing was seen of it}"
    fi
    sleep 0.2
  done
}

# What the switch has noted outlives the transaction that the dead man ended.
mine_or_ended() {
  find_manifest
  names_of_run "$arg_run"
  WATCH=$REVISIONS/$arg_run
  if [ -d "$T" ] && [ "$(txn run)" = "$arg_run" ]; then WATCH=$T; fi
  [ -d "$WATCH" ] || stop "$REFUSED" not-locked "this node knows nothing of the run"
}

is_wanted() {
  if [ "$arg_want" = new ]; then [ "$1" != "$watch_before" ]; else [ "$1" = "$watch_before" ] || [ -z "$watch_before" ]; fi
}

watch_step() {
  if [ "$watch_said" = "$1" ]; then
    # Now and then all the same: who hears nothing for a minute takes the connection for lost.
    [ $((watch_age - watch_told)) -ge 2000 ] || return 0
  fi
  watch_said=$1 watch_told=$watch_age
  emit_step "$1"
}

watch_running() {
  watch_health=$(answer "https://$arg_host:$arg_port/$arg_health")
  if [ "$watch_health" = ok ] && watch_log_agrees; then
    if [ -z "$watch_ready" ]; then
      watch_ready=$watch_age watch_pid=$LIVE_PID
      emit_fact ready_cs "$watch_age"
      emit_fact uid "$LIVE_UID"
      watch_step "ready"
    fi
    [ "$LIVE_PID" = "$watch_pid" ] || watch_falls "it was restarted after it had been ready"
    if [ -n "$watch_ready" ] && [ $((watch_age - watch_ready)) -ge $((arg_settle * 100)) ]; then
      newest_log "$LIVE_LOGS"
      emit_fact restarts "$NEWEST"
      [ "$arg_canary" != 1 ] || canary_goes
      emit_fact buried "$(first_line "$T/buried")"
      emit_end "$DONE"
      exit 0
    fi
  elif [ -n "$watch_ready" ] && [ "$LIVE_PID" != "$watch_pid" ]; then
    watch_falls "it was restarted after it had been ready"
  elif [ -z "$watch_ready" ]; then
    watch_step "running, not ready yet"
  fi
}

# watch_falls WORDS: a new one has failed. After a restore there is nothing better to go to: the kubelet
# starts the old one again, and that start counts.
watch_falls() {
  [ "$arg_want" = old ] || watch_bad crash "$1"
  watch_ready=''
  watch_step "$1"
}

# Up to 1.30 health proves that it serves, not that it can work: a scheduler that lacks a right hangs
# before it asks for the lease.
watch_log_agrees() {
  [ "$arg_log" = 1 ] || return 0
  newest_log "$LIVE_LOGS"
  grep -qsE '[Aa]ttempting to acquire leader lease|[Ss]uccessfully acquired lease|Leader election.*disabled' "$LIVE_LOGS/$NEWEST.log"
}

# known_logs UID: the last log that this pod had before the switch; nothing where it had none. Into KNOWN.
known_logs() {
  KNOWN=''
  if [ ! -r "$WATCH/logs" ]; then return; fi
  while read -r known_uid known_last; do
    if [ "$known_uid" = "$1" ]; then KNOWN=$known_last && break; fi
  done <"$WATCH/logs"
}

watch_log_signs() {
  [ "$arg_want" = new ] || return 0
  for watch_directory in "$LOGS/kube-system_$POD"-*; do
    watch_uid=${watch_directory##*_}
    if [ ! -d "$watch_directory/$POD" ] || ! is_wanted "$watch_uid"; then continue; fi
    known_logs "$watch_uid"
    newest_log "$watch_directory/$POD"
    [ "$NEWEST" -gt "${KNOWN:--1}" ] || continue
    watch_log=$watch_directory/$POD/$NEWEST.log
    if [ "$NEWEST" -gt $((${KNOWN:--1} + 1)) ]; then
      watch_log=$watch_directory/$POD/$((NEWEST - 1)).log
      watch_line=$(crash_line "$watch_log")
      watch_bad crash "${watch_line:-it ended without a word: $(exit_record "$watch_uid")}"
    elif [ "$LIVE_UID" != "$watch_uid" ] && grep -qsaE 'command failed|Error: |panic:|fatal error' "$watch_log"; then
      watch_bad crash "$(crash_line "$watch_log")"
    fi
  done
}

# That the manifest goes away for a moment is the switch itself. A kubelet that re-reads its directory just then
# complains when the event of it comes, of a pod that it has forgotten or a file that is not there.
GONE="doesn't exist in cache|no such file or directory\" path="

journal_since() {
  if there journalctl; then
    journalctl -q --no-pager -o cat -u kubelet ${watch_cursor:+"--after-cursor=$watch_cursor"} 2>/dev/null |
      grep -a "$POD" | of_this_pod | grep -avE "$GONE" | { if [ "$POD" = "$CANARY" ]; then cat; else grep -av "$CANARY"; fi; } | tail -n 40
  fi
}

# Lines that name a pod or a file name this one. Others have containers or volumes that are called like it: a second
# scheduler whose image is missing is no failure of ours. The kubelet quotes some names twice.
of_this_pod() {
  sed -e '/pod="/{' -e "/pod=\"kube-system\/$watch_name\"/!d" -e '}' \
    -e '/pod \\*"/{' -e "/pod \\\\*\"$watch_name\\\\*\"/!d" -e '}' \
    -e '/path="/{' -e "/\/$watch_file\"/!d" -e '}' \
    -e '/config file \\*"/{' -e "/\/$watch_file\\\\*\"/!d" -e '}'
}

watch_journal_signs() {
  # Of a restore only the last word counts: the lines of what failed before are still there.
  [ "$arg_want" = new ] || return 0
  watch_journal=$(journal_since)
  [ -n "$watch_journal" ] || return 0
  for watch_class in refused denied image mount start; do
    case $watch_class in
      refused) watch_pattern="couldn't parse as pod|invalid pod|Could not process manifest file|Unable to process watch event|static pods may not reference" ;;
      denied) watch_pattern='[Aa]dmission denied|Pod admission|NodePorts|OutOfcpu|OutOfmemory|OutOfpods' ;;
      image) watch_pattern='ErrImagePull|ErrImageNeverPull|ImagePullBackOff|InvalidImageName|ErrImageNotFound' ;;
      mount) watch_pattern='MountVolume.SetUp failed|hostPath type check failed|FailedMount' ;;
      start) watch_pattern='RunContainerError|CreateContainerError|CreateContainerConfigError|StartError|CreatePodSandboxError' ;;
    esac
    watch_line=$(printf '%s\n' "$watch_journal" | grep -aE "$watch_pattern" | tail -n 1)
    [ -z "$watch_line" ] || watch_bad $watch_class "$(printf %s "$watch_line" | cut -c1-900)"
  done
}

# exit_record UID: how the runtime saw the pod's container end
exit_record() {
  there crictl || return 0
  record_id=$(timeout 10 crictl ps -a -q --state Exited --label "io.kubernetes.pod.uid=$1" 2>/dev/null | head -n 1)
  [ -z "$record_id" ] || timeout 10 crictl inspect -o go-template --template '{{.status.exitCode}} {{.status.reason}}' "$record_id" 2>/dev/null
}

# Without a log line there is only the runtime's record: a missing binary, out of memory.
watch_runtime_signs() {
  [ "$arg_want" = new ] && there crictl && [ -z "$LIVE_PID" ] || return 0
  for watch_directory in "$LOGS/kube-system_$POD"-*; do
    watch_uid=${watch_directory##*_}
    known_logs "$watch_uid"
    if [ ! -d "$watch_directory" ] || [ "$watch_uid" = "$watch_before" ] || [ -n "$KNOWN" ]; then continue; fi
    watch_line=$(exit_record "$watch_uid")
    [ -n "$watch_line" ] || continue
    # The first container's: its successor may have begun to speak meanwhile.
    watch_log=$watch_directory/$POD/0.log
    watch_bad crash "it exited (code and reason: $watch_line); $(crash_line "$watch_log")"
  done
}

# Kubelets up to 1.30 make no journal line and no mirror pod of a pod that they do not admit: all that
# there is of it is an event. A kubelet that still waits for the predecessor looks just the same.
watch_event_signs() {
  [ "$arg_want" = new ] && [ -z "$LIVE_PID" ] && [ $watch_age -ge 80 ] && [ $((watch_age - watch_asked)) -ge 120 ] || return 0
  watch_asked=$watch_age
  there kubectl || return 0
  watch_since=$(date -u -r "$WATCH/switched" +%Y-%m-%dT%H:%M:%SZ 2>/dev/null) || return 0
  kubectl_within 4 --request-timeout=3s -n kube-system get events "--field-selector=type=Warning,involvedObject.name=$watch_name" \
    -o 'jsonpath={range .items[*]}{.lastTimestamp} {.involvedObject.uid} {.reason} {.message}{"\n"}{end}' 2>/dev/null |
    tail -n 200 2>/dev/null >"$WATCH/events"
  while read -r watch_when watch_uid watch_reason watch_line; do
    case $watch_reason in
      NodeAffinity | NodePorts | NodeName | TaintToleration | OutOf* | *AdmissionError | *AffinityError | PodOS* | AppArmor | SysctlForbidden) ;;
      *) continue ;;
    esac
    # Both times are this node's own.
    if [ "$watch_uid" != "$watch_before" ] && expr "$watch_when" '>=' "$watch_since" >/dev/null; then
      watch_bad denied "Pod admission denied, $watch_reason: $(printf %s "$watch_line" | cut -c1-800)"
    fi
  done 2>/dev/null <"$WATCH/events"
}

# watch_bad CLASS WORDS: with what the scheduler and the kubelet said last
watch_bad() {
  newest_log "$LIVE_LOGS"
  watch_report=$(tail -n 30 "${watch_log:-$LIVE_LOGS/$NEWEST.log}" 2>/dev/null | cut -c1-1000)
  emit_lines log "$watch_report"
  emit_lines journal "$(journal_since | tail -n 12 | cut -c1-1000)"
  emit_fact after_cs "$watch_age"
  if [ "$POD" = "$CANARY" ] && canary_is_mine; then canary_ends; fi
  stop "$BAD" "$1" "$2"
}

# emit_lines KEY TEXT: as facts, a line each: there may be no disk left for a file
emit_lines() {
  printf '%s\n' "$2" | while IFS= read -r emit_line; do
    [ -z "$emit_line" ] || emit_fact "$1" "$emit_line"
  done
}
