"""Proves what stands at a PID to be the recorded process and signals it through a pidfd, so that no other can be hit."""
import os
import select
import signal
import sys

try:
    # hashlib would load all of OpenSSL, which takes longer than everything else here.
    from _sha2 import sha256
except ImportError:
    try:
        from _sha256 import sha256
    except ImportError:
        from hashlib import sha256

pid, ticks, device, inode, digest, uid, boot, namespace, name = sys.argv[1:]
marker = os.environ["RC_MARKER"].encode()
out = sys.stdout.buffer


def section(title, content=b""):
    out.write(b"\n" + marker + b" " + title.encode() + b"\n" + content)
    out.flush()


def read(path):
    with open("/proc/" + path, "rb") as file:
        return file.read()


def refuse(why):
    section("refused", why.encode())
    sys.exit(0)


def fields(stat):
    return stat[stat.rindex(b")") + 2 :].split()


try:
    handle = os.pidfd_open(int(pid))
except ProcessLookupError:
    refuse("it is gone")
except OSError as error:
    # A thread's number is no process: EINVAL, or ENOENT since Linux 6.9. What it is, is read below.
    handle = None
    why = "no kernel handle on it could be had: " + error.strerror

try:
    here = read("sys/kernel/random/boot_id").strip()
    section("boot", here)
    stat = read(pid + "/stat")
    section("stat " + pid, stat)
    told = dict(line.split(b":", 1) for line in read(pid + "/status").splitlines() if b":" in line)
    tgid = told[b"Tgid"].strip().decode()
    owner = told[b"Uid"].split()[0].decode()
    section("status " + pid, (tgid + " " + owner).encode())
    if tgid != pid:
        section("leader " + pid, read(tgid + "/stat"))
        refuse("it is a thread")
    state, threads = fields(stat)[0], int(fields(stat)[17])
    finished = state in (b"Z", b"X") and threads <= 1
    within = pid
    if state == b"Z" and threads > 1:
        within = pid + "/task/" + next(task for task in os.listdir("/proc/" + pid + "/task") if task != pid)
    own = os.stat("/proc/self/ns/pid")
    lines = b"self/ns/pid %d %d\n" % (own.st_dev, own.st_ino)
    seen = None
    if not finished:
        program = os.stat("/proc/" + within + "/exe")
        seen = (str(program.st_dev), str(program.st_ino))
        lines += ("%s/exe %s %s\n" % (within, *seen)).encode()
    section("executables", lines)
    argv = sha256(read(within + "/cmdline")).hexdigest()
    section("hashes", ("%s  %s/cmdline\n" % (argv, within)).encode())
except (FileNotFoundError, ProcessLookupError, StopIteration):
    refuse("it went while it was read")
except PermissionError as error:
    refuse("it may not be read: " + (error.filename or ""))

if handle is None:
    refuse(why)
if here.decode() != boot or str(own.st_ino) != namespace:
    refuse("it was recorded elsewhere")
if owner != uid:
    refuse("it belongs to another user")
if finished or fields(stat)[19].decode() != ticks or seen != (device, inode) or argv != digest:
    refuse("what stands there is not what was recorded, or has exited")
# Readable means exited: then what was read may be another process's.
poller = select.poll()
poller.register(handle, select.POLLIN)
if poller.poll(0):
    refuse("it exited just now")
try:
    signal.pidfd_send_signal(handle, getattr(signal, "SIG" + name))
except ProcessLookupError:
    refuse("it exited just before the signal")
except OSError as error:
    refuse("the system refused the signal: " + error.strerror)
section("sent")
