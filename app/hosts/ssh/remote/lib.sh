# Shared by every script. `rc_marker` is set before it; whatever stands outside the marker's lines is noise.

# A profile may have left options, functions or a field separator behind that would change what follows.
set +e +u +f +C +a +x
unset IFS
# What changes how the programs below print their rows or read their options.
unset TIME_STYLE BLOCK_SIZE BLOCKSIZE LS_BLOCK_SIZE QUOTING_STYLE TABSIZE COLUMNS LS_COLORS CLICOLOR CLICOLOR_FORCE \
  GREP_OPTIONS GREP_COLOR GREP_COLORS PS_FORMAT PS_PERSONALITY CMD_ENV I_WANT_A_BROKEN_PS UNIX95 \
  LSOF_OPTIONS BASH_ENV ENV 2>/dev/null
unalias -a 2>/dev/null
unset -f cat date env grep head id kill ls lsof mkdir mktemp mv ps pwd readlink rm sed setsid sha256sum sleep \
  sort stat sync sysctl tail tr uname uptime wc 2>/dev/null
command -v grep >/dev/null 2>&1 || PATH="$PATH:/usr/local/bin:/usr/bin:/bin"
umask 077

# rc_section NAME...: what follows belongs to it, byte for byte, up to the next one.
rc_section() {
  printf '\n%s %s\n' "$rc_marker" "$*"
}

# rc_stat PID: sets rc_state, rc_ppid, rc_group, rc_session, rc_threads and rc_start from its stat line; fails when it cannot be
# read. Counted from the last parenthesis, for a name may hold blanks, parentheses and newlines.
rc_stat() {
  rc_text=
  while IFS= read -r rc_row || [ -n "$rc_row" ]; do
    rc_text="$rc_text$rc_row
"
  done 2>/dev/null <"/proc/$1/stat"
  case $rc_text in
    "$1 ("*') '*) ;;
    *) return 1 ;;
  esac
  set -- ${rc_text##*) }
  [ $# -ge 20 ] || return 1
  rc_state=$1
  rc_ppid=$2
  rc_group=$3
  rc_session=$4
  rc_threads=${18}
  rc_start=${20}
}

# rc_status PID: sets rc_tgid and rc_uid; fails when it cannot be read. The kernel escapes newlines in the name.
rc_status() {
  rc_tgid=
  rc_uid=
  while IFS= read -r rc_row; do
    case $rc_row in
      Tgid:*) rc_tgid=${rc_row#Tgid:?} ;;
      Uid:*)
        rc_uid=${rc_row#Uid:?}
        rc_uid=${rc_uid%%[!0-9]*}
        break
        ;;
    esac
  done 2>/dev/null <"/proc/$1/status"
  [ -n "$rc_tgid" ] && [ -n "$rc_uid" ]
}

# rc_within PID: sets rc_task to where its program and arguments are found: its own folder, or that of another thread
# when its main thread has left and others live on. After rc_stat.
rc_within() {
  rc_task=$1
  [ "$rc_state" = Z ] && [ "$rc_threads" -gt 1 ] || return 0
  for rc_task in "/proc/$1/task"/[0-9]*; do
    [ "${rc_task##*/}" = "$1" ] || break
  done
  rc_task=${rc_task#/proc/}
}

# rc_boot: sets rc_boot_id, empty where it cannot be read.
rc_boot() {
  rc_boot_id=
  { IFS= read -r rc_boot_id; } 2>/dev/null </proc/sys/kernel/random/boot_id || [ -n "$rc_boot_id" ] ||
    rc_boot_id=$(sysctl -n kern.bootsessionuuid 2>/dev/null || sysctl -n kern.boottime 2>/dev/null)
}

# rc_uptime: sets rc_up to the seconds since the boot, by the kernel's clock where it tells; fails where it cannot be told.
rc_uptime() {
  rc_up=
  { IFS=' ' read -r rc_up rc_rest; } 2>/dev/null </proc/uptime && return 0
  rc_up=$(sysctl -n kern.boottime 2>/dev/null)
  rc_up=${rc_up#*sec = }
  rc_up=${rc_up%%[!0-9]*}
  rc_numbers "$rc_up" && rc_up=$(($(date +%s) - rc_up))
}

# rc_line: sets rc_own to the PIDs of this shell and of what it runs under, the session's sshd among them.
rc_line() {
  rc_own=' '
  rc_at=$$
  while [ "$rc_at" -gt 1 ]; do
    case $rc_own in
      *" $rc_at "*) break ;;
    esac
    rc_own="$rc_own$rc_at "
    if rc_stat "$rc_at"; then
      rc_at=$rc_ppid
    else
      rc_at=$(ps -o ppid= -p "$rc_at" 2>/dev/null | tr -d ' ')
      rc_numbers "$rc_at" || break
    fi
  done
}

# Whether the arguments are whole numbers without a leading zero.
rc_numbers() {
  for rc_number; do
    case $rc_number in
      '' | 0* | *[!0-9]*) return 1 ;;
    esac
  done
}
