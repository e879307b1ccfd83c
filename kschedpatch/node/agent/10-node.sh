# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154,SC3013
# (-ef and -nt are not in POSIX, and in every shell that a node may have)
# Places, and small looks at the node, that the verbs share. Nothing here changes anything.
#
# Processes are what a look costs: a variable in capitals is how a function returns its value without one.
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
  exit "$1"
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
# all_hold HASH FILE ...: by one process for all of them. Their paths are ours: no line breaks in them. Of what is no
# hash sha256sum only warns, as long as another line is right.
all_hold() {
  hold_lines=''
  while [ $# -gt 1 ]; do
    [ ${#1} = 64 ] || return 1
    hold_lines="$hold_lines$1  $2$KSP_BREAK"
    shift 2
  done
  printf %s "$hold_lines" | sha256sum -c >/dev/null 2>&1
}
# first_line FILE; read_line FILE: the same into the variable LINE, for those that come often
read_line() { LINE=''; if [ -r "$1" ]; then IFS= read -r LINE <"$1" || true; fi; }
first_line() { read_line "$1"; printf %s "$LINE"; }
txn() { first_line "$T/$1"; }
# is_open RUN: the transaction on this node is that run's
is_open() { [ -d "$T" ] && read_line "$T/run" && [ "$LINE" = "$1" ]; }
has_systemd() { [ -d "$R/run/systemd/system" ] && there systemctl; }
read_boot_id() { read_line "$R/proc/sys/kernel/random/boot_id"; }

# Hundredths of a second since the boot: clocks are set, this is not. Into the variable NOW, because a
# subshell for each look would cost more than the look.
now() {
  IFS=. read -r now_whole now_rest <"$R/proc/uptime" || now_whole=0
  now_rest=${now_rest%% *}
  NOW=$((now_whole * 100 + 1${now_rest:-00} - 100))
}
uptime_seconds() { now && printf %s $((NOW / 100)); }

# What of the kubelet's configuration counts here: its plain values. Small as it is, a loop costs less than a process.
read_kubelet() {
  KUBELET_MANIFESTS='' KUBELET_LOGS='' KUBELET_RUNTIME='' KUBELET_PODS=''
  [ -r "$R/var/lib/kubelet/config.yaml" ] || return 0
  while IFS= read -r kubelet_line || [ -n "$kubelet_line" ]; do
    case $kubelet_line in
      staticPodPath:*) plain_value "$kubelet_line" && KUBELET_MANIFESTS=${KUBELET_MANIFESTS:-$VALUE} ;;
      podLogsDir:*) plain_value "$kubelet_line" && KUBELET_LOGS=${KUBELET_LOGS:-$VALUE} ;;
      containerRuntimeEndpoint:*) plain_value "$kubelet_line" && KUBELET_RUNTIME=${KUBELET_RUNTIME:-$VALUE} ;;
      maxPods:*) plain_value "$kubelet_line" && KUBELET_PODS=${KUBELET_PODS:-$VALUE} ;;
    esac
  done <"$R/var/lib/kubelet/config.yaml"
}

# plain_value LINE: what stands behind its colon, without blanks, quotes and a comment. Into VALUE.
plain_value() {
  VALUE=${1#*:}
  VALUE=${VALUE#"${VALUE%%[![:space:]]*}"}
  case $VALUE in [\"\']*) VALUE=${VALUE#?} ;; esac
  VALUE=${VALUE%%[\"\'#]*}
  VALUE=${VALUE%"${VALUE##*[![:space:]]}"}
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
  read_kubelet
  DIRECTORY=$R${KUBELET_MANIFESTS:-/etc/kubernetes/manifests}
  # In this very process, and out again: a shell that stands there would keep a mount from being taken away.
  if cd -P "$DIRECTORY" 2>/dev/null; then DIRECTORY=$PWD && cd /; fi
  LOGS=$R${KUBELET_LOGS:-/var/log/pods}
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
  LIVE_PID='' LIVE_UID='' LIVE_LOGS='' live_maybe=''
  # Each of these files takes the kernel its time, and there are hundreds: not those of processes that see the
  # node's own mounts. Where that can't be told, all.
  for live_found in "$R"/proc/[0-9]*; do
    [ "$live_found/ns/mnt" -ef /proc/self/ns/mnt ] || live_maybe=$live_maybe$live_found/mountinfo$KSP_BREAK
  done
  [ -n "$live_maybe" ] || return 0
  IFS=$KSP_BREAK # one a word, whatever the path holds
  live_maybe=$(grep -osHE "/pods/[0-9a-f]{32}/containers/$POD/" $live_maybe 2>/dev/null)
  unset IFS
  for live_found in $live_maybe; do
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

find_host() {
  read_line "$R/proc/sys/kernel/hostname"
  HOST=${LINE:-$(hostname)}
}

# The node's name in the cluster, into NAME: from the logs of the last scheduler's pod, else the host's.
node_name() {
  NAME=''
  for name_from in "$LOGS"/kube-system_kube-scheduler-*_????????????????????????????????; do
    case ${name_from##*_} in *[!0-9a-f]*) continue ;; esac
    if [ -z "$NAME" ] || [ "$name_from" -nt "$NAME" ]; then NAME=$name_from; fi
  done
  if [ -n "$NAME" ]; then
    NAME=${NAME##*/kube-system_kube-scheduler-}
    NAME=${NAME%_*}
    return
  fi
  find_host
  case $HOST in
    *[A-Z]*) NAME=$(printf %s "$HOST" | tr '[:upper:]' '[:lower:]') ;;
    *) NAME=$HOST ;;
  esac
}

# listens PORT: does anybody on this node? No connection is made for it. The kernel's file has all connections too, and
# takes its time for as many as there is place for: where there is ss, it is asked for those who listen alone.
listens() {
  if [ -z "$R" ] && listens_said=$(ss -Htn state listening "sport = :$1" 2>/dev/null); then
    [ -n "$listens_said" ]
    return
  fi
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

# What a look needs of a manifest, in one pass: its image, address and port, and what our annotations say. A line that
# only looks like one of these does no harm: the operator reads the whole text.
read_manifest() {
  HAS_IMAGE='' HAS_HOST='' HAS_PORT='' HAS_BASE='' HAS_GENERATION='' HAS_PATCH='' HAS_MARK=''
  [ -f "$1" ] && [ -r "$1" ] || return 1
  while IFS= read -r has_line || [ -n "$has_line" ]; do
    case $has_line in *kschedpatch.io/*) read_annotations ;; esac
    case $has_line in *--secure-port=*) HAS_PORT=${has_line##*--secure-port=} && HAS_PORT=${HAS_PORT%%[!0-9]*} ;; esac
    case $has_line in *--bind-address=*) HAS_HOST=${has_line##*--bind-address=} && HAS_HOST=${HAS_HOST%%[!0-9a-fA-F.:]*} ;; esac
    case ${has_line%%image:*} in
      "$has_line" | *[!\ -]*) ;;
      *) plain_value "$has_line" && HAS_IMAGE=${HAS_IMAGE:-${VALUE%% *}} ;;
    esac
  done <"$1"
}

read_annotations() {
  case $has_line in *kschedpatch.io/patch*) HAS_PATCH=1 ;; esac
  case $has_line in *kschedpatch.io/base*) HAS_MARK=1 ;; esac
  case $has_line in
    *kschedpatch.io/base:*sha256:* | *kschedpatch.io/base[\"\']:*sha256:*)
      VALUE=${has_line##*sha256:}
      VALUE=${VALUE%%[!0-9a-f]*}
      [ ${#VALUE} != 64 ] || HAS_BASE=${HAS_BASE:-$VALUE} ;;
  esac
  case $has_line in
    *kschedpatch.io/generation:* | *kschedpatch.io/generation[\"\']:*)
      plain_value "${has_line##*kschedpatch.io/generation}"
      HAS_GENERATION=${HAS_GENERATION:-${VALUE%%[!0-9a-f]*}} ;;
  esac
}

# Which runtime the kubelet talks to, into RUNTIME.
runtime() {
  RUNTIME=''
  if [ -r "$R/var/lib/kubelet/kubeadm-flags.env" ]; then
    while IFS= read -r runtime_line || [ -n "$runtime_line" ]; do
      case $runtime_line in
        *--container-runtime-endpoint=*) RUNTIME=${runtime_line##*--container-runtime-endpoint=} && RUNTIME=${RUNTIME%%[ \"]*} ;;
      esac
    done <"$R/var/lib/kubelet/kubeadm-flags.env"
  fi
  [ -n "$RUNTIME" ] || { read_kubelet && RUNTIME=$KUBELET_RUNTIME; }
  case $RUNTIME in
    *containerd*) RUNTIME=containerd ;;
    *crio*) RUNTIME=cri-o ;;
    *docker*) RUNTIME=docker ;;
    *) if there ctr; then RUNTIME=containerd; else RUNTIME=unknown; fi ;;
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

# A kubeadm that changes this node right now: its command line, into WORK.
kubeadm_at_work() {
  WORK=''
  for work_file in $(grep -lsa kubeadm "$R"/proc/[0-9]*/cmdline 2>/dev/null); do
    work_words=$(tr '\000' ' ' <"$work_file" 2>/dev/null)
    work_program=${work_words%% *}
    case "${work_program##*/} $work_words" in
      "kubeadm "*" upgrade "* | "kubeadm "*" join "* | "kubeadm "*" init "* | "kubeadm "*" reset "*)
        WORK=$work_words
        return ;;
    esac
  done
}

# The state of the open transaction, by files alone, into STATE. The names of files remain those of this call's run.
find_state() {
  read_line "$T/run"
  names_of_run "$LINE"
  STATE=locked
  if [ -e "$TAKEN" ]; then
    STATE=restoring
  elif [ -e "$OLD" ]; then
    if [ -e "$MANIFEST" ]; then STATE=switched; else STATE=moved; fi
  elif [ -e "$NEW" ]; then
    STATE=armed
  else
    # Without orders nothing was switched.
    read_line "$T/new"
    if [ -n "$LINE" ] && holds "$MANIFEST" "$LINE"; then STATE=confirmed; fi
  fi
  [ -z "$arg_run" ] || names_of_run "$arg_run"
}

# Is he there and counting? His word alone would outlive him.
dead_man_lives() {
  [ -e "$T/armed" ] || return 1
  if has_systemd; then
    systemctl is-active --quiet "$UNIT"
  else
    read_line "$T/armed"
    [ -n "$LINE" ] && kill -0 "$LINE" 2>/dev/null
  fi
}

# generation_problem ID: what is wrong with its files, in words, into PROBLEM; nothing where it is intact
generation_problem() {
  PROBLEM=''
  if [ ! -f "$GENERATIONS/$1/.sha256" ]; then
    PROBLEM="$GENERATIONS/$1 is gone or not complete"
    return
  fi
  problem_said=$(cd "$GENERATIONS/$1" && sha256sum -c .sha256 2>/dev/null) && return
  problem_said=$(printf '%s\n' "$problem_said" | grep -v ': OK$' | head -n 3)
  PROBLEM="in $GENERATIONS/$1: $problem_said"
}

# own_paths: what this node has of ours, into OWN, a path a line; after find_manifest
own_paths() {
  OWN=''
  for own_path in "$R/etc/kubernetes/kschedpatch" "$S" "$R/run/kschedpatch" "$R/etc/systemd/system/$UNIT" \
    "$R/etc/systemd/system/multi-user.target.wants/$UNIT" "$DIRECTORY"/.kschedpatch-* "$CANARY_MANIFEST"; do
    if [ -e "$own_path" ] || [ -L "$own_path" ]; then
      OWN="$OWN${own_path#"$R"}
"
    fi
  done
}

# flush FILE ...: on the disk before anything relies on them
flush() { sync "$@" 2>/dev/null || sync; }
