"""Facts of a hunk, from the texts before and after its commit: changed tokens, headers, calls, imports.

Owns the tokens and the comparison. Reads definitions and imports with the parser, and knows no suggestion.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache

from ...codegraph import FileGraph, parse_file

Tokens = tuple[str, ...]

KEYWORDS = frozenset(
    re.findall(
        r"\w+",
        """and as assert async await break case catch chan class const continue def default defer del delete do elif
        else enum except export extends fallthrough false finally for from func function global go goto if implements
        import in instanceof interface is lambda let map match new nil none nonlocal not null or package pass private
        protected public raise range readonly return select self static struct super switch this throw true try type
        typeof undefined var void while with yield""",
    )
)
"""Words of Python, TypeScript and Go that are no names, in lower case."""

MOST_LISTED = 5
"""Lines with text that a hunk adds to a list at most."""

_TOKEN = re.compile(r"[^\W\d][\w$]*|\$[\w$]+|\d[\w.]*|\S")
_BRACKETS = {"(": ")", "[": "]", "{": "}"}
_IMPORT_LINE = re.compile(r"\s*(from\s+\S+\s+import\b|import\b|\}?\s*from\s+['\"]|export\s.*\bfrom\s+['\"]|[(){};,]*$)")


def tokens_of(lines: Iterable[str]) -> Tokens:
    """Words, numbers and other characters. Strings and comments are not told from code."""
    return tuple(token for line in lines for token in _TOKEN.findall(line))


def is_name(token: str) -> bool:
    return (token[0].isalpha() or token[0] in "_$") and token.lower() not in KEYWORDS


@dataclass(frozen=True)
class HunkFacts:
    """What a hunk changes.

    `edits` are its replaced runs of tokens. `headers` are functions whose parameters it changes, `calls` functions
    whose arguments it changes (their headers too). `imported` are names whose import it adds or removes. `new_names`
    occur in its new lines and nowhere in the file before.
    """

    removed: Tokens
    added: Tokens
    edits: tuple[tuple[Tokens, Tokens], ...]
    substitutions: frozenset[tuple[str, str]]
    headers: frozenset[str]
    calls: frozenset[str]
    defined: frozenset[str]
    imported: frozenset[str]
    is_import_only: bool
    new_names: frozenset[str]
    listed: Tokens  # the tokens of a few added lines that have the form of the line above or below

    @property
    def changed_names(self) -> frozenset[str]:
        """Names in the replaced tokens."""
        return frozenset(token for old, new in self.edits for token in (*old, *new) if is_name(token))


@dataclass(frozen=True)
class FileFacts:
    """The texts of a file before and after a commit, parsed."""

    old: _Side
    new: _Side

    @classmethod
    def of(cls, path: str, before: str, after: str) -> FileFacts:
        return cls(_Side.of(path, before), _Side.of(path, after))

    def of_hunk(self, old_start: int, removed: Sequence[str], new_start: int, added: Sequence[str]) -> HunkFacts:
        """The facts of a hunk that replaces lines from `old_start` by those at `new_start`."""
        old, new = _Lines(old_start, old_start + len(removed)), _Lines(new_start, new_start + len(added))
        old_tokens, new_tokens = tokens_of(removed), tokens_of(added)
        edits = _edits(old_tokens, new_tokens)
        old_calls, new_calls = self.old.calls_in(old), self.new.calls_in(new)
        headers = self.old.headers_in(old) | self.new.headers_in(new)
        imported = self.old.imports_in(old) ^ self.new.imports_in(new)
        return HunkFacts(
            old_tokens,
            new_tokens,
            edits,
            frozenset(_substitutions(edits)),
            frozenset(name for name in headers if self._changes_parameters(name)),
            frozenset({name for name, _ in old_calls - new_calls} & {name for name, _ in new_calls - old_calls}),
            self.old.defined_in(old) | self.new.defined_in(new),
            imported,
            bool(old_tokens or new_tokens) and self.old.are_imports(old) and self.new.are_imports(new),
            frozenset(token for token in new_tokens if is_name(token) and token not in self.old.words),
            tokens_of(self.new.listed(new, len(list(filter(str.strip, removed))))),
        )

    def _changes_parameters(self, name: str) -> bool:
        old, new = self.old.parameters(name), self.new.parameters(name)
        return bool(old) and bool(new) and old != new


@dataclass(frozen=True)
class _Lines:
    start: int
    end: int

    def overlap(self, first: int, last: int) -> bool:
        """Whether one of the lines `first` to `last` is among these."""
        return first < self.end and self.start <= last


@dataclass(frozen=True)
class _Bracketed:
    """A name with the tokens in brackets behind it: a call or a header."""

    name: str
    first_line: int
    last_line: int
    inside: Tokens


@dataclass(frozen=True)
class _Side:
    """One text of a file."""

    lines: tuple[str, ...]
    words: frozenset[str]
    graph: FileGraph
    bracketed: tuple[_Bracketed, ...]

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, path: str, text: str) -> _Side:
        lines = tuple(text.split("\n"))
        return cls(lines, frozenset(tokens_of(lines)), parse_file(path, text), tuple(_bracketed(lines)))

    def calls_in(self, lines: _Lines) -> frozenset[tuple[str, Tokens]]:
        """Calls and headers whose brackets have one of the lines: name, and the tokens inside."""
        return frozenset(
            (each.name, each.inside) for each in self.bracketed if lines.overlap(each.first_line, each.last_line)
        )

    def headers_in(self, lines: _Lines) -> frozenset[str]:
        """The called names of functions whose parameters have one of the lines."""
        return frozenset(name for name, each in self._headers() if lines.overlap(each.first_line, each.last_line))

    def parameters(self, name: str) -> list[Tokens]:
        """The parameters of the functions of this name."""
        return sorted(each.inside for called, each in self._headers() if called == name)

    def defined_in(self, lines: _Lines) -> frozenset[str]:
        return frozenset(
            each.name for each in self.graph.definitions if lines.overlap(each.header_line, each.header_line)
        )

    def imports_in(self, lines: _Lines) -> frozenset[str]:
        return frozenset(
            each.local_name or each.module.rpartition("/")[2]
            for each in self.graph.imports
            if lines.overlap(each.line, each.line)
        )

    def are_imports(self, lines: _Lines) -> bool:
        of_imports = {each.line for each in self.graph.imports}
        return all(
            number in of_imports or _IMPORT_LINE.match(self.lines[number]) for number in range(lines.start, lines.end)
        )

    def listed(self, lines: _Lines, n_removed: int) -> list[str]:
        """The lines that have the form of the nearest line with text above or below these.

        None of a hunk that adds many lines, or no more than it removes.
        """
        around = [*reversed(self.lines[: lines.start]), ""], [*self.lines[lines.end :], ""]
        forms = {_form(next(filter(str.strip, each), "")) for each in around}
        added = list(filter(str.strip, self.lines[lines.start : lines.end]))
        return [line for line in added if _form(line) in forms] if n_removed < len(added) <= MOST_LISTED else []

    def _headers(self) -> list[tuple[str, _Bracketed]]:
        by_line = {(each.name, each.first_line): each for each in reversed(self.bracketed)}
        definitions = self.graph.definitions
        found = []
        for definition in definitions:
            header = by_line.get((definition.name, definition.header_line))
            if header is not None:
                is_constructor = definition.name in ("__init__", "constructor") and definition.parent >= 0
                found.append((definitions[definition.parent].name if is_constructor else definition.name, header))
        return found


def _bracketed(lines: Sequence[str]) -> list[_Bracketed]:
    tokens = [(token, number) for number, line in enumerate(lines) for token in _TOKEN.findall(line)]
    found, opened = [], list[int]()
    for at, (token, number) in enumerate(tokens):
        if token == "(":
            opened.append(at)
        elif token == ")" and opened:
            start = opened.pop()
            name, first = tokens[start - 1] if start else ("", 0)
            if name and is_name(name):
                found.append(_Bracketed(name, first, number, tuple(each for each, _ in tokens[start + 1 : at])))
    return found


def _edits(old: Tokens, new: Tokens) -> tuple[tuple[Tokens, Tokens], ...]:
    opcodes = SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    return tuple((old[a:b], new[c:d]) for tag, a, b, c, d in opcodes if tag != "equal")


def _substitutions(edits: Iterable[tuple[Tokens, Tokens]]) -> Iterable[tuple[str, str]]:
    for old, new in edits:
        if len(old) == len(new):
            yield from ((a, b) for a, b in zip(old, new, strict=True) if a != b and is_name(a) and is_name(b))


def _form(line: str) -> str:
    """A line without its names, numbers and the contents of strings."""
    line = re.sub(r"\"[^\"]*\"|'[^']*'|`[^`]*`", "''", line.strip())
    return " ".join("x" if token[0].isalnum() or token[0] in "_$" else token for token in _TOKEN.findall(line))
