"""Safe file access: non-blocking reads of regular files only, and atomic replacement of files.

Owns the rejection of pipes, devices and folders, which would block a reader, and temporary files. The writing process
locks a temporary file, so that a later one can recognise and remove those of a killed process. In `llm/`, since all
rooms that need it may import `llm/`. Knows no format but JSON.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from ..errors import UserError

NEW_SUFFIX = ".weft-new"  # ends the name of every temporary file
MAX_JSON_BYTES = 64 << 20
_ABANDONED_AFTER_S = 24 * 3600.0  # without file locks (Windows), an older temporary file counts as abandoned
# Without file locks, a reader may have the file open, and Windows refuses to replace it: pauses between the attempts.
_REPLACE_AGAIN_AFTER_S = (0.01, 0.05, 0.2)
_KINDS = {stat.S_IFIFO: "a named pipe", stat.S_IFDIR: "a folder", stat.S_IFSOCK: "a socket"}


class NotRegular(UserError, OSError):
    """The path is a pipe, a folder, a socket or a device."""

    def __init__(self, path: Path | str, mode: int) -> None:
        kind = _KINDS.get(stat.S_IFMT(mode), "a device")
        super().__init__(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, through links. Never blocks. Raises NotRegular and other OSErrors."""
    return open(regular_descriptor(path), "rb")


def regular_descriptor(path: Path) -> int:
    """The same as a file descriptor, which the caller closes."""
    _check(path, os.stat(path).st_mode)  # opening a device or a socket can have side effects
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        _check(path, os.fstat(descriptor).st_mode)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_regular(path: Path) -> bytes:
    """The content of a regular file. Never blocks. Raises NotRegular and other OSErrors."""
    with open_regular(path) as file:
        return file.read()


def read_text(path: Path) -> str:
    """The same in UTF-8. Raises UnicodeDecodeError as well."""
    return read_regular(path).decode("utf-8")


def read_json_object(path: Path) -> dict[str, Any]:
    """The JSON object in a file; empty when the file is missing, larger than `MAX_JSON_BYTES` or invalid."""
    try:
        value = json.loads(read_text(path)) if path.stat().st_size <= MAX_JSON_BYTES else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A file that replaces `path` atomically after it is written and synced. Readable by its owner only.

    Removes the temporary files of killed processes in the same folder.
    """
    remove_abandoned(path.parent)
    descriptor, name = _locked(path)
    try:
        with open(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if _HAS_LOCKS:  # closing would unlock it
                os.replace(name, path)
        if not _HAS_LOCKS:
            replace_patiently(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file atomically. Raises OSError."""
    with replacing(path) as file:
        file.write(content)


def replace_patiently(name: Path | str, path: Path) -> None:
    """Move a file over another one. Windows refuses that while a reader has the other one open: waits for it shortly.

    Raises OSError.
    """
    for pause_s in () if _HAS_LOCKS else _REPLACE_AGAIN_AFTER_S:
        try:
            os.replace(name, path)
            return
        except PermissionError:
            time.sleep(pause_s)
    os.replace(name, path)


@contextmanager
def temporary_file(folder: Path) -> Iterator[Path]:
    """An empty file of this process in `folder`, removed afterwards."""
    descriptor, name = _locked(Path(folder, "copy"))
    try:
        yield Path(name)
    finally:
        if not _HAS_LOCKS:  # Windows removes no open file
            os.close(descriptor)
        with suppress(OSError):
            os.unlink(name)
        if _HAS_LOCKS:
            os.close(descriptor)


@contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """An empty folder of this process in `parent`, removed afterwards."""
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
    """Remove the abandoned temporary files in `folder`; returns their number."""
    n_removed = 0
    for path in abandoned(folder):
        with suppress(OSError):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
            n_removed += 1
    return n_removed


def abandoned(folder: Path) -> Iterator[Path]:
    """The temporary files and folders in `folder` whose writers have ended, each locked while it is yielded."""
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


def _locked(path: Path) -> tuple[int, str]:
    """A new locked temporary file beside `path`. Retries when another process removes it before it is locked."""
    while True:
        descriptor, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=NEW_SUFFIX, dir=path.parent)
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
