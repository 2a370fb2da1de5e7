# What stands at some PIDs now, for a verdict on each. Where stat or sha256sum is missing, that evidence is unknown.
#   pids   PIDs to observe, blank separated
#   proc   all, or own where /proc hides the processes of others
#   nonce  1 to tell the nonce that their environments carry

cd /proc || return 3
rc_numbers $pids || return 4
rc_boot
rc_section boot
printf %s "$rc_boot_id"
rc_section uptime
IFS= read -r rc_row </proc/uptime && printf %s "$rc_row"
rc_executables=
rc_arguments=
rc_environments=
for rc_pid in $pids; do
  if rc_stat "$rc_pid"; then
    rc_section stat "$rc_pid"
    printf %s "$rc_text"
    rc_within "$rc_pid"
    rc_executables="$rc_executables $rc_task/exe"
    rc_arguments="$rc_arguments $rc_task/cmdline"
    rc_environments="$rc_environments $rc_task/environ"
    rc_status "$rc_pid" || continue
    rc_section status "$rc_pid"
    printf '%s %s' "$rc_tgid" "$rc_uid"
    if [ "$rc_tgid" != "$rc_pid" ] && rc_stat "$rc_tgid"; then
      rc_section leader "$rc_pid"
      printf %s "$rc_text"
    fi
  elif [ "$proc" = own ]; then
    # It may belong to somebody else. That it can be signalled would prove nothing.
    rc_section hidden "$rc_pid"
    (kill -0 "$rc_pid") 2>&1 && printf signalled
  fi
done
rc_section executables
stat -L -c '%n %d %i' self/ns/pid $rc_executables 2>/dev/null
if [ -n "$rc_arguments" ]; then
  rc_section hashes
  sha256sum $rc_arguments 2>/dev/null
  if [ "$nonce" = 1 ]; then
    rc_section nonces
    grep -zaoHE '^ROLLCALL_NONCE=.*' /dev/null $rc_environments 2>/dev/null
  fi
fi
# What was read between two equal start times is of one process.
for rc_pid in $pids; do
  rc_stat "$rc_pid" || continue
  rc_section after "$rc_pid"
  printf %s "$rc_text"
done
return 0
