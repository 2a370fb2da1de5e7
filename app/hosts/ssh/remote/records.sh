# Records on this machine: read, written, removed and set aside. Writing is atomic; nothing is thrown away unread.
#   what    list (which also tells why nothing could be written), read, write, remove or aside
#   folder  where the records of this machine and PID namespace are
#   name    a file name in it
#   text    what is to be written
#   target  path that a stale one is moved to
#   hash    sha256 of the bytes that were judged
#   limit   larger files are no records
#   family  what the folders of this machine begin with, one for each PID namespace it has had
#   most    how many records of other PID namespaces are told at once

rc_hash() {
  rc_hash=$(sha256sum "$1" 2>/dev/null || shasum -a 256 "$1" 2>/dev/null)
  rc_hash=${rc_hash#\\}
  rc_hash=${rc_hash%% *}
}

rc_tell() {
  [ -e "$1" ] || [ -h "$1" ] || return 0
  rc_section name
  printf %s "$1"
  if [ -h "$1" ]; then
    rc_section unopened link
  elif [ ! -f "$1" ]; then
    rc_section unopened 'no file'
  elif [ ! -r "$1" ]; then
    rc_section unopened denied
  elif [ "$(wc -c <"$1")" -gt "$limit" ]; then
    rc_hash "$1"
    rc_section huge "$rc_hash"
  else
    rc_section bytes
    cat "$1" 2>/dev/null || rc_section unread
  fi
}

rc_told_uptime() {
  rc_section uptime
  rc_uptime && printf %s "$rc_up"
}

# What a command said on the way to failing.
rc_trouble() {
  rc_section trouble
  printf %s "$1"
}

case $what in
  list)
    if [ -d "$folder" ]; then
      ls "$folder" >/dev/null 2>&1 || rc_section unreadable
    elif [ -e "$folder" ] || [ -h "$folder" ]; then
      rc_section unreadable
    fi
    for rc_file in "$folder"/*.json; do
      rc_tell "$rc_file"
    done
    [ ! -e "$folder" ] || [ -w "$folder" ] || {
      rc_said=$( (: >"$folder/.writable.$$") 2>&1)
      rm -f "$folder/.writable.$$" 2>/dev/null
      rc_trouble "${rc_said:-Permission denied}"
    }
    rc_told_uptime
    # What names this boot is the affair of whoever runs it. Nobody reads thousands of others at each look.
    rc_boot
    set --
    for rc_file in "$family"*/records/*.json; do
      case $rc_file in
        "$folder"/*) continue ;;
      esac
      [ -f "$rc_file" ] && [ ! -h "$rc_file" ] && set -- "$@" "$rc_file"
      [ $# -lt 512 ] || break
    done
    [ $# -eq 0 ] || grep -FLs -e "$rc_boot_id" -- "$@" | head -n "$most" | while IFS= read -r rc_file; do
      rc_tell "$rc_file"
    done
    ;;
  read)
    rc_told_uptime
    rc_tell "$folder/$name"
    ;;
  write)
    rc_temporary=$folder/.$name.$$.tmp
    rc_said=$({ mkdir -p "$folder" && printf %s "$text" | cat >"$rc_temporary" &&
      { sync "$rc_temporary" 2>/dev/null || :; } && mv -f "$rc_temporary" "$folder/$name"; } 2>&1) || {
      rm -f "$rc_temporary" 2>/dev/null
      rc_trouble "$rc_said"
      return 0
    }
    sync "$folder" 2>/dev/null
    rc_section done
    ;;
  remove)
    rc_said=$(rm -f "$folder/$name" 2>&1) || rc_trouble "$rc_said"
    ;;
  aside)
    rc_hash "$folder/$name"
    [ -n "$hash" ] && [ "$rc_hash" = "$hash" ] && [ ! -h "$folder/$name" ] || {
      rc_section changed
      return 0
    }
    rc_said=$({ mkdir -p "${target%/*}" && mv -f "$folder/$name" "$target"; } 2>&1) || {
      rc_trouble "$rc_said"
      return 0
    }
    rc_section done
    ;;
  *) return 4 ;;
esac
return 0
