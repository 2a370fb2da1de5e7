# Waits for processes to exit, at most so long; then tells which are still there.
#   targets   PID:TICKS, blank separated
#   hundredths  the longest wait, in hundredths of a second

rc_now() {
  IFS='. ' read -r rc_seconds rc_rest rc_idle </proc/uptime || return 1
  unset IFS
  rc_now=$rc_seconds${rc_rest%%[!0-9]*}
}

rc_now || return 3
rc_end=$((rc_now + hundredths))
rc_rounds=0
while :; do
  rc_left=
  for rc_target in $targets; do
    rc_stat "${rc_target%:*}" && [ "$rc_start" = "${rc_target#*:}" ] || continue
    [ "$rc_state" != Z ] && [ "$rc_state" != X ] || [ "$rc_threads" -gt 1 ] || continue
    rc_left="$rc_left $rc_target"
  done
  [ -n "$rc_left" ] || break
  rc_now
  [ "$rc_now" -lt "$rc_end" ] || break
  rc_rounds=$((rc_rounds + 1))
  rc_pause=0.2
  [ $rc_rounds -gt 30 ] || rc_pause=0.05
  [ $rc_rounds -gt 10 ] || rc_pause=0.02
  sleep $rc_pause 2>/dev/null || sleep 1
done
rc_section left
printf %s "$rc_left"
