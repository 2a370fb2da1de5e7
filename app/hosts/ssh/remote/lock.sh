# One start at a time on this machine and account, whoever asks. A file that only one can make, with who made it and
# when by the kernel's clock. What is older than a start takes is broken; where no such file can be made at all, starts
# go on without.
#   what     take or release
#   lock     its path
#   nonce    of the start
#   mine     nonces of starts of the asker that are over, though their release never arrived
#   stale    seconds after which it is nobody's
#   patience hundredths of a second that taking it may wait

# Where the kernel does not tell how long it has run, the clock must do.
rc_now() {
  IFS='. ' read -r rc_seconds rc_rest rc_idle 2>/dev/null </proc/uptime || rc_seconds=$(date +%s) || return 1
  unset IFS
}

# rc_take: succeeds when the lock is ours. Sets rc_full when it could be made and not written: a full disk.
rc_take() {
  rc_full=
  rc_did=$( (set -C && {
    printf made >&3
    printf '%s %s %s\n' "$nonce" "$rc_seconds" "$rc_boot_id"
  } >"$lock") 3>&1 2>/dev/null)
  [ "$rc_did" = made ] || return 1
  rc_held || return 1
  [ "$rc_holder" != "$nonce" ] || return 0
  [ -z "$rc_holder" ] || return 1
  # An empty one would keep everybody waiting.
  rm -f "$lock"
  rc_full=1
  return 1
}

# rc_held: sets rc_holder, rc_since and rc_of from the file; fails when there is none.
rc_held() {
  rc_holder=
  { IFS=' ' read -r rc_holder rc_since rc_of; } 2>/dev/null <"$lock"
  [ -e "$lock" ]
}

# Nobody's: of a start of ours that is over, of another boot, older than a start takes, or unfinished for as long.
rc_stale() {
  # By the clock after it was read: one that was made a moment ago must not seem to be of a time to come.
  rc_now
  case " $mine " in
    *" $rc_holder "*) return 0 ;;
  esac
  [ "$rc_of" = "$rc_boot_id" ] && rc_numbers "$rc_since" || return 0
  [ "$rc_since" -gt "$rc_seconds" ] || [ $((rc_seconds - rc_since)) -ge "$stale" ]
}

if [ "$what" = release ]; then
  rc_held && [ "$rc_holder" = "$nonce" ] && rm -f "$lock"
  return 0
fi

rc_boot
rc_now || {
  rc_section without
  return 0
}
rc_said=$(mkdir -p "${lock%/*}" 2>&1)
rc_waited=0
rc_empty=0
while :; do
  rc_now
  rc_take && {
    rc_section taken
    return 0
  }
  [ -z "$rc_full" ] || {
    rc_section without
    return 0
  }
  rc_held || {
    # Gone again, or it cannot be made at all.
    rc_take && {
      rc_section taken
      return 0
    }
    rc_held || {
      rc_section without
      return 0
    }
  }
  # Its maker may be between making it and writing into it.
  [ -n "$rc_holder" ] || rc_empty=$((rc_empty + 1))
  if [ -n "$rc_holder" ] && rc_stale || [ "$rc_empty" -gt 20 ]; then
    # Only one of those who see this can move it, and whoever moves a younger one puts it back.
    rc_aside=$lock.$nonce
    rc_judged=$rc_holder
    if mv "$lock" "$rc_aside" 2>/dev/null; then
      { IFS=' ' read -r rc_moved rc_rest; } 2>/dev/null <"$rc_aside" || rc_moved=
      [ "$rc_moved" = "$rc_judged" ] || ln "$rc_aside" "$lock" 2>/dev/null
      rm -f "$rc_aside"
    else
      rc_section without
      return 0
    fi
    rc_empty=0
    continue
  fi
  [ "$rc_waited" -lt "$patience" ] || {
    rc_section held
    printf %s "$rc_holder"
    return 0
  }
  sleep 0.1 2>/dev/null || {
    sleep 1
    rc_waited=$((rc_waited + 90))
  }
  rc_waited=$((rc_waited + 10))
done
