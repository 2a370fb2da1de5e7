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

# rc_programs ARGUMENT...: the files that processes run, as lsof reads them of the kernel; nothing where there is no lsof.
# What ps calls a command is what the process calls itself.
rc_programs() {
  lsof -nPw -a -d txt -F pfDin "$@" 2>/dev/null
}

# rc_program PID: sets rc_device and rc_inode to the file that it runs, empty where that could not be read.
rc_program() {
  rc_device=
  rc_inode=
  rc_fields=$(rc_programs -p "$1")
  rc_files=0
  while IFS= read -r rc_field; do
    case $rc_field in
      f*) rc_files=$((rc_files + 1)) ;;
      D0x*) [ "$rc_files" != 1 ] || rc_device=$((${rc_field#D})) ;;
      i*) [ "$rc_files" != 1 ] || rc_inode=${rc_field#i} ;;
    esac
  done <<EOF
$rc_fields
EOF
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
      rc_section programs
      if [ "$what" = list ]; then
        rc_programs
      else
        rc_programs -p "$(printf '%s,' $pids)$$"
      fi
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
    rc_program "$pid"
    [ -n "$rc_inode" ] && [ "$rc_device $rc_inode" = "$device $inode" ] || {
      rc_refuse 'its program is not the recorded one, or could not be told'
      return 0
    }
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
