"""What SQLite is given as text, and how texts are searched.

Searching looks at every row: 20,000 turns of 165 words take 0.5 s. An index of words would be faster, but it splits
no Chinese, finds no part of a name, and keeps the words of what was deleted.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

MOST_WORDS = 50
"""Of a search; SQLite passes a function about a hundred values."""


def storable(text: str) -> str:
    """`text` with a question mark for what no UTF-8 can hold: halves of surrogate pairs."""
    return text.encode("utf-8", "replace").decode("utf-8")


def search_condition(text: str) -> tuple[Callable[[str], str], tuple[str, ...]]:
    """An SQL condition on a text expression that asks for each word of `text`, and the values of its parameters."""
    words = tuple(text.casefold().split()[:MOST_WORDS])
    marks = "".join(", ?" for _ in words)
    return lambda expression: f"holds({expression}{marks})", words


def register_search_function(connection: sqlite3.Connection) -> None:
    """Let a connection understand what `search_condition` asks for."""
    connection.create_function("holds", -1, _holds, deterministic=True)


def _holds(text: str, *words: str) -> bool:
    folded = text.casefold()
    return all(word in folded for word in words)
