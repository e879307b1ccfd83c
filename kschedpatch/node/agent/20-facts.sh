# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# facts: one look at the node. Creates nothing, not even a directory: `plan` may be run by anybody.

facts() {
  hold_words
  find_manifest
  find_live
  find_host
  emit_fact hostname "$HOST"
  node_name
  emit_fact node_name "$NAME"
  read_line "$R/etc/machine-id"
  emit_fact machine_id "$LINE"
  emit_fact machine "$(uname -m)"
  emit_fact clock "$(date +%s)"
  emit_fact kubelet "$(kubelet --version 2>/dev/null)"
  if has_systemd; then emit_fact systemd 1; fi
  for facts_tool in curl wget crictl ctr kubectl journalctl podman docker timeout; do
    if there "$facts_tool"; then emit_fact tool "$facts_tool"; fi
  done
  runtime
  emit_fact runtime "$RUNTIME"
  read_manifest "$MANIFEST"
  facts_manifest
  facts_live
  [ "$arg_room" != 1 ] || facts_room
  facts_state
  facts_traces
  facts_asked
  facts_space
  facts_uploads
  kubeadm_at_work
  emit_fact kubeadm "$WORK"
  [ "$arg_api" != 1 ] || facts_api
  emit_end $DONE
}

# Where something is written, and on which file system that lies.
facts_space() {
  # Images lie where the runtime says; only who brings one wants to know.
  facts_store=''
  if [ -n "$arg_image" ] && there crictl; then
    facts_store=$(timeout 20 crictl imagefsinfo 2>/dev/null | sed -n 's/.*"mountpoint": *"\(\/[^"]*\)".*/\1/p' | tail -n 1) # after those of containers
    [ -z "$facts_store" ] || emit_fact image_store "$facts_store"
  fi
  set --
  for facts_place in "${DIRECTORY#"$R"}" /var/lib "$facts_store"; do
    [ -z "$facts_place" ] || [ ! -e "$R$facts_place" ] || set -- "$@" "$R$facts_place"
  done
  # A line of names, then one for each of them.
  if facts_df=$(df -Pk "$@" 2>/dev/null); then
    for facts_place; do
      facts_df=${facts_df#*"$KSP_BREAK"}
      facts_free "${facts_place#"$R"}" "${facts_df%%"$KSP_BREAK"*}"
    done
  else # one of them can't be told
    for facts_place; do
      facts_df=$(df -Pk "$facts_place" 2>/dev/null) && facts_free "${facts_place#"$R"}" "${facts_df##*"$KSP_BREAK"}"
    done
  fi
}

# facts_free PLACE LINE: (...) 890123  13% /mnt
facts_free() {
  case $2 in *[0-9]%\ *) ;; *) return ;; esac
  facts_kib=${2%\% *}
  facts_kib=${facts_kib% *}
  facts_kib=${facts_kib%"${facts_kib##*[! ]}"}
  emit_fact free_kib "${facts_kib##* } $1"
  facts_mount=${2##*\% }
  case $facts_mount in *\ *) facts_mount=$(printf %s "$facts_mount" | tr ' ' _) ;; esac
  emit_fact filesystem "$facts_mount $1"
}

# What there is of archives whose upload was cut off.
facts_uploads() {
  for facts_file in "$UPLOADS"/*.part; do
    [ -f "$facts_file" ] || continue
    facts_id=${facts_file##*/}
    emit_fact upload "$(stat -c %s "$facts_file") ${facts_id%.part}"
  done
}

facts_manifest() {
  emit_fact directory "${DIRECTORY#"$R"}"
  emit_fact manifest "${MANIFEST#"$R"}"
  facts_problem=''
  if [ -L "$MANIFEST" ]; then
    facts_problem=symlink
  elif [ ! -e "$MANIFEST" ]; then
    facts_problem=missing
  elif [ ! -f "$MANIFEST" ] || [ ! -r "$MANIFEST" ]; then
    facts_problem=unreadable
  elif grep -qsF " $MANIFEST " /proc/self/mountinfo; then
    facts_problem=mount
  fi
  emit_fact manifest_problem "$facts_problem"
  if [ -f "$MANIFEST" ]; then
    facts_said=$(stat -c '%s %Y %a %u:%g' "$MANIFEST")
    facts_size=${facts_said%% *}
    facts_said=${facts_said#* }
    emit_fact manifest_stat "${facts_said#* }"
    emit_fact manifest_time "${facts_said%% *}"
    # One that is no larger than they are is read faster by the shell itself.
    if [ "${facts_size:-99999}" -le 8192 ]; then emit_text manifest "$MANIFEST" "$facts_size"; else emit_blob manifest "$MANIFEST"; fi
    facts_base
  fi
  if [ -f "$DIRECTORY/kube-apiserver.yaml" ]; then emit_fact control_plane_version "$(control_plane_version)"; fi
  emit_blob kubeadm_patch "$KUBEADM_PATCH"
  facts_others
  for facts_file in "$DIRECTORY"/.kschedpatch-* "$CANARY_MANIFEST"; do
    if [ -e "$facts_file" ]; then emit_fact leftover "${facts_file##*/}"; fi
  done
}

# Other files of the directory that speak of a scheduler.
facts_others() {
  set --
  for facts_file in "$DIRECTORY"/*; do
    if [ "$facts_file" != "$MANIFEST" ] && [ "$facts_file" != "$CANARY_MANIFEST" ] && [ -f "$facts_file" ]; then set -- "$@" "$facts_file"; fi
  done
  [ $# -gt 0 ] || return 0
  facts_number=0
  emit_held
  grep -lsE 'kube-scheduler|KubeSchedulerConfiguration' "$@" | while KSP_HOLDS='' && IFS= read -r facts_file; do
    if [ $facts_number -lt 10 ] && [ -f "$facts_file" ] && [ "$(($(wc -c <"$facts_file")))" -le 1048576 ]; then
      emit_fact other "$facts_number ${facts_file#"$R"}"
      emit_blob "other-$facts_number" "$facts_file"
      facts_number=$((facts_number + 1))
    fi
  done
}

# What the manifest was made from, by the hash that its own annotation names. One that kubeadm has rendered with
# our patch in it names none: then that of the last run's manifest, with which it can be compared.
facts_base() {
  facts_hash=$HAS_BASE
  if [ -z "$facts_hash" ] && [ -n "$HAS_PATCH" ]; then
    facts_after=$(last_left_patched)
    [ -n "$facts_after" ] || return 0
    emit_blob kept_after "$facts_after"
    facts_hash=$(base_named_by "$facts_after")
  fi
  [ -n "$facts_hash" ] || return 0
  # All of them at once: there may be dozens.
  facts_file=$(sha256sum "$REVISIONS"/*/before "$REVISIONS"/*/base 2>/dev/null | sed -n "/^$facts_hash  /{s/^[0-9a-f]*  //p;q;}")
  [ -z "$facts_file" ] || emit_blob base "$facts_file"
}

# base_named_by MANIFEST
base_named_by() {
  sed -n '/.*kschedpatch\.io\/base["'\'']\{0,1\}:[[:space:]]*["'\'']\{0,1\}sha256:\([0-9a-f]\{64\}\).*/{s//\1/p;q;}' "$1"
}

# The newest manifest that a confirmed run has left, if a patch is in it.
last_left_patched() {
  for left_path in $(printf '%s\n' "$REVISIONS"/[0-9]* | sort -r); do
    if grep -qsx confirmed "$left_path/outcome"; then
      [ -z "$(base_named_by "$left_path/after")" ] || printf %s "$left_path/after"
      return
    fi
  done
}

# The version that kubeadm runs here: the kubelet may be older for a while.
control_plane_version() {
  sed -n '/^ *image: .*:v\(1\.[0-9]\{1,3\}\.[0-9]\{1,4\}\)"\{0,1\} *$/{s//\1/p;q;}' "$DIRECTORY/kube-apiserver.yaml" 2>/dev/null
}

facts_live() {
  [ -n "$LIVE_PID" ] || return 0
  case $HAS_HOST in '' | 0.0.0.0 | ::) facts_host=127.0.0.1 ;; *:*) facts_host="[$HAS_HOST]" ;; *) facts_host=$HAS_HOST ;; esac
  facts_ready=0
  for facts_path in readyz healthz; do
    facts_said=$(answer "https://$facts_host:${HAS_PORT:-10259}/$facts_path")
    case $facts_said in
      ok) facts_ready=1 && break ;;
      *404* | *'not found'*) ;; # before 1.31 there is no /readyz
      *) break ;;
    esac
  done
  newest_log "$LIVE_LOGS"
  emit_fact live "$LIVE_UID $LIVE_PID $NEWEST $facts_ready"
  # Its configuration as it sees it: on what it elects stands there.
  facts_file=$(tr '\000' '\n' <"$R/proc/$LIVE_PID/cmdline" 2>/dev/null | sed -n -e 's/^--config=//p' -e '/^--config$/{n;p;}' | tail -n 1)
  facts_file=$R/proc/$LIVE_PID/root$facts_file
  if [ -f "$facts_file" ] && [ "$(($(wc -c <"$facts_file")))" -le 131072 ]; then emit_blob live_config "$facts_file"; fi
}

# What there is for a second scheduler: a port, memory, and how much the live one takes. Only who plans one wants to
# know: for a port the kernel goes through all connections that it has place for.
facts_room() {
  facts_free=$(amount_of MemAvailable "$R/proc/meminfo")
  [ -n "$facts_free" ] || return 0
  facts_used=''
  if [ -n "$LIVE_PID" ]; then facts_used=$(amount_of VmRSS "$R/proc/$LIVE_PID/status"); fi
  free_port
  emit_fact room "${PORT:-0} $facts_free ${facts_used:-0}"
}

# amount_of KEY FILE: of a file in /proc that names amounts in kB
amount_of() {
  [ -r "$2" ] || return 0
  while read -r amount_key amount_value amount_rest; do
    if [ "$amount_key" = "$1:" ]; then printf %s "$amount_value" && return; fi
  done <"$2"
}

facts_state() {
  [ -d "$S" ] || return 0
  read_line "$S/format"
  emit_fact format "$LINE"
  for facts_file in "$REVISIONS"/*/meta; do
    [ -f "$facts_file" ] || continue
    facts_run=${facts_file%/meta}
    facts_run=${facts_run##*/}
    emit_text "meta-$facts_run" "$facts_file"
    read_line "$REVISIONS/$facts_run/outcome"
    emit_fact outcome "$facts_run $LINE"
    # Without a word in it too: a full disk leaves it so, and there may be objects to put back.
    if [ -f "$REVISIONS/$facts_run/objects" ]; then
      read_line "$REVISIONS/$facts_run/objects"
      emit_fact objects "$facts_run $LINE"
    fi
  done
  if [ -f "$REVISIONS/original/before" ]; then emit_blob original "$REVISIONS/original/before"; fi
  facts_generation
  [ -d "$T" ] || return 0
  facts_left=$(txn deadline)
  facts_lives=0
  if dead_man_lives; then facts_lives=1; fi
  find_state
  emit_fact txn "$(txn run) $(txn kind) $(txn since) $STATE $((${facts_left:-0} - $(uptime_seconds))) $facts_lives $(txn who)"
}

# Are the files that the manifest points to still what was staged? hashes=none leaves it out: a binary takes
# its time. hashes=all looks at those of kept runs as well: the way back leads to them.
facts_generation() {
  [ "$arg_hashes" != none ] || return 0
  facts_id=$HAS_GENERATION
  if [ -n "$facts_id" ]; then
    generation_problem "$facts_id"
    [ -z "$PROBLEM" ] || emit_fact generation_problem "$PROBLEM"
  fi
  [ "$arg_hashes" = all ] || return 0
  for facts_file in "$GENERATIONS"/*; do
    if [ -d "$facts_file" ] && [ "${facts_file##*/}" != "$facts_id" ]; then
      emit_step "hashing ${facts_file##*/}"
      generation_problem "${facts_file##*/}"
      [ -z "$PROBLEM" ] || emit_fact kept_generation_problem "${facts_file##*/} $PROBLEM"
    fi
  done
}

# Whatever there is of ours; and of that, what a run has left that was killed: as long as one is open, it is
# in use.
facts_traces() {
  own_paths
  while [ -n "$OWN" ]; do
    emit_fact trace "${OWN%%"$KSP_BREAK"*}"
    OWN=${OWN#*"$KSP_BREAK"}
  done
  [ ! -d "$T" ] || return 0
  for facts_file in "$GENERATIONS"/.new-* "$GENERATIONS"/.damaged-* "$S"/.stale-* "$S/ended" "$S"/.*.new \
    "$REVISIONS/.original" "$UPLOADS"; do
    if [ -e "$facts_file" ]; then emit_fact debris "${facts_file#"$R"}"; fi
  done
}

# Paths and images that the patch asks about, and the image that runs (running=1): the way back needs it.
facts_asked() {
  facts_images=$arg_image
  if [ "$arg_running" = 1 ] && [ -f "$MANIFEST" ]; then
    facts_image=$HAS_IMAGE
    case "
$arg_image" in
      *"
$facts_image
"*) ;;
      *) [ -z "$facts_image" ] || facts_images="$arg_image$facts_image
" ;;
    esac
  fi
  emit_held
  [ -z "$arg_path" ] || printf '%s' "$arg_path" | while KSP_HOLDS='' && IFS= read -r facts_file; do
    facts_at=$R$facts_file
    if [ -d "$facts_at" ]; then facts_type=Directory
    elif [ -f "$facts_at" ]; then facts_type=File
    elif [ -S "$facts_at" ]; then facts_type=Socket
    elif [ -c "$facts_at" ]; then facts_type=CharDevice
    elif [ -b "$facts_at" ]; then facts_type=BlockDevice
    elif [ -e "$facts_at" ]; then facts_type=Other
    else facts_type=Missing; fi
    emit_fact path "$facts_type $facts_file"
  done
  [ -z "$facts_images" ] || printf '%s' "$facts_images" | while KSP_HOLDS='' && IFS= read -r facts_image; do
    image_there "$facts_image"
    case $? in
      0)
        emit_fact image "1 $facts_image"
        emit_fact image_id "$(image_id "$facts_image") $facts_image" ;;
      1) emit_fact image "0 $facts_image" ;;
    esac
  done
}

facts_api() {
  if ! there kubectl || ! facts_conf=$(admin_conf); then return 0; fi
  # Its cache would be a trace in root's home: there is no place for one.
  facts_cache=--cache-dir=/dev/null/none
  facts_answer=$(timeout 15 kubectl "--kubeconfig=$facts_conf" $facts_cache --request-timeout=5s -n kube-system get lease kube-scheduler -o 'jsonpath={.spec.holderIdentity}' 2>/dev/null) || return 0
  emit_fact api 1
  emit_fact holder "$facts_answer"
  emit_held
  timeout 15 kubectl "--kubeconfig=$facts_conf" $facts_cache --request-timeout=5s get nodes -l node-role.kubernetes.io/control-plane \
    -o 'jsonpath={range .items[*]}{.metadata.name}{range .status.addresses[*]}{" "}{.address}{end}{"\n"}{end}' 2>/dev/null |
    while KSP_HOLDS='' && IFS= read -r facts_answer; do emit_fact control_plane "$facts_answer"; done
}

# kept: the manifests that a run keeps, its patch, what it did to objects of the cluster, and the names of the
# files that it brought
kept() {
  for kept_name in before after patch.yaml objects.json; do
    if [ -f "$REVISIONS/$arg_run/$kept_name" ]; then emit_blob $kept_name "$REVISIONS/$arg_run/$kept_name"; fi
  done
  kept_id=$(sed -n '/^generation=\([0-9a-f]\{1,\}\)$/{s//\1/p;q;}' "$REVISIONS/$arg_run/meta" 2>/dev/null)
  if [ -n "$kept_id" ] && [ -f "$GENERATIONS/$kept_id/.sha256" ]; then
    # shellcheck disable=SC2034  # the hash is of no interest here
    while read -r kept_hash kept_name; do emit_fact file "$kept_name"; done <"$GENERATIONS/$kept_id/.sha256"
  fi
  emit_end $DONE
}
