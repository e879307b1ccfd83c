# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# stage: what the manifest will point to, in a directory that never changes once it is there.

# stage run=... [generation=ID file=MODE:SHA256:SIZE:NAME ...] [framed=NAME ...] [later=1]
# Payloads: words, then frames in order. The words are manifest, patch, base, and the files whose size is told as `text`.
# The base is empty where it is the manifest that stands there, or kept already. framed: of these three, what no word can
# hold. later=1: `arm` brings all of it onto the disk, and nothing relies on it before; what a power cut spoils until then,
# the next run puts right.
stage() {
  mine
  frame_words || stop "$COULD_NOT" frame "what was to be staged did not arrive"
  eval "set -- $FRAME_WORDS"
  FRAME_WORDS=''
  for stage_name in after patch.yaml base; do
    case $arg_framed in
      *"$stage_name$KSP_BREAK"*) frame_to "$T/$stage_name" ;;
      *) stage_text "$1" "$T/$stage_name" 2>/dev/null ;;
    esac || stop "$COULD_NOT" disk "can't write to $T"
    shift
  done
  if [ -n "$arg_generation" ]; then
    stage_generation "$@"
    printf '%s\n' "$arg_generation" >"$T/generation" || stop "$COULD_NOT" disk "can't write to $T"
  fi
  emit_end "$DONE"
}

# stage_text TEXT FILE: a new file, as with frame_to
stage_text() {
  [ ! -e "$2" ] || rm -f "$2"
  printf %s "$1" >"$2"
}

stage_generation() {
  stage_target=$GENERATIONS/$arg_generation
  stage_scratch=$GENERATIONS/.new-$arg_run
  [ ! -e "$stage_scratch" ] || rm -rf "$stage_scratch"
  stage_directories || stop "$COULD_NOT" disk "can't make $stage_scratch"
  stage_receive "$@"
  if [ -d "$stage_target" ]; then
    if cmp -s "$stage_target/.sha256" "$stage_scratch/.sha256" &&
      (cd "$stage_target" && sha256sum -c .sha256 >/dev/null 2>&1); then
      rm -rf "$stage_scratch"
      # A run that died before its `arm` may have left it so.
      [ "$arg_later" = 1 ] || flush "$stage_target"/* "$stage_target/.sha256" "$stage_target" "$GENERATIONS"
      return
    fi
    # Its name is the hash of its content: whoever changed it, this puts it right. A manifest may point to it already.
    [ "$arg_later" != 1 ] || flush "$stage_scratch"/* "$stage_scratch/.sha256" "$stage_scratch"
    arg_later=''
    mv "$stage_target" "$GENERATIONS/.damaged-$arg_run" || stage_failed "can't replace $stage_target"
  fi
  mv "$stage_scratch" "$stage_target" || stage_failed "can't make $stage_target"
  [ "$arg_later" = 1 ] || flush "$GENERATIONS"
  [ ! -e "$GENERATIONS/.damaged-$arg_run" ] || rm -rf "$GENERATIONS/.damaged-$arg_run"
}

# The scheduler may run as another user than root: directories are open, files have their own modes.
stage_directories() {
  set --
  for stage_path in "${GENERATIONS%/*}" "$GENERATIONS"; do
    [ ! -d "$stage_path" ] || set -- "$@" "$stage_path"
  done
  { [ $# = 0 ] || chmod 755 "$@"; } && (umask 022 && mkdir -p "$stage_scratch")
}

# stage_receive TEXT ...: all of them; then, by one process each for all: is it what was sent, its mode, and onto the
# disk.
stage_receive() {
  stage_hashes='' stage_unread='' stage_mode='' stage_names=''
  # No pipe: a loop behind one could not end the verb.
  stage_rest=$arg_file
  while [ -n "$stage_rest" ]; do
    stage_item=${stage_rest%%"$KSP_BREAK"*}
    stage_rest=${stage_rest#*"$KSP_BREAK"}
    stage_name=${stage_item#*:*:*:}
    [ "$stage_mode" = "${stage_item%%:*}" ] || stage_modes
    stage_mode=${stage_item%%:*} stage_names="$stage_names $stage_name"
    stage_item=${stage_item#*:}
    stage_hash=${stage_item%%:*}
    stage_hashes="$stage_hashes$stage_hash  $stage_name$KSP_BREAK"
    stage_item=${stage_item#*:}
    stage_size=${stage_item%%:*}
    [ "$stage_size" = text ] || emit_step "receiving $stage_name"
    if [ "$stage_size" != text ] && [ "$stage_size" -ge 4194304 ]; then
      stage_large
    else
      if [ "$stage_size" != text ]; then
        frame_to "$stage_scratch/$stage_name"
      else
        stage_text "${1-}" "$stage_scratch/$stage_name" 2>/dev/null && shift
      fi || stage_failed "can't write $stage_name: no space?"
      stage_unread="$stage_unread$stage_hash  $stage_scratch/$stage_name$KSP_BREAK"
    fi
  done
  stage_modes
  printf %s "$stage_hashes" >"$stage_scratch/.sha256" || stage_failed "can't write $stage_scratch: no space?"
  [ -z "$stage_unread" ] || printf %s "$stage_unread" | sha256sum -c >/dev/null 2>&1 ||
    stage_said=$(printf %s "$stage_unread" | sha256sum -c 2>/dev/null) || {
    case $stage_said in *": FAILED"*) ;; *) stage_failed "what was staged can't be read back" ;; esac
    stage_said=${stage_said%%": FAILED"*}
    stage_name=${stage_said##*/}
    stage_failed "$stage_name arrived damaged"
  }
  [ "$arg_later" = 1 ] || flush "$stage_scratch"/* "$stage_scratch/.sha256" "$stage_scratch"
}

# Of those that came one behind the other with the same one. Their names hold nothing odd (core/staging.py).
stage_modes() {
  [ -n "$stage_names" ] || return 0
  (cd "$stage_scratch" && chmod "$stage_mode" -- $stage_names) || stage_failed "can't set the mode of$stage_names"
  stage_names=''
}

# The next frame as the file stage_name. Its hash is reckoned while it arrives: for a scheduler that takes about as
# long as a fast network needs to bring it.
stage_large() {
  stage_path=$stage_scratch/$stage_name
  frame_begins && true >"$stage_path" || stage_failed "can't write $stage_name: no space?"
  # By what is fastest here: where the processor can reckon such hashes, openssl lets it, and is seven times as fast.
  stage_reckons=sha256sum
  case $(openssl dgst -sha256 -r </dev/null 2>/dev/null) in
    e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855*) stage_reckons='openssl dgst -sha256 -r' ;;
  esac
  # A disk that is full makes tee fail, and what follows finds that.
  stage_arrived=$(frame_bytes "$frame_length" | tee "$stage_path" | $stage_reckons)
  frame_is_whole && [ "$(stat -c %s "$stage_path")" = "$frame_length" ] || stage_failed "can't write $stage_name: no space?"
  [ "${stage_arrived%% *}" = "$stage_hash" ] || stage_failed "$stage_name arrived damaged"
}

stage_failed() {
  rm -rf "$stage_scratch"
  stop "$COULD_NOT" disk "$1"
}

# Generations that neither a kept run, nor the manifest, nor an open transaction names. Nobody can go
# back to what a run brought that failed.
prune_generations() {
  prune_kept=''
  read_manifest "$MANIFEST"
  for prune_path in "$REVISIONS"/*/outcome; do
    read_line "$prune_path"
    case $LINE in confirmed | open) prune_kept="$prune_kept ${prune_path%/outcome}/after" ;; esac
  done
  for prune_path in "$GENERATIONS"/* "$GENERATIONS"/.new-* "$GENERATIONS"/.damaged-*; do
    [ -d "$prune_path" ] || continue
    prune_id=${prune_path##*/}
    # What this very run has brought, and is confirmed.
    if [ "$prune_id" = "$HAS_GENERATION" ]; then continue; fi
    # kubeadm may render a manifest that names it: see 42-persist.sh.
    grep -qsF "$prune_id" "$MANIFEST" "$KUBEADM_PATCH" "$DIRECTORY"/.kschedpatch-* "$REVISIONS"/*/before $prune_kept || rm -rf "$prune_path"
  done
}
