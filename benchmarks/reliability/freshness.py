"""Index freshness under random changes on disk: the index must equal the disk, without a restart.

Sessions of rounds. A session is a git repository of 500 files with branches of 125 to 1,500, opened without a cache. A
round is some random changes, during the first index ("first"), during the verification of a cached index ("warm"), or
later ("idle"). After each round, within 5 s of quiet, the indexed texts must equal those of a walk over the disk, and
in each fifth round those of a fresh index. Two of three sessions run the real server over stdio (`probe.py` reports its
texts), the others a `Workspace` in this process; in some two servers have the folder open. The server watches the
folder, or a client reports changes: late, repeatedly, incompletely, and sometimes as folders only.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from ...retrieval.fragments import normalise
from ...retrieval.terms import encode
from ...server.config import Config, IndexOptions
from ...server.workspace.files import SourceText, read_source, walk
from ...server.workspace.folders import BACKGROUND_NICENESS
from ...server.workspace.workspace import Workspace
from ..bootstrap import percentile
from ..lsp_client import Client, ServerGone
from .campaign import Counts, Settings, write_file
from .probe import ask_texts, hash_of, texts_of

QUESTION = "Does the index equal the disk within 5 s of quiet after any changes, without a restart?"

MUST_BE_ZERO = (
    *("stale_files", "ghost_files", "missing_files", "rounds_late", "rounds_unlike_fresh_index"),
    "servers_ended",
)

COUNTS = (
    *("sessions", "rounds"),
    *(f"rounds_{phase}_{side}" for phase in ("first", "warm", "idle") for side in ("server", "client")),
    *("indexes_compared_over_stdio", "indexes_compared_in_process", "rounds_with_two_servers"),
    *("changes", "checkouts", "folder_swaps", "fresh_indexes"),
)
COUNTED_ACTIONS = {"checkout": "checkouts", "swap_for_link": "folder_swaps", "swap_folders": "folder_swaps"}

N_ROUNDS, N_ROUNDS_SHORT = 200, 6
N_FILES, N_FILES_SHORT = 500, 100
BOUND_S = 480.0
"""No round begins later."""

LATE_AFTER_S = 5.0
"""In addition to the time that this machine needs for the changed files, as measured in each session."""

GIVE_UP_AFTER_S = 30.0
READY_WITHIN_S = 60.0
POLL_S = 0.03
FRESH_EVERY = 5

PHASES = ("first", "idle", "idle", "warm", "idle", "idle", "warm", "idle")
PHASES_SHORT = ("first", "warm", "idle")
"""Of the rounds of a session."""

Texts = Mapping[str, str]
Listing = dict[str, tuple[int, int, int]]


def run(settings: Settings) -> Counts:
    """Run rounds until there are enough, or until the time is over."""
    n_rounds = N_ROUNDS_SHORT if settings.is_short else N_ROUNDS
    n_files = N_FILES_SHORT if settings.is_short else N_FILES
    rng = random.Random(settings.seed)
    template = settings.work / "template"
    make_repository(template, n_files, rng)
    statistics = _Statistics()
    counts = statistics.counts
    until_s = time.monotonic() + BOUND_S
    phases = PHASES_SHORT if settings.is_short else PHASES
    first = 2 if settings.is_short else 0  # in this process, then over stdio with a client that reports
    while counts["rounds"] < n_rounds and time.monotonic() < until_s:
        statistics.files_per_s = files_per_s(template)
        number = first + counts["sessions"]
        session = _Session(settings.work / f"session-{number}", template, number, rng, statistics)
        session.run(phases[: n_rounds - counts["rounds"]], until_s)
        shutil.rmtree(session.home, ignore_errors=True)
        counts["sessions"] += 1
    return statistics.summary()


@dataclass
class _Statistics:
    """Counts of actions and of violations under their names in the table, and seconds until an index was equal."""

    counts: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    files_per_s: float = 0.0  # measured anew for each session

    def summary(self) -> Counts:
        return {
            **{name: self.counts[name] for name in COUNTS},
            "machine_files_per_s": round(self.files_per_s),
            "indexes_later_than_5_s": sum(seconds > LATE_AFTER_S for seconds in self.seconds),
            **{name: self.counts[name] for name in MUST_BE_ZERO},
            **{f"p{n}_s": round(percentile(self.seconds or [0.0], n / 100), 2) for n in (50, 95)},
            "worst_s": round(max(self.seconds, default=0.0), 2),
        }


class _Session:
    """One repository, opened, changed, closed and opened again."""

    def __init__(self, home: Path, template: Path, number: int, rng: random.Random, statistics: _Statistics) -> None:
        self.home, self.folder = home, home / "repository"
        self._number, self._rng = number, rng
        self._statistics, self._counts = statistics, statistics.counts
        home.mkdir()
        shutil.copytree(template, self.folder, symlinks=True)
        self._repository = ChangingRepository(self.folder, rng)
        self._opened: list[_InProcess | _OverStdio] = []

    def run(self, phases: Sequence[str], until_s: float) -> None:
        """Run the rounds; stop at the first wrong index, which would also fail the next rounds."""
        try:
            for number, phase in enumerate(phases):
                if time.monotonic() > until_s or not self._round(number, phase):
                    return
        except (ServerGone, OSError) as error:
            print(f"A server ended: {error}", file=sys.stderr)
            self._counts["servers_ended"] += 1
        finally:
            self._close()

    def _round(self, number: int, phase: str) -> bool:
        rng, counts = self._rng, self._counts
        if phase == "warm":
            self._close()
            self._repository.change()
        if phase != "idle":
            self._open()
        reporter = ClientWatcher(self.folder, rng, [each.report for each in self._opened if each.watches == "client"])
        if phase != "idle":
            self._wait(rng.uniform(0, 1.5))  # within the first index
        for _ in range(rng.randint(1, 4)):
            counts[COUNTED_ACTIONS.get(self._repository.change(), "other_actions")] += 1
            reporter.look()
            self._wait(rng.choice((0, 0, 0.05, 0.3)))
        reporter.end()
        counts["changes"] += reporter.n_changes
        quiet_s = time.monotonic()
        if phase != "idle":
            quiet_s = self._wait_until_ready()
        counts["rounds"] += 1
        counts[f"rounds_{phase}_{self._opened[0].watches}"] += 1
        for each in self._opened:
            counts[f"indexes_compared_{each.kind}"] += 1
        counts["rounds_with_two_servers"] += len(self._opened) > 1
        expected = texts_on_disk(self.folder)
        late_after_s = LATE_AFTER_S + reporter.n_changes / self._statistics.files_per_s
        are_equal = self._wait_until_equal(expected, quiet_s, late_after_s)
        if number % FRESH_EVERY == 0:
            counts["fresh_indexes"] += 1
            with Workspace([self.folder], Config(), cache=False) as fresh:
                fresh.index()
                counts["rounds_unlike_fresh_index"] += texts_of(fresh) != expected
        return are_equal

    def _wait(self, seconds: float) -> None:
        """Wait, and answer the requests of the servers, as editors do."""
        until_s = time.monotonic() + seconds
        while True:
            for each in self._opened:
                each.texts()
            if (left_s := until_s - time.monotonic()) <= 0:
                return
            time.sleep(min(left_s, 10 * POLL_S))

    def _wait_until_ready(self) -> float:
        until_s = time.monotonic() + READY_WITHIN_S
        while not all(each.is_ready() for each in self._opened):
            if time.monotonic() > until_s:
                raise ServerGone("The server was not ready in time. Look at its log.")
            time.sleep(POLL_S)
        return time.monotonic()

    def _wait_until_equal(self, expected: Texts, quiet_s: float, late_after_s: float) -> bool:
        """Whether every index equals these texts in the end; differences are counted."""
        waiting = list(self._opened)
        while waiting and time.monotonic() - quiet_s < GIVE_UP_AFTER_S:
            for each in [each for each in waiting if each.texts() == expected]:
                waiting.remove(each)
                self._took(each, time.monotonic() - quiet_s, late_after_s)
            time.sleep(POLL_S)
        counts = self._counts
        for each in waiting:
            held = each.texts()
            self._took(each, GIVE_UP_AFTER_S, late_after_s)
            counts["stale_files"] += sum(path in expected and held[path] != expected[path] for path in held)
            counts["ghost_files"] += sum(path not in expected for path in held)
            counts["missing_files"] += sum(path not in held for path in expected)
        return not waiting

    def _took(self, opened: _InProcess | _OverStdio, seconds: float, late_after_s: float) -> None:
        self._statistics.seconds.append(seconds)
        if seconds > late_after_s:
            self._counts["rounds_late"] += 1
            what = f"{self.folder.parent.name}, {opened.kind.replace('_', ' ')}, watched by the {opened.watches}"
            print(f"{what}: equal after {seconds:.1f} s instead of {late_after_s:.1f} s", file=sys.stderr)

    def _open(self) -> None:
        if self._number % 3 == 2:
            self._opened = [_InProcess(self.folder, self.home / "cache", ("server", "client")[self._number % 2])]
            return
        sides = [("server", "client")[self._number // 3 % 2]]
        if self._number % 4 == 1:
            sides.append("server" if sides[0] == "client" else "client")
        for at, side in enumerate(sides):
            home = self.home / f"home-{at}"
            home.mkdir(exist_ok=True)
            self._opened.append(_OverStdio(self.folder, home, side))
            self._wait(0.2)

    def _close(self) -> None:
        for each in self._opened:
            with suppress(OSError):  # of a server that has ended
                each.close()
        self._opened = []


class _InProcess:
    kind = "in_process"

    def __init__(self, folder: Path, cache: Path, watches: str) -> None:
        self.watches = watches
        self._workspace = Workspace([folder], Config(cache_dir=str(cache)))
        if watches == "server":
            self._workspace.watch()
        self._thread = threading.Thread(target=self._workspace.index, daemon=True)
        self._thread.start()

    def is_ready(self) -> bool:
        return not self._thread.is_alive()

    def texts(self) -> Texts:
        return texts_of(self._workspace)

    def report(self, paths: list[Path]) -> None:
        self._workspace.files_changed(paths)

    def close(self) -> None:
        self._workspace.close()


class _OverStdio:
    kind = "over_stdio"

    def __init__(self, folder: Path, home: Path, watches: str) -> None:
        self.watches = watches
        self._socket = home / "texts"
        with suppress(FileNotFoundError):
            self._socket.unlink()
        command = (sys.executable, "-m", f"{__package__}.probe", str(self._socket))
        capabilities = {"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
        self._client = Client(
            folder, home, command=command, more_capabilities=capabilities if watches == "client" else {}
        )

    def is_ready(self) -> bool:
        return bool(self._client.ask("weft/status")["state"] == "ready")

    def texts(self) -> Texts:
        while self._client.next_or_none(0) is not None:  # answers the requests of the server
            pass
        return ask_texts(self._socket)

    def report(self, paths: list[Path]) -> None:
        changes = [{"uri": path.as_uri(), "type": 2 if os.path.lexists(path) else 3} for path in paths]
        self._client.notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def close(self) -> None:
        self._client.close()


class ClientWatcher:
    """An unreliable file watcher of a client: it compares listings, and loses, repeats and delays events."""

    def __init__(self, folder: Path, rng: random.Random, sends: list[Callable[[list[Path]], None]]) -> None:
        self._folder, self._rng, self._sends = folder, rng, sends
        self._listing = listing_of(folder)
        self._waiting: list[Path] = []
        self.n_changes = 0

    def look(self) -> None:
        """Record the changes since the last look; report some of them at once."""
        now = listing_of(self._folder)
        changed = [path for path in {*now, *self._listing} if now.get(path) != self._listing.get(path)]
        self._listing = now
        self.n_changes += len(changed)
        self._waiting += [self._folder / path for path in self._distorted(changed)]
        if self._rng.random() < 0.5:
            self._send()

    def end(self) -> None:
        self.look()
        self._send()

    def _distorted(self, changed: list[str]) -> list[str]:
        rng = self._rng
        if len(changed) > 20 and rng.random() < 0.3:  # folders only
            return list({os.path.dirname(path) or path for path in changed})
        if len(changed) > 4:  # some are lost
            changed = [path for path in changed if rng.random() > 0.02]
        return changed + [path for path in changed if rng.random() < 0.1]

    def _send(self) -> None:
        self._rng.shuffle(self._waiting)
        while self._waiting and self._sends:
            n = self._rng.choice((1, 20, 500, 5000))
            for send in self._sends:
                send(self._waiting[:n])
            del self._waiting[:n]


ACTION_WEIGHTS = {
    **{"edit": 6, "create": 4, "delete": 4, "rename": 3, "replace": 2, "flicker": 2, "keep_stamp": 1},
    **{"rename_folder": 3, "delete_folder": 1, "make_folder": 2, "swap_for_link": 2, "swap_folders": 2},
    **{"file_for_folder": 1, "ignore": 1, "checkout": 4},
}
"""Changes of a repository, which are methods of `ChangingRepository`, and how often each is drawn."""


class ChangingRepository:
    """A repository with random changes."""

    def __init__(self, folder: Path, rng: random.Random) -> None:
        self._folder, self._rng = folder, rng
        self._n_names = 0

    def change(self) -> str:
        """Make one random change; its name."""
        (name,) = self._rng.choices(list(ACTION_WEIGHTS), list(ACTION_WEIGHTS.values()))
        with suppress(FileNotFoundError, FileExistsError, NotADirectoryError):
            getattr(self, f"_{name}")()
        return name

    def _files(self, most: int) -> list[Path]:
        files = [path for path in self._folder.rglob("*.py") if ".git" not in path.parts]
        return self._rng.sample(files, min(len(files), self._rng.randint(1, most)))

    def _folders(self, n: int) -> list[Path]:
        found = [path for path in self._folder.glob("pkg*") if path.is_dir() and not path.is_symlink()]
        return self._rng.sample(found, min(n, len(found)))

    def _new_name(self, stem: str) -> str:
        self._n_names += 1
        return f"{stem}_{self._n_names}"

    def _edit(self) -> None:
        for path in self._files(30):
            path.write_text(source(self._rng))

    def _create(self) -> None:
        for _ in range(self._rng.randint(1, 30)):
            folder = self._rng.choice([self._folder, *self._folders(5)])
            (folder / f"{self._new_name('made')}.py").write_text(source(self._rng))

    def _delete(self) -> None:
        for path in self._files(30):
            path.unlink()

    def _rename(self) -> None:
        for path in self._files(10):
            path.rename(path.with_name(f"{self._new_name('moved')}.py"))

    def _replace(self) -> None:
        """As editors save: a new file replaces the old one."""
        for path in self._files(10):
            temporary = path.with_suffix(".tmp")
            temporary.write_text(source(self._rng))
            temporary.replace(path)

    def _flicker(self) -> None:
        """Many versions within one time stamp."""
        for path in self._files(3):
            for _ in range(20):
                path.write_text(source(self._rng, n_lines=5))
            path.unlink()
            path.write_text(source(self._rng, n_lines=5))

    def _keep_stamp(self) -> None:
        """Another text with the same size and time stamp."""
        for path in self._files(5):
            status = path.stat()
            path.write_text(path.read_text()[::-1])
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    def _rename_folder(self) -> None:
        for path in self._folders(1):
            path.rename(self._folder / self._new_name("pkg"))

    def _delete_folder(self) -> None:
        for path in self._folders(1):
            shutil.rmtree(path)

    def _make_folder(self) -> None:
        """A folder that is made elsewhere and moved here, or filled here."""
        name = self._new_name("pkg")
        start = self._folder.parent / name if self._rng.random() < 0.5 else self._folder / name
        for number in range(self._rng.randint(1, 60)):
            write_file(start / f"part_{number % 3}" / f"new_{number}.py", source(self._rng))
        if start.parent != self._folder:
            start.rename(self._folder / name)

    def _swap_for_link(self) -> None:
        """Replace a folder by a link to it, for good or for a moment."""
        for path in self._folders(1):
            real = path.with_name(f"{self._new_name('pkg')}_real")
            path.rename(real)
            path.symlink_to(real.name)
            time.sleep(self._rng.choice((0, 0.02, 0.2)))
            if self._rng.random() < 0.7:
                for file in list(real.rglob("*.py"))[:3]:
                    file.write_text(source(self._rng))
                path.unlink()
                real.rename(path)

    def _swap_folders(self) -> None:
        pair = self._folders(2)
        if len(pair) == 2:
            aside = self._folder / self._new_name("aside")
            pair[0].rename(aside)
            pair[1].rename(pair[0])
            aside.rename(pair[1])

    def _file_for_folder(self) -> None:
        for path in self._folders(1):
            shutil.rmtree(path)
            path.write_text("a file now\n")

    def _ignore(self) -> None:
        names = [path.name for path in self._folders(2)]
        (self._folder / ".gitignore").write_text("".join(f"/{name}/\n" for name in names))

    def _checkout(self) -> None:
        """One checkout, or three in a row."""
        for _ in range(self._rng.choice((1, 1, 3))):
            branch = self._rng.choice(BRANCHES)
            git(self._folder, "checkout", "-q", "-f", branch)
        if self._rng.random() < 0.3:
            git(self._folder, "clean", "-q", "-fd")


BRANCHES = ("main", "changed", "grown", "small")


def make_repository(folder: Path, n_files: int, rng: random.Random) -> None:
    """Four branches: the files, a third of them changed, three times as many, and a quarter of them."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for name, value in (("user.email", "a@b.c"), ("user.name", "a"), ("gc.auto", "0")):
        git(folder, "config", name, value)
    names = [f"pkg{number % 23}/part{number % 7}/file_{number}.py" for number in range(n_files)]
    more = [f"extra{number % 31}/more_{number}.py" for number in range(2 * n_files)]
    for branch, written in zip(BRANCHES, (names, names[::3], more, []), strict=True):
        if branch != "main":
            git(folder, "checkout", "-q", "-b", branch, "main")
        for name in written:
            write_file(folder / name, source(rng))
        if branch == "small":
            git(folder, "rm", "-q", *names[n_files // 4 :])
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "-m", "x")
    git(folder, "checkout", "-q", "main")


def git(folder: Path, *arguments: str) -> None:
    """A command that fails, such as a checkout over an untracked file, changes nothing."""
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=False, stderr=subprocess.DEVNULL)


def source(rng: random.Random, n_lines: int = 0) -> str:
    """A small module with a unique name."""
    word = f"name_{rng.getrandbits(48):012x}"
    lines = [f"def {word}(first, second):", f"    return {word}_helper(first) + second", ""]
    return "\n".join(lines * ((n_lines or rng.randint(6, 60)) // 3 + 1))


def listing_of(folder: Path) -> Listing:
    """Size, time and inode of each file and link below a folder, without `.git`."""
    return dict(_entries(os.fspath(folder), ""))


def _entries(folder: str, prefix: str) -> Iterator[tuple[str, tuple[int, int, int]]]:
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name == ".git":
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _entries(entry.path, f"{prefix}{entry.name}/")
            else:
                status = entry.stat(follow_symlinks=False)
                yield f"{prefix}{entry.name}", (status.st_size, status.st_mtime_ns, status.st_ino)


def files_per_s(folder: Path) -> float:
    """Speed of a first index in the background, under the current load of this machine."""
    with Workspace([folder], Config(), cache=False) as workspace:
        report = workspace.index(niceness=BACKGROUND_NICENESS)
        return report.n_files / report.seconds


def texts_on_disk(folder: Path) -> Texts:
    """The texts that an index of this folder must hold."""
    options = IndexOptions()
    sources = (read_source(folder, found, options) for found in walk(folder, options))
    return {each.path: hash_of(encode(normalise(each.text))) for each in sources if isinstance(each, SourceText)}
