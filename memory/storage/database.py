"""SQLite database shared by threads and processes, with recovery from damage and disk errors.

Owns opening, transactions, error mapping, and full-text search by scanning. A damaged or foreign file is moved aside,
never deleted, and its readable rows are copied to a new one. If the disk is not writable, the data stays in this
process, and `notes` says so. Knows only the tables that recovery copies.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from ...errors import ControlFlow, StoreError, UserError
from ...llm.disk import remove_abandoned
from ...llm.private_files import private_file, private_folder
from .migrations import APPLICATION_ID, VERSION, migrate, version_of
from .rows import DamagedRow
from .salvage import TURN_COLUMNS, salvage


class StoreTooNew(StoreError):
    """A later Weft wrote the file. It stays unchanged."""


class StoreBusy(StoreError):
    """Another process locked the file for too long."""


class NoConversation(StoreError, UserError, LookupError):
    """Unknown conversation or turn; another editor may have deleted it."""


class NotAnExport(StoreError, UserError, ValueError):
    """The file to import is not an export. The message names the line."""


T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_S = 10.0  # transactions take milliseconds, so a longer lock means a process that hangs
_SAVED_TABLES = ("conversations", "turns")  # everything else can be computed again
_DAMAGED = ("malformed", "not a database", "no such table", "no such column", "unsupported file format")
_NOT_UTF8 = ("decode", "user-defined function")  # the only user-defined function is the search
_BUSY = ("locked", "busy")
_NO_DISK = ("disk", "readonly", "unable to open")
_MAX_VERSIONS = 10_000  # a higher version means damage
_SHOWN_REASON = 120


class Database:
    """The file at `path`, created if missing; None keeps the data in this process. Thread-safe.

    Raises StoreTooNew for a file of a later Weft, StoreBusy if another process locks it.
    """

    def __init__(self, path: Path | None, *, busy_s: float = BUSY_S) -> None:
        self.path = path
        self.notes: tuple[str, ...] = ()
        self._busy_s = busy_s
        self._lock = threading.RLock()
        self._file_id = 0
        self._connection = self._open()

    def read(self, work: Work[T]) -> T:
        """Run `work` in a read transaction."""
        return self._attempt("BEGIN", work)

    def write(self, work: Work[T]) -> T:
        """Run `work` in a write transaction, durable on return. `work` can run twice, so it must only touch SQL."""
        return self._attempt("BEGIN IMMEDIATE", work)

    def vacuum(self) -> None:
        """Free disk space after deletions, and truncate the write-ahead log."""
        with self._lock, suppress(sqlite3.Error):
            self._connection.execute("PRAGMA incremental_vacuum").fetchall()
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    def _attempt(self, begin: str, work: Work[T]) -> T:
        with self._lock:
            try:
                return _in_transaction(self._connection, begin, work)
            except (sqlite3.Error, UnicodeDecodeError, DamagedRow) as error:
                if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
                    raise StoreError(
                        "The store is closed, because Weft is exiting or was reconfigured. Try again."
                    ) from error
                if self.path is None:
                    raise
                if _message_has(error, _BUSY):
                    raise self._busy() from error
                if not self._recover(self.path, error):
                    raise  # a bug, not a disk error
            return _in_transaction(self._connection, begin, work)

    def _recover(self, path: Path, error: Exception) -> bool:
        """Open another connection; False if neither the file nor the disk is at fault."""
        old = self._connection
        if _means_damage(error, path):
            with suppress(_UnusableFile):
                _check_version(path, old)
            old.close()
            self._connection = self._start_new_file(path, _reason(error))
        elif _message_has(error, _NO_DISK):
            with closing(old):
                self._connection = self._in_memory(error, old)
        elif not _is_sound(old):
            old.close()
            self._connection = self._start_new_file(path, _reason(error))
        else:
            return False
        return True

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _empty()
        try:
            self._file_id = _file_id(self.path)
            connection = _open_file(self.path, self._busy_s)
            self._file_id = _file_id(self.path)
            return connection
        except _UnusableFile as error:
            return self._start_new_file(self.path, str(error))
        except (OSError, sqlite3.Error) as error:
            if _message_has(error, _BUSY):
                raise self._busy() from error
            with suppress(sqlite3.Error, UnicodeDecodeError):
                # Immutable, because the write-ahead log cannot be opened on a read-only disk.
                uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
                with closing(sqlite3.connect(uri, uri=True)) as old:
                    return self._in_memory(error, old)
            return self._in_memory(error, None)

    def _start_new_file(self, path: Path, reason: str) -> sqlite3.Connection:
        aside = _free_name(path)
        try:
            if _file_id(path) != self._file_id:  # another process recovered it first
                return _open_file(path, self._busy_s)
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.replace(f"{path}{suffix}", f"{aside}{suffix}")
            connection = _open_file(path, self._busy_s)
            n_turns = _copy_salvaged(connection, aside)
        except (OSError, sqlite3.Error, _UnusableFile) as error:
            return self._in_memory(error, None)
        self._file_id = _file_id(path)
        said = f" with its {n_turns:,} readable turns" if n_turns else ""
        self.notes += (f"{path} is unreadable ({reason}). It was moved to {aside}, and a new store was created{said}.",)
        return connection

    def _in_memory(self, error: Exception, old: sqlite3.Connection | None) -> sqlite3.Connection:
        connection = _empty()
        if old is not None:
            with suppress(sqlite3.Error, UnicodeDecodeError):
                _copy(old, connection)
        self.notes += (
            f"{self.path} is unusable ({error}). Conversations are kept until Weft exits; "
            "free disk space, or set `data_dir` to a writable folder.",
        )
        self.path = None
        return connection

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"{self.path} was locked by another process for {self._busy_s:g} s. Stop that process, or try again."
        )


class _UnusableFile(ControlFlow):
    """A damaged file, or one of another program."""


def _file_id(path: Path) -> int:
    """Inode of a file; 0 if it does not exist."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _free_name(path: Path) -> Path:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    names = (f"{path.name}.{stamp}{f'-{n}' if n else ''}.aside" for n in range(1_000_000))
    return next(aside for name in names if not (aside := path.with_name(name)).exists())


def _copy_salvaged(connection: sqlite3.Connection, damaged: Path) -> int:
    """Copy the salvaged rows of a damaged store; returns the number of turns."""
    conversations, turns = salvage(damaged)

    def put(to: sqlite3.Connection) -> int:
        to.executemany("INSERT OR IGNORE INTO conversations VALUES (?, ?, ?, ?, ?)", conversations.values())
        sql = f"INSERT OR IGNORE INTO turns ({TURN_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        return max(0, to.executemany(sql, turns.values()).rowcount)

    return _in_transaction(connection, "BEGIN IMMEDIATE", put) if conversations else 0


def _open_file(path: Path, busy_s: float) -> sqlite3.Connection:
    private_folder(path.parent, is_ours=True)
    remove_abandoned(path.parent)
    with suppress(FileNotFoundError):
        if not stat.S_ISREG(path.stat().st_mode):
            raise _UnusableFile("it is not a regular file")
    private_file(path)  # SQLite gives its mode to the files beside it
    for suffix in ("-wal", "-shm"):
        if (beside := path.with_name(path.name + suffix)).exists():
            private_file(beside)
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        until = time.monotonic() + busy_s
        while True:
            try:
                return _prepared(connection, path)
            except sqlite3.OperationalError as error:
                # SQLite ignores the timeout when two processes switch a new file to WAL mode.
                if not _message_has(error, _BUSY) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
    except BaseException as error:
        connection.close()
        if isinstance(error, Exception) and _means_damage(error, path):
            raise _UnusableFile(_reason(error)) from error
        raise


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    # In this order: another process can create the tables and set the id in one transaction between the two.
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != APPLICATION_ID and n_tables:
        raise _UnusableFile("it belongs to another program")
    _check_version(path, connection)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    # Turns must survive a power failure.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")
    return _common(connection)


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    """Raises StoreTooNew: a later Weft can migrate a file while this process has it open."""
    with suppress(sqlite3.DatabaseError):
        version = version_of(connection)
        if not 0 <= version < _MAX_VERSIONS:
            raise _UnusableFile(f"it claims to be store version {version}")
        if version > VERSION:
            raise StoreTooNew(
                f"{path} is store version {version}; this Weft reads up to {VERSION}. Upgrade, or move the file away."
            )


def _empty() -> sqlite3.Connection:
    return _common(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))


def _common(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    connection.create_function("holds", -1, _holds, deterministic=True)  # of `search_condition`
    migrate(connection)
    return connection


def _in_transaction(connection: sqlite3.Connection, begin: str, work: Work[T]) -> T:
    connection.execute(begin)
    try:
        result = work(connection)
        connection.execute("COMMIT")
        return result
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _copy(old: sqlite3.Connection, new: sqlite3.Connection) -> None:
    for table in _SAVED_TABLES:
        found = old.execute(f"SELECT * FROM {table}")
        columns = [column[0] for column in found.description]  # a file of an earlier version has fewer
        values = ", ".join("?" * len(columns))
        new.executemany(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({values})", found.fetchall())


def _means_damage(error: Exception, path: Path) -> bool:
    if isinstance(error, (UnicodeDecodeError, DamagedRow)):
        return True
    if _message_has(error, ("readonly",)):
        return not _may_be_written(path)
    return _message_has(error, (*_DAMAGED, *_NOT_UTF8))


def _may_be_written(path: Path) -> bool:
    """Whether the file header permits writing: format versions 1 and 2."""
    try:
        with path.open("rb") as file:
            return max(file.read(20)[18:20], default=1) <= 2
    except OSError:
        return True


def _is_sound(connection: sqlite3.Connection) -> bool:
    try:
        return bool(connection.execute("PRAGMA quick_check(1)").fetchone() == ("ok",))
    except (sqlite3.Error, UnicodeDecodeError):
        return False


def _reason(error: Exception) -> str:
    """A short reason, without the undecodable text."""
    if isinstance(error, UnicodeDecodeError) or _message_has(error, _NOT_UTF8):
        return "it contains invalid UTF-8"
    return str(error)[:_SHOWN_REASON]


def _message_has(error: Exception, words: tuple[str, ...]) -> bool:
    # Python 3.10 has no SQLite error codes.
    return isinstance(error, sqlite3.Error) and any(word in str(error) for word in words)


# A search scans every row: 20,000 turns of 165 words take 0.5 s. An FTS index would be faster, but it does not segment
# Chinese, finds no parts of words, and keeps deleted words.
MAX_WORDS = 50  # words of a search; SQLite limits the arguments of a function to about a hundred


def search_condition(text: str) -> tuple[Callable[[str], str], tuple[str, ...]]:
    """An SQL condition that a text expression contains each word of `text`, and its parameters."""
    words = tuple(text.casefold().split()[:MAX_WORDS])
    marks = "".join(", ?" for _ in words)
    return lambda expression: f"holds({expression}{marks})", words


def _holds(text: str, *words: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
