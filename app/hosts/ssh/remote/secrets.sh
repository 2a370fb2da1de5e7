# Named variables of one process's environment. Nothing else of it leaves this machine.
#   pid    PID of a process of this account
#   names  names of the variables, as alternatives of a regular expression

rc_numbers $pid || return 4
[ -O "/proc/$pid" ] || return 0
rc_section values
grep -zaE "^($names)=" "/proc/$pid/environ" 2>/dev/null
rc_stat "$pid" || return 0
rc_section after
printf %s "$rc_text"
return 0
