"""Open texts of the sessions of one workspace, of which the index gets one text per file.

Owns the texts that each session has open. A session's own completions use its own text, which comes with the request.
Which text requests in other files see depends on who the sessions are:

- Windows of one user: last writer wins, the text edited last is the active one.
- Sessions of different people: a file that two of them have open with different texts is indexed as it is on disk,
  so that no one is shown the unsaved text that another one types in a file of both.

Knows no protocol. Thread-safe.
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Protocol

from ..workspace.text import TextChange, TextLines


class Buffers(Protocol):
    """The part of a workspace that receives open buffers. `is_indexed` False: the index has the file on disk."""

    def open_buffer(
        self,
        path: Path,
        text: TextLines,
        version: int = 0,
        language_id: str | None = None,
        *,
        session: str = "",
        is_indexed: bool = True,
    ) -> None: ...

    def edit_buffer(
        self,
        path: Path,
        text: TextLines,
        version: int = 0,
        changed: TextChange | None = None,
        *,
        session: str = "",
        is_indexed: bool = True,
    ) -> None: ...

    def close_buffer(self, path: Path) -> None: ...


_Texts = dict[str, tuple[TextLines, int]]  # by session, the active one last


class SharedBuffers:
    """The open texts of one workspace. `separates_sessions`: the sessions are of different people."""

    def __init__(self, buffers: Buffers, *, separates_sessions: bool = False) -> None:
        self._buffers = buffers
        self._separates_sessions = separates_sessions
        self._lock = threading.Lock()
        self._texts: dict[Path, _Texts] = {}

    def open(self, session: str, path: Path, text: TextLines, version: int, language_id: str = "") -> None:
        """A session opens a file. Opening is no edit: the text of one that has it open already stays active."""
        with self._lock:
            texts = self._texts.setdefault(path, {})
            if session in texts:
                texts[session] = (text, version)
            else:
                self._texts[path] = texts = {session: (text, version), **texts}
            if next(reversed(texts)) == session:
                self._open_active(path, texts, language_id)
            elif self._separates_sessions:
                self._open_active(path, texts)

    def edit(self, session: str, path: Path, text: TextLines, version: int, changed: TextChange | None = None) -> None:
        """A session's whole new text, with the changed range: it becomes the active text."""
        with self._lock:
            texts = self._texts.get(path, {})
            if session not in texts:
                return
            before = texts[session]
            is_indexed = self._is_indexed(texts)
            if _active_text(texts) != before[0].text:
                # The edit is the difference of this session's two texts.
                self._buffers.open_buffer(path, *before, session=session, is_indexed=is_indexed)
            del texts[session]
            texts[session] = (text, version)
            is_indexed = self._is_indexed(texts)
            self._buffers.edit_buffer(path, text, version, changed, session=session, is_indexed=is_indexed)

    def activate(self, session: str, path: Path) -> None:
        """Make this session's text the active one without an edit, for a question about it."""
        with self._lock:
            texts = self._texts.get(path, {})
            if session in texts:
                is_other = _active_text(texts) != texts[session][0].text
                texts[session] = texts.pop(session)
                if is_other:
                    self._open_active(path, texts)

    def close(self, session: str, path: Path) -> None:
        """The text of the session that edited before becomes active, or the file on disk if no one has it open."""
        with self._lock:
            self._close(session, path)

    def remove_session(self, session: str) -> None:
        """Close everything that a session has open."""
        with self._lock:
            for path in [path for path, texts in self._texts.items() if session in texts]:
                self._close(session, path)

    def _close(self, session: str, path: Path) -> None:
        texts = self._texts.get(path, {})
        if session not in texts:
            return
        before = _active_text(texts), self._is_indexed(texts)
        del texts[session]
        if not texts:
            del self._texts[path]
            self._buffers.close_buffer(path)
        elif (_active_text(texts), self._is_indexed(texts)) != before:
            self._open_active(path, texts)

    def _open_active(self, path: Path, texts: _Texts, language_id: str | None = None) -> None:
        session, (text, version) = next(reversed(texts.items()))
        is_indexed = self._is_indexed(texts)
        self._buffers.open_buffer(path, text, version, language_id, session=session, is_indexed=is_indexed)

    def _is_indexed(self, texts: _Texts) -> bool:
        """Whether the index may have the active text: always for one user, else if all sessions have the same."""
        active = _active_text(texts)
        return not self._separates_sessions or all(text.text == active for text, _ in texts.values())


def _active_text(texts: _Texts) -> str:
    return next(reversed(texts.values()))[0].text
