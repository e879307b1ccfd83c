# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# pull, offer, upload, import, hold: how the planned image comes to the node, and the old one stays. Nothing live is touched: what
# nobody runs is only there. An image keeps the name that it came with; none is ever given another.

# busy SECONDS WORDS LOG COMMAND...: runs it, and says every other second for how long already. 124 when its
# time is over. It ends with the call: who waits no longer for an image does not want it any more.
busy() {
  busy_limit=$1 busy_words=$2 busy_log=$3
  shift 3
  now
  busy_since=$NOW busy_said=$NOW
  "$@" >"$busy_log" 2>&1 3<&- &
  busy_pid=$!
  trap busy_cut_off HUP INT PIPE TERM
  # Each sleep lets the shell take note of a child that has ended.
  while kill -0 "$busy_pid" 2>/dev/null; do
    sleep 0.2
    now
    if [ $((NOW - busy_since)) -ge $((busy_limit * 100)) ]; then
      kill "$busy_pid" 2>/dev/null
      trap - HUP INT PIPE TERM
      return 124
    fi
    if [ $((NOW - busy_said)) -ge 200 ]; then
      busy_said=$NOW
      emit_step "$busy_words ($(((NOW - busy_since) / 100)) s of at most $busy_limit)" || busy_cut_off
    fi
  done
  wait "$busy_pid"
  busy_code=$?
  trap - HUP INT PIPE TERM
  return $busy_code
}

busy_cut_off() {
  kill "$busy_pid" 2>/dev/null
  exit 1
}

# pull run=... image=... timeout=SECONDS: through the runtime, so that its mirrors and credentials count
pull() {
  mine
  pull_image=${arg_image%
}
  image_there "$pull_image"
  case $? in
    0) emit_fact how there ;;
    1) pull_it ;;
    *)
      emit_fact how unknown
      emit_end "$DONE"
      return ;;
  esac
  emit_fact id "$(image_id "$pull_image")"
  pull_digests
  emit_end "$DONE"
}

pull_it() {
  there crictl || stop "$BAD" image "$pull_image is not on the node, and there is no crictl to pull it"
  emit_step "pulling $pull_image"
  busy "${arg_timeout:-300}" "pulling $pull_image" "$T/pull.log" crictl pull "$pull_image"
  pull_code=$?
  if [ $pull_code = 0 ]; then
    image_there "$pull_image" || stop "$BAD" image "$pull_image was pulled, and is not there"
    emit_fact how pulled
    return
  fi
  tail -c 4000 "$T/pull.log" >"$T/pull.tail" && emit_blob log "$T/pull.tail"
  [ $pull_code != 124 ] || stop "$BAD" pull-timeout "$pull_image was not pulled within ${arg_timeout:-300} s"
  stop "$BAD" pull "$pull_image can't be pulled"
}

# Under which digests the runtime has it: one that is named by its digest must have that one.
pull_digests() {
  case $pull_image in *@sha256:*) ;; *) return 0 ;; esac
  if there crictl; then
    pull_found=$(timeout 20 crictl inspecti -o go-template --template '{{range .status.repoDigests}}{{.}} {{end}}' "$pull_image" 2>/dev/null)
  elif there ctr; then
    pull_found=$(timeout 20 ctr -n k8s.io images ls "name==$pull_image" 2>/dev/null)
  else
    pull_found=$(timeout 20 docker image inspect --format '{{range .RepoDigests}}{{.}} {{end}}' "$pull_image" 2>/dev/null)
  fi
  for pull_word in $pull_found; do
    case $pull_word in *sha256:*) emit_fact digest "sha256:${pull_word##*sha256:}" ;; esac
  done
}

# offer run=... image=... sha256=...: what of it is here: an image of that name, a part of the archive
offer() {
  mine
  offer_image=${arg_image%
}
  emit_fact id "$(image_id "$offer_image")"
  for offer_file in "$UPLOADS"/*; do
    # One run at a time: whatever else lies there, nobody goes on with it.
    [ "$offer_file" = "$UPLOADS/$arg_sha256.part" ] || rm -rf "$offer_file"
  done
  emit_fact have "$(upload_size)"
  emit_end "$DONE"
}

# Asked of the file's entry: some wc read it all.
upload_size() {
  if [ -f "$UPLOADS/$arg_sha256.part" ]; then stat -c %s "$UPLOADS/$arg_sha256.part"; else echo 0; fi
}

# upload run=... sha256=... offset=BYTES size=BYTES, payload: the archive from there on. What arrives stays,
# also where the call is cut off.
upload() {
  mine
  upload_file=$UPLOADS/$arg_sha256.part
  mkdir -p "$UPLOADS" && true >>"$upload_file" || stop "$COULD_NOT" disk "can't write to $UPLOADS"
  IFS= read -r upload_length <&3 # what it says, arg_size says too
  # At its place and not at the end: whoever was cut off may still be writing the same bytes there. The
  # last frame of a call: what reads ahead takes nothing from anybody.
  if ! (exec 1<>"$upload_file" && dd bs=1 seek="$arg_offset" count=0 conv=notrunc 2>/dev/null && exec cat <&3); then
    rm -f "$upload_file"
    stop "$COULD_NOT" disk "can't write to $UPLOADS: no space?"
  fi
  [ "$(upload_size)" = "$arg_size" ] || stop "$COULD_NOT" upload "$(upload_size) of $arg_size bytes have arrived"
  emit_end "$DONE"
}

# import run=... image=... sha256=... timeout=SECONDS: what was uploaded, if it is what was meant to arrive
import() {
  mine
  import_image=${arg_image%
}
  import_file=$UPLOADS/$arg_sha256.part
  busy "$arg_timeout" "checking what has arrived" "$T/import.log" sha256sum "$import_file"
  import_hash=$(first_line "$T/import.log")
  if [ "${import_hash%% *}" != "$arg_sha256" ]; then
    rm -f "$import_file"
    stop "$COULD_NOT" damaged "the archive arrived damaged"
  fi
  runtime
  case $RUNTIME in
    cri-o) set -- podman load -i "$import_file" ;;
    docker) set -- docker load -i "$import_file" ;;
    *) set -- ctr -n k8s.io images import "$import_file" ;;
  esac
  there "$1" || stop "$BAD" import "there is no $1 on the node to import $import_image with"
  emit_step "importing $import_image"
  busy "$arg_timeout" "importing $import_image" "$T/import.log" "$@"
  import_code=$?
  if [ $import_code != 0 ]; then
    tail -c 4000 "$T/import.log" >"$T/import.tail" && emit_blob log "$T/import.tail"
    [ $import_code != 124 ] || stop "$BAD" import "$import_image was not imported within $arg_timeout s"
    stop "$BAD" import "$1 could not import $import_image: $(grep -av '^$' "$T/import.log" | tail -n 1 | cut -c1-800)"
  fi
  # The runtime's CRI half hears of it by an event.
  import_tries=0
  until image_there "$import_image" || [ $import_tries -ge 50 ]; do
    import_tries=$((import_tries + 1))
    sleep 0.2
  done
  emit_fact id "$(image_id "$import_image")"
  rm -rf "$UPLOADS"
  emit_end "$DONE"
}

# hold run=... image=...: the old manifest is the way back, and needs its image: what is pinned the kubelet's
# garbage collection leaves alone. Says how it went: held, already, or no.
hold() {
  mine
  hold_image=${arg_image%
}
  emit_fact held "$(hold_it)"
  emit_end "$DONE"
}

hold_it() {
  runtime
  if [ "$RUNTIME" != containerd ] || ! there ctr || ! there crictl; then
    echo no
  elif is_pinned; then
    echo already
  else
    # Noted first: of what is noted and not pinned nobody suffers.
    printf '%s\n' "$hold_image" 2>/dev/null >>"$S/pins" || { echo no && return; }
    timeout 20 ctr -n k8s.io images label "$hold_image" io.cri-containerd.pinned=pinned >/dev/null 2>&1
    hold_tries=0
    until is_pinned; do
      hold_tries=$((hold_tries + 1))
      # containerd before 1.7.3 takes the label and makes nothing of it.
      if [ $hold_tries -ge 10 ]; then
        let_go "$hold_image"
        echo no
        return
      fi
      sleep 0.2
    done
    echo held
  fi
}

is_pinned() {
  [ "$(timeout 20 crictl inspecti -o go-template --template '{{.status.pinned}}' "$hold_image" 2>/dev/null)" = true ]
}

# let_go IMAGE
let_go() {
  timeout 20 ctr -n k8s.io images label "$1" io.cri-containerd.pinned= >/dev/null 2>&1
  grep -vxF "$1" "$S/pins" >"$S/pins.new"
  mv -f "$S/pins.new" "$S/pins"
  [ -s "$S/pins" ] || rm -f "$S/pins"
}

# Images that we have pinned and that neither the manifest nor a kept one names any more.
prune_pins() {
  [ -f "$S/pins" ] || return 0
  for prune_image in $(sort -u "$S/pins"); do
    grep -qsF "$prune_image" "$MANIFEST" "$REVISIONS"/*/before "$REVISIONS"/*/after || let_go "$prune_image"
  done
}
