# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# api: what is asked of the API server, through this node's kubectl.

# api word=... [stdin=1]: kubectl with these words; a payload as its stdin
api() {
  there kubectl || stop "$COULD_NOT" kubectl "there is no kubectl on this node"
  api_conf=$(admin_conf) || stop "$COULD_NOT" kubectl "there is no /etc/kubernetes/admin.conf on this node"
  api_scratch=$(mktemp -d) || stop "$COULD_NOT" disk "no space for temporary files"
  true >"$api_scratch/in"
  if [ "$arg_stdin" = 1 ]; then frame_to "$api_scratch/in" || stop "$COULD_NOT" disk "no space for temporary files"; fi
  set -- "--kubeconfig=$api_conf" "--cache-dir=$R/run/kschedpatch/kubectl" "--request-timeout=${arg_timeout:-10}s"
  while [ -n "$arg_word" ]; do
    set -- "$@" "${arg_word%%
*}"
    arg_word=${arg_word#*
}
  done
  timeout $((${arg_timeout:-10} + 10)) kubectl "$@" <"$api_scratch/in" >"$api_scratch/out" 2>"$api_scratch/err"
  emit_fact code $?
  emit_blob out "$api_scratch/out"
  emit_lines err "$(tail -n 20 "$api_scratch/err" | cut -c1-1000)"
  rm -rf "$api_scratch"
  emit_end "$DONE"
}
