# Proves what stands at a PID to be the recorded process and signals it, in one run. The read of the start time comes
# last and the shell's own kill follows it at once: between these two the number could come round, no earlier.
#   pid ticks device inode hash   the recorded process
#   uid                           whose processes may be signalled
#   boot namespace                where it was recorded
#   signal                        a name without SIG
#   python program                an interpreter that has pidfds, and signal.py; then no moment is left in between

rc_refuse() {
  rc_section refused
  printf %s "$1"
}

rc_numbers "$pid" "$ticks" "$inode" && [ ${#pid} -le 7 ] && [ "$pid" -gt 1 ] || {
  rc_refuse 'it is no number of a process'
  return 0
}
case $signal in
  TERM | KILL | CONT | INT | HUP) ;;
  *) return 4 ;;
esac
rc_line
case $rc_own in
  *" $pid "*)
    rc_refuse 'it is what this connection runs under'
    return 0
    ;;
esac
if [ -n "$python" ]; then
  RC_MARKER=$rc_marker "$python" -I -S -c "$program" \
    "$pid" "$ticks" "$device" "$inode" "$hash" "$uid" "$boot" "$namespace" "$signal"
  return
fi

cd /proc || return 3
rc_boot
rc_section boot
printf %s "$rc_boot_id"
rc_stat "$pid" || {
  rc_refuse 'it is gone'
  return 0
}
rc_section stat "$pid"
printf %s "$rc_text"
rc_within "$pid"
rc_before=$rc_start
rc_status "$pid" || {
  rc_refuse 'it went while it was read'
  return 0
}
rc_section status "$pid"
printf '%s %s' "$rc_tgid" "$rc_uid"
if [ "$rc_tgid" != "$pid" ]; then
  rc_stat "$rc_tgid" && rc_section leader "$pid" && printf %s "$rc_text"
  rc_refuse 'it is a thread'
  return 0
fi
rc_executables=$(stat -L -c '%n %d %i' self/ns/pid "$rc_task/exe" 2>/dev/null)
rc_section executables
printf '%s\n' "$rc_executables"
rc_hash=$(sha256sum "$rc_task/cmdline" 2>/dev/null)
rc_section hashes
printf '%s\n' "$rc_hash"

case "$rc_boot_id
$rc_executables
${rc_hash%% *}" in
  "$boot
self/ns/pid "*" $namespace
$rc_task/exe $device $inode
$hash") ;;
  *)
    rc_refuse 'what stands there is not what was recorded'
    return 0
    ;;
esac
[ "$rc_uid" = "$uid" ] || {
  rc_refuse 'it belongs to another user'
  return 0
}
# From here on nothing is started: every step is the shell's own.
if rc_stat "$pid" && [ "$rc_start" = "$ticks" ] && [ "$rc_before" = "$ticks" ] &&
  { [ "$rc_state" != Z ] && [ "$rc_state" != X ] || [ "$rc_threads" -gt 1 ]; }; then
  kill -s "$signal" "$pid"
  rc_sent=$?
else
  rc_refuse 'what stands there is not what was recorded, or has exited'
  return 0
fi
[ "$rc_sent" = 0 ] || {
  rc_refuse 'the system refused the signal'
  return 0
}
rc_section sent
return 0
