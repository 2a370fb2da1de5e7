"""Writes down every signal it gets, with the PID that sent it; all but KILL and STOP, which show by its absence and state."""
import os, signal

EVERY = signal.valid_signals()


def watch(log):
    signal.pthread_sigmask(signal.SIG_BLOCK, EVERY)
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    while True:
        info = signal.sigwaitinfo(EVERY)
        os.write(out, f'{info.si_signo} {info.si_pid}\n'.encode())


if __name__ == '__main__':
    watch(os.environ['CHAOS_LOG'])
