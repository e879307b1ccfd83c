# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# The entry: calls of the operator (MARK; then, for each, MARK VERB key=value ...), or a person on the node (status, restore).

# Each argument becomes arg_KEY. Keys that may come more than once hold a line for each.
read_arguments() {
  arg_path='' arg_image='' arg_file='' arg_word='' arg_mount='' arg_env='' arg_api='' arg_run='' arg_kind=''
  arg_who='' arg_extent='' arg_generation='' arg_config='' arg_same_image='' arg_old='' arg_new='' arg_patch=''
  arg_reason='' arg_in_place='' arg_want='' arg_host='' arg_port='' arg_settle='' arg_timeout='' arg_log=''
  arg_outcome='' arg_stdin='' arg_health='' arg_canary='' arg_lease='' arg_retry=0 arg_socket='' arg_reach=''
  arg_sha256='' arg_offset='' arg_size='' arg_hashes='' arg_running='' arg_later='' arg_framed='' arg_room=''
  for argument in "$@"; do
    argument_value=${argument#*=}
    case ${argument%%=*} in
      path) arg_path="$arg_path$argument_value
" ;;
      image) arg_image="$arg_image$argument_value
" ;;
      file) arg_file="$arg_file$argument_value
" ;;
      word) arg_word="$arg_word$argument_value
" ;;
      mount) arg_mount="$arg_mount$argument_value
" ;;
      env) arg_env="$arg_env$argument_value
" ;;
      socket) arg_socket="$arg_socket$argument_value
" ;;
      framed) arg_framed="$arg_framed$argument_value
" ;;
      reach) arg_reach="$arg_reach$argument_value
" ;;
      api | run | kind | who | extent | generation | config | same_image | old | new | patch | reason | in_place | \
        want | host | port | settle | timeout | log | outcome | stdin | health | canary | lease | retry | sha256 | \
        offset | size | hashes | running | later | room)
        eval "arg_${argument%%=*}=\$argument_value" ;;
      *) stop "$REFUSED" usage "unknown argument ${argument%%=*}" ;;
    esac
  done
}

ksp_main() {
  case ${1:-} in
    status | restore)
      by_hand "$1"
      return ;;
    '' | -*)
      echo "usage: sh $0 status|restore"
      return 2 ;;
  esac
  if [ $# = 1 ]; then
    KSP_USER=${KSP_USER:-$(id -u)}
    serve ksp_main
    return
  fi
  KSP_MARK=$1 ksp_verb=$2
  shift 2
  frames_open
  read_arguments "$@"
  # A run's id is a name of files.
  case $arg_run in *[!0-9a-zA-Z-]*) stop "$REFUSED" usage "no run has this id" ;; esac
  case $arg_sha256 in *[!0-9a-f]*) stop "$REFUSED" usage "this is no hash" ;; esac
  [ "${KSP_USER:-$(id -u)}" = 0 ] || [ -n "$R" ] || stop "$REFUSED" root "root's rights are needed on the node"
  case $ksp_verb in
    facts | kept | lock | renew | unlock | pull | offer | upload | import | hold | stage | persist | note | preflight | arm | canary | \
      switch | watch | stands | confirm | finish | restore | api | inspect | purge) "$ksp_verb" ;;
    *) stop "$REFUSED" usage "unknown verb $ksp_verb" ;;
  esac
}

by_hand() {
  KSP_MARK=kschedpatch
  find_manifest
  find_live
  if [ -n "$LIVE_PID" ]; then
    newest_log "$LIVE_LOGS"
    echo "kube-scheduler runs: process $LIVE_PID, pod $LIVE_UID, log $LIVE_LOGS/$NEWEST.log"
  else
    echo "kube-scheduler does not run"
  fi
  [ ! -e "$CANARY_MANIFEST" ] || echo "a canary stands beside it: $CANARY_MANIFEST"
  if [ ! -d "$T" ]; then
    echo "no transaction is open"
    [ "$1" = status ] || echo "nothing to restore; kept manifests: $REVISIONS/*/before"
    [ ! -e "$CANARY_MANIFEST" ] || echo "nobody ends the canary: remove its file"
    return 0
  fi
  arg_run=$(txn run)
  hand_until=$(txn deadline)
  find_state
  echo "open transaction $arg_run ($(txn kind), by $(txn who)): $STATE, $((${hand_until:-0} - $(uptime_seconds))) s until the old manifest goes back by itself"
  if [ "$1" = status ]; then
    if dead_man_lives; then echo "the dead man counts"; else echo "the dead man does NOT run"; fi
    return 0
  fi
  # In a process of its own: what can't be done ends the verb.
  hand_said=$(restore | sed -n 's/^@kschedpatch fact detail //p')
  if [ -d "$T" ] && [ "$(txn run)" = "$arg_run" ]; then
    echo "not restored yet${hand_said:+: $hand_said}"
    return 1
  fi
  echo "ended: $(first_line "$REVISIONS/$arg_run/outcome")"
}
