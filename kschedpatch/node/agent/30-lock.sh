# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# lock, unlock, renew: a transaction on this node has one owner. The directory is the lock: making it
# either works or does not.

# The tool's directory and its format.
open_state() {
  if [ -d "$S" ]; then
    read_line "$S/format"
    state_format=$LINE
    case $state_format in
      '' | "$STATE_FORMAT") ;;
      *) stop "$REFUSED" format "$S was written by a newer kschedpatch (format $state_format)" ;;
    esac
  fi
  # What is made here is root's alone by the umask; what somebody has opened since is not.
  if [ -d "$REVISIONS" ]; then chmod 700 "$S" "$REVISIONS"; else mkdir -p "$REVISIONS"; fi || stop "$COULD_NOT" disk "can't write to $S"
  printf '%s\n' "$STATE_FORMAT" >"$S/format" || stop "$COULD_NOT" disk "can't write to $S"
}

# The dead man's script, and this one for people who are on the node without the tool. By rename: a dead
# man of an earlier run may be reading his file right now. Only the lock's owner does it: of two
# operators at once, one would take the other's half-written file. Both came with the script (script.py).
keep_scripts() {
  [ -n "${KSP_RESTORE:-}" ] && [ -n "${KSP_SCRIPT:-}" ] && # not in the part of it that only confirms
    printf %s "$KSP_RESTORE" >"$T/restore.sh" && printf %s "$KSP_SCRIPT" >"$T/agent.sh" &&
    mv -f "$T/restore.sh" "$T/agent.sh" "$S/"
}

# lock run=... kind=... who=... extent=SECONDS
lock() {
  lock_found=''
  if [ -d "$T" ]; then lock_found=1; fi
  find_manifest
  open_state
  lock_tries=0
  until mkdir "$T" 2>/dev/null; do
    [ -d "$T" ] || stop "$COULD_NOT" disk "can't make $T"
    ! is_open "$arg_run" || break
    lock_tries=$((lock_tries + 1))
    if [ $lock_tries -gt 2 ] || ! lock_is_stale; then
      emit_fact owner_run "$(txn run)"
      emit_fact owner "$(txn who)"
      emit_fact since "$(txn since)"
      find_state
      emit_fact state "$STATE"
      lock_until=$(txn deadline)
      emit_fact deadline_in $((${lock_until:-0} - $(uptime_seconds)))
      stop "$LOCKED" locked "another run holds this node"
    fi
    emit_fact took_over "$(txn run)"
    # One of two who find it stale moves it away; the other finds the winner's lock.
    mv "$T" "$S/.stale-$arg_run" 2>/dev/null && rm -rf "$S/.stale-$arg_run"
  done
  # Not where that one was.
  [ -z "$lock_found" ] || find_manifest
  {
    printf '%s\n' "$arg_kind" >"$T/kind" && printf '%s\n' "$arg_who" >"$T/who" &&
      date +%s >"$T/since" && printf '%s\n' "$arg_extent" >"$T/extent" && read_boot_id && printf '%s\n' "$LINE" >"$T/boot" &&
      printf '%s\n' "$DIRECTORY" "$LOGS" >"$T/place" &&
      set_deadline && printf '%s\n' "$arg_run" >"$T/run" && # what has no run is half made
      keep_scripts
  } 2>/dev/null || {
    rm -rf "$T"
    stop "$COULD_NOT" disk "can't write to $S"
  }
  emit_end "$DONE"
}

# Nobody's: its time is over (or the node was rebooted), nothing is switched, and no dead man is at it.
lock_is_stale() {
  find_state
  case $STATE in
    moved | switched | restoring) return 1 ;;
  esac
  ! dead_man_lives || return 1
  [ -n "$(txn run)" ] || {
    sleep 1 # half made: its owner is just filling it, or died there
    [ -z "$(txn run)" ] || return 1
    return 0
  }
  lock_until=$(txn deadline)
  read_boot_id
  [ "$(txn boot)" != "$LINE" ] || [ "$(uptime_seconds)" -ge "${lock_until:-0}" ] || return 1
  names_of_run "$(txn run)"
  rm -f "$NEW" "$DIRECTORY"/.kschedpatch-*.canary "$CANARY_MANIFEST"
}

mine() {
  is_open "$arg_run" ||
    stop "$REFUSED" not-locked "the transaction of this run is no longer open on this node"
  find_manifest
  names_of_run "$arg_run"
}

set_deadline() {
  read_line "$T/extent"
  now
  printf '%s\n' $((NOW / 100 + ${LINE:-60})) >"$T/deadline"
}

# renew run=...: the operator is alive
renew() {
  mine
  set_deadline 2>/dev/null || stop "$COULD_NOT" disk "can't write $T/deadline"
  find_state
  emit_fact state "$STATE"
  emit_end "$DONE"
}

# unlock run=...: nothing was armed: the lock goes, and what was staged for it alone
unlock() {
  if ! is_open "$arg_run"; then
    emit_end "$DONE"
    return
  fi
  find_manifest
  find_state
  case $STATE in
    locked | armed) ;;
    *) stop "$REFUSED" switched "the manifest is switched: confirm or restore it" ;;
  esac
  rm -f "$NEW" "$DIRECTORY"/.kschedpatch-*.canary "$CANARY_MANIFEST"
  prune_generations
  end_transaction
  emit_end "$DONE"
}
