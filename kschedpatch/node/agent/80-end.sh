# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# confirm, finish, restore: how a transaction ends.

# stands run=...: before any node is confirmed: is what was proven still all there? Of what a scheduler has read
# at its start it says nothing when it is gone, and the next start would be in vain. The operator is alive.
stands() {
  mine
  find_state
  [ "$STATE" = switched ] || [ "$STATE" = confirmed ] || stop "$TOO_LATE" state "the transaction is $STATE, not switched"
  read_line "$T/new"
  stands_new=$LINE
  read_line "$T/generation"
  # By one process. Another look tells what it is that is wrong, if it still is.
  all_stand || {
    holds "$MANIFEST" "$stands_new" || stop "$FOREIGN" foreign "$MANIFEST is not the one that was switched in"
    PROBLEM=''
    [ -z "$LINE" ] || generation_problem "$LINE"
    [ -z "$PROBLEM" ] || stop "$FOREIGN" damaged "a file that the new manifest points to is no longer what was staged: $PROBLEM"
  }
  set_deadline 2>/dev/null || stop "$COULD_NOT" disk "can't write $T/deadline"
  emit_end "$DONE"
}

all_stand() {
  if [ -z "$LINE" ]; then
    holds "$MANIFEST" "$stands_new"
  else
    [ ${#stands_new} = 64 ] && cd "$GENERATIONS/$LINE" 2>/dev/null && [ -s .sha256 ] &&
      printf '%s  %s\n' "$stands_new" "$MANIFEST" | sha256sum -c - .sha256 >/dev/null 2>&1
  fi
}

# confirm run=...: whoever removes the token first decides; the dead man takes it by a rename
confirm() {
  if ! is_open "$arg_run"; then
    confirm_outcome=$(first_line "$REVISIONS/$arg_run/outcome")
    if [ "$confirm_outcome" = confirmed ]; then emit_end "$DONE" && return; fi
    stop "$TOO_LATE" "${confirm_outcome:-gone}" "the dead man has ended the transaction already"
  fi
  mine
  find_state
  case $STATE in
    confirmed)
      emit_end "$DONE" # called again after a cut
      return ;;
    switched) ;;
    *) stop "$TOO_LATE" state "the transaction is $STATE, not switched" ;;
  esac
  # Whatever was written over ours is not what was proven.
  read_line "$T/new"
  holds "$MANIFEST" "$LINE" || stop "$FOREIGN" foreign "$MANIFEST is not the one that was switched in"
  rm -- "$OLD" 2>/dev/null || stop "$TOO_LATE" token "the dead man was quicker"
  emit_end "$DONE"
}

# finish run=... outcome=...: after the confirm (or a switch in place): write it down, send the dead man home
finish() {
  if ! is_open "$arg_run"; then
    emit_end "$DONE"
    return
  fi
  mine
  find_state
  case $STATE in
    confirmed | locked) ;;
    *) stop "$REFUSED" state "the transaction is $STATE: confirm or restore it first" ;;
  esac
  printf '%s\n' "$arg_outcome" 2>/dev/null >"$REVISIONS/$arg_run/outcome"
  # What earlier runs could not take away (there is only one at a time), uploads that were cut off and never taken up
  # again, and what runs have left that were killed in the middle of these steps.
  set --
  for finish_file in "$DIRECTORY"/.kschedpatch-* "$CANARY_MANIFEST" "$UPLOADS" "$S"/.stale-* "$REVISIONS/.original" "$S"/.*.new; do
    if [ -e "$finish_file" ] || [ -L "$finish_file" ]; then set -- "$@" "$finish_file"; fi
  done
  [ $# = 0 ] || rm -rf "$@"
  prune_revisions
  prune_generations
  prune_pins
  end_transaction
  emit_end "$DONE"
}

# In one step, and the dead man goes home by himself when it is gone: whatever kills this verb, either
# there is no transaction, or there is one and he who ends it.
end_transaction() {
  [ ! -e "$S/ended" ] || rm -rf "$S/ended"
  # A lock that is half made has no run: the directory holds more than its marker.
  mv "$T" "$S/ended" && rm -rf "$S/ended" "$R/run/kschedpatch/${arg_run:-none}"
  # The next run's, if it is there already, stays.
  [ -d "$T" ] || forget_unit
}

# The newest are kept, what stood there first, and every run whose manifest is in use.
prune_revisions() {
  prune_count=0
  for prune_path in "$REVISIONS"/[0-9]*; do prune_count=$((prune_count + 1)); done
  [ $prune_count -gt $KEEP ] || return 0
  prune_now=$(hash_of "$MANIFEST")
  prune_count=0
  # Ids sort by time.
  for prune_path in $(printf '%s\n' "$REVISIONS"/[0-9]* | sort -r); do
    [ -d "$prune_path" ] || continue
    prune_count=$((prune_count + 1))
    if [ $prune_count -le $KEEP ] || grep -qsE "^(after|before)=$prune_now\$" "$prune_path/meta"; then continue; fi
    # Objects that are still to be put back.
    if grep -qsx open "$prune_path/objects"; then continue; fi
    rm -rf "$prune_path"
  done
}

# restore run=...: the dead man is told that the time is over; where he is not, his script is run here
restore() {
  if ! is_open "$arg_run"; then
    restore_outcome
    return
  fi
  mine
  # Not armed, or in vain: he has no orders and would leave it open until somebody takes it over.
  if [ -z "$(txn manifest)" ]; then
    emit_fact outcome unswitched
    unlock
    return
  fi
  trap '' HUP INT PIPE TERM
  # His watch afterwards needs what the switch noted, and the transaction goes with its end.
  cp "$T/uid" "$T/cursor" "$T/logs" "$REVISIONS/$arg_run/" 2>/dev/null
  journal_cursor
  printf '%s\n' "$CURSOR" 2>/dev/null >"$REVISIONS/$arg_run/cursor"
  restore_tries=0
  if dead_man_lives && echo 0 2>/dev/null >"$T/deadline"; then
    while is_open "$arg_run" && [ $restore_tries -lt 250 ]; do
      restore_tries=$((restore_tries + 1))
      dead_man_lives || break
      sleep 0.2
    done
  fi
  if is_open "$arg_run"; then
    emit_step "the dead man is not there: restoring without him"
    sh "$S/restore.sh" now </dev/null >/dev/null 2>&1 3<&-
  fi
  if is_open "$arg_run"; then
    find_state
    case $STATE in
      # A read-only disk: the lock can't be taken away, and that is all there is to take away. Not so
      # where the dead man shows a copy in memory (his last resort): the token lies below it.
      armed | locked)
        if holds "$MANIFEST" "$(txn old)" && [ ! -e "$R/run/kschedpatch/bound" ] && [ ! -e "$CANARY_MANIFEST" ]; then
          emit_fact outcome unswitched
          emit_end "$DONE"
          return
        fi ;;
    esac
    stop "$COULD_NOT" restore "the old manifest could not be put back, or the canary taken away, yet; the dead man goes on trying"
  fi
  [ -d "$T" ] || forget_unit
  restore_outcome
}

restore_outcome() {
  emit_fact outcome "$(first_line "$REVISIONS/$arg_run/outcome")"
  emit_end "$DONE"
}
