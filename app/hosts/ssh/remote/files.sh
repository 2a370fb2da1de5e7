# The few things about files that starting and watching servers takes.
#   what    folder, file, program, find, tail, or trim for the logs of a folder
#   path    the file; for find, a program's name
#   limit   bytes that tail tells at most, or that a log may have; keep of them stay when it has more

case $what in
  folder)
    if [ -d "$path" ]; then
      rc_path=$(cd -P "$path" 2>/dev/null && pwd -P && printf x) || rc_path=
      if [ -n "$rc_path" ]; then
        # The x keeps newlines at the end of a name.
        rc_section found
        printf %s "$rc_path"
      else
        rc_section unreadable
      fi
    elif [ -e "$path" ]; then
      rc_section no-folder
    else
      rc_said=$(ls -d "$path" 2>&1)
      case $rc_said in
        *'ermission denied'*) rc_section unreadable ;;
        *) rc_section absent ;;
      esac
    fi
    ;;
  file)
    [ -f "$path" ] && [ ! -h "$path" ] && rc_section yes
    ;;
  program)
    [ -f "$path" ] && [ -x "$path" ] && rc_section yes
    ;;
  find)
    IFS=:
    for rc_folder in $PATH; do
      case $rc_folder in
        /*) ;;
        *) continue ;;
      esac
      [ -f "$rc_folder/$path" ] && [ -x "$rc_folder/$path" ] || continue
      rc_section found
      printf %s "${rc_folder%/}/$path"
      break
    done
    unset IFS
    ;;
  tail)
    if [ -e "$path" ]; then
      rc_size=$(wc -c <"$path") || return 5
      rc_section size
      printf %s "$rc_size"
      rc_section text
      tail -c "$limit" "$path" || return 5
    else
      rc_section absent
    fi
    ;;
  trim)
    # Servers append, so the file stays the same one. What they write in this moment may be lost.
    for rc_log in "$path"/*.log; do
      [ -f "$rc_log" ] && [ ! -h "$rc_log" ] || continue
      rc_size=$(wc -c <"$rc_log") && [ "$rc_size" -gt "$limit" ] || continue
      rc_end=$path/.end.$$
      tail -c "$keep" "$rc_log" >"$rc_end" && cat "$rc_end" >"$rc_log"
      rm -f "$rc_end"
      rc_section trimmed
      printf %s "$rc_log"
    done
    ;;
  *) return 4 ;;
esac
return 0
