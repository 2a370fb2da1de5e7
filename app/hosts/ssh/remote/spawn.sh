# Starts a program that outlives the connection: a session of its own, no standard input, both streams appended to the
# log, none of our descriptors. Tells what runs then, or why nothing does.
#   proc         ps where there is no /proc
#   cwd          its folder
#   log          file for both streams; its folder is made
#   argv         the program and its arguments, each quoted
#   environment  commands that set its environment, on top of the account's own

rc_failed() {
  rc_section failed "$1"
  printf %s "$2"
}

# The child is there and has not exited; its number is its own until it has been collected.
rc_lives() {
  if [ "$proc" = ps ]; then
    rc_text=
    kill -0 "$rc_child" 2>/dev/null || return 1
    case $(ps -o state= -p "$rc_child" 2>/dev/null) in
      Z*) return 1 ;;
      *) return 0 ;;
    esac
  fi
  rc_stat "$rc_child" && [ "$rc_start" = "$rc_ticks" ] && [ "$rc_state" != Z ]
}

[ -d "$cwd" ] || {
  rc_failed no-folder "the folder $cwd does not exist"
  return 0
}
cd "$cwd" 2>/dev/null || {
  rc_failed no-folder "the folder $cwd may not be entered"
  return 0
}
mkdir -p "${log%/*}" 2>/dev/null && [ ! -h "$log" ] && : 2>/dev/null >>"$log" && chmod 600 "$log" || {
  rc_failed log "the log $log could not be opened"
  return 0
}
# Not on this session's account: it would tell a later look that the server hangs on it.
unset SSH_CLIENT SSH_CONNECTION SSH_TTY SSH_AUTH_SOCK
eval "set -- $argv"
case $1 in
  */*)
    [ -f "$1" ] && [ -x "$1" ] || {
      rc_failed ENOENT "$1 is not there or may not be run"
      return 0
    }
    ;;
  *)
    (
      eval "$environment"
      command -v "$1" >/dev/null 2>&1
    ) || {
      rc_failed ENOENT "$1 is not on the PATH of this account without a login ($PATH)"
      return 0
    }
    ;;
esac

(
  # Its own first words, for a shell may collect it before the next line is reached.
  [ "$proc" = ps ] || { IFS= read -r rc_row </proc/self/stat && printf '%s\n' "$rc_row" >"$log.start"; }
  umask "$umask"
  exec </dev/null >>"$log" 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
  eval "$environment"
  if command -v setsid >/dev/null 2>&1; then
    exec setsid "$@"
  elif command -v python3 >/dev/null 2>&1; then
    exec python3 -I -S -c 'import os, sys; os.setsid(); os.execvp(sys.argv[1], sys.argv[1:])' "$@"
  fi
  # No session of its own is to be had; a hangup at least must not end it.
  trap '' HUP
  exec "$@"
) &
rc_child=$!
# Read before anything is waited for: a shell that waits collects whatever has exited.
rc_first=
rc_ticks=
[ "$proc" != ps ] && rc_stat "$rc_child" && {
  rc_first=$rc_text
  rc_ticks=$rc_start
}

# A program that is missing, or its interpreter, shows within a moment; so does the program behind env and shims.
rc_round=0
while [ $rc_round -lt 8 ]; do
  rc_round=$((rc_round + 1))
  sleep 0.03 2>/dev/null || {
    sleep 1
    rc_round=8
  }
  rc_lives || break
  case $rc_text in
    "$rc_child (sh) "* | "$rc_child (dash) "* | "$rc_child (bash) "* | "$rc_child (ash) "* | "$rc_child (busybox) "* | \
      "$rc_child (setsid) "* | "$rc_child (env) "*) ;;
    *) [ $rc_round -lt 3 ] || break ;;
  esac
done

[ -n "$rc_first" ] || { IFS= read -r rc_first; } 2>/dev/null <"$log.start"
rm -f "$log.start"
rc_section child
printf %s "$rc_child"
rc_boot
rc_section boot
printf %s "$rc_boot_id"
if [ "$proc" != ps ]; then
  rc_status $$
  rc_section status "$rc_child"
  printf '%s %s' "$rc_child" "$rc_uid"
  rc_section stat "$rc_child"
fi
if rc_lives; then
  printf %s "$rc_text"
else
  printf %s "$rc_first"
  wait "$rc_child"
  rc_code=$?
  rc_section exited "$rc_code"
  tail -c 4000 "$log" 2>/dev/null
  return 0
fi
[ "$proc" != ps ] || return 0
rc_section path
readlink "/proc/$rc_child/exe" 2>/dev/null
cd /proc || return 3
rc_section executables
stat -L -c '%n %d %i' self/ns/pid "$rc_child/exe" 2>/dev/null
rc_section hashes
sha256sum "$rc_child/cmdline" 2>/dev/null
return 0
