"""A sandbox for code of other people: Linux namespaces, a hidden file system, no network, and limits.

A command runs on a copy of a tree that exists in memory alone. It sees the system's programs and one Python
environment, both read-only; home folders, other processes and the variables of this process are hidden. bubblewrap
makes the sandbox where it is installed, otherwise `unshare` and `mount` of util-linux. Root becomes another user.

A sandbox proves itself before it is used: a probe inside must fail to reach the network, to write outside of its
folder, to read a file of this user and to see a secret of the environment. Without that proof nothing runs. Owns the
mounts, the limits and the probe. Knows no test and no benchmark.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ...errors import UserError

NOBODY = 65534
"""The user and group that root becomes inside: root is exempt from the limit of processes."""

TREE, SCRIPTS = "/sandbox/tree", "/sandbox/scripts"
"""Inside: the copy of the tree, which is the working folder, and the read-only folder of the files of a run."""

_SOURCE = "/sandbox/source"
_SYSTEM_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64")
_SYSTEM_FILES = ("/etc/ld.so.cache", "/etc/alternatives")
_DEVICES = ("null", "zero", "full", "random", "urandom")
_PROBE = Path(__file__).with_name("sandbox_probe.py")
_GRACE_S = 5.0
_SECRET = "WEFT_SANDBOX_SECRET"

NEXT_STEP = (
    "Install bubblewrap (for example `apt install bubblewrap`), or allow unprivileged user namespaces "
    "(`sysctl kernel.unprivileged_userns_clone=1`, `sysctl kernel.apparmor_restrict_unprivileged_userns=0`)."
)


class SandboxError(UserError):
    """There is no sandbox. The message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run. Those of memory, files and CPU time hold for each process, `disk_mb` for all files."""

    seconds: float = 60.0
    cpu_seconds: int = 60
    memory_mb: int = 2048
    disk_mb: int = 256
    processes: int = 64
    file_mb: int = 64  # also of each output


@dataclass(frozen=True, slots=True)
class Finished:
    """The result of a run. `status` is negative for a signal; None when a limit of time ended the run."""

    status: int | None
    stdout: str
    stderr: str
    seconds: float

    @property
    def timed_out(self) -> bool:
        return self.status is None


@dataclass(frozen=True, slots=True)
class Environment:
    """A Python environment: the program, and the folders that it needs beside the system's."""

    executable: str
    folders: tuple[str, ...]

    @classmethod
    def of(cls, python: Path) -> Environment:
        """Asks the interpreter, outside of the sandbox. Raises SandboxError."""
        # Not resolved: the link of a virtual environment is what selects it.
        executable = str(python.absolute())
        code = "import json, sys; print(json.dumps([sys.prefix, sys.base_prefix]))"
        try:
            asked = subprocess.run([executable, "-I", "-c", code], capture_output=True, text=True, timeout=60)
            prefixes = json.loads(asked.stdout)
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise SandboxError(f"{python} is no Python interpreter: {error}. Name one with --python.") from None
        real = str(Path(executable).resolve().parent)
        folders = [path for path in (*prefixes, str(Path(executable).parent), real) if not _is_system(path)]
        if any(Path(path) in (Path("/"), Path.home()) for path in folders):
            raise SandboxError(
                f"{python} lies in {', '.join(folders)}. Create a virtual environment in its own folder."
            )
        outer = [path for path in folders if not any(Path(other) in Path(path).parents for other in folders)]
        return cls(executable, tuple(dict.fromkeys(outer)))


class Sandbox:
    """One proved way to run commands. `find_sandbox` makes it."""

    def __init__(self, method: str, environment: Environment) -> None:
        self.method = method
        self.environment = environment

    def run_python(
        self,
        tree: Path,
        script: str,
        files: Mapping[str, str],
        stdin: str = "",
        limits: Limits = Limits(),
        path: Sequence[str] = (),
    ) -> Finished:
        """Run a Python program on a copy of `tree`.

        `script` and the other `files` lie in `SCRIPTS`, except those whose name begins with "tree/": these replace
        files of the copy. `path` are folders of the tree for imports. Raises SandboxError when nothing can be started.
        """
        with _readable_folder() as shared, _output() as stdout, _output() as stderr:
            for name, text in files.items():
                target = shared / name
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(text, encoding="utf-8", newline="")
            for name in ("tree", "root"):
                (shared / name).mkdir(exist_ok=True)
            open_to_all(shared)
            imports = ":".join([SCRIPTS, *(f"{TREE}/{folder}" for folder in path)])
            inside = self._inside([self.environment.executable, f"{SCRIPTS}/{script}"], imports, limits)
            command = self._command(tree.resolve(), shared, inside, limits)
            started = time.perf_counter()
            status = _run(command, stdin, stdout.fileno(), stderr.fileno(), limits.seconds + _GRACE_S)
            seconds = time.perf_counter() - started
            # timeout(1) inside reports a reached limit with 137, as does the kernel for a process that it killed.
            timed_out = status is None or (status in (137, 124, -9) and seconds >= limits.seconds)
            return Finished(None if timed_out else status, _read(stdout, limits), _read(stderr, limits), seconds)

    def _inside(self, command: Sequence[str], imports: str, limits: Limits) -> list[str]:
        """The command behind the mounts: an empty environment, limits, a copy of the tree."""
        variables = {
            "PATH": f"{Path(self.environment.executable).parent}:/usr/bin:/bin",
            "HOME": "/tmp",
            "TMPDIR": "/tmp",
            "LANG": "C.UTF-8",
            "PYTHONPATH": imports,
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONHASHSEED": "0",
        }
        memory, size = limits.memory_mb * 2**20, limits.file_mb * 2**20
        copy = (
            f"mkdir {TREE} && cp -R {_SOURCE}/. {TREE} && cp -R {SCRIPTS}/tree/. {TREE} && chmod -R u+w {TREE} "
            f'&& cd {TREE} && exec "$@"'
        )
        return [
            *("env", "-i", *(f"{name}={value}" for name, value in variables.items())),
            *("prlimit", f"--as={memory}", f"--fsize={size}", f"--cpu={limits.cpu_seconds}", "--core=0"),
            *(f"--nproc={limits.processes}", "--nofile=512", "--"),
            *("timeout", "-s", "KILL", f"{limits.seconds:g}", "sh", "-c", copy, "sh", *command),
        ]

    def _command(self, tree: Path, shared: Path, inside: Sequence[str], limits: Limits) -> list[str]:
        folders = [("/usr", "/usr"), *((path, path) for path in self.environment.folders)]
        folders += [(path, path) for path in _SYSTEM_FILES if Path(path).exists()]
        folders += [(path, path) for path in _SYSTEM_FOLDERS if Path(path).is_dir() and not Path(path).is_symlink()]
        links = [(os.readlink(path), path) for path in _SYSTEM_FOLDERS if Path(path).is_symlink()]
        folders += [(str(tree), _SOURCE), (str(shared), SCRIPTS)]
        if self.method == "bwrap":
            return _bubblewrap(folders, links, inside, limits)
        return _unshare(shared / "root", folders, links, inside, limits)

    def prove(self) -> str:
        """Run the probe; what it could do, or "" for a sandbox that holds. Raises SandboxError as `run_python`."""
        secret = secrets.token_hex(16)
        with _readable_folder() as outside, _listening() as port, _secret_variable(secret):
            tree, private = outside / "tree", outside / "private.txt"
            tree.mkdir()
            (tree / "a.txt").write_text("a")
            private.write_text(secret)
            open_to_all(outside)
            homes = [str(Path.home())] if Path.home() != Path("/tmp") else []
            facts = {
                "port": port,
                "secret": secret,
                "private": str(private),
                "homes": homes,
                "outside": [str(outside), *homes, "/", "/usr", "/etc", _SOURCE, SCRIPTS, "/proc/sys/kernel"],
                "environment": list(self.environment.folders),
            }
            files = {"probe.py": _PROBE.read_text(encoding="utf-8")}
            done = self.run_python(tree, "probe.py", files, json.dumps(facts), Limits(seconds=20))
            written = [path.name for path in outside.rglob("*") if path.name.startswith("weft-probe")]
        try:
            report = json.loads(done.stdout)
            found = [*report["escapes"], *(f"wrote {name}" for name in written)]
            if done.status == 0 and report["secret"] == secret and not found:
                return ""
        except (ValueError, KeyError, TypeError):
            said = " ".join(done.stderr.split())[:300] or f"status {done.status}"
            return f"{self.method} does not start: {said}"
        return f"{self.method} does not hold: a probe inside {'; '.join(found) or 'failed'}"


def find_sandbox(python: Path) -> Sandbox:
    """The first way that works and proves itself. Raises SandboxError: without a sandbox nothing may run."""
    environment = Environment.of(python)
    reasons = []
    for method, programs in _METHODS.items():
        missing = [program for program in programs if shutil.which(program, path=_search_path()) is None]
        if missing:
            reasons.append(f"{', '.join(missing)} not installed")
            continue
        sandbox = Sandbox(method, environment)
        try:
            reason = sandbox.prove()
        except SandboxError as error:
            reason = str(error)
        if not reason:
            return sandbox
        reasons.append(reason)
    raise SandboxError(f"There is no sandbox, so no tests run: {'; '.join(reasons)}. {NEXT_STEP}")


_METHODS: Mapping[str, Sequence[str]] = {
    "bwrap": ("bwrap", "setpriv", "prlimit", "timeout", "env"),
    "unshare": ("unshare", "mount", "umount", "pivot_root", "setpriv", "prlimit", "timeout", "env"),
}


def _bubblewrap(
    folders: Sequence[tuple[str, str]], links: Sequence[tuple[str, str]], inside: Sequence[str], limits: Limits
) -> list[str]:
    size = str(limits.disk_mb * 2**20)
    command = ["bwrap", "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    command += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--proc", "/proc", "--dev", "/dev"]
    if _is_root():
        for name in ("SETUID", "SETGID", "SETPCAP"):
            command += ["--cap-add", f"CAP_{name}"]
    else:
        command += ["--unshare-user"]
    for folder in ("/tmp", "/sandbox"):
        command += ["--perms", "1777", "--size", size, "--tmpfs", folder]
    for source, target in folders:
        for parent in reversed(Path(target).parents):
            if parent not in (Path("/"), Path("/tmp"), Path("/sandbox")):
                command += ["--perms", "0755", "--dir", str(parent)]  # bubblewrap would close it to other users
        command += ["--ro-bind", source, target]
    for source, target in links:
        command += ["--symlink", source, target]
    # The root of bubblewrap is a file system in memory of its own.
    return [
        *command,
        "--remount-ro",
        "/",
        "--remount-ro",
        "/dev",
        "--chdir",
        "/sandbox",
        "--",
        *_without_privileges(),
        *inside,
    ]


def _unshare(
    root: Path,
    folders: Sequence[tuple[str, str]],
    links: Sequence[tuple[str, str]],
    inside: Sequence[str],
    limits: Limits,
) -> list[str]:
    """A shell script for the mounts, run as the root of new namespaces, which then gives up its capabilities.

    `root` is an empty folder for the mounts. The machine's root needs no namespace of users: it becomes another user.
    """
    tmpfs = f"mount -t tmpfs -o size={limits.disk_mb}m,mode=1777,nosuid,nodev tmpfs"
    steps = [
        "set -e",
        # No namespaces inside of this one. Of root the setting would be that of the whole machine.
        ":" if _is_root() else "echo 0 > /proc/sys/user/max_user_namespaces",
        'mount -t tmpfs -o size=1m,mode=0755,nosuid,nodev tmpfs "$0"',
        'cd "$0"',
        "mkdir -p proc dev tmp sandbox",
        f"{tmpfs} sandbox",
        f"{tmpfs} tmp",
        "mount -t proc -o ro,nosuid,nodev,noexec proc proc",
    ]
    for device in _DEVICES:
        steps += [f": > dev/{device}", f"mount --bind /dev/{device} dev/{device}"]
    for source, target in folders:
        at, quoted = shlex.quote(f".{target}"), shlex.quote(source)
        make = f"mkdir -p {at}" if Path(source).is_dir() else f'mkdir -p "$(dirname {at})" && : > {at}'
        options = ",".join(["remount", "bind", "ro", "nosuid", "nodev", *_locked_options(source)])
        steps += [make, f"mount --bind {quoted} {at}", f"mount -o {options} {at}"]
    steps += [f"ln -s {shlex.quote(source)} .{target}" for source, target in links]
    steps += [
        "mount -o remount,bind,ro,nosuid,nodev .",
        "pivot_root . .",
        "umount -l .",
        "cd /sandbox",
        f'exec {shlex.join(_without_privileges())} "$@"',
    ]
    namespaces = [
        *([] if _is_root() else ["--user", "--map-root-user"]),
        "--net",
        "--mount",
        "--pid",
        "--ipc",
        "--uts",
        "--cgroup",
    ]
    return ["unshare", *namespaces, "--fork", "--kill-child", "sh", "-c", "\n".join(steps), str(root), *inside]


def _without_privileges() -> list[str]:
    """The command that gives up all capabilities, and of root also the user."""
    user = [f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"] if _is_root() else []
    return ["setpriv", *user, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]


def _is_root() -> bool:
    return os.geteuid() == 0


def _locked_options(path: str) -> Iterator[str]:
    """The options of the mount of a path that a user namespace may not remove."""
    if os.statvfs(path).f_flag & os.ST_NOEXEC:
        yield "noexec"


def _run(command: Sequence[str], stdin: str, stdout: int, stderr: int, seconds: float) -> int | None:
    """The exit status, or None after the limit. The whole process group is killed."""
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=stdout,
            stderr=stderr,
            env={"PATH": _search_path()},
            cwd="/",
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"`{command[0]}` cannot be started: {error}. {NEXT_STEP}") from error
    try:
        with suppress(BrokenPipeError):
            process.communicate(stdin.encode(), timeout=seconds)
        return process.wait(_GRACE_S)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _is_system(path: str) -> bool:
    return Path(path) == Path("/usr") or Path("/usr") in Path(path).parents


def _search_path() -> str:
    return os.pathsep.join(filter(None, [os.environ.get("PATH"), "/usr/sbin", "/sbin", "/usr/bin", "/bin"]))


@contextmanager
def _readable_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="weft-sandbox-") as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def open_to_all(folder: Path) -> None:
    """Readable for every user, under any umask: root runs the sandbox as another user."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


@contextmanager
def _output() -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as file:
        yield file


def _read(file: IO[bytes], limits: Limits) -> str:
    file.seek(0)
    return file.read(limits.file_mb * 2**20).decode("utf-8", "replace")


@contextmanager
def _listening() -> Iterator[int]:
    """The port of a server on this machine that the probe must not reach."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@contextmanager
def _secret_variable(value: str) -> Iterator[None]:
    os.environ[_SECRET] = value
    try:
        yield
    finally:
        del os.environ[_SECRET]
