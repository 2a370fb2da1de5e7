# Whether this system ends what a login leaves behind.

command -v loginctl >/dev/null 2>&1 || return 0
rc_section linger
loginctl show-user "$(id -u)" -p Linger 2>/dev/null
rc_section kill
for rc_file in /etc/systemd/logind.conf /etc/systemd/logind.conf.d/*.conf /run/systemd/logind.conf.d/*.conf \
  /usr/lib/systemd/logind.conf.d/*.conf; do
  [ -r "$rc_file" ] && grep -i '^ *KillUserProcesses *=' "$rc_file"
done
return 0
