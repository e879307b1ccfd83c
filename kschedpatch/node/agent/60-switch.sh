# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# arm and switch: the way back is on the node and guarded before anything is changed.

# arm run=... old=SHA256 new=SHA256 patch=... reason=..., after `stage`
arm() {
  mine
  find_live
  [ ! -L "$MANIFEST" ] && [ -f "$MANIFEST" ] || stop "$FOREIGN" foreign "$MANIFEST is gone or no plain file"
  all_hold "$arg_old" "$MANIFEST" "$arg_new" "$T/after" || {
    holds "$MANIFEST" "$arg_old" || stop "$FOREIGN" foreign "$MANIFEST changed since it was planned"
    stop "$COULD_NOT" disk "the planned manifest arrived damaged"
  }
  back_up
  # Mode and owner as the old one's, and its label where there are labels.
  [ ! -e "$NEW" ] || rm -f "$NEW"
  { cp -p "$MANIFEST" "$NEW" && cat "$T/after" >"$NEW"; } 2>/dev/null || arm_failed disk "can't write $NEW"
  if there chcon && [ -d /sys/fs/selinux ]; then chcon --reference="$MANIFEST" "$NEW" 2>/dev/null; fi
  write_orders || arm_failed disk "can't write to $T"
  # The power may go from here on: on the disk is what he needs who brings the old manifest back, and what the new one
  # points to.
  set -- "$NEW" "$T/run" "$T/old" "$T/new" "$T/boot" "$T/manifest" "$S/restore.sh"
  read_line "$T/generation"
  arm_points=$GENERATIONS/$LINE
  [ -z "$LINE" ] || set -- "$@" "$arm_points"/* "$arm_points/.sha256" "$arm_points" "$GENERATIONS"
  keep_back_up "$@"
  # That may have taken its time.
  set_deadline 2>/dev/null
  all_hold "$arg_old" "$backup/before" "$arg_new" "$NEW" || {
    holds "$backup/before" "$arg_old" || {
      rm -f "$NEW" "$T/manifest"
      backup_failed "the backup is not what was written"
    }
    arm_failed disk "$NEW is not what was written"
  }
  keep_original
  start_dead_man
  emit_fact uid "$LIVE_UID"
  emit_end "$DONE"
}

arm_failed() {
  disarm
  rm -f "$NEW" "$T/manifest"
  stop "$COULD_NOT" "$1" "$2; nothing was changed"
}

# The manifest as it stands; and once, for ever, what stood there before the first patch.
back_up() {
  backup=$REVISIONS/$arg_run backup_first=''
  read_manifest "$MANIFEST"
  if [ ! -f "$REVISIONS/original/before" ] && [ -z "$HAS_MARK" ]; then backup_first=$REVISIONS/.original; fi
  set -- "$T/after" "$T/patch.yaml"
  [ ! -s "$T/base" ] || set -- "$@" "$T/base"
  {
    mkdir -p "$backup" ${backup_first:+"$backup_first"} "$R/run/kschedpatch" && cp "$@" "$backup/" && cat "$MANIFEST" >"$backup/before" &&
      write_meta >"$backup/meta" && echo open >"$backup/outcome" &&
      { [ -z "$backup_first" ] || cp "$backup/before" "$backup/meta" "$backup_first/"; }
  } 2>/dev/null || backup_failed "can't write to $backup"
}

# keep_back_up FILE ...: it comes onto the disk, and these files with it.
keep_back_up() {
  flush "$@" "$backup/before" ${backup_first:+"$backup_first/before"}
}

# When it was read back: this one is never written again.
keep_original() {
  [ -z "$backup_first" ] || mv "$backup_first" "$REVISIONS/original" 2>/dev/null || {
    rm -f "$NEW" "$T/manifest"
    backup_failed "can't write to $REVISIONS"
  }
}

# note run=... outcome=open|settled|gone [old=... new=... patch=... reason=...], payload: the ledger of the
# run, what it does to objects of the cluster. Kept before the first of them is touched: whoever comes after a run
# that died finds here what to put back. The file `objects` says how it stands; without it there is no ledger.
note() {
  note_kept=$REVISIONS/$arg_run
  note_open=0
  if is_open "$arg_run"; then note_open=1; fi
  if [ ! -d "$note_kept" ] && [ "$arg_outcome" = gone ]; then
    emit_end "$DONE"
    return
  fi
  if [ ! -f "$note_kept/meta" ]; then
    mine
    find_live
    holds "$MANIFEST" "$arg_old" || stop "$FOREIGN" foreign "$MANIFEST changed since it was planned"
    back_up
    keep_back_up
    holds "$backup/before" "$arg_old" || backup_failed "the backup is not what was written"
    keep_original
  fi
  rm -f "$note_kept/objects"
  if [ "$arg_outcome" != gone ]; then
    {
      frame_to "$note_kept/.objects" && mv -f "$note_kept/.objects" "$note_kept/objects.json" &&
        flush "$note_kept/objects.json" && printf '%s\n' "$arg_outcome" >"$note_kept/objects"
    } 2>/dev/null || stop "$COULD_NOT" disk "can't write to $note_kept"
  else
    rm -f "$note_kept/objects.json"
  fi
  # A run that nobody goes on with and that switched nothing: it failed, or there is nothing to tell of it.
  if [ $note_open = 0 ] && [ "$(first_line "$note_kept/outcome")" = open ]; then
    if [ "$arg_outcome" = gone ]; then rm -rf "$note_kept"; else echo failed 2>/dev/null >"$note_kept/outcome"; fi
  fi
  emit_end "$DONE"
}

backup_failed() {
  rm -rf "$REVISIONS/.original"
  # With a ledger there are objects to be put back.
  [ -f "$backup/objects" ] || rm -rf "$backup"
  stop "$COULD_NOT" disk "$1; nothing was changed"
}

write_meta() {
  meta_stat=$(stat -c '%a %u:%g' "$MANIFEST")
  set -- run "$arg_run"
  for meta_key in kind since who generation; do
    read_line "$T/$meta_key"
    case $meta_key in since) meta_key=when ;; esac
    set -- "$@" $meta_key "$LINE"
  done
  printf '%s=%s\n' "$@" reason "$arg_reason" patch "$arg_patch" before "$arg_old" after "$arg_new" uid "$LIVE_UID" \
    mode "${meta_stat% *}" owner "${meta_stat#* }"
}

# All that restore.sh needs. The manifest's path comes last: without it there is nothing to restore.
write_orders() {
  {
    printf '%s\n' "$arg_old" >"$T/old" && printf '%s\n' "$arg_new" >"$T/new" &&
      printf '%s\n' "$LIVE_UID" >"$T/uid" && read_boot_id && printf '%s\n' "$LINE" >"$T/boot" && set_deadline &&
      true >"$R/run/kschedpatch/$arg_run" &&
      { [ ! -e "$T/armed" ] || rm -f "$T/armed"; } && printf '%s\n' "$MANIFEST" >"$T/manifest"
  } 2>/dev/null
}

# A service, not a timer: timers lose their count with a reload or a reboot. At boot it comes before the
# kubelet. He counts as armed when he himself has said so.
start_dead_man() {
  if has_systemd; then
    dead_man_unit >"$R/etc/systemd/system/$UNIT" 2>/dev/null && systemctl daemon-reload &&
      systemctl enable --quiet "$UNIT" 2>/dev/null && flush "$R/etc/systemd/system/$UNIT" "$R/etc/systemd/system/multi-user.target.wants" && systemctl start "$UNIT" 2>/dev/null ||
      arm_failed dead-man "systemd does not start $UNIT"
  else
    setsid sh "$S/restore.sh" watch </dev/null >/dev/null 2>&1 3<&- &
  fi
  arm_tries=0
  until dead_man_lives; do
    arm_tries=$((arm_tries + 1))
    [ $arm_tries -le 1000 ] || arm_failed dead-man "the dead man was started but does not count"
    sleep 0.01
  done
  # Starting took its time: the count begins when he is seen.
  set_deadline
}

dead_man_unit() {
  cat <<UNIT_END
[Unit]
Description=Puts the former kube-scheduler manifest back unless kschedpatch confirms the change
Before=kubelet.service
RequiresMountsFor=/etc/kubernetes /var/lib/kschedpatch
StartLimitIntervalSec=0

[Service]
ExecStartPre=/bin/sh /var/lib/kschedpatch/restore.sh boot
ExecStart=/bin/sh /var/lib/kschedpatch/restore.sh watch
Restart=on-failure
RestartSec=1
TimeoutStartSec=120
KillMode=process
OOMScoreAdjust=-900

[Install]
WantedBy=multi-user.target
UNIT_END
}

# Where he was started in vain; otherwise he goes by himself when the transaction is gone.
disarm() {
  if has_systemd; then
    systemctl stop "$UNIT" 2>/dev/null
  else
    disarm_pid=$(txn armed)
    if [ -n "$disarm_pid" ]; then kill "$disarm_pid" 2>/dev/null; fi
  fi
  forget_unit
  rm -f "$R/run/kschedpatch/$arg_run"
}

# After the transaction: a reboot in between must find somebody who ends it.
forget_unit() {
  if has_systemd; then systemctl disable --quiet "$UNIT" 2>/dev/null; fi
}

# switch run=... [in_place=1] [lease=NAMESPACE/NAME] [canary=1 port=... retry=...]: the old pod ends, the new manifest
# appears, the canary hands over. After the first rename this goes through to its end whatever becomes of
# the connection; if it is killed, the dead man restores.
switch() {
  mine
  trap '' HUP INT PIPE TERM
  find_state
  case $STATE in
    switched)
      emit_end "$DONE" # called again after a cut
      return ;;
    armed) ;;
    *) stop "$REFUSED" state "the transaction is $STATE, not armed" ;;
  esac
  dead_man_lives || stop "$REFUSED" dead-man "the dead man is gone; nothing was changed"
  kubeadm_at_work
  [ -z "$WORK" ] || stop "$REFUSED" kubeadm "kubeadm is at work: $WORK"
  read_line "$T/old"
  switch_old=$LINE
  who_leads
  find_live
  remember_logs || stop "$COULD_NOT" disk "can't write to $T"
  # Compare and swap: the hashes right before the rename, and the moved file's right after it.
  read_line "$T/new"
  all_hold "$LINE" "$NEW" "$switch_old" "$MANIFEST" || {
    holds "$MANIFEST" "$switch_old" || stop "$FOREIGN" foreign "$MANIFEST changed since it was planned"
    stop "$FOREIGN" foreign "$NEW is not what was staged"
  }
  now && switch_start=$NOW
  if [ "$arg_in_place" = 1 ]; then
    mv -f "$NEW" "$MANIFEST" || stop "$COULD_NOT" rename "can't rename in $DIRECTORY; nothing was changed"
    emit_end "$DONE"
    return
  fi
  set_deadline 2>/dev/null
  stop_process "$switch_heir"
  mv -f "$MANIFEST" "$OLD" || {
    go_on "$switch_heir"
    stop "$COULD_NOT" rename "can't rename in $DIRECTORY; nothing was changed"
  }
  if ! holds "$OLD" "$switch_old"; then
    # Somebody wrote it in that very moment: theirs, and back it goes.
    mv -f "$OLD" "$MANIFEST"
    go_on "$switch_heir"
    stop "$FOREIGN" foreign "$MANIFEST changed at the moment of the switch; it was left as it is"
  fi
  emit_step "the old pod ends"
  switch_tries=0
  while [ -n "$LIVE_PID" ] && [ -d "$R/proc/$LIVE_PID" ] && [ $switch_tries -lt 900 ]; do
    switch_tries=$((switch_tries + 1))
    sleep 0.04
  done
  go_on "$switch_heir"
  now && emit_fact ended_cs $((NOW - switch_start))
  # A holder that may still be alive keeps its lease.
  if [ -z "$LIVE_PID" ] || [ -d "$R/proc/$LIVE_PID" ]; then switch_holder=''; fi
  if [ -n "$arg_lease" ]; then settle_lease 3<&- >/dev/null 2>&1 & fi
  # The pod's sandbox ends last, and the kubelet makes a successor that comes too soon wait for 10 s more.
  switch_rest=2 switch_tries=0
  while [ $switch_tries -lt 350 ] && sandbox_of "$LIVE_UID"; do
    switch_tries=$((switch_tries + 1)) switch_rest=1.5
    sleep 0.1
  done
  forget_exited
  sleep $switch_rest
  [ -e "$OLD" ] || stop "$TOO_LATE" restored "the dead man is putting the old manifest back"
  # A link, because it fails where a file is: a rename could throw out what the dead man has put back.
  if ! ln "$NEW" "$MANIFEST" 2>/dev/null; then
    [ ! -e "$MANIFEST" ] || stop "$TOO_LATE" restored "the dead man has put the old manifest back"
    # He has ended the transaction: nobody else is there to do it.
    is_open "$arg_run" || mv -f "$OLD" "$MANIFEST" 2>/dev/null
    stop "$COULD_NOT" rename "can't write in $DIRECTORY; the old manifest goes back"
  fi
  rm -f "$NEW"
  now && emit_fact switched_cs $((NOW - switch_start))
  # If it takes longer, the watch goes on with it.
  switch_tries=0
  until hand_over || [ $switch_tries -ge 100 ]; do
    switch_tries=$((switch_tries + 1))
    sleep 0.1
  done
  read_line "$T/buried"
  emit_fact buried "$LINE"
  emit_end "$DONE"
}

# Before anything is touched: who of this node leads? An identity names the host, not the process, so the
# processes' own logs decide whose it is. Where the old scheduler leads, the canary is its heir.
who_leads() {
  for leads_file in "$T/handed" "$T/asked" "$T/buried" "$T/canary-holder"; do
    [ ! -e "$leads_file" ] || rm -f "$leads_file"
  done
  switch_holder='' switch_heir=''
  [ -n "$arg_lease" ] && leads_said=$(own_holder) || return 0
  POD=$CANARY
  find_live
  POD=kube-scheduler
  leads_canary=$LIVE_PID
  if [ -n "$LIVE_PID" ] && has_acquired "$LIVE_LOGS"; then
    printf '%s\n' "$leads_said" 2>/dev/null >"$T/canary-holder"
    return
  fi
  find_live
  [ -n "$LIVE_PID" ] && has_acquired "$LIVE_LOGS" || return 0
  switch_holder=$leads_said
  [ "$arg_canary" != 1 ] || switch_heir=$leads_canary
}

# The old process has ended: it must not hold the lease any longer. Then the canary takes it, and its
# name is noted, as long as it can be nobody else's: the new scheduler's manifest is not there yet.
settle_lease() {
  let_heir_ask
  bury "$switch_holder"
  settle_tries=0
  while [ "$arg_canary" = 1 ] && [ ! -s "$T/canary-holder" ] && [ $settle_tries -lt 12 ]; do
    settle_tries=$((settle_tries + 1))
    settle_said=$(own_holder)
    [ ! -e "$MANIFEST" ] || return 0
    if [ -n "$settle_said" ] && [ "$settle_said" != "$switch_holder" ]; then
      printf '%s\n' "$settle_said" >"$T/canary-holder"
    fi
    sleep 0.1
  done
}

# The manifest that comes may be one that ran here before: same bytes, same uid, and by its exited containers
# the kubelet would count restarts and back off, in the end for minutes.
forget_exited() {
  there crictl || return 0
  forget_ids=$(timeout 10 crictl ps -a -q --state Exited --name '^kube-scheduler$' 2>/dev/null)
  [ -z "$forget_ids" ] || timeout 10 crictl rm $forget_ids >/dev/null 2>&1
}

# sandbox_of UID: whether the runtime still has the pod's sandbox
sandbox_of() {
  [ -n "$1" ] && there crictl && [ -n "$(timeout 5 crictl pods -q --state Ready --label "io.kubernetes.pod.uid=$1" 2>/dev/null)" ]
}

# What was there before, so that the watch can tell new signs from old ones. Twice: whoever looks after the dead man has
# acted finds no transaction any more.
remember_logs() {
  remember_logs=''
  for remember_directory in "$LOGS"/kube-system_kube-scheduler-*/kube-scheduler "$LOGS/kube-system_$CANARY"-*/"$CANARY"; do
    if [ -d "$remember_directory" ]; then
      remember_pod=${remember_directory%/*}
      newest_log "$remember_directory"
      remember_logs="$remember_logs${remember_pod##*_} $NEWEST$KSP_BREAK"
    fi
  done
  journal_cursor
  read_line "$T/uid"
  { remember_in "$REVISIONS/$arg_run" && printf '%s\n' "$LINE" >"$REVISIONS/$arg_run/uid"; } 2>/dev/null
  { true >"$T/switched" && remember_in "$T"; } 2>/dev/null
}

remember_in() {
  printf %s "$remember_logs" >"$1/logs" && printf '%s\n' "$CURSOR" >"$1/cursor"
}

# The journal's end, into CURSOR. It is said in a line of its own, the last one.
journal_cursor() {
  CURSOR=''
  if there journalctl; then { CURSOR=$(journalctl -q --no-pager -o cat -n 1 --show-cursor); } 2>/dev/null; fi
  case $CURSOR in *'-- cursor: '*) ;; *) CURSOR='' ;; esac
  CURSOR=${CURSOR##*'-- cursor: '}
  CURSOR=${CURSOR%%"$KSP_BREAK"*}
}
