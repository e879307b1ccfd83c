#!/bin/sh
# Health endpoints: sim/serving has a line a listener: host, port, then path=code words.
sim=${0%/*}/../../sim
url='' out='' write='' fail='' quiet_errors='' cert='' key='' unix='' resolve='' head=''
while [ $# -gt 0 ]; do
  case $1 in
    --max-time | -m | --connect-timeout | --cacert | -H | -X | --retry | -T | --noproxy) shift ;;
    --cert) cert=$2; shift ;;
    --key) key=$2; shift ;;
    --unix-socket) unix=$2; shift ;;
    --resolve) resolve=$2; shift ;;
    -D) head=$2; shift ;;
    -o | --output | -O) out=$2; shift ;;
    -w | --write-out) write=$2; shift ;;
    --fail) fail=1 ;;
    --silent) quiet_errors=1 ;;
    --*) ;;
    -*)
      case $1 in *f*) fail=1 ;; esac
      case $1 in *s*) quiet_errors=1 ;; esac
      case $1 in *S*) quiet_errors='' ;; esac
      case $1 in *o) out=$2; shift ;; esac
      ;;
    *) url=$1 ;;
  esac
  shift
done
rest=${url#*://}
path=/${rest#*/}
path=${path%%\?*}
address=${rest%%/*}
port=${address##*:}
host=${address%:*}
case $address in *:*) ;; *) port=80 ;; esac
case $resolve in "$address":*) host=${resolve#"$address":} ;; esac

if [ -n "$unix" ]; then
  # shellcheck source=kschedpatch/sandbox/stubs/ask.sh
  . "${0%/*}/.ask"
  answer=$(ask curl "$PWD/$unix" "$path") || exit $?
  [ -z "$head" ] || printf '%s\n' "$answer" | sed '/^\r*$/q' >"$head"
  printf '%s\n' "$answer" | sed '1,/^\r*$/d'
  exit 0
fi

code=''
while read -r s_host s_port s_paths; do
  [ "$s_port" = "$port" ] || continue
  case $s_host in
    0.0.0.0 | :: | "$host") ;;
    127.0.0.1) [ "$host" = localhost ] || continue ;;
    *) continue ;;
  esac
  code=404
  for word in $s_paths; do
    [ "${word%%=*}" != "$path" ] || code=${word#*=}
  done
done <"$sim/serving"

if [ -z "$code" ]; then
  [ -z "$write" ] || printf '000'
  [ -n "$quiet_errors" ] || echo "curl: (7) Failed to connect to $host port $port: Connection refused" >&2
  case $0 in *wget) exit 4 ;; esac
  exit 7
fi
body=ok
if [ "$path" = /configz ]; then
  # For administrators alone: with a certificate and its key.
  if [ -s "$cert" ] && [ -s "$key" ]; then body=$(cat "$sim/configz.$port"); else code=403; fi
fi
[ "$code" = 200 ] || body="[-]${path#/} failed: reason withheld"
[ "$code" != 404 ] || body='404 page not found'
case $0 in
  *wget)
    [ "$code" = 200 ] || exit 8
    ;;
esac
if [ -n "$fail" ] && [ "$code" -ge 400 ]; then
  body=''
fi
case $out in
  '' | -) printf '%s' "$body" ;;
  *) printf '%s' "$body" >"$out" ;;
esac
case $write in '\n'*) echo ;; esac
case $write in
  *http_code* | *response_code*) printf '%s' "$code" ;;
esac
[ -z "$fail" ] || [ "$code" -lt 400 ] || exit 22
exit 0
