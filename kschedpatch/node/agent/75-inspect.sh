# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# inspect: one round of looks at the scheduler that runs, from outside of its container: its image has
# no shell. Leaves nothing behind; what it writes down in between is gone whatever happens.

# inspect host=... port=... image=... [mount=HOST:INSIDE ...] [socket='HTTP INSIDE' ...] [reach='RESOLVE URL' ...]
inspect() {
  find_manifest
  find_live
  inspect_scratch
  for inspect_tool in curl crictl kubectl; do
    if there "$inspect_tool"; then emit_fact tool "$inspect_tool"; fi
  done
  if [ -n "$LIVE_PID" ]; then
    INSIDE=$R/proc/$LIVE_PID
    emit_fact pid "$LIVE_PID"
    inspect_process
    inspect_mounts
    inspect_image
    inspect_configz
    inspect_sockets
    inspect_log
  fi
  inspect_extenders
  emit_end "$DONE"
}

# A directory in memory, for an administrator's key lies there for a moment.
inspect_scratch() {
  forget_scratch
  # By the process of this call, not of the shell that serves many.
  inspect_own=$(exec sh -c 'echo $PPID')
  SCRATCH=$(mktemp -d "$R/run/kschedpatch-inspect.$inspect_own.XXXXXX" 2>/dev/null || mktemp -d) ||
    stop "$COULD_NOT" disk "no space for temporary files"
  trap 'rm -rf "$SCRATCH"' EXIT
  trap 'exit 1' HUP INT TERM PIPE
}

# Those that were left by shells that were killed.
forget_scratch() {
  for inspect_old in "$R"/run/kschedpatch-inspect.*; do
    inspect_owner=${inspect_old##*/kschedpatch-inspect.}
    inspect_owner=${inspect_owner%%.*}
    case $inspect_owner in '' | *[!0-9]*) continue ;; esac
    [ -d "/proc/$inspect_owner" ] || rm -rf "$inspect_old"
  done
}

# inspect_blob KEY LIMIT: stdin, so much of it
inspect_blob() {
  head -c "$2" >"$SCRATCH/blob" 2>/dev/null
  emit_blob "$1" "$SCRATCH/blob"
}

inspect_process() {
  inspect_blob words 131072 <"$INSIDE/cmdline"
  inspect_blob mountinfo 262144 <"$INSIDE/mountinfo"
  emit_lines identity "$(grep -E '^(Uid|Gid|Groups|CapEff):' "$INSIDE/status" 2>/dev/null)"
  emit_lines nameserver "$(sed -n 's/^nameserver[[:space:]]*//p' "$INSIDE/root/etc/resolv.conf" 2>/dev/null | head -n 3 | cut -c1-100)"
}

# Is what the container sees there the host's file, the very same? A file that was replaced on the host
# stays the old one to a container that mounts it alone.
inspect_mounts() {
  inspect_rest=$arg_mount
  while [ -n "$inspect_rest" ]; do
    inspect_item=${inspect_rest%%
*}
    inspect_rest=${inspect_rest#*
}
    inspect_path=${inspect_item##*:}
    inspect_here=$(stat -L -c %d:%i "$R${inspect_item%:*}" 2>/dev/null)
    inspect_there=$(stat -L -c %d:%i "$INSIDE/root$inspect_path" 2>/dev/null)
    if [ -z "$inspect_there" ]; then inspect_same=missing
    elif [ "$inspect_here" = "$inspect_there" ]; then inspect_same=same
    else inspect_same=other; fi
    emit_fact same "$inspect_same $inspect_path"
  done
}

inspect_image() {
  there crictl || return 0
  inspect_id=$(timeout 10 crictl ps -q --name "^$POD\$" --label "io.kubernetes.pod.uid=$LIVE_UID" 2>/dev/null | head -n 1)
  [ -n "$inspect_id" ] || return 0
  emit_fact image "$(timeout 10 crictl inspect -o go-template --template '{{.status.image.image}} {{.status.imageRef}}' "$inspect_id" 2>/dev/null | cut -c1-2000)"
  emit_fact wanted_image "$(timeout 10 crictl inspecti -o go-template --template '{{.status.id}} {{.status.repoDigests}}' "${arg_image%%
*}" 2>/dev/null | cut -c1-4000)"
}

# inspect_credential NAME: admin.conf's client-certificate or client-key, into CREDENTIAL, the path of a
# file. Neither passes through a variable or a command line.
inspect_credential() {
  CREDENTIAL=$SCRATCH/$1
  sed -n "s/^[[:space:]]*$1-data:[[:space:]]*[\"']\{0,1\}\([A-Za-z0-9+/=]*\).*/\1/p" "$inspect_conf" 2>/dev/null |
    head -n 1 | base64 -d >"$CREDENTIAL" 2>/dev/null
  [ ! -s "$CREDENTIAL" ] || return 0
  CREDENTIAL=$(sed -n "s/^[[:space:]]*$1:[[:space:]]*[\"']\{0,1\}\([^\"']*[^\"'[:space:]]\).*/\1/p" "$inspect_conf" 2>/dev/null | head -n 1)
  CREDENTIAL=${CREDENTIAL:+$R$CREDENTIAL}
  [ -n "$CREDENTIAL" ] && [ -r "$CREDENTIAL" ]
}

# What the scheduler itself says that it is configured with. Only an administrator may ask.
inspect_configz() {
  if ! there curl; then emit_fact configz_problem "no curl on the node" && return; fi
  if ! inspect_conf=$(admin_conf); then emit_fact configz_problem "no /etc/kubernetes/admin.conf on the node" && return; fi
  if ! inspect_credential client-certificate; then emit_fact configz_problem "admin.conf holds no client certificate" && return; fi
  inspect_cert=$CREDENTIAL
  if ! inspect_credential client-key; then emit_fact configz_problem "admin.conf holds no client key" && return; fi
  # The scheduler's own certificate is made anew with each start: there is nothing to check it by.
  curl -sk --noproxy '*' --max-time 5 --cert "$inspect_cert" --key "$CREDENTIAL" -w '\n%{http_code}' \
    "https://$arg_host:$arg_port/configz" 2>/dev/null | head -c 2097152 >"$SCRATCH/configz"
  rm -f "$SCRATCH/client-certificate" "$SCRATCH/client-key"
  inspect_status=$(tail -n 1 "$SCRATCH/configz" | cut -c1-10)
  if [ "$inspect_status" = 200 ]; then
    emit_blob configz "$SCRATCH/configz"
  else
    emit_fact configz_problem "/configz says HTTP ${inspect_status:-nothing}"
  fi
}

inspect_sockets() {
  inspect_number=0 inspect_rest=$arg_socket
  while [ -n "$inspect_rest" ]; do
    inspect_item=${inspect_rest%%
*}
    inspect_rest=${inspect_rest#*
}
    emit_step "asking ${inspect_item#* }"
    inspect_socket "$inspect_number" "${inspect_item%% *}" "$INSIDE/root${inspect_item#* }"
    inspect_number=$((inspect_number + 1))
  done
}

# inspect_socket NUMBER HTTP PATH
inspect_socket() {
  inspect_kind=missing
  if [ -S "$3" ]; then inspect_kind=socket; elif [ -e "$3" ]; then inspect_kind=other; fi
  emit_fact socket "$1 $inspect_kind $(stat -L -c '%a %u %g' "$3" 2>/dev/null)"
  inspect_way=$INSIDE/root inspect_path=${3#"$INSIDE/root/"}
  while :; do
    emit_fact socket_way "$1 $(stat -L -c '%a %u %g' "$inspect_way" 2>/dev/null)"
    case $inspect_path in */*) ;; *) break ;; esac
    inspect_way=$inspect_way/${inspect_path%%/*}
    inspect_path=${inspect_path#*/}
  done
  [ $inspect_kind = socket ] && there curl || return 0
  true >"$SCRATCH/head"
  # From its own directory: a socket's path may have 107 bytes.
  {
    cd "${3%/*}" && curl -sSv --noproxy '*' --max-time 3 -D "$SCRATCH/head" --unix-socket "./${3##*/}" "http://localhost$2" 2>"$SCRATCH/said"
    echo $? >"$SCRATCH/code"
  } | head -c 300 >"$SCRATCH/answer"
  emit_fact socket_curl "$1 $(first_line "$SCRATCH/code") $(sed -n '1s/^HTTP[^ ]* \([0-9]*\).*/\1/p' "$SCRATCH/head")"
  emit_fact socket_said "$1 $(grep -aE 'refused|denied|No such|[Ff]ail|timed out|reset|Empty' "$SCRATCH/said" | head -n 1 | cut -c1-200)"
  emit_blob "socket-$1" "$SCRATCH/answer"
}

# The log of the container that runs now: how it started, and what it said last.
inspect_log() {
  newest_log "$LIVE_LOGS"
  inspect_file=$LIVE_LOGS/$NEWEST.log
  [ -r "$inspect_file" ] || return 0
  inspect_blob log 131072 <"$inspect_file"
  inspect_size=$(($(wc -c <"$inspect_file")))
  [ $inspect_size -gt 131072 ] || return 0
  tail -c +131073 "$inspect_file" | tail -c 1048576 | inspect_blob log_end 1048576
  [ $inspect_size -le 1179648 ] || emit_fact log_is_cut 1
}

inspect_extenders() {
  inspect_number=0 inspect_rest=$arg_reach
  while [ -n "$inspect_rest" ]; do
    inspect_item=${inspect_rest%%
*}
    inspect_rest=${inspect_rest#*
}
    if there curl; then
      emit_step "asking ${inspect_item#* }"
      set -- -skS --noproxy '*' --connect-timeout 3 --max-time 5 -o /dev/null -w '%{http_code}'
      [ "${inspect_item%% *}" = - ] || set -- "$@" --resolve "${inspect_item%% *}"
      inspect_status=$(curl "$@" "${inspect_item#* }" 2>"$SCRATCH/said")
      emit_fact extender "$inspect_number $? ${inspect_status:-0} $(head -n 1 "$SCRATCH/said" | cut -c1-200)"
    fi
    inspect_number=$((inspect_number + 1))
  done
}
