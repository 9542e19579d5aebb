"""Partial parsing: the facts of a text that ends at a cursor, with those of its unchanged finished parts reused.

Owns the choice of the parts and the merge of both facts. Finished parts are lines of whole statements or definitions
that the indexed text has too. They are left blank for the parser, so the cost depends on the code around the cursor and
not on the length of the file. Knows no snapshot.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..languages import Language, language_of
from .file_graph import MODULE_SCOPE, NODE_END, NODE_PARENT, NODE_START, Binding, Call, Definition, FileGraph, Import
from .syntax import parse_file

MIN_LINES = 60
"""A shorter text is parsed whole."""

_OPENING, _CLOSING = (b"(", b"[", b"{"), (b")", b"]", b"}")
_NOT_FIRST = b"?:.|&+-*/,)]}=<"
"""A line that begins with one of these characters continues an expression."""


def parse_prefix(
    path: str, prefix: str, indexed: FileGraph | None, indexed_source: bytes, language: Language | None = None
) -> FileGraph:
    """The facts of `prefix`, the text of a file up to a cursor. Syntax nodes of reused parts are missing.

    `indexed` has the facts of `indexed_source`, an earlier version of the whole file with "\\n" line breaks.
    `language` None: the language of the path.
    """
    source, language = prefix.encode("utf-8", "replace"), language or language_of(path)
    if indexed is None or indexed.language != language.name or language.embedded is not None or b"\r" in source:
        return parse_file(path, prefix, language)
    n_common = common_length(source, indexed_source)
    n_same = source.count(b"\n", 0, n_common)
    lines = source.split(b"\n")
    finished = _finished_lines(indexed, lines, n_same).tolist() if n_same >= MIN_LINES else []
    n_harmless = n_common if indexed.is_harmless else 0
    if not any(finished):
        return parse_file(path, prefix, language, n_harmless)
    kept = [b"" if line < n_same and finished[line] else text for line, text in enumerate(lines)]
    n_kept = len(b"\n".join(kept[:n_same])) if indexed.is_harmless else 0
    parsed = parse_file(path, b"\n".join(kept).decode("utf-8"), language, n_kept)
    return _merged(parsed, indexed, finished, lines) or parse_file(path, prefix, language, n_harmless)


def _finished_lines(file: FileGraph, lines: list[bytes], n_same: int) -> NDArray[np.bool_]:
    """Which of the first `n_same` lines belong to finished parts, shape (n_same,)."""
    finished = np.zeros(n_same, bool)
    parents, starts, ends = file.nodes[NODE_PARENT], file.nodes[NODE_START], file.nodes[NODE_END]
    node, least_start = 0, -1
    while True:
        children = np.flatnonzero((parents == node) & (starts < n_same))
        end_above = 0
        for at, child in enumerate(children):
            start, end = int(starts[child]), int(ends[child])
            start_below = starts[children[at + 1]] if at + 1 < len(children) else end
            if least_start < start >= end_above and end <= min(n_same, start_below):
                finished[start:end] = node == 0 or _is_element(lines, start, end)
            end_above = end
        if len(children) == 0 or ends[children[-1]] <= n_same:
            return finished
        node = int(children[-1])
        least_start = int(starts[node])


def _is_element(lines: list[bytes], start: int, end: int) -> bool:
    """Whether lines are an element of a list or a block that others follow: the code stays complete without them."""
    first = lines[start].lstrip()
    if not first or first[:1] in _NOT_FIRST:
        return False
    above = next((line for line in reversed(lines[:start]) if line.strip()), b"")
    if above.rstrip().endswith(b":"):  # a block, or its first statement
        return False
    text = b"\n".join(lines[start:end])
    return all(text.count(opening) == text.count(closing) for opening, closing in zip(_OPENING, _CLOSING, strict=True))


class _PrefixGraph(FileGraph):
    """Facts that are not packed: the graph of a prefix is read at once and not kept."""

    __slots__ = ("_facts",)
    has_all_nodes = False

    def __init__(self, parsed: FileGraph, facts: _Facts, package: str) -> None:
        super().__init__(
            parsed.path,
            parsed.language,
            parsed.n_lines,
            parsed.n_bytes,
            parsed.nodes,
            problems=parsed.problems,
            package=package,
            manifest=parsed.manifest,
        )
        self._facts = facts

    @property
    def definitions(self) -> tuple[Definition, ...]:
        return self._facts.definitions

    @property
    def calls(self) -> tuple[Call, ...]:
        return self._facts.calls

    def definition(self, qualified_name: str) -> Definition | None:
        return next((each for each in self._facts.definitions if each.qualified_name == qualified_name), None)

    @property
    def imports(self) -> tuple[Import, ...]:
        return self._facts.imports

    @property
    def bindings(self) -> tuple[Binding, ...]:
        return self._facts.bindings


class _Facts(NamedTuple):
    definitions: tuple[Definition, ...]
    calls: tuple[Call, ...]
    imports: tuple[Import, ...]
    bindings: tuple[Binding, ...]


_Scoped = TypeVar("_Scoped", Call, Import, Binding)


def _merged(
    parsed: FileGraph, indexed: FileGraph, finished: Sequence[bool], lines: Sequence[bytes]
) -> FileGraph | None:
    """The facts of parsed and finished lines; None when a definition around the cursor was not found."""
    n_finished = len(finished)
    others = indexed.definitions
    # A definition around the cursor ends with the parts that were blank for the parser.
    n_used = next((line + 1 for line in reversed(range(n_finished)) if finished[line]), 0)
    open_ones = {(d.qualified_name, d.header_line) for d in others if d.end_line > n_used}
    own = tuple(
        definition._replace(end_line=_end_with(finished, lines, definition.end_line))
        if (definition.qualified_name, definition.header_line) in open_ones
        else definition
        for definition in parsed.definitions
    )
    found = [(definition, number, True) for number, definition in enumerate(own)]
    found += [
        (definition, number, False)
        for number, definition in enumerate(others)
        if definition.start_line < n_finished and finished[definition.start_line]
    ]
    found.sort(key=lambda item: item[0].start_line)  # stable: outer definitions stay before inner ones
    own_scopes, other_scopes = {MODULE_SCOPE: MODULE_SCOPE}, {MODULE_SCOPE: MODULE_SCOPE}
    for at, (_, number, is_own) in enumerate(found):
        (own_scopes if is_own else other_scopes)[number] = at
    # Definitions around the cursor are in both.
    around = {(definition.qualified_name, definition.header_line): number for number, definition in enumerate(own)}
    for number, definition in enumerate(others):
        same = around.get((definition.qualified_name, definition.header_line))
        if same is not None:
            other_scopes.setdefault(number, own_scopes[same])

    def merge(mine: tuple[_Scoped, ...], theirs: tuple[_Scoped, ...]) -> tuple[_Scoped, ...]:
        reused = [fact for fact in theirs if fact.line < n_finished and finished[fact.line]]
        facts = [_moved(fact, own_scopes) for fact in mine] + [_moved(fact, other_scopes) for fact in reused]
        return tuple(sorted(facts, key=_line_of))

    try:
        facts = _Facts(
            tuple(d._replace(parent=(own_scopes if is_own else other_scopes)[d.parent]) for d, _, is_own in found),
            merge(parsed.calls, indexed.calls),
            merge(parsed.imports, indexed.imports),
            merge(parsed.bindings, indexed.bindings),
        )
    except KeyError:
        return None
    return _PrefixGraph(parsed, facts, parsed.package or indexed.package)


def _end_with(finished: Sequence[bool], lines: Sequence[bytes], end: int) -> int:
    """The end of a definition with the finished parts right after it."""
    for line in range(end, len(finished)):
        if finished[line]:
            end = line + 1
        elif lines[line].strip():
            break
    return end


def _moved(fact: _Scoped, scopes: Mapping[int, int]) -> _Scoped:
    scope = scopes[fact.scope]
    return fact if scope == fact.scope else fact._replace(scope=scope)


_line_of = attrgetter("line")


def common_length(a: bytes, b: bytes) -> int:
    """The length of the common beginning of two texts, in bytes."""
    n = min(len(a), len(b))
    if a[:n] == b[:n]:
        return n
    return int(np.argmax(np.frombuffer(a, np.uint8, n) != np.frombuffer(b, np.uint8, n)))
