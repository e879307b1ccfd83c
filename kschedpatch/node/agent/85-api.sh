# shellcheck shell=sh disable=SC2013,SC2015,SC2034,SC2086,SC2153,SC2154
# api: what is asked of the API server, through this node's kubectl.

# kubectl_within SECONDS WORD...: with this node's rights; its cache leaves no trace in root's home, and
# where no run is open there is none at all: a look must not leave one.
kubectl_within() {
  kubectl_conf=$(admin_conf) || return 1
  kubectl_limit=$1 kubectl_cache=/dev/null/none
  if [ -d "$T" ]; then kubectl_cache=$R/run/kschedpatch/kubectl; fi
  shift
  timeout "$kubectl_limit" kubectl "--kubeconfig=$kubectl_conf" "--cache-dir=$kubectl_cache" "$@"
}

# api word=... [stdin=1]: kubectl with these words; a payload as its stdin
api() {
  there kubectl || stop "$COULD_NOT" kubectl "there is no kubectl on this node"
  admin_conf >/dev/null || stop "$COULD_NOT" kubectl "there is no /etc/kubernetes/admin.conf on this node"
  api_scratch=$(mktemp -d) || stop "$COULD_NOT" disk "no space for temporary files"
  true >"$api_scratch/in"
  if [ "$arg_stdin" = 1 ]; then frame_to "$api_scratch/in" || stop "$COULD_NOT" disk "no space for temporary files"; fi
  set -- "--request-timeout=${arg_timeout:-10}s"
  while [ -n "$arg_word" ]; do
    set -- "$@" "${arg_word%%
*}"
    arg_word=${arg_word#*
}
  done
  kubectl_within $((${arg_timeout:-10} + 10)) "$@" <"$api_scratch/in" >"$api_scratch/out" 2>"$api_scratch/err"
  emit_fact code $?
  emit_blob out "$api_scratch/out"
  emit_lines err "$(tail -n 20 "$api_scratch/err" | cut -c1-1000)"
  rm -rf "$api_scratch"
  emit_end "$DONE"
}
