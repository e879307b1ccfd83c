# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# purge: everything of ours goes from the node, what a scheduler still needs never.

# purge run=...: under the lock of this run, which goes last: whatever cuts this off, the next purge goes on with it
purge() {
  mine
  trap '' HUP INT PIPE TERM
  find_state
  [ "$STATE" = locked ] || stop "$REFUSED" state "the transaction is $STATE, not locked"
  [ ! -e "$R/run/kschedpatch/bound" ] || stop "$REFUSED" state "a copy of the manifests lies over $DIRECTORY"
  kubeadm_at_work
  [ -z "$WORK" ] || stop "$REFUSED" kubeadm "kubeadm is at work: $WORK"
  [ -f "$MANIFEST" ] || stop "$REFUSED" missing "$MANIFEST is gone: what is kept here may be all there is of it"
  purge_needed=$(manifest_of_ours)
  [ -z "$purge_needed" ] || stop "$REFUSED" in-use "$purge_needed is patched, or names files of ours"
  own_paths
  purge_paths=$OWN
  purge_manifests
  purge_unit
  purge_pins
  emit_step "taking files away"
  rm -rf "$R/etc/kubernetes/kschedpatch" "$R/run/kschedpatch"
  forget_scratch
  for purge_file in "$S"/* "$S"/.[!.]*; do
    [ "$purge_file" = "$T" ] || rm -rf "$purge_file"
  done
  # As at the end of every transaction, in one step: half of a lock would be neither one nor none.
  mv "$T" "$S/ended" && rm -rf "$S"
  own_paths
  if [ -n "$OWN" ]; then
    emit_lines left "$OWN"
    stop "$COULD_NOT" disk "not everything could be taken away"
  fi
  emit_lines gone "$purge_paths"
  emit_end "$DONE"
}

# The first manifest that the kubelet reads and that is ours, or needs a file of ours; the canary's goes anyway.
manifest_of_ours() {
  for needed_file in "$DIRECTORY"/*; do
    if [ "$needed_file" != "$CANARY_MANIFEST" ] && [ -f "$needed_file" ] &&
      grep -qsE 'kschedpatch\.io/(base|patch|generation)|/etc/kubernetes/kschedpatch' "$needed_file"; then
      printf %s "$needed_file"
      return
    fi
  done
}

purge_manifests() {
  if [ -e "$CANARY_MANIFEST" ]; then canary_ends; fi
  rm -f "$DIRECTORY"/.kschedpatch-* "$CANARY_MANIFEST"
}

# Disabled before its file goes: systemd takes the link away by what the file says.
purge_unit() {
  if has_systemd && [ -e "$R/etc/systemd/system/$UNIT" ]; then
    systemctl stop "$UNIT" 2>/dev/null
    forget_unit
  fi
  rm -f "$R/etc/systemd/system/$UNIT" "$R/etc/systemd/system/multi-user.target.wants/$UNIT"
  if has_systemd; then systemctl daemon-reload 2>/dev/null; fi
}

# The kubelet's garbage collection may have them again.
purge_pins() {
  [ -f "$S/pins" ] || return 0
  for purge_image in $(sort -u "$S/pins"); do let_go "$purge_image"; done
}
