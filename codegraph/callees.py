"""The callee of a call: the definition that an expression means, its header, and whether calls give its object.

Owns the step from name resolution to the source of a definition, for checks and for suggestions. Knows no arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from ..languages import Language
from .bound_names import word_spans
from .file_graph import Definition
from .graph import CodeGraph
from .resolver import Resolution, parse_dotted
from .symbol_table import FUNCTION_KINDS
from .typed_resolver import TypedResolver
from .values import CLASS_VALUE

MAX_LINES = 60
"""Lines of a header."""

SURE = frozenset(
    {
        "same file",
        "import",
        "re-export",
        "module attribute",
        "class attribute",
        "self",
        "inherited",
        "super",
        "constructor",
    }
    | {"typed local", "typed attribute", "same package"}
)
"""The ways to resolve a callee that leave no doubt about its parameters, see `resolve.HOW`."""


class Callee(NamedTuple):
    """A definition that is called.

    `is_method`: the first parameter of the header is the object, which the call does not give; None where the call may
    give it. `is_sure`: no other definition can be meant.
    """

    path: str
    definition: Definition
    header: bytes  # from its name on
    decorators: tuple[str, ...]  # their lines
    is_method: bool | None
    is_sure: bool

    @property
    def is_function(self) -> bool:
        return self.definition.kind in FUNCTION_KINDS


class Callees:
    """The callees of calls in one file. `lines_of` gives the lines of a file of the graph."""

    def __init__(
        self,
        graph: CodeGraph,
        path: str,
        language: Language,
        resolver: TypedResolver,
        lines_of: Callable[[str], Sequence[bytes]],
    ) -> None:
        self._graph = graph
        self._path = path
        self._language = language
        self._resolver = resolver
        self._lines_of = lines_of

    def of(self, dotted: str, within: str, line: int) -> Callee | None:
        """What a call of a dotted expression in a scope means: of several definitions the last one.

        Of a class that is the constructor, or the class where it has none of its own.
        """
        found = self._resolver.targets(self._path, within, dotted, line)
        if not found:
            return None
        target = found[-1]  # of a class and its constructor the constructor
        definition = self._graph.definition(target.path, target.qualified_name)
        if definition is None:
            return None
        header, decorators = self.header(target.path, definition)
        is_method = self._gives_no_object(definition, decorators, dotted, within, line, len(found))
        return Callee(target.path, definition, header, decorators, is_method, all(map(_is_sure, found)))

    def header(self, path: str, definition: Definition) -> tuple[bytes, tuple[str, ...]]:
        """The source of a definition from its name on, and the lines of its decorators."""
        return header_of(self._lines_of(path), definition)

    def _gives_no_object(
        self, definition: Definition, decorators: Sequence[str], dotted: str, within: str, line: int, n_targets: int
    ) -> bool | None:
        rules = self._language.scope_rules.call_rules if self._language.scope_rules is not None else None
        is_method = definition.kind in ("method", "constructor")
        if not is_method or rules is None or not rules.own_parameter:
            return is_method
        if any("staticmethod" in each for each in decorators):
            return False
        if not any("classmethod" in each for each in decorators) and "." in dotted:
            receiver = self._resolver.read(self._path, within, parse_dotted(dotted)[:-1], line)
            if receiver is not None and receiver.kind == CLASS_VALUE and n_targets == 1:
                return None  # the object may be an argument
        return True


def header_of(lines: Sequence[bytes], definition: Definition) -> tuple[bytes, tuple[str, ...]]:
    """The source of a definition from its name on, and the lines of its decorators. `lines` are those of its file."""
    first = lines[definition.header_line] if definition.header_line < len(lines) else b""
    name = next(word_spans(first, definition.name.encode("utf-8", "replace")), None)
    if name is None:
        return b"", ()
    below = lines[definition.header_line + 1 : definition.header_line + MAX_LINES]
    decorators = lines[definition.start_line : definition.header_line]
    stripped = (line.decode("utf-8", "replace").strip() for line in decorators)
    return b"\n".join([first[name[1] :], *below]), tuple(line for line in stripped if line)


@lru_cache(maxsize=64)
def lines_of_source(source: bytes) -> tuple[bytes, ...]:
    return tuple(source.split(b"\n"))


def _is_sure(target: Resolution) -> bool:
    return target.how in SURE
