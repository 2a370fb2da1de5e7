#!/bin/bash
# The machine behind an sshd of the tests. Runs in a mount namespace of its own (and where it is to be another machine,
# in PID and UTS namespaces, too), so every mount and every name set here goes with it.
# bash stays: as first process of a PID namespace it collects the orphans.
set -eu
folder=$1
name=$2

# sshd's folder for privilege separation, without leaving it on the machine that runs the tests.
mount -t tmpfs -o mode=0755 tmpfs /run
mkdir -m 0755 /run/sshd

[ "$name" = - ] || hostname "$name"

# Every file below over/ takes the place of the machine's own file of that path.
while IFS= read -r -d '' file; do
  mount --bind "$file" "${file#"$folder/over"}"
done < <(find "$folder/over" -type f -print0)

/usr/sbin/sshd -D -e -f "$folder/sshd_config"
exit $?
