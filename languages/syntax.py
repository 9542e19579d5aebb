"""The interface between the syntax walk and the readers of a language.

Owns the types, and helpers that every reader needs. The walk itself is `codegraph.walk`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:  # the lexer needs no parser
    from tree_sitter import Node

MODULE_SCOPE = -1
"""The scope of the top level of a file."""

# An unfinished file can have hundreds of errors; the first few suffice.
MAX_PROBLEMS = 8


class Defined(Protocol):
    """The fields of an added definition that readers use."""

    @property
    def name(self) -> str: ...
    @property
    def qualified_name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def parent(self) -> int: ...
    @property
    def returns(self) -> str: ...
    @property
    def end_line(self) -> int: ...


class Bound(Protocol):
    """The fields of an added binding that readers use."""

    @property
    def scope(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def how(self) -> str: ...
    @property
    def value(self) -> str: ...


class Imported(Protocol):
    """The fields of an added import that readers use."""

    @property
    def local_name(self) -> str: ...
    @property
    def module(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def scope(self) -> int: ...


class SyntaxWalk(Protocol):
    """The interface of the walk for readers: the current position, and methods to add facts."""

    source: bytes
    scope: int  # innermost definition around the present node; a reader sets it for the node's children
    is_unsorted: bool  # definitions were added before earlier ones
    problems: list[str]
    package: str  # the declared package or namespace; a reader sets it
    type_parameters: dict[int, Mapping[str, str]]  # of definitions: the types that type parameters mean; readers set it

    @property
    def definitions(self) -> Sequence[Defined]: ...

    @property
    def bindings(self) -> Sequence[Bound]: ...

    @property
    def imports(self) -> Sequence[Imported]: ...

    def text(self, node: Node) -> str: ...

    def dotted(self, node: Node) -> str: ...

    def add_definition(
        self,
        node: Node,
        dotted: str,
        kind: str,
        *,
        header_line: int | None = None,
        first_line: int | None = None,
        bases: tuple[str, ...] = (),
        returns: str = "",
    ) -> None: ...

    def end_definition(self, definition: int, line: int) -> None: ...

    def add_call(self, node: Node, callee: str) -> None: ...

    def add_bare_call(self, node: Node, name: str) -> None: ...

    def add_binding(self, scope: int, name: str, how: str, value: str, node: Node) -> None: ...

    def add_import(self, node: Node, local_name: str, module: str, name: str, level: int = 0) -> None: ...


ScopedChildren: TypeAlias = "list[tuple[list[Node], int]]"
"""Runs of named children in source order, each with its scope."""

NodeReader: TypeAlias = "Callable[[SyntaxWalk, Node], ScopedChildren | None]"
"""Adds the facts of one node. None is the default: all named children are in the scope that it sets."""


def note_error(walk: SyntaxWalk, node: Node) -> None:
    """The reader of ERROR nodes without recovery of definitions."""
    problem = f"syntax error on line {node.start_point[0] + 1}"
    if len(walk.problems) < MAX_PROBLEMS and problem not in walk.problems:
        walk.problems.append(problem)


def node_lines(node: Node) -> tuple[int, int]:
    """First line and line after the last. A node that ends before the first column of a line ends at that line."""
    row, column = node.end_point
    return node.start_point[0], row + 1 if column else row
