"""All suggestions at one cursor, and the roles of names there.

Owns the order of the sources and the cache of a line. Asked for each token of a search, so it answers at once where no
source has anything to say.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..symbol_table import FUNCTION_KINDS
from .arguments import arguments
from .assigned import assigned
from .chains import chains
from .cursor_facts import CursorFacts
from .definitions import definitions
from .members import members
from .statements import statements
from .values import Role, ScopeKind, Suggested

MAX_LINE = 1_000
"""Characters; a longer line has no suggestions."""

_SOURCES: tuple[Callable[[CursorFacts, str], Sequence[Suggested]], ...] = (
    members,
    chains,
    arguments,
    assigned,
    definitions,
    statements,
)


class GraphSuggestions:
    """What the graph suggests at a cursor."""

    def __init__(self, facts: CursorFacts) -> None:
        self._facts = facts
        self._found: dict[str, tuple[Suggested, ...]] = {}

    def suggestions(self, written: str) -> Sequence[Suggested]:
        """Texts that may follow `written`, the beginning of the cursor's line and lines written below it.

        The best of each source first.
        """
        if not self._facts.is_known or len(written) > MAX_LINE:
            return ()
        found = self._found.get(written)
        if found is None:
            found = tuple(each for source in _SOURCES for each in source(self._facts, written))
            self._found[written] = found
        return found

    def role_of(self, name: str, written: str | None) -> Role:
        """What a plain name means on the line that begins with `written`; None: its indentation is unknown."""
        return self._facts.role_of(name, written) if self._facts.is_known else ""

    def names(self, written: str | None) -> Sequence[str]:
        """Names in the scopes around a line that begins with `written`: of functions around it and of the file."""
        return self._facts.names_in_scope(written) if self._facts.is_known else ()

    def scope_kind(self, written: str | None) -> ScopeKind:
        """The kind of the innermost definition around a line that begins with `written`."""
        if not self._facts.is_known:
            return ""
        scopes = self._facts.scopes(written)
        return "file" if not scopes else "function" if scopes[0].kind in FUNCTION_KINDS else "type"

    @property
    def open_brackets(self) -> str:
        """The brackets that are open above the cursor's line, innermost last."""
        return "".join(each.text for each in self._facts.opened_above if each.kind == "bracket")
