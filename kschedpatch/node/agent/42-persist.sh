# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# persist: what kubeadm has to be given at its next rendering. Nothing reads it before.

# persist run=... [sha256=... payload: the patch]: without one, ours goes
persist() {
  mine
  if [ -z "$arg_sha256" ]; then
    rm -f "$KUBEADM_PATCH" "$KUBEADM_PATCH".new || stop "$COULD_NOT" disk "can't remove $KUBEADM_PATCH"
    # Somebody may have put patches of their own beside it.
    rmdir "$KUBEADM_PATCHES" 2>/dev/null
    emit_end "$DONE"
    return
  fi
  mkdir -p "$KUBEADM_PATCHES" && frame_to "$KUBEADM_PATCH.new" || persist_failed "can't write to $KUBEADM_PATCHES"
  holds "$KUBEADM_PATCH.new" "$arg_sha256" || persist_failed "the patch for kubeadm arrived damaged"
  flush "$KUBEADM_PATCH.new"
  mv -f "$KUBEADM_PATCH.new" "$KUBEADM_PATCH" || persist_failed "can't write $KUBEADM_PATCH"
  flush "$KUBEADM_PATCHES"
  emit_end "$DONE"
}

persist_failed() {
  rm -f "$KUBEADM_PATCH.new"
  stop "$COULD_NOT" disk "$1"
}
