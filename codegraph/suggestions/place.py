"""The place of a cursor as sources of definitions read it: the line before the cursor, and the lines above.

Owns the classes around the line, and the headers and fields of definitions of other files. Knows no source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from ...languages.indentation import indent_of
from ..file_graph import Definition
from ..resolver import parse_dotted
from ..symbol_table import FUNCTION_KINDS, NAMESPACE_KINDS, BoundName
from ..values import CLASS_VALUE, INSTANCE_VALUE, Value
from .cursor_facts import CursorFacts

MAX_HEADER_LINES = 30
MAX_ONE_LINE = 84
"""Characters; a longer header is written as the base writes it."""
MAX_BODY_LINES = 400
MAX_LINES_ABOVE = 200
MAX_BLOCK_LINES = 120

Weighted = list[tuple[str, float]]
"""Texts, and the share of times each follows: from 0 to 1."""


class Place:
    """One place: `facts`, and what is written below the lines of the facts."""

    def __init__(self, facts: CursorFacts, written: str) -> None:
        self.facts = facts
        self._below, _, self.line = written.rpartition("\n")

    @property
    def language(self) -> str:
        return self.facts.language.name

    @cached_property
    def indent(self) -> str:
        """The indentation of the line."""
        return self.line[: indent_of(self.line)]

    @cached_property
    def above(self) -> Sequence[str]:
        """The last lines above, the nearest last."""
        lines = self.facts.lines[-MAX_LINES_ABOVE:]
        return [*lines, *self._below.split("\n")] if self._below else lines

    @cached_property
    def line_above(self) -> str:
        """The last line above that is not blank."""
        return next((line for line in reversed(self.above) if line.strip()), "")

    @cached_property
    def is_in_header_below(self) -> bool:
        """Whether the line is the first of the block that the line above opens."""
        return indent_of(self.line_above) < len(self.indent)

    @cached_property
    def continues(self) -> bool:
        """Whether the line above is not the end of a statement, as far as its last sign tells."""
        return _UNFINISHED(self.line_above) is not None

    @cached_property
    def continues_block(self) -> bool:
        """Whether a block on the level of the line is open, so that its end comes first."""
        for line in reversed(self.above):
            if line.strip() and indent_of(line) <= len(self.indent):
                return indent_of(line) == len(self.indent) and line.rstrip()[-1] in "({["
        return False

    @cached_property
    def _scopes(self) -> Sequence[Definition]:
        """The definitions around the line, innermost first; none that has the indentation of the line or a larger one.

        The last definition of a text goes on to its end, even if its block is closed.
        """
        lines, indent = self.facts.lines, len(self.indent)
        return [
            each
            for each in self.facts.scopes(self.line)
            if each.header_line >= len(lines) or indent_of(lines[each.header_line]) < indent
        ]

    @cached_property
    def function(self) -> Definition | None:
        """The function around the line."""
        return next((each for each in self._scopes if each.kind in FUNCTION_KINDS), None)

    @cached_property
    def type_around(self) -> Definition | None:
        """The type in whose body the line is, None in a function and outside of types."""
        scopes = self._scopes
        return scopes[0] if scopes and is_type(scopes[0]) else None

    @cached_property
    def type_of_function(self) -> Definition | None:
        """The type that the function around the line belongs to."""
        scopes = self._scopes
        function = self.function
        if function is None:
            return None
        owner = function.qualified_name.rpartition(".")[0]
        found = next((each for each in scopes if is_type(each) and each.qualified_name == owner), None)
        return found or (self.facts.symbols.definition(owner) if owner else None)

    def body_above(self, definition: Definition) -> Sequence[str]:
        """The lines from the header of a definition of this file to the cursor."""
        lines = self.facts.lines[max(definition.header_line, self.facts.line - MAX_BODY_LINES) :]
        return [*lines, *self._below.split("\n")] if self._below else lines

    def is_in_body(self, definition: Definition) -> bool:
        """Whether the line begins a statement or a member directly in the body of a definition."""
        if self.continues:
            return False
        lines = self.body_above(definition)
        outer = indent_of(lines[0]) if lines else 0
        if len(self.indent) <= outer:
            return False
        text = "\n".join(lines)
        if len(_OPENED.findall(text)) > len(_CLOSED.findall(text)):
            return False
        return all(len(self.indent) <= indent_of(line) for line in lines[_end_of_header(lines) :] if line.strip())

    def block_above(self, indent: int) -> Iterator[str]:
        """The lines of the block around the line with its own indentation, the nearest first, and last its header."""
        for line in reversed(self.above[-MAX_BLOCK_LINES:]):
            if not line.strip():
                continue
            width = indent_of(line)
            if width <= indent:
                yield line
            if width < indent:
                return

    def rest_of(self, text: str, weight: float) -> Weighted:
        """What is left of `text` behind the part that the line has already; nothing where the line begins otherwise."""
        beginning = self.line.strip()
        if not text.startswith(beginning):
            return []
        rest = text[len(beginning) :]
        return [(rest.lstrip(" ") if self.line[-1:].isspace() else rest, weight)]

    def gap(self, text: str) -> str:
        """`text` behind the line: with a space before it where the line ends in a word."""
        return text if self.line[-1:].isspace() or not self.line else f" {text}"


def _end_of_header(lines: Sequence[str]) -> int:
    """The number of lines of the header that lines begin with."""
    depth = 0
    for number, line in enumerate(lines[:MAX_HEADER_LINES]):
        depth += len(_OPENED.findall(line)) - len(_CLOSED.findall(line))
        if depth <= 0:
            is_brace_below = number + 1 < len(lines) and lines[number + 1].strip() == "{"
            return number + (2 if is_brace_below else 1)
    return 1


def is_type(definition: Definition) -> bool:
    return definition.kind not in FUNCTION_KINDS and definition.kind not in NAMESPACE_KINDS


def shared(total: float, weights: Mapping[str, float] | Weighted) -> Weighted:
    """Texts with weights that sum to `total`."""
    found = list(weights.items() if isinstance(weights, Mapping) else weights)
    whole = sum(weight for _, weight in found)
    return [(text, total * weight / whole) for text, weight in found] if whole else []


def header_of(facts: CursorFacts, path: str, definition: Definition) -> str:
    """The header of a function on one line: all before the sign that ends it, without that sign."""
    lines = facts.lines_of(path)[definition.header_line : definition.header_line + MAX_HEADER_LINES]
    return one_line_header("\n".join(lines), definition.name, facts.language.blocks == "indentation")


def _ends_header(text: str, sign: re.Match[str]) -> bool:
    if sign[0] == "=":
        before = text[: sign.start()].replace("->", "")
        return before.count("<") <= before.count(">")  # not `-> impl Iterator<Item = u8>`
    return sign[0] == "\n" and not _CONTINUED(text, sign.end())


@lru_cache(maxsize=512)
def one_line_header(text: str, name: str, ends_at_colon: bool) -> str:
    """The header that a text begins with: "def f(a, b)" of "def f(\\n  a,\\n  b,\\n): …"."""
    start = max(text.find(name), 0)
    depth, end, brackets = 0, len(text), False
    for found in _SIGN.finditer(text, start):
        sign = found[0]
        if sign in "([":
            depth, brackets = depth + 1, True
        elif sign in ")]":
            depth -= 1
        elif depth == 0 and (sign in (":" if ends_at_colon else "{;") or (brackets and _ends_header(text, found))):
            end = found.start()
            break
    first = text.partition("\n")[0].rstrip()
    header = _SPACE.sub(" ", _COMMENT.sub("", text[:end])).strip()
    if first.endswith("(") and len(header) > MAX_ONE_LINE:  # the base has a line for each parameter
        return first.strip()
    return _AFTER_OPENING.sub(r"\1", _BEFORE_CLOSING.sub(r"\1", header))


def type_named(facts: CursorFacts, dotted: str, written: str) -> Value | None:
    """The class that a dotted name of a type means at the cursor."""
    within = facts.within(written)
    value = facts.resolver.read(facts.path, within, parse_dotted(dotted), facts.line, is_type=True)
    return value if value is not None and value.kind in (CLASS_VALUE, INSTANCE_VALUE) else None


def declared_fields(facts: CursorFacts, path: str, name: str) -> dict[str, str]:
    """The fields of a type that it declares itself, in order, and their types as far as they are known."""
    symbols = facts.graph.symbols(path)
    if symbols is None:
        return {}
    prefix = f"{name}."
    found = {}
    for key, entries in symbols.entries.items():
        field = key[len(prefix) :]
        if key.startswith(prefix) and field.isidentifier():
            entry = next((each for each in entries if isinstance(each, BoundName)), None)  # beside a method of the name
            if entry is not None:
                found[field] = entry.value if entry.how == "annotation" else ""
    return found


_SIGN = re.compile(r"\"[^\"\n]*\"|'[^'\n]?'|'[\w -]+'|=>|->|::|=|[(){}\[\];:\n]")
_OPENED, _CLOSED = re.compile(r"[(\[]"), re.compile(r"[)\]]")
_UNFINISHED = re.compile(r".*(?:[(\[,=+&|.\\]|\b(?:and|or|return|not|in))\s*\Z").match
_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"(?:#|//)[^\n]*(?=\n)|/\*.*?\*/")
_AFTER_OPENING = re.compile(r"([(\[]) ")
_BEFORE_CLOSING = re.compile(r",? ([)\]])")
_CONTINUED = re.compile(r"\s*(?:\{|->|:|throws\b|where\b|const\b|\))").match
