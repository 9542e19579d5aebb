"""One SQLite file that several threads and processes share, and what is done when the disk does not play along.

Owns opening, transactions and failures. A damaged or foreign file is moved aside, never deleted; where nothing can be
written, memory goes on in this process alone, and `notes` says so. Knows no table but those it saves then.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from .errors import StoreBusy, StoreError, StoreTooNew
from .migrations import APPLICATION_ID, VERSION, migrate, version_of
from .text import teach_search

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

BUSY_S = 10.0
"""Nobody writes for longer than moments; who waits for this long waits for a process that hangs."""

_SAVED_TABLES = ("conversations", "turns")  # all else can be made again
_DAMAGED = ("malformed", "not a database", "no such table", "no such column")
_BUSY = ("locked", "busy")
_NO_DISK = ("disk", "readonly", "unable to open")


class Database:
    """The file at `path`, made when there is none; None is a store in this process alone. Thread-safe.

    Raises StoreTooNew for the file of a later Weft, StoreBusy where another process keeps it from opening.
    """

    def __init__(self, path: Path | None, *, busy_s: float = BUSY_S) -> None:
        self.path = path
        self.notes: tuple[str, ...] = ()
        self._busy_s = busy_s
        self._lock = threading.RLock()
        self._file_id = 0
        self._connection = self._open()

    def read(self, work: Work[T]) -> T:
        """What `work` makes of one consistent state."""
        return self._attempt("BEGIN", work)

    def write(self, work: Work[T]) -> T:
        """Do `work` wholly or not at all; it is on disk when this returns. It may run twice, so it only touches SQL."""
        return self._attempt("BEGIN IMMEDIATE", work)

    def tidy(self) -> None:
        """Give room back after much was deleted, and leave nothing of it in the log beside the file."""
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
            except (sqlite3.ProgrammingError, sqlite3.IntegrityError) as error:
                if "closed" in str(error):
                    raise StoreError("The memory is closed: Weft is ending, or was configured anew.") from error
                raise  # a mistake of the program, not of the disk
            except sqlite3.DatabaseError as error:
                if self.path is None or not _is(error, (*_DAMAGED, *_BUSY, *_NO_DISK)):
                    raise
                if _is(error, _BUSY):
                    raise self._busy() from error
                self._recover(self.path, error)
            return _in_transaction(self._connection, begin, work)

    def _recover(self, path: Path, error: sqlite3.DatabaseError) -> None:
        _check_version(path, self._connection)
        with closing(self._connection) as old:
            if _is(error, _DAMAGED):
                old.close()
                self._connection = self._begin_anew(path, str(error))
            else:
                self._connection = self._in_memory(error, old)

    def _open(self) -> sqlite3.Connection:
        if self.path is None:
            return _empty()
        try:
            self._file_id = _file_id(self.path)
            connection = _open_file(self.path, self._busy_s)
            self._file_id = _file_id(self.path)
            return connection
        except _Unfit as error:
            return self._begin_anew(self.path, str(error))
        except (OSError, sqlite3.DatabaseError) as error:
            if _is(error, _BUSY):
                raise self._busy() from error
            with suppress(sqlite3.Error):
                # Immutable, because the log beside a file cannot be opened where nothing can be written.
                uri = f"{self.path.absolute().as_uri()}?mode=ro&immutable=1"
                with closing(sqlite3.connect(uri, uri=True)) as old:
                    return self._in_memory(error, old)
            return self._in_memory(error, None)

    def _begin_anew(self, path: Path, reason: str) -> sqlite3.Connection:
        aside = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S')}.aside")
        try:
            if _file_id(path) != self._file_id:  # another process was faster
                return _open_file(path, self._busy_s)
            for suffix in ("", "-wal", "-shm"):
                with suppress(FileNotFoundError):
                    os.replace(f"{path}{suffix}", f"{aside}{suffix}")
            connection = _open_file(path, self._busy_s)
        except (OSError, sqlite3.DatabaseError, _Unfit) as error:
            return self._in_memory(error, None)
        self.notes += (f"{path} could not be read ({reason}). It was moved to {aside}, and a new memory begins.",)
        return connection

    def _in_memory(self, error: Exception, old: sqlite3.Connection | None) -> sqlite3.Connection:
        connection = _empty()
        if old is not None:
            with suppress(sqlite3.Error):
                _copy(old, connection)
        self.notes += (
            f"{self.path} cannot be used ({error}). What is said now is remembered until Weft ends; "
            "free the disk or set data_dir to a folder that can be written.",
        )
        self.path = None
        return connection

    def _busy(self) -> StoreBusy:
        return StoreBusy(
            f"{self.path} was locked by another process for {self._busy_s:g} s. End that one or try again."
        )


class _Unfit(Exception):
    """A file that is damaged, or none of ours."""


def _file_id(path: Path) -> int:
    """Tells a file from another one of its name; 0 where there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0


def _open_file(path: Path, busy_s: float) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # the files that SQLite puts beside it take its mode
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, check_same_thread=False)
    try:
        until = time.monotonic() + busy_s
        while True:
            try:
                return _prepared(connection, path)
            except sqlite3.OperationalError as error:
                # Two processes that switch one new file to a log are told so at once, whatever the timeout.
                if not _is(error, _BUSY) or time.monotonic() > until:
                    raise
                time.sleep(0.01)
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.DatabaseError) and _is(error, _DAMAGED):
            raise _Unfit(str(error)) from error
        raise


def _prepared(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    # In this order: another process may make the tables and write its name in one transaction between the two.
    (n_tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    (owner,) = connection.execute("PRAGMA application_id").fetchone()
    if owner != APPLICATION_ID and n_tables:
        raise _Unfit("it belongs to another program")
    _check_version(path, connection)
    connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    # A turn that was said must outlast a power cut, too.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA trusted_schema = OFF")
    return _common(connection)


def _check_version(path: Path, connection: sqlite3.Connection) -> None:
    """Raises StoreTooNew: a later Weft may bring a file up to date while this one has it open."""
    with suppress(sqlite3.DatabaseError):
        version = version_of(connection)
        if version > VERSION:
            raise StoreTooNew(
                f"{path} is store version {version}; this Weft reads up to {VERSION}. Upgrade, or move the file away."
            )


def _empty() -> sqlite3.Connection:
    return _common(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False))


def _common(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")
    teach_search(connection)
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
        rows = old.execute(f"SELECT * FROM {table}").fetchall()
        if rows:
            new.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", rows)


def _is(error: Exception, words: tuple[str, ...]) -> bool:
    # Python 3.10 tells no error codes.
    return isinstance(error, sqlite3.Error) and any(word in str(error) for word in words)
