"""
Starts witnesses, on chosen PIDs as soon as these are free. One JSON request a line on standard input, one JSON answer
a line on standard output. PIDs that are written into the pipe CHAOS_DOOMED are occupied unasked: their owners end at once.

Every signal is blocked here and so in every child from its first moment. The process stays single-threaded, since its
children go on as Python after a bare clone.
"""
import ctypes, errno, json, os, select, signal, struct, sys, threading, time

from witness import EVERY, watch

LIBC = ctypes.CDLL(None, use_errno=True)
NULL = os.open('/dev/null', os.O_RDWR)
LOGS = os.environ['CHAOS_LOGS']
#: Between two looks whether a number is free, in seconds.
PAUSE = 0.0001


def clone_at(pid):
    """clone3(2); with set_tid unless pid is 0. Returns None while the number is taken."""
    tid = (ctypes.c_int * 1)(pid)
    chosen = (ctypes.addressof(tid), 1) if pid else (0, 0)
    args = struct.pack('<11Q', 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, *chosen, 0)
    made = LIBC.syscall(ctypes.c_long(435), ctypes.create_string_buffer(args), ctypes.c_size_t(88))
    if made == -1:
        code = ctypes.get_errno()
        if code == errno.EEXIST:
            return None
        raise OSError(code, os.strerror(code))
    return made


def is_free(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return not os.path.exists(f'/proc/{pid}')
    except PermissionError:
        pass
    return False


def become(request):
    """Goes on as the child that was asked for; never returns."""
    os.setsid()
    for fd in (0, 1, 2):
        os.dup2(NULL, fd)
    uid = request.get('uid')
    if uid is not None:
        os.setgroups([])
        os.setgid(uid)
        os.setuid(uid)
    os.chdir(request.get('cwd', '/'))
    log = f"{LOGS}/{os.getpid()}-{ticks(os.getpid())}"
    if 'argv' not in request:
        watch(log)
    os.environ.update(request.get('env', {}), CHAOS_LOG=log)
    os.execvp(request['program'], request['argv'])


def ticks(pid):
    with open(f'/proc/{pid}/stat', 'rb') as file:
        return file.read().rpartition(b')')[2].split()[19].decode()


def identity(pid):
    """What tells a child of this process, which is not collected yet, from every other one."""
    held = os.pidfd_open(pid)
    try:
        return {'pid': pid, 'ticks': ticks(pid), 'handle': str(os.fstat(held).st_ino)}
    finally:
        os.close(held)


def spawn(request):
    """None while the number is taken and may still become free: then the request is kept, and answered later."""
    pid = request.get('pid', 0)
    made = clone_at(pid) if pid == 0 or is_free(pid) else None
    if made == 0:
        try:
            become(request)
        finally:
            os._exit(127)
    if made is not None:
        return identity(made)
    request.setdefault('until', time.monotonic() + request.get('spinMs', 0) / 1000)
    return {'taken': pid} if time.monotonic() > request['until'] else None


def thread_at(request):
    """A child that gives one of its threads the number. It reports by itself, once it has or has given up."""
    child = os.fork()
    if child != 0:
        return identity(child)
    os.setsid()
    pid, end = request['pid'], time.monotonic() + request.get('spinMs', 0) / 1000
    hit = []

    def settle():
        if threading.get_native_id() == pid:
            hit.append(True)
            while True:
                time.sleep(60)

    while not hit and time.monotonic() < end:
        if not is_free(pid):
            time.sleep(PAUSE)
            continue
        with open('/proc/sys/kernel/ns_last_pid', 'w') as file:
            file.write(str(pid - 1))
        one = threading.Thread(target=settle, daemon=True)
        one.start()
        one.join(0.002)
    os.write(1, (json.dumps({'thread': pid, 'of': os.getpid(), 'hit': bool(hit)}) + '\n').encode())
    for fd in (0, 1, 2):
        os.dup2(NULL, fd)
    watch(f'{LOGS}/{os.getpid()}-{ticks(os.getpid())}')


def strike(request):
    """Sends a signal to exactly the process that is meant, and has its number occupied where that is asked for."""
    pid = request['pid']
    try:
        held = os.pidfd_open(pid)
    except ProcessLookupError:
        return {'missed': pid}
    try:
        if ticks(pid) != request['ticks']:
            return {'missed': pid}
        signal.pidfd_send_signal(held, request['signal'])
    except (ProcessLookupError, FileNotFoundError):
        return {'missed': pid}
    finally:
        os.close(held)
    return succeed(request) if 'occupy' in request else {}


def succeed(request):
    """From now on the request is one for whoever takes the number."""
    request.update(request.pop('occupy'), op='spawn')
    return spawn(request)


def end(request):
    """Ends a child of this process. It is not collected yet, so the number is its own."""
    pid = request['pid']
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return succeed(request) if 'occupy' in request else {}


ACTS = {'spawn': spawn, 'thread': thread_at, 'strike': strike, 'end': end}


def answer(request):
    """Whether the request is done with."""
    try:
        said = ACTS[request['op']](request)
    except (OSError, ValueError) as error:
        said = {'failed': f'{request["op"]}: {error}'}
    if said is not None:
        say({**{key: request[key] for key in ('id', 'doomed') if key in request}, **said})
    return said is not None


def say(words):
    os.write(1, (json.dumps(words) + '\n').encode())


def main():
    signal.pthread_sigmask(signal.SIG_BLOCK, EVERY)
    doomed = os.open(os.environ['CHAOS_DOOMED'], os.O_RDWR)
    texts = {0: b'', doomed: b''}
    waiting = []
    while True:
        for fd in select.select([0, doomed], [], [], PAUSE if waiting else None)[0]:
            chunk = os.read(fd, 65536)
            if chunk == b'':
                return
            *lines, texts[fd] = (texts[fd] + chunk).split(b'\n')
            for line in lines:
                unasked = {'op': 'spawn', 'doomed': int(line), 'pid': int(line), 'spinMs': 400} if fd == doomed else None
                waiting.append(unasked or json.loads(line))
        waiting = [request for request in waiting if not answer(request)]


main()
