# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# Places, and small looks at the node, that the verbs share. Nothing here changes anything.
#
# Variables that begin with arg_ are the call's arguments (see 90-main.sh). A file is made by
# `true >file`: dash ends altogether where a redirection of `:` fails, and the verb without a word.

R=${KSCHEDPATCH_ROOT:-}
S=$R/var/lib/kschedpatch
T=$S/txn
REVISIONS=$S/revisions
GENERATIONS=$R/etc/kubernetes/kschedpatch/generations
UPLOADS=$S/uploads
# What kubeadm is pointed to at an upgrade (`--patches`), and our file in it: see 42-persist.sh.
KUBEADM_PATCHES=$R/etc/kubernetes/kschedpatch/kubeadm-patches
KUBEADM_PATCH=$KUBEADM_PATCHES/kube-scheduler50-kschedpatch+strategic.yaml
UNIT=kschedpatch-deadman.service
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/bin
STATE_FORMAT=1
KEEP=20
# The pod that is looked at, and its container: the scheduler, or the canary (65-canary.sh).
POD=kube-scheduler
CANARY=kschedpatch-canary

# How a verb ends; the operator half knows them by these numbers.
DONE=0 REFUSED=10 LOCKED=11 BAD=12 TOO_LATE=13 COULD_NOT=14 FOREIGN=15

# stop CODE REASON WORDS: the end of a verb that did not do what was asked
stop() {
  emit_fact reason "$2"
  emit_fact detail "$3"
  emit_end "$1"
  exit 0
}

there() { command -v "$1" >/dev/null 2>&1; }
# hash_of FILE, holds FILE HASH: a process for each look counts, so nothing is cut off by another one.
hash_of() {
  hash_said=$(sha256sum <"$1" 2>/dev/null)
  printf %s "${hash_said%% *}"
}
holds() {
  case $(sha256sum <"$1" 2>/dev/null) in
    "${2:-none} "*) return 0 ;;
  esac
  return 1
}
# first_line FILE; read_line FILE: the same into the variable LINE, for those that come often
read_line() { LINE=''; if [ -r "$1" ]; then IFS= read -r LINE <"$1" || true; fi; }
first_line() { read_line "$1"; printf %s "$LINE"; }
txn() { first_line "$T/$1"; }
# is_open RUN: the transaction on this node is that run's
is_open() { [ -d "$T" ] && read_line "$T/run" && [ "$LINE" = "$1" ]; }
has_systemd() { [ -d "$R/run/systemd/system" ] && there systemctl; }
boot_id() { first_line "$R/proc/sys/kernel/random/boot_id"; }

# Hundredths of a second since the boot: clocks are set, this is not. Into the variable NOW, because a
# subshell for each look would cost more than the look.
now() {
  IFS=. read -r now_whole now_rest <"$R/proc/uptime" || now_whole=0
  now_rest=${now_rest%% *}
  NOW=$((now_whole * 100 + 1${now_rest:-00} - 100))
}
uptime_seconds() { now && printf %s $((NOW / 100)); }

# kubelet_setting KEY: a plain value of the kubelet's configuration
kubelet_setting() {
  sed -n "/^$1:/{s/^[^:]*:[[:space:]]*[\"']\{0,1\}\([^\"'#]*[^\"'#[:space:]]\).*/\1/p;q;}" \
    "$R/var/lib/kubelet/config.yaml" 2>/dev/null
}

# The directory that the kubelet really reads, and the manifest in it. An open transaction has the one that it
# began with, whatever becomes of the kubelet's configuration meanwhile.
find_manifest() {
  DIRECTORY='' LOGS=''
  { IFS= read -r DIRECTORY && IFS= read -r LOGS; } 2>/dev/null <"$T/place"
  if [ -n "$LOGS" ]; then
    name_manifests
    return
  fi
  DIRECTORY=$(kubelet_setting staticPodPath)
  DIRECTORY=$R${DIRECTORY:-/etc/kubernetes/manifests}
  DIRECTORY=$(cd -P "$DIRECTORY" 2>/dev/null && pwd -P || printf %s "$DIRECTORY")
  LOGS=$(kubelet_setting podLogsDir)
  LOGS=$R${LOGS:-/var/log/pods}
  name_manifests
}

name_manifests() {
  MANIFEST=$DIRECTORY/kube-scheduler.yaml
  CANARY_MANIFEST=$DIRECTORY/$CANARY.yaml
}

# The files of a run in the manifests directory (see restore.sh).
names_of_run() {
  NEW=$DIRECTORY/.kschedpatch-$1.new
  OLD=$DIRECTORY/.kschedpatch-$1.old
  TAKEN=$DIRECTORY/.kschedpatch-$1.restoring
}

# The process of the static pod POD: LIVE_PID, LIVE_UID and LIVE_LOGS, or all empty. A static pod's uid is
# the kubelet's hash, 32 hex digits; the kubelet mounts /dev/termination-log from the pod's directory,
# and the pod's log directory tells its name. No runtime has to be asked.
find_live() {
  LIVE_PID='' LIVE_UID='' LIVE_LOGS=''
  for live_found in $(grep -osHE "/pods/[0-9a-f]{32}/containers/$POD/" "$R"/proc/[0-9]*/mountinfo 2>/dev/null); do
    live_uid=${live_found#*:/pods/}
    live_uid=${live_uid%%/*}
    for live_logs in "$LOGS/kube-system_$POD"-*_"$live_uid"; do
      if [ -d "$live_logs" ]; then
        live_found=${live_found%%/mountinfo:*}
        LIVE_PID=${live_found##*/} LIVE_UID=$live_uid LIVE_LOGS=$live_logs/$POD
        return
      fi
    done
  done
}

# newest_log DIRECTORY: the number of its last log, which is the restart count; -1 without any. Into the
# variable NEWEST, as with NOW.
newest_log() {
  NEWEST=-1
  for log_file in "$1"/*.log; do
    log_number=${log_file##*/}
    log_number=${log_number%.log}
    case $log_number in '' | *[!0-9]*) continue ;; esac
    [ "$log_number" -le $NEWEST ] || NEWEST=$log_number
  done
}

# The node's name in the cluster: from the logs of the last scheduler's pod, else the host's.
node_name() {
  # shellcheck disable=SC2010,SC2012  # names of pods hold nothing odd
  name_from=$(ls -dt "$LOGS"/kube-system_kube-scheduler-*_[0-9a-f]* 2>/dev/null | grep -E '_[0-9a-f]{32}$' | head -n 1)
  if [ -n "$name_from" ]; then
    name_from=${name_from##*/kube-system_kube-scheduler-}
    printf %s "${name_from%_*}"
  else
    hostname | tr '[:upper:]' '[:lower:]'
  fi
}

# listens PORT: does anybody on this node? No connection is made for it.
listens() {
  if [ "$1" != "${listens_port:-}" ]; then listens_port=$1 listens_hex=$(printf %04X "$1"); fi
  grep -qsE "^ *[0-9]+: [0-9A-F]+:$listens_hex [0-9A-F]+:0000 0A " "$R/proc/net/tcp" "$R/proc/net/tcp6"
}

# answer URL: what a health endpoint says, one line
answer() {
  if there curl; then
    curl -sk --max-time 2 "$1" 2>/dev/null | head -c 200
  elif there wget; then
    wget -q -O - --no-check-certificate -T 2 "$1" 2>/dev/null | head -c 200
  fi
}

# Which runtime the kubelet talks to.
runtime() {
  runtime_socket=$(sed -n 's/.*--container-runtime-endpoint=\([^ "]*\).*/\1/p' "$R/var/lib/kubelet/kubeadm-flags.env" 2>/dev/null)
  [ -n "$runtime_socket" ] || runtime_socket=$(kubelet_setting containerRuntimeEndpoint)
  case $runtime_socket in
    *containerd*) printf containerd ;;
    *crio*) printf cri-o ;;
    *docker*) printf docker ;;
    *) if there ctr; then printf containerd; else printf unknown; fi ;;
  esac
}

# image_there IMAGE: 0 yes, 1 no, 2 nobody can tell
image_there() {
  if there crictl; then
    timeout 20 crictl inspecti "$1" >/dev/null 2>&1
  elif there ctr; then
    [ -n "$(timeout 20 ctr -n k8s.io images ls -q "name==$1" 2>/dev/null)" ]
  elif there docker; then
    timeout 20 docker image inspect "$1" >/dev/null 2>&1
  else
    return 2
  fi
}

# image_id IMAGE: what the runtime calls it, as sha256:HEX; nothing where nobody can tell
image_id() {
  if there crictl; then
    image_found=$(timeout 20 crictl inspecti -o go-template --template '{{.status.id}}' "$1" 2>/dev/null)
  elif there docker; then
    image_found=$(timeout 20 docker image inspect --format '{{.Id}}' "$1" 2>/dev/null)
  else
    return 0
  fi
  # CRI-O leaves the algorithm out.
  case $image_found in
    sha256:*) printf %s "$image_found" ;;
    ?*) printf 'sha256:%s' "$image_found" ;;
  esac
}

admin_conf() {
  for admin_file in admin.conf super-admin.conf; do
    [ -r "$R/etc/kubernetes/$admin_file" ] && printf %s "$R/etc/kubernetes/$admin_file" && return
  done
  return 1
}

# A kubeadm that changes this node right now: its command line.
kubeadm_at_work() {
  for work_file in $(grep -lsa kubeadm "$R"/proc/[0-9]*/cmdline 2>/dev/null); do
    work_words=$(tr '\000' ' ' <"$work_file" 2>/dev/null)
    work_program=${work_words%% *}
    case "${work_program##*/} $work_words" in
      "kubeadm "*" upgrade "* | "kubeadm "*" join "* | "kubeadm "*" init "* | "kubeadm "*" reset "*)
        printf %s "$work_words"
        return ;;
    esac
  done
}

# The state of a transaction, by files alone.
txn_state() {
  txn_run=$(txn run)
  names_of_run "$txn_run"
  if [ -e "$TAKEN" ]; then
    printf restoring
  elif [ -e "$OLD" ]; then
    if [ -e "$MANIFEST" ]; then printf switched; else printf moved; fi
  elif [ -e "$NEW" ]; then
    printf armed
  elif holds "$MANIFEST" "$(txn new)"; then
    printf confirmed
  else
    printf locked
  fi
}

# Is he there and counting? His word alone would outlive him.
dead_man_lives() {
  [ -e "$T/armed" ] || return 1
  if has_systemd; then
    systemctl is-active --quiet "$UNIT"
  else
    dead_man_pid=$(txn armed)
    [ -n "$dead_man_pid" ] && kill -0 "$dead_man_pid" 2>/dev/null
  fi
}

# own_paths: what this node has of ours, a path a line; after find_manifest
own_paths() {
  for own_path in "$R/etc/kubernetes/kschedpatch" "$S" "$R/run/kschedpatch" "$R/etc/systemd/system/$UNIT" \
    "$R/etc/systemd/system/multi-user.target.wants/$UNIT" "$DIRECTORY"/.kschedpatch-* "$CANARY_MANIFEST"; do
    if [ -e "$own_path" ] || [ -L "$own_path" ]; then printf '%s\n' "${own_path#"$R"}"; fi
  done
}

# flush FILE: on the disk before anything relies on it
flush() { sync "$1" 2>/dev/null || sync; }
