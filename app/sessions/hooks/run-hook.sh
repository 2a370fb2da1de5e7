# Runs one session-end hook, leader of a session and a group of its own. Whoever started it may be gone at any time: what
# came of the hook stands in a file as a whole, or not at all.
#   $1     its files: $1.out takes the end of what the hook writes, $1.result what came of it, $1.pipe lies between
#   $2     the event, for the hook's standard input
#   $3     how long the hook may take, in seconds
#   $4     how long it may take to end once it has been asked to, in seconds
#   $5...  the hook

# The starter writes down who this is before it lets it go on. One that is killed before that leaves the line unsaid.
IFS= read -r rc_word && [ "$rc_word" = go ] || exit 0
exec </dev/null

rc_files=$1
rc_event=$2
rc_seconds=$3
rc_grace=$4
shift 4
rc_umask=$(umask)
umask 077
# A signal to the group, which this sends as well, ends a wait and not the runner.
trap : TERM HUP INT

# Waits until a child has ended.
rc_wait() {
  while :; do
    wait "$1"
    rc_status=$?
    [ "$rc_status" -gt 128 ] && kill -0 "$1" 2>/dev/null || return 0
  done
}

# Says what came of it, in a file that can be made once only: the first to say it is right.
rc_settle() {
  printf '%s\n' "$1" >"$rc_files.$2" || return 1
  ln "$rc_files.$2" "$rc_files.result" 2>/dev/null && return 0
  # A file system without links has to do with less.
  [ ! -e "$rc_files.result" ] && mv "$rc_files.$2" "$rc_files.result"
}

# That there is a place for its output says that it has begun.
mkfifo "$rc_files.pipe" 2>"$rc_files.out" || {
  rc_settle 'exit 126' ended
  exit 1
}

# Ends by itself once nobody writes any more, and so outlasts what ends the others.
(
  trap '' TERM HUP INT
  exec tail -c 65536 <"$rc_files.pipe" >"$rc_files.out"
) &
rc_tail=$!

(
  umask "$rc_umask"
  exec "$@"
) <"$rc_event" >"$rc_files.pipe" 2>&1 &
rc_hook=$!

(
  trap : TERM HUP INT
  # Whoever signals the group ends the sleep with it: its time is not up by that.
  until sleep "$rc_seconds"; do
    [ -e "$rc_files.result" ] && exit 0
  done
  rc_settle timeout late || exit 0
  kill -TERM 0
  sleep "$rc_grace"
  kill -KILL 0
) >/dev/null 2>&1 &

rc_wait "$rc_hook"
if rc_settle "exit $rc_status" ended; then
  # What it has left behind in its group ends with it.
  kill -TERM 0
  (
    sleep 1
    kill -KILL 0
  ) >/dev/null 2>&1 &
fi
rc_wait "$rc_tail"
rm -f "$rc_files.pipe"
kill -KILL 0
