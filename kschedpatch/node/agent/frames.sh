# shellcheck shell=sh disable=SC2030,SC2031,SC2094
# (a call has its own mark, in a process of its own; and what is read twice is not written)
# How the script on a node talks with the operator: frames in, records out.
#
# In:  a decimal length on a line, exactly that many bytes and a line break, once for every payload. `read`
#      takes single bytes from a pipe, and dd is told to take full blocks: nothing is read ahead, what
#      follows a frame is still there for the next one.
# Out: records behind the call's mark, KSP_MARK, that the loader has set.
#
# A shell serves many calls, one behind the other (`serve`): the script is sent and parsed once.
#
# Every command that is started inherits stdin and would eat frames (ssh, crictl exec -i, a `read`
# loop). So main begins with `frames_open`: frames are then on descriptor 3 and stdin is empty. What
# is left running in the background must not keep the call's pipes: `cmd 3<&- >/dev/null 2>&1 &`.

frames_open() {
  exec 3<&0 </dev/null
  umask 077
  KSP_FRAMES=0
  [ -n "${KSP_DD:-}" ] || learn_dd
}

# What a line break is called in a request, which is one line.
KSP_BREAK='
'

# serve MAIN: a request is a line, the shell's own mark and then the words of the call: its mark, the verb,
# key=value ... Each runs in a process of its own, so nothing of it is left for the next. What a call has not read
# of its payloads does not begin with that mark, and is never taken for a request: it ends the shell. With a plus
# behind the mark it is the request of a call that is only made if the one before has ended well.
serve() {
  serve_main=$1
  [ -n "${KSP_DD:-}" ] || learn_dd
  serve_code=0
  while IFS= read -r serve_line; do
    case $serve_line in
      "$KSP_MARK "*) ;;
      "$KSP_MARK+ "*) [ $serve_code = 0 ] || exit 95 ;;
      *) exit 97 ;;
    esac
    serve_line=${serve_line#* }
    serve_code=0
    # Nobody hears it any more: then this ends the shell, before anything is done.
    printf '@%s ready\n' "${serve_line%% *}"
    (
      eval "set -- $serve_line"
      KSP_MARK=$1
      "$serve_main" "$@"
    ) || serve_code=$?
    serve_line=${serve_line%% *}
    printf '@%s over\n' "$serve_line" >&2
    printf '@%s over %s\n' "$serve_line" $serve_code
    # Killed: perhaps in the middle of a record, and what follows would be taken for the rest of it.
    [ $serve_code -lt 128 ] || exit 96
  done
}

# What this node's dd can do; asked once, by the shell that serves, unless the loader knows already.
learn_dd() {
  if dd if=/dev/null of=/dev/null iflag=fullblock status=none 2>/dev/null; then
    KSP_DD=quiet
  elif dd if=/dev/null of=/dev/null iflag=fullblock 2>/dev/null; then
    KSP_DD=full
  else
    KSP_DD=plain
  fi
}

# Exactly $1 bytes from descriptor 3 to stdout. A file system without space leaves the rest of the
# frame unread: after a failure no further frame can be had.
frame_bytes() {
  case $KSP_DD in
    quiet) set -- "$1" iflag=fullblock status=none ;;
    full) set -- "$1" iflag=fullblock ;;
    *)
      # One byte at a time is slow, and the only other size that a short read can't spoil.
      dd bs=1 count="$1" <&3
      return ;;
  esac
  frame_size=$1
  shift
  if [ "$frame_size" -ge 65536 ]; then
    dd bs=65536 count=$((frame_size / 65536)) "$@" <&3 || return 1
  fi
  if [ $((frame_size % 65536)) -gt 0 ]; then
    dd bs=$((frame_size % 65536)) count=1 "$@" <&3 || return 1
  fi
}

# frame_to FILE: the next frame as a new file that only its owner can read. A frame that is cut short
# leaves no file and fails.
frame_to() {
  if [ -e "$1" ] || [ -L "$1" ]; then rm -f -- "$1" || return 1; fi
  if frame_begins && frame_bytes "$frame_length" >"$1" && frame_is_whole; then return 0; fi
  rm -f -- "$1"
  return 1
}

# The next frame as words of the shell, each quoted, for `eval "set -- $FRAME_WORDS"`: many small texts by one
# process. What stands behind them keeps the command substitution from taking their last line breaks away.
frame_words() {
  frame_begins && FRAME_WORDS=$(frame_bytes "$frame_length" && echo " :") && frame_is_whole || return 1
  case $FRAME_WORDS in *" :") FRAME_WORDS=${FRAME_WORDS%" :"} ;; *) return 1 ;; esac
}

# The length of the next frame, into frame_length.
frame_begins() {
  IFS= read -r frame_length <&3 || return 1
  case $frame_length in
    '' | *[!0-9]* | ?????????????*) return 1 ;;
  esac
}

# The line break behind it says that all of its bytes were there: dd is content with fewer.
frame_is_whole() {
  IFS= read -r frame_end <&3 && [ -z "$frame_end" ] && KSP_FRAMES=$((KSP_FRAMES + 1))
}

# emit_record TEXT: one record; line breaks and other controls become blanks. Another process is started only
# where there may be some: there are dozens of facts.
emit_record() {
  record=$1
  case $record in *[!0-9A-Za-z._/:=+,@\ -]*) record=$(printf '%s' "$record" | LC_ALL=C tr '\000-\037\177' ' ') ;; esac
  emit_words "@$KSP_MARK $record$KSP_BREAK"
}

# emit_words TEXT. Each piece that is written is a packet of its own for sshd, and for who reads: a verb that says much
# begins with `hold_words`. A loop behind a pipe is another process, and what it holds would be lost: `emit_held` before
# it, and KSP_HOLDS= in it.
emit_words() {
  if [ -n "${KSP_HOLDS:-}" ]; then KSP_HELD=$KSP_HELD$1; else printf %s "$1"; fi
}

hold_words() { KSP_HOLDS=1 KSP_HELD=''; }

emit_held() {
  [ -n "${KSP_HELD:-}" ] || return 0
  printf %s "$KSP_HELD"
  KSP_HELD=''
}

# emit_fact KEY VALUE
emit_fact() { emit_record "fact $1 $2"; }

# emit_step TEXT: what goes on, for people
emit_step() { emit_record "step $1" && emit_held; }

# emit_blob KEY FILE: the bytes of a file. One that shrinks meanwhile is filled up with zero bytes:
# the length has been said.
emit_blob() {
  [ -r "$2" ] && [ -f "$2" ] || return 1
  blob_length=$(($(wc -c <"$2")))
  emit_held
  printf '@%s blob %s %s\n' "$KSP_MARK" "$1" "$blob_length"
  if [ "$blob_length" -gt 0 ]; then
    { cat -- "$2"; head -c "$blob_length" /dev/zero; } 2>/dev/null | head -c "$blob_length"
  fi
  echo
}

# emit_text KEY FILE [SIZE]: a small file the same way; without a process for it where a shell can hold it (no line
# that is not ended, nothing but ASCII). Of NUL bytes it sees nothing: the size tells, where the file is not our own.
emit_text() {
  [ -r "$2" ] && [ -f "$2" ] || return 1
  text_read='' text_length=0
  while IFS= read -r text_line; do
    case $text_line in *[!\ -~]*)
      emit_blob "$1" "$2"
      return ;;
    esac
    text_read=$text_read$text_line$KSP_BREAK
    text_length=$((text_length + ${#text_line} + 1))
  done <"$2"
  if [ -n "$text_line" ] || [ "$text_length" != "${3:-$text_length}" ]; then
    emit_blob "$1" "$2"
    return
  fi
  emit_words "@$KSP_MARK blob $1 $text_length$KSP_BREAK$text_read$KSP_BREAK"
}

# emit_end CODE: the last record of a call, with the number of frames that were read. Without it the operator
# takes the call for cut off.
emit_end() {
  emit_held
  printf '@%s end %s %s\n' "$KSP_MARK" "$1" "${KSP_FRAMES:-0}"
}
