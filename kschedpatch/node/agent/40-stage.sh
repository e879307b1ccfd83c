# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# stage: what the manifest will point to, in a directory that never changes once it is there.

# stage run=... [generation=ID file=MODE:SHA256:NAME ...], payloads: manifest, patch, base, the files in order.
# The base is empty where it is the manifest that stands there, or kept already.
stage() {
  mine
  frame_to "$T/planned" && frame_to "$T/patch.yaml" && frame_to "$T/base" || stop "$COULD_NOT" disk "can't write to $T"
  if [ -n "$arg_generation" ]; then
    stage_generation
    printf '%s\n' "$arg_generation" >"$T/generation" || stop "$COULD_NOT" disk "can't write to $T"
  fi
  emit_end "$DONE"
}

stage_generation() {
  stage_target=$GENERATIONS/$arg_generation
  stage_scratch=$GENERATIONS/.new-$arg_run
  rm -rf "$stage_scratch"
  mkdir -p "$stage_scratch" || stop "$COULD_NOT" disk "can't make $stage_scratch"
  # The scheduler may run as another user than root: directories are open, files have their own modes.
  chmod 755 "${GENERATIONS%/*}" "$GENERATIONS" "$stage_scratch"
  true >"$stage_scratch/.sha256"
  # No pipe: a loop behind one could not end the verb.
  stage_rest=$arg_file
  while [ -n "$stage_rest" ]; do
    stage_item=${stage_rest%%
*}
    stage_rest=${stage_rest#*
}
    stage_mode=${stage_item%%:*}
    stage_item=${stage_item#*:}
    stage_hash=${stage_item%%:*}
    stage_name=${stage_item#*:}
    emit_step "receiving $stage_name"
    frame_to "$stage_scratch/$stage_name" || stage_failed "can't write $stage_name: no space?"
    holds "$stage_scratch/$stage_name" "$stage_hash" || stage_failed "$stage_name arrived damaged"
    chmod "$stage_mode" "$stage_scratch/$stage_name" || stage_failed "can't set the mode of $stage_name"
    printf '%s  %s\n' "$stage_hash" "$stage_name" >>"$stage_scratch/.sha256" || stage_failed "can't write $stage_name: no space?"
    flush "$stage_scratch/$stage_name"
  done
  if [ -d "$stage_target" ]; then
    if cmp -s "$stage_target/.sha256" "$stage_scratch/.sha256" &&
      (cd "$stage_target" && sha256sum -c .sha256 >/dev/null 2>&1); then
      rm -rf "$stage_scratch"
      return
    fi
    # Its name is the hash of its content: whoever changed it, this puts it right.
    mv "$stage_target" "$GENERATIONS/.damaged-$arg_run" || stage_failed "can't replace $stage_target"
  fi
  mv "$stage_scratch" "$stage_target" || stage_failed "can't make $stage_target"
  rm -rf "$GENERATIONS/.damaged-$arg_run"
  flush "$GENERATIONS"
}

stage_failed() {
  rm -rf "$stage_scratch"
  stop "$COULD_NOT" disk "$1"
}

# Generations that neither a kept run, nor the manifest, nor an open transaction names. Nobody can go
# back to what a run brought that failed.
prune_generations() {
  prune_kept=''
  for prune_path in "$REVISIONS"/*/outcome; do
    grep -qsE '^(confirmed|open)$' "$prune_path" && prune_kept="$prune_kept ${prune_path%/outcome}/after"
  done
  for prune_path in "$GENERATIONS"/* "$GENERATIONS"/.new-* "$GENERATIONS"/.damaged-*; do
    [ -d "$prune_path" ] || continue
    prune_id=${prune_path##*/}
    # kubeadm may render a manifest that names it: see 42-persist.sh.
    grep -qsF "$prune_id" "$MANIFEST" "$KUBEADM_PATCH" "$DIRECTORY"/.kschedpatch-* "$REVISIONS"/*/before $prune_kept || rm -rf "$prune_path"
  done
}
