#   fresh    an id for a machine that has none
#   without  proc to do as if there were no /proc, for tests
#
# What the first contact needs to know of a machine and an account. Makes one file at most: an id for a machine that
# has none of its own, below the state folder, one per host name since machines may share a home.

# rc_lasting: sets rc_lasts to those of rc_own that live as long as the connection: not this script's shell and what sshd
# started to run it, whose numbers other processes get later. sshd begins a session for these; where the server does
# not, its own process ends them.
rc_lasting() {
  rc_lasts=' '
  rc_stat $$ || rc_session=
  rc_of_script=$rc_session
  for rc_at in $rc_own; do
    if [ "$rc_lasts" = ' ' ]; then
      [ "$rc_at" != $$ ] || continue
      if rc_stat "$rc_at"; then
        case $rc_text in
          "$rc_at (sshd"* | "$rc_at (dropbear"*) ;;
          *) [ "$rc_session" != "$rc_of_script" ] || continue ;;
        esac
      fi
    fi
    rc_lasts="$rc_lasts$rc_at "
  done
}

rc_section system
uname -s
rc_section name
uname -n
rc_section uid
id -u
rc_section home
printf %s "$HOME"
rc_section shell
printf %s "$SHELL"
rc_section path
printf %s "$PATH"

case $XDG_STATE_HOME in
  /*) rc_state_home=$XDG_STATE_HOME ;;
  *) rc_state_home=$HOME/.local/state ;;
esac
rc_section state
printf %s "$rc_state_home/rollcall"

rc_section boot
rc_boot
printf %s "$rc_boot_id"
rc_section namespace
readlink /proc/self/ns/pid 2>/dev/null

rc_machine=
for rc_file in /etc/machine-id /sys/class/dmi/id/product_uuid; do
  [ -n "$rc_machine" ] || { IFS= read -r rc_machine; } 2>/dev/null <"$rc_file"
  [ "$rc_machine" != uninitialized ] || rc_machine=
done
[ -n "$rc_machine" ] || rc_machine=$(sysctl -n kern.uuid 2>/dev/null || sysctl -n kern.hostuuid 2>/dev/null)
rc_section machine
printf %s "$rc_machine"
if [ -z "$rc_machine" ]; then
  rc_file=$rc_state_home/rollcall/host-id.$(uname -n)
  mkdir -p "$rc_state_home/rollcall" &&
    { [ -s "$rc_file" ] || (set -C && printf '%s\n' "$fresh" >"$rc_file") 2>/dev/null; }
  rc_section kept
  cat "$rc_file" 2>/dev/null
fi

# /proc may be missing, or mounted so that it hides the processes of others.
rc_section proc
if [ "$without" != proc ] && [ -r /proc/self/stat ] && rc_stat $$; then
  if [ -r /proc/1/stat ]; then printf all; else printf own; fi
else
  printf none
fi
rc_section line
rc_line
rc_lasting
printf %s "$rc_lasts"

rc_section tools
for rc_tool in grep ls stat sha256sum readlink sleep setsid ps lsof; do
  command -v "$rc_tool" >/dev/null 2>&1 && printf '%s\n' "$rc_tool"
done
[ "$(printf 'a\000b\n' | grep -aH '' 2>/dev/null | tr '\000' '\001')" = "$(printf '(standard input):a\001b')" ] &&
  printf 'grep-nul\n'
[ "$(printf 'a\000b=\nc\000' | grep -zaoE '^b=.*' 2>/dev/null | tr '\000\n' '\001\002')" = "$(printf 'b=\002c\001')" ] &&
  printf 'grep-z\n'
ls -lnbd / >/dev/null 2>&1 && printf 'ls-b\n'
stat -L -c '%d %i' / >/dev/null 2>&1 && printf 'stat-c\n'
sleep 0.01 >/dev/null 2>&1 && printf 'sleep-fraction\n'

rc_section python
command -v python3 >/dev/null 2>&1 && python3 -I -S -c '
import os, signal, sys
handle = os.pidfd_open(os.getpid())
signal.pidfd_send_signal(handle, 0)
print(sys.executable, end="")' 2>/dev/null
true
