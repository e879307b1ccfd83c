# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# preflight: the planned scheduler runs once with --write-config-to, in a container that reaches
# nothing. It builds every plugin for real and exits; the live one does not notice.

# preflight run=... image=... word=... [mount=HOST:CONTAINER ...] [env=NAME=VALUE ...] [config=HOST]
# [same_image=1]. Without words only the image is looked for.
preflight() {
  mine
  preflight_image=${arg_image%
}
  image_there "$preflight_image"
  [ $? != 1 ] || stop "$BAD" image "$preflight_image is not on the node any more"
  if [ -z "$arg_word" ]; then
    emit_fact how none
    emit_end "$DONE"
    return
  fi
  preflight_id=kschedpatch-preflight-$arg_run
  if there ctr && [ -n "$(timeout 20 ctr -n k8s.io images ls -q "name==$preflight_image" 2>/dev/null)" ]; then
    emit_fact how ctr
    preflight_sweep
    preflight_tool="ctr" preflight_read_only="options=rbind:ro"
    preflight_in_container
    preflight_code=$?
    preflight_sweep
  elif preflight_tool=$(keeper_of "$preflight_image"); then
    emit_fact how "$preflight_tool"
    preflight_read_only="readonly"
    preflight_in_container
    preflight_code=$?
    timeout 20 "$preflight_tool" rm -f "$preflight_id" >/dev/null 2>&1
  elif there crictl; then
    preflight_by_crictl
    preflight_code=$?
  else
    emit_fact how none
    emit_end "$DONE"
    return
  fi
  if [ "$preflight_code" = 0 ]; then
    emit_end "$DONE"
    return
  fi
  tail -c 4000 "$T/preflight.log" >"$T/preflight.tail"
  emit_blob log "$T/preflight.tail"
  case $preflight_code in
    124 | 137) stop "$BAD" timeout "the scheduler did not end its trial run within 30 s" ;;
    *) stop "$BAD" preflight "$(crash_line "$T/preflight.log")" ;;
  esac
}

# podman shares CRI-O's images, docker those of cri-dockerd; one that is here for other reasons has
# not got this image.
keeper_of() {
  for keeper in podman docker; do
    if there $keeper && timeout 20 $keeper image inspect "$1" >/dev/null 2>&1; then
      printf %s $keeper
      return 0
    fi
  done
  return 1
}

# Killed with -9, ctr leaves task, container and snapshot behind, and the same id then fails.
preflight_sweep() {
  for sweep_id in $(timeout 20 ctr -n k8s.io containers ls -q 2>/dev/null | grep '^kschedpatch-preflight-'); do
    timeout 20 ctr -n k8s.io tasks kill -s KILL "$sweep_id" >/dev/null 2>&1
    timeout 20 ctr -n k8s.io tasks rm -f "$sweep_id" >/dev/null 2>&1
    timeout 20 ctr -n k8s.io containers rm "$sweep_id" >/dev/null 2>&1
    timeout 20 ctr -n k8s.io snapshots rm "$sweep_id" >/dev/null 2>&1
  done
}

# One item a line in arg_mount, arg_env and arg_word. Only what exists can be mounted.
preflight_in_container() {
  if [ "$preflight_tool" = ctr ]; then
    set -- ctr -n k8s.io run --rm
  else
    set -- "$preflight_tool" run --rm --pull=never --network none --name "$preflight_id" --entrypoint=
  fi
  preflight_rest=$arg_mount
  while [ -n "$preflight_rest" ]; do
    preflight_item=${preflight_rest%%
*}
    preflight_rest=${preflight_rest#*
}
    [ -e "$R${preflight_item%:*}" ] || continue
    set -- "$@" --mount "type=bind,src=$R${preflight_item%:*},dst=${preflight_item##*:},$preflight_read_only"
  done
  preflight_rest=$arg_env
  while [ -n "$preflight_rest" ]; do
    set -- "$@" --env "${preflight_rest%%
*}"
    preflight_rest=${preflight_rest#*
}
  done
  set -- "$@" "$preflight_image"
  [ "$preflight_tool" != ctr ] || set -- "$@" "$preflight_id"
  preflight_rest=$arg_word
  while [ -n "$preflight_rest" ]; do
    set -- "$@" "${preflight_rest%%
*}"
    preflight_rest=${preflight_rest#*
}
  done
  timeout -s KILL 30 "$@" --write-config-to=/dev/stdout --secure-port=0 >"$T/preflight.log" 2>&1
}

# In the running container: the old image, and it sees no file that is not mounted yet. So the
# configuration comes by stdin, and another image can't be tried.
preflight_by_crictl() {
  preflight_live=$(timeout 20 crictl ps -q --name '^kube-scheduler$' 2>/dev/null | head -n 1)
  if [ -z "$preflight_live" ] || [ "$arg_same_image" != 1 ] || [ ! -f "$R$arg_config" ]; then
    emit_fact how none
    return 0
  fi
  emit_fact how crictl
  timeout -s KILL 30 crictl exec -i "$preflight_live" kube-scheduler --config=/dev/stdin \
    --write-config-to=/dev/stdout --secure-port=0 <"$R$arg_config" >"$T/preflight.log" 2>&1
}

# crash_line FILE: the line that tells why a scheduler ended
crash_line() {
  crash_said=$(grep -aE 'command failed|^Error:|Error: |panic:|fatal error|exec .*: no such file|permission denied' "$1" 2>/dev/null | tail -n 1)
  [ -n "$crash_said" ] || crash_said=$(grep -av '^$' "$1" 2>/dev/null | tail -n 1)
  # Without the runtime's time stamp and stream.
  printf %s "$crash_said" | sed 's/^[0-9TZ:.+-]* std[a-z]* [FP] //' | cut -c1-800
}
