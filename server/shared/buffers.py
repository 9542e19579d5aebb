"""Last-writer-wins buffers: of a file that several windows have open, the text edited last is the active one.

Owns the texts that each window has open in one workspace; the workspace gets one text per file. A window's own
completions use its own text, which comes with the request; the active text is what requests in other files see. Knows
no protocol. Thread-safe.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from ..workspace.text import TextChange, TextLines


class Buffers(Protocol):
    """The part of a workspace that receives open buffers."""

    def open_buffer(self, path: Path, text: TextLines, version: int = 0, language_id: str | None = None) -> None: ...
    def edit_buffer(self, path: Path, text: TextLines, version: int = 0, changed: TextChange | None = None) -> None: ...
    def close_buffer(self, path: Path) -> None: ...


class SharedBuffers:
    """The open texts of one workspace. `window` is any object that identifies a window."""

    def __init__(self, buffers: Buffers) -> None:
        self._buffers = buffers
        self._lock = threading.Lock()
        self._texts: dict[Path, dict[object, tuple[TextLines, int]]] = {}  # by window, the active one last

    def open(self, window: object, path: Path, text: TextLines, version: int, language_id: str = "") -> None:
        """A window opens a file. Opening is no edit: the text of a window that has it open already stays active."""
        with self._lock:
            texts = self._texts.setdefault(path, {})
            if window in texts:
                texts[window] = (text, version)
            else:
                self._texts[path] = texts = {window: (text, version), **texts}
            if next(reversed(texts)) is window:
                self._buffers.open_buffer(path, text, version, language_id)

    def edit(
        self, window: object, path: Path, text: TextLines, version: int, changed: TextChange | None = None
    ) -> None:
        """A window's whole new text, with the changed range: it becomes the active text."""
        with self._lock:
            texts = self._texts.get(path, {})
            if window not in texts:
                return
            before = texts[window]
            if _active_text(texts) != before[0].text:
                self._buffers.open_buffer(path, *before)  # the edit is the difference of this window's two texts
            del texts[window]
            texts[window] = (text, version)
            self._buffers.edit_buffer(path, text, version, changed)

    def activate(self, window: object, path: Path) -> None:
        """Make this window's text the active one without an edit, for a question about it."""
        with self._lock:
            texts = self._texts.get(path, {})
            if window in texts:
                is_other = _active_text(texts) != texts[window][0].text
                texts[window] = texts.pop(window)
                if is_other:
                    self._buffers.open_buffer(path, *texts[window])

    def close(self, window: object, path: Path) -> None:
        """The text of the window that edited before becomes active, or the file on disk if no window has it open."""
        with self._lock:
            self._close(window, path)

    def remove_window(self, window: object) -> None:
        """Close everything that a window has open."""
        with self._lock:
            for path in [path for path, texts in self._texts.items() if window in texts]:
                self._close(window, path)

    def _close(self, window: object, path: Path) -> None:
        texts = self._texts.get(path, {})
        if window not in texts:
            return
        active_before = _active_text(texts)
        del texts[window]
        if not texts:
            del self._texts[path]
            self._buffers.close_buffer(path)
        elif _active_text(texts) != active_before:
            self._buffers.open_buffer(path, *next(reversed(texts.values())))


def _active_text(texts: dict[object, tuple[TextLines, int]]) -> str:
    return next(reversed(texts.values()))[0].text
