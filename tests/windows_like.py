"""Runs Weft without what Windows has not: `python windows_like.py ARGUMENTS` is `weft ARGUMENTS`.

Libraries load first, since they choose their own parts for this system. What is then missing for Weft: modules and
functions for POSIX alone, Unix domain sockets, and the name of the system. What is there instead: locks of files as
`msvcrt` has them, made of those of this system.
"""

import asyncio
import fcntl
import importlib
import os
import select
import signal
import socket
import sys
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

LIBRARIES = (
    *("numpy", "httpx", "rich.console", "rich.progress", "watchdog.observers", "pygls.server", "tree_sitter"),
    "platformdirs",
)
POSIX_MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "posix", "syslog")
POSIX_FUNCTIONS = {
    os: """fork forkpty getuid geteuid getgid getegid getppid setsid setpgid killpg nice setpriority getpriority
    uname mkfifo chown lchown fchmod fchown getloadavg sched_getaffinity statvfs fdatasync
    O_NONBLOCK O_NOFOLLOW O_DIRECTORY O_CLOEXEC""",
    socket: "AF_UNIX send_fds recv_fds",
    select: "poll epoll",
    signal: "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGPIPE SIGALRM SIGCHLD alarm setitimer pthread_sigmask",
}


def locking(descriptor: int, mode: int, n_bytes: int, lock: Callable[..., None] = fcntl.lockf) -> None:
    """Lock (1) or unlock (0) bytes from the position in the file on, as `msvcrt.locking`."""
    lock(descriptor, fcntl.LOCK_EX if mode else fcntl.LOCK_UN, n_bytes, 0, os.SEEK_CUR)


def become_like_windows() -> None:
    for name in LIBRARIES:
        importlib.import_module(name)
    asyncio.get_event_loop_policy()
    socket.socketpair = partial(socket.socketpair, socket.AF_UNIX)  # the event loop of this system needs it
    for name in POSIX_MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for module, names in POSIX_FUNCTIONS.items():
        for name in names.split():
            if hasattr(module, name):
                delattr(module, name)
    sys.modules["msvcrt"] = SimpleNamespace(locking=locking, LK_LOCK=1, LK_UNLCK=0)  # type: ignore[assignment]
    sys.platform = "win32"


if __name__ == "__main__":
    become_like_windows()
    from weft.server.cli import main
    from weft.server.shared import relay

    relay.SERVER_COMMAND[1:-1] = [__file__]  # the shared server is without it, too
    sys.exit(main(sys.argv[1:]))
