"""Reading regular files only, and replacing a file in one step.

Owns the refusal of pipes, devices and folders under names that people and workspaces give (none is ever waited for),
and temporary files: each is locked by the process that writes it, so that those of a process that was killed are told
from those of one that writes now. It stands in `llm/`, below all who need it. Knows no format.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from ..errors import UserError

NEW_SUFFIX = ".weft-new"
"""Ends the name of every temporary file."""

_ABANDONED_AFTER_S = 24 * 3600.0
"""Without file locks (Windows) an older temporary file is nobody's."""

_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket"}


class NotRegular(UserError, OSError):
    """The name leads to a pipe, a folder, a socket or a device."""

    def __init__(self, path: Path | str, mode: int) -> None:
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        super().__init__(errno.EINVAL, f"it is {kind} and no regular file", str(path))


def open_regular(path: Path) -> BinaryIO:
    """A regular file to read; links are followed. Never waits. Raises NotRegular and other OSErrors."""
    return open(regular_descriptor(path), "rb")


def regular_descriptor(path: Path) -> int:
    """The same as a descriptor, which the caller closes."""
    _check(path, os.stat(path).st_mode)  # opening a device or a socket can have effects, or fail with other words
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        _check(path, os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path) -> bytes:
    """The content of a regular file. Never waits. Raises NotRegular and other OSErrors."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """The same in UTF-8. Raises UnicodeDecodeError as well."""
    return read_regular(path).decode("utf-8")


@contextmanager
def replacing(place: Path) -> Iterator[BinaryIO]:
    """A new file that takes `place` in one step once it is whole and on the disk. Readable by its owner alone.

    Removes what killed processes left of such files beside it.
    """
    remove_abandoned(place.parent)
    descriptor, name = _locked(place)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if _HAS_LOCKS:  # closing would unlock it
                os.replace(name, place)
        if not _HAS_LOCKS:
            os.replace(name, place)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def replace_file(place: Path, content: bytes) -> None:
    """Write a file in one step. Raises OSError."""
    with replacing(place) as file:
        file.write(content)


@contextmanager
def temporary_file(folder: Path) -> Iterator[Path]:
    """An empty file of this process in `folder`, gone afterwards."""
    descriptor, name = _locked(Path(folder, "copy"))
    try:
        yield Path(name)
    finally:
        with suppress(OSError):
            os.unlink(name)
        os.close(descriptor)


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """An empty folder of this process in `parent`, gone afterwards."""
    while True:
        name = tempfile.mkdtemp(prefix=".", suffix=NEW_SUFFIX, dir=parent)
        descriptor = os.open(name, os.O_RDONLY) if _HAS_LOCKS else -1
        if descriptor < 0 or (_lock(descriptor) and os.path.exists(name)):
            break
        os.close(descriptor)
    try:
        yield Path(name)
    finally:
        shutil.rmtree(name, ignore_errors=True)
        if descriptor >= 0:
            os.close(descriptor)


def remove_abandoned(folder: Path) -> int:
    """Remove the temporary files in `folder` whose writers are gone; how many there were."""
    n_removed = 0
    for path in abandoned(folder):
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            n_removed += 1
    return n_removed


def abandoned(folder: Path) -> Iterator[Path]:
    """The temporary files and folders in `folder` whose writers are gone, each locked while it is looked at."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(NEW_SUFFIX)]
    except OSError:
        return
    for name in names:
        path = Path(folder, name)
        with suppress(OSError):
            mode = path.lstat().st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                continue
            if not _HAS_LOCKS:
                if time.time() - path.lstat().st_mtime > _ABANDONED_AFTER_S:
                    yield path
                continue
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
            try:
                if _lock(descriptor):
                    yield path
            finally:
                os.close(descriptor)


def _check(path: Path, mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise NotRegular(path, mode)


def _locked(place: Path) -> tuple[int, str]:
    """A new temporary file beside `place`. One that was taken for abandoned before it was locked is made again."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", suffix=NEW_SUFFIX, dir=place.parent)
        if not _HAS_LOCKS:
            return descriptor, name
        with suppress(OSError):
            if _lock(descriptor) and os.stat(name).st_ino == os.fstat(descriptor).st_ino:
                return descriptor, name
        os.close(descriptor)


if sys.platform == "win32":
    _HAS_LOCKS = False

    def _lock(descriptor: int) -> bool:
        return False

else:
    import fcntl

    _HAS_LOCKS = True

    def _lock(descriptor: int) -> bool:
        """Whether this process is the only one that has the file; the lock ends with the process."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
