"""What the code graph suggests at a cursor: arguments, members, right sides, definitions and their counterparts.

`GraphSuggestions` answers for one cursor. Each source is one file with one function; none of them knows a model.
"""

from __future__ import annotations

from .cursor_facts import CursorFacts
from .source import GraphSuggestions
from .values import SOURCES, Role, Suggested

__all__ = ["SOURCES", "CursorFacts", "GraphSuggestions", "Role", "Suggested"]
