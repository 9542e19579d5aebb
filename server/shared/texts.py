"""Whose text of a file counts, while several windows hold it open: that of the window that wrote in it last.

Owns the texts that each window holds, for one workspace, which knows one text of a file. A window's own completions
see its own text anyway: it comes with the request. What counts here is what the other files' requests see. Knows no
protocol. Thread-safe.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from ..workspace.text import TextChange, TextLines


class Buffers(Protocol):
    """What a workspace offers for texts that an editor holds open."""

    def open_buffer(self, path: Path, text: TextLines, version: int = 0, language_id: str | None = None) -> None: ...
    def edit_buffer(self, path: Path, text: TextLines, version: int = 0, changed: TextChange | None = None) -> None: ...
    def close_buffer(self, path: Path) -> None: ...


class SharedTexts:
    """The open texts of one workspace. `window` is whatever stands for a window; it is compared by identity."""

    def __init__(self, buffers: Buffers) -> None:
        self._buffers = buffers
        self._lock = threading.Lock()
        self._held: dict[Path, dict[object, tuple[TextLines, int]]] = {}  # who wrote last comes last

    def open(self, window: object, path: Path, text: TextLines, version: int, language_id: str = "") -> None:
        """A window shows a file. Reading it is not writing: the text of a window that has it open already stays."""
        with self._lock:
            held = self._held.setdefault(path, {})
            if window in held:
                held[window] = (text, version)
            else:
                self._held[path] = held = {window: (text, version), **held}
            if next(reversed(held)) is window:
                self._buffers.open_buffer(path, text, version, language_id)

    def edit(
        self, window: object, path: Path, text: TextLines, version: int, changed: TextChange | None = None
    ) -> None:
        """A window's whole new text, with the range that is new in it: it counts from now on."""
        with self._lock:
            held = self._held.get(path, {})
            if window not in held:
                return
            before = held[window]
            if _counting(held) != before[0].text:
                self._buffers.open_buffer(path, *before)  # what was typed is what lies between this window's two texts
            del held[window]
            held[window] = (text, version)
            self._buffers.edit_buffer(path, text, version, changed)

    def count_again(self, window: object, path: Path) -> None:
        """The window asks about its file: its text counts from now on, although nothing was typed."""
        with self._lock:
            held = self._held.get(path, {})
            if window in held:
                is_other = _counting(held) != held[window][0].text
                held[window] = held.pop(window)
                if is_other:
                    self._buffers.open_buffer(path, *held[window])

    def close(self, window: object, path: Path) -> None:
        """The text of the window that wrote before counts again, and without one what is on disk."""
        with self._lock:
            self._close(window, path)

    def leave(self, window: object) -> None:
        """The window is gone, with all it had open."""
        with self._lock:
            for path in [path for path, held in self._held.items() if window in held]:
                self._close(window, path)

    def _close(self, window: object, path: Path) -> None:
        held = self._held.get(path, {})
        if window not in held:
            return
        counted = _counting(held)
        del held[window]
        if not held:
            del self._held[path]
            self._buffers.close_buffer(path)
        elif _counting(held) != counted:
            self._buffers.open_buffer(path, *next(reversed(held.values())))


def _counting(held: dict[object, tuple[TextLines, int]]) -> str:
    return next(reversed(held.values()))[0].text
