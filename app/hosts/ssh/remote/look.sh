# Raw bytes of /proc in few processes; nothing is interpreted here.
#   bulk      1 to list every process
#   machine   1 for the load and the memory of the machine
#   pids      processes to read in detail, blank separated
#   programs  processes of which only the program is wanted
#   pss       those of them whose proportional memory is wanted
#   sockets   processes of which only the sockets are wanted
#   everyone  1 for the sockets of every process
#   tables    1 for the tables of sockets in any case
#   networks  processes whose own network's tables are wanted
#   tasks     processes whose main thread has left while others live
#   marks     names of the environment variables that may be read, as alternatives of a regular expression
#   ls        extra letters for ls (b: escape what cannot be printed)
#   root      1 when this account is root: the environments of others are still none of our business

cd /proc || return 3
rc_boot
rc_section boot
printf %s "$rc_boot_id"
rc_line
rc_section line
printf '%s %s' $$ "$rc_own"

rc_tasks=
for rc_pid in $tasks; do
  for rc_task in "$rc_pid"/task/[0-9]*; do
    [ "${rc_task##*/}" = "$rc_pid" ] || break
  done
  rc_tasks="$rc_tasks $rc_task"
done

# Kept apart from the rest, for its records end in NUL. Only the allowed names leave the machine.
rc_environments=
if [ "$bulk" = 1 ]; then
  if [ "$root" = 1 ]; then
    for rc_pid in [0-9]*; do
      [ -O "$rc_pid" ] && rc_environments="$rc_environments $rc_pid/environ"
    done
  else
    rc_environments='[0-9]*/environ'
  fi
fi
for rc_pid in $pids $rc_tasks; do
  [ "$root" != 1 ] || [ -O "$rc_pid" ] && rc_environments="$rc_environments $rc_pid/environ"
done
rc_section marks
grep -zaoHE "^($marks)=.*" /dev/null $rc_environments 2>/dev/null

# An environment that could be read is counted, also one without any of these names.
rc_environments=
for rc_pid in $pids $rc_tasks; do
  [ "$root" != 1 ] || [ -O "$rc_pid" ] && rc_environments="$rc_environments $rc_pid/environ"
done
if [ -n "$rc_environments" ]; then
  rc_section environments
  grep -zacH '' /dev/null $rc_environments 2>/dev/null
fi

rc_files=uptime
[ "$machine" != 1 ] || rc_files="$rc_files loadavg meminfo"
[ "$bulk" != 1 ] || rc_files="$rc_files self/cgroup [0-9]*/stat [0-9]*/cmdline"
for rc_pid in $pids; do
  [ "$bulk" = 1 ] || rc_files="$rc_files $rc_pid/stat $rc_pid/cmdline"
  rc_files="$rc_files $rc_pid/status $rc_pid/cgroup"
done
for rc_task in $rc_tasks; do
  rc_files="$rc_files $rc_task/cmdline"
done
for rc_pid in $pss; do
  rc_files="$rc_files $rc_pid/smaps_rollup"
done
rc_section files
grep -aH '' /dev/null $rc_files 2>/dev/null
[ "$machine" != 1 ] || grep -aH '^cpu' stat

# One process each for links, for what they lead to, and for open files.
rc_links="self/ns/net"
rc_executables=
rc_open=
for rc_pid in $programs; do
  rc_links="$rc_links $rc_pid/exe"
done
for rc_pid in $pids; do
  rc_links="$rc_links $rc_pid $rc_pid/exe $rc_pid/cwd $rc_pid/ns/pid $rc_pid/ns/net"
  rc_executables="$rc_executables $rc_pid/exe"
  rc_open="$rc_open $rc_pid/fd"
done
for rc_task in $rc_tasks; do
  rc_links="$rc_links $rc_task/exe $rc_task/cwd"
  rc_executables="$rc_executables $rc_task/exe"
  rc_open="$rc_open $rc_task/fd"
done
for rc_pid in $sockets; do
  rc_links="$rc_links $rc_pid"
  rc_open="$rc_open $rc_pid/fd"
done
if [ "$everyone" = 1 ]; then
  rc_links="$rc_links [0-9]*"
  rc_open='[0-9]*/fd'
fi
rc_section links
ls -lnd$ls $rc_links 2>/dev/null
if [ -z "$ls" ]; then
  # This ls prints a question mark for each byte that it takes for unprintable; paths are told to people.
  for rc_pid in $pids $rc_tasks; do
    rc_section path "$rc_pid/cwd"
    readlink "$rc_pid/cwd" 2>/dev/null
  done
fi
rc_section executables
stat -L -c '%n %d %i' self/ns/pid $rc_executables 2>/dev/null
if [ -n "$rc_open" ]; then
  # Some ls list a folder that they cannot open as if it were empty.
  rc_section closed
  for rc_folder in $rc_open; do
    [ -r "$rc_folder" ] || printf '%s\n' "$rc_folder"
  done
  rc_section open
  # With two folders or more, each gets a line with its name.
  if [ "$everyone" = 1 ]; then
    ls -ln$ls self/fd $rc_open 2>/dev/null | grep -a -e '^[0-9s].*:$' -e ' -> socket:'
  else
    ls -ln$ls self/fd $rc_open 2>/dev/null
  fi
fi

rc_tables='net/tcp net/tcp6 net/unix'
for rc_pid in $networks; do
  rc_tables="$rc_tables $rc_pid/net/tcp $rc_pid/net/tcp6 $rc_pid/net/unix"
done
if [ "$tables" = 1 ] || [ -n "$rc_open" ]; then
  rc_section tables
  grep -aH '' /dev/null $rc_tables 2>/dev/null
fi

# Whoever has another start time by now is another process than the one that was read.
if [ -n "$pids" ]; then
  rc_section after
  for rc_pid in $pids; do
    rc_stat "$rc_pid" && printf '%s %s\n' "$rc_pid" "$rc_start"
  done
fi
return 0
