# The same as look, observe, signal and wait, for a machine without /proc: by its own ps, whose locale and time zone the
# caller has fixed. What ps fails to tell is unknown; it is never taken for an absence.
#   what     list, observe, signal, wait or ports
#   pids     PIDs to observe, blank separated
#   pid signal                    whom to signal, and how
#   line                          what ps must tell of it: uid, start and arguments in single blanks
#   device inode                  of its program
#   targets  for wait: PID:START with _ for blanks; hundredths, the longest wait

# rc_ps COLUMNS ARGUMENT...: sets rc_told, or rc_why where ps failed to tell. Our own shell must be among its rows: a ps
# that does not know even that one would make everything look gone.
rc_ps() {
  rc_why=
  rc_columns=$1
  shift
  # One -o each: to BSD's ps, what follows an equals sign is a heading, commas and all.
  for rc_column in pid $rc_columns; do
    set -- "$@" -o "$rc_column="
  done
  rc_told=$(ps -ww "$@" 2>&1) || {
    rc_why=${rc_told:-it ended with an error and said nothing}
    return 1
  }
  printf '%s\n' "$rc_told" | grep -q "^ *$$ " || {
    rc_why='it does not list the very shell that runs it'
    return 1
  }
}

# rc_row COLUMNS PID: sets rc_row to what ps tells of one process, in single blanks, empty when there is none.
rc_row() {
  rc_row=
  rc_ps "$1" -p "$$,$2" || return 1
  rc_row=$(printf '%s\n' "$rc_told" | sed -n "s/^ *$2  *//p" | tr -s ' ')
  rc_row=${rc_row% }
}

# rc_programs ROWS: what rows of "PID PATH" lead to, as "DEVICE INODE PATH".
rc_programs() {
  rc_rows=$1
  set --
  while read -r rc_pid rc_path; do
    case $rc_path in
      /*) set -- "$@" "$rc_path" ;;
    esac
  done <<EOF
$rc_rows
EOF
  [ $# -gt 0 ] || return 0
  # BSD's knows no -c; GNU's takes -f for something else.
  stat -L -c '%d %i %n' "$@" 2>/dev/null || stat -L -f '%d %i %N' "$@" 2>/dev/null
}

rc_refuse() {
  rc_section refused
  printf %s "$1"
}

rc_boot
rc_section boot
printf %s "$rc_boot_id"
rc_line
rc_section line
printf '%s %s' $$ "$rc_own"
rc_all='ppid pgid uid state lstart args'

case $what in
  list | observe)
    if [ "$what" = list ]; then
      set -- -ax
    else
      rc_numbers $pids || return 4
      # BSD's ps takes a list behind one -p only.
      set -- -p "$$$(printf ',%s' $pids)"
    fi
    if rc_ps "$rc_all" "$@"; then
      rc_section rows
      printf '%s\n' "$rc_told"
      rc_ps comm "$@" && {
        rc_section names
        printf '%s\n' "$rc_told"
        rc_paths=$(printf '%s\n' "$rc_told" | sed 's/^ *[0-9]* *//' | sort -u | sed 's/^/0 /')
        rc_section programs
        rc_programs "$rc_paths"
      }
      if [ "$what" = list ]; then
        rc_ps 'rss pcpu' -ax && {
          rc_section usage
          printf '%s\n' "$rc_told"
        }
      fi
    else
      rc_section failed
      printf %s "$rc_why"
    fi
    if [ "$what" = list ]; then
      rc_section load
      sysctl -n vm.loadavg 2>/dev/null || uptime
      rc_section memory
      sysctl -n hw.memsize hw.ncpu 2>/dev/null
    fi
    ;;
  signal)
    rc_numbers "$pid" "$inode" && [ ${#pid} -le 7 ] && [ "$pid" -gt 1 ] || {
      rc_refuse 'it is no number of a process'
      return 0
    }
    case $rc_own in
      *" $pid "*)
        rc_refuse 'it is what this connection runs under'
        return 0
        ;;
    esac
    rc_ps comm -p "$$,$pid"
    rc_found=$(rc_programs "$(printf '%s\n' "$rc_told" | grep "^ *$pid ")")
    case $rc_found in
      "$device $inode "*) ;;
      *)
        rc_refuse 'its program is not the recorded one, or could not be told'
        return 0
        ;;
    esac
    # Last, so that as little as possible lies between it and the signal.
    rc_row 'uid lstart args' "$pid" || {
      rc_refuse "its ps failed: $rc_why"
      return 0
    }
    [ -n "$rc_row" ] && [ "$rc_row" = "$line" ] || {
      rc_refuse 'what stands there is not what was recorded'
      return 0
    }
    case $signal in
      TERM | KILL | CONT | INT | HUP) kill -s "$signal" "$pid" ;;
      *) return 4 ;;
    esac || {
      rc_refuse 'the system refused the signal'
      return 0
    }
    rc_section sent
    ;;
  wait)
    rc_rounds=$(((hundredths + 19) / 20))
    while :; do
      rc_left=
      for rc_target in $targets; do
        # A ps that fails proves no exit.
        rc_row 'state lstart' "${rc_target%%:*}" || {
          rc_left="$rc_left $rc_target"
          continue
        }
        case $rc_row in
          '' | Z*) continue ;;
        esac
        rc_start=$(printf %s "${rc_row#* }" | tr ' ' _)
        [ "$rc_start" != "${rc_target#*:}" ] || rc_left="$rc_left $rc_target"
      done
      [ -n "$rc_left" ] && [ "$rc_rounds" -gt 0 ] || break
      rc_rounds=$((rc_rounds - 1))
      sleep 0.2 2>/dev/null || {
        sleep 1
        rc_rounds=$((rc_rounds - 4))
      }
    done
    rc_section left
    printf %s "$rc_left"
    ;;
  ports) ;;
  *) return 4 ;;
esac
if [ "$what" = list ] || [ "$what" = ports ]; then
  command -v lsof >/dev/null 2>&1 && {
    # It ends with 1 also when it only could not list the files of others.
    rc_section sockets
    lsof -nP -iTCP -sTCP:LISTEN,ESTABLISHED -F pnT 2>/dev/null
  }
fi
return 0
