"""Lines with a name that mean another symbol, as far as the code graph and the text before the name say so.

Owns the rules for files whose syntax trees are not read: a line is told apart only where it declares another symbol,
where its call resolves to one, or where the name before the dot is that of another type or module. Knows no answer.
Lines are 0-based.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...codegraph.resolve import SAME_NAME
from ...codegraph.symbol_table import is_class
from ...languages import Language, language_named
from ...retrieval import RepositoryIndex
from ..symbols.symbol import Symbol

MAX_BELOW = 200
"""Classes below the owners of a member whose names may stand before it."""

_BEFORE = re.compile(r"(?:([^\W\d][\w$]*)?\s*(\.|::|->|\?\.|\)|\])\s*|([^\W\d]\w*)\s+)$")
"""Before a name: a receiver and an operator, or a word."""

_BEFORE_USES = frozenset(
    re.findall(
        r"\w+",
        """return await new yield throw throws raise else in is not and or if elif while until unless when match switch
        case of as typeof instanceof delete extends implements with import from export default use mod mut dyn impl
        where for ref out assert print echo do then go defer select move try catch except del lambda using global
        nonlocal keyof satisfies super goto puts require include""",
    )
)
"""Words before a use of a name; another word before a name declares it."""

_BEFORE_NO_TYPE = frozenset({"fn", "def", "func", "fun", "function", "let", "var", "val", "macro"})
"""Words before a name that is none of a type; others may be modifiers before a type: `static Price`."""

_WITH_INFIX_NAMES = frozenset({"kotlin", "scala", "swift", "bash"})
"""Languages in which a word before a name may be an operator or a command: `price shouldBe total`."""

_OWN_OBJECTS = frozenset({"self", "Self", "this", "super", "cls", "crate", "base", "parent", "static"})
_AFTER_KEYS = frozenset({b":", b",", b"}", b"?"})


@dataclass(frozen=True, slots=True)
class _InFile:
    """What is known of the symbol in a file."""

    rules: Language
    is_imported: bool  # whether a plain name may be the symbol
    may_extend: bool  # whether a declaration may be a member of a class below


class OtherSymbols:
    """Tells lines of one name apart that do not mean one symbol."""

    def __init__(self, index: RepositoryIndex, symbol: Symbol) -> None:
        self._index, self._symbol = index, symbol
        self._is_plain = bool(symbol.modules) and not symbol.owners
        self._aliases: dict[tuple[str, str], bool] = {}
        self._names = index.names
        self._classes = self._with_classes_below()
        self._related = self._classes | set(self._names_before())
        found = [each for key in symbol.definitions if (each := index.graph.definition(*key)) is not None]
        self._is_macro = any(each.kind == "macro" for each in found)
        self._is_type = any(is_class(each) for each in found)

    def on(self, path: str, lines: Sequence[tuple[int, int]]) -> set[int]:
        """Of the lines of a file with the name, each with the offset of the name in bytes, those of other symbols."""
        text = self._index.texts[path]
        once = {line for line, n in Counter(line for line, _ in lines).items() if n == 1}
        resolved = self._resolved(path, once)
        rules = language_named(self._index.graph.files[path].language)
        in_file = _InFile(rules, self._is_imported(path), self._may_extend(path))
        return {
            line
            for line, at in lines
            if line in once
            and line not in resolved[0]
            and (
                line in resolved[1]
                or self._is_other(path, text[text.rfind(b"\n", 0, at) + 1 : at], _after(text, at), in_file)
            )
        }

    def _names_before(self) -> Iterator[str]:
        """The names that may stand before the symbol: those around it, of its file and its folders."""
        for path, qualified in (*self._symbol.definitions, *self._symbol.owners):
            yield from qualified.split(".")
            yield from path.rpartition(".")[0].replace("-", "_").split("/")

    def _with_classes_below(self) -> set[str]:
        """The names of the owners of a member, and of the classes below them."""
        level = [qualified.rpartition(".")[2] for _, qualified in self._symbol.owners]
        seen = set(level)
        while level and len(seen) < MAX_BELOW:
            below = {each.definition.name for name in level for each in self._names.subclasses(name)} - seen
            seen |= below
            level = sorted(below)
        return seen

    def _resolved(self, path: str, lines: Iterable[int]) -> tuple[set[int], set[int]]:
        """The lines whose calls of the name resolve to the symbol, and those whose calls resolve to another one."""
        own, other = set[int](), set[int]()
        for line, edge in self._index.graph.calls_on(path, set(lines)):
            if (edge.path, edge.qualified_name) in self._symbol.definitions:
                own.add(line)
            elif edge.how != SAME_NAME and edge.qualified_name.rpartition(".")[2] == self._symbol.name:
                other.add(line)
        return own, other

    def _is_imported(self, path: str) -> bool:
        """Whether a plain name in a file may be the symbol."""
        if path in self._symbol.modules or not self._is_plain or self._is_macro:
            return True
        file = self._index.graph.files[path]
        if language_named(file.language).module_style not in ("python", "web", "rust"):
            return True
        return any(item.name in (self._symbol.name, "*") for item in file.imports)

    def _may_extend(self, path: str) -> bool:
        """Whether a file names a class with the symbol, so that it may define it again."""
        text = self._index.texts[path]
        return any(name.encode("utf-8", "surrogatepass") in text for name in self._classes)

    def _is_other(self, path: str, before: bytes, after: bytes, in_file: _InFile) -> bool:
        """Whether the text around the name on its line says that it is another symbol."""
        if in_file.rules.module_style == "include" and before.lstrip().startswith(b"#"):
            return False  # of the preprocessor, to which `#ifdef NAME` is a use
        found = _BEFORE.search(before.decode("utf-8", "replace"))
        receiver, sign, word = (part or "" for part in found.groups()) if found is not None else ("", "", "")
        if (sign and not receiver) or (receiver and receiver in self._related):
            return False
        if word and self._declares(word, in_file.rules):
            return not in_file.may_extend
        if not sign and self._is_plain:
            return not in_file.is_imported
        if not sign:  # the name of a key may be a member
            return not in_file.rules.has_implicit_object and after not in _AFTER_KEYS
        if receiver in _OWN_OBJECTS:
            return self._is_plain and sign != "::"
        is_type = receiver[0].isupper() and not receiver.isupper()
        return (sign == "::" or (sign == "." and is_type)) and not self._is_alias(path, receiver)

    def _declares(self, word: str, rules: Language) -> bool:
        """Whether a word before the name declares a variable or a function of that name: `fn name`, `Price name`."""
        if self._is_type or rules.has_bare_calls or rules.name in _WITH_INFIX_NAMES:
            return word in _BEFORE_NO_TYPE
        return word not in _BEFORE_USES

    def _is_alias(self, path: str, name: str) -> bool:
        """Whether a name in a file may be another one for an owner of the symbol or for its module."""
        known = self._aliases.get((path, name))
        if known is None:
            known = self._aliases[path, name] = self._may_be_alias(path, name)
        return known

    def _may_be_alias(self, path: str, name: str) -> bool:
        graph = self._index.graph
        if any(item.name != name or self._is_plain for item in graph.files[path].imports_as(name)):
            return True
        return not any(each.definition.name == name for each in self._names.definitions(name)) and (
            language_named(graph.files[path].language).module_style in ("go", "include", "source")
        )


def _after(text: bytes, at: int) -> bytes:
    """The first character behind a name, spaces left out."""
    found = _BEHIND.match(text, at)
    return found[1] if found is not None else b""


_BEHIND = re.compile(rb"[\w$]+[ \t]*(.)")
