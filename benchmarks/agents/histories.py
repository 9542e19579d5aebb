"""Pinned histories for tasks of agents: one split, eleven languages.

Owns this choice alone. Commits and the halves for fitting and for reporting are those of `weft bench typed` and of
`weft bench next-edit`, fixed before the first run.
"""

from __future__ import annotations

from ..next_edit.commits import HISTORIES as NEXT_EDIT_HISTORIES
from ..typed.commits import HISTORIES as TYPED_HISTORIES
from ..typed.commits import TypedHistory

_LEFT_OUT = frozenset({"weft", "AutoMapper/AutoMapper", "excalidraw/excalidraw", "gohugoio/hugo"})
"""Weft's own history, and three whose public snapshots lack files."""

_ALL = {history.name: history for history in (*TYPED_HISTORIES, *NEXT_EDIT_HISTORIES)}

HISTORIES = tuple(history for name, history in _ALL.items() if name not in _LEFT_OUT)

LANGUAGES = {
    ".py": "Python",
    ".ts": "TypeScript",
    ".go": "Go",
    ".java": "Java",
    ".kt": "Kotlin",
    ".cs": "C#",
    ".rs": "Rust",
    ".cpp": "C++",
    ".c": "C",
    ".rb": "Ruby",
    ".js": "JavaScript",
}


def language_of(history: TypedHistory) -> str:
    """The language of the edited files; C++ and C share headers, so the last extension decides for these."""
    return LANGUAGES[history.extensions[0] if history.extensions[0] in LANGUAGES else history.extensions[-1]]
