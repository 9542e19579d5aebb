"""The code around a cursor, as suggestions read it: scopes, names, values of expressions, and the object of a method.

Owns what all sources share for one cursor. Built once for a line; values of names are looked up when they are needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple, TypeVar, cast
from weakref import WeakKeyDictionary

from ...languages import Language, OpenStack
from ...languages.dotted import dotted_name
from ...languages.indentation import indent_of
from ...languages.lexer import MAX_CHARACTERS
from ..callees import Callee, Callees, lines_of_source
from ..file_graph import MODULE_SCOPE, Definition, FileGraph
from ..graph import CodeGraph
from ..invalidation import is_definition
from ..reachability import scopes_around
from ..resolver import parse_dotted
from ..symbol_table import FUNCTION_KINDS, MODULE, STAR_IMPORTS, BoundName, SymbolTable, changed_names
from ..typed_resolver import TypedResolver
from ..values import OUTSIDE_VALUE, Value
from .values import Role

T = TypeVar("T")

MAX_EXPRESSION = 200
"""Characters of an expression before the cursor."""

MAX_OVERLOADS = 6


MAX_NAMES = 400
"""Names in scope."""

MAX_BLOCK_LINES = 300
MAX_BLOCK_INDENT = 200
"""Lines above the cursor whose blocks are read, and the largest indentation."""

UNUSED_LINES = 40
"""Lines above the cursor in which a name may wait for its use."""


class CursorFacts:
    """The facts at the end of `above`, the lines above a cursor, in one file.

    `texts` are the sources of the files of the graph. `file` has the facts of `above`. `sees_below`: the file goes on
    below the cursor, so its indexed version counts too.
    """

    def __init__(
        self,
        graph: CodeGraph,
        path: str,
        above: str,
        language: Language,
        file: FileGraph,
        texts: Mapping[str, bytes],
        *,
        sees_below: bool = True,
    ) -> None:
        self.base = graph  # for the calls of other files, so that the cursor's file need not be resolved
        self.graph = graph.overlay(file)
        self.sees_below = sees_below
        self.indexed = graph if sees_below else self.graph  # with the file at the cursor as of its last analysis
        self.path = path
        self.above = above
        self.language = language
        self.texts = texts
        self.line = above.count("\n")
        self.resolver = TypedResolver(self.graph)
        self._symbols = self.graph.symbols(path)
        self._remembered: dict[tuple[str, ...], object] = {}  # only added to, so several threads may read it
        self._names_at: dict[int, _Names] = {}  # by indentation, -1 where it does not matter

    def remembered(self, *key: str, find: Callable[[], T]) -> T:
        """What `find` found for a key when it was called first: the name of a search, and what it depends on here."""
        if key not in self._remembered:
            self._remembered[key] = find()
        return cast("T", self._remembered[key])

    @property
    def own_word(self) -> str:
        """The word for the object around a method, "" where the code names it itself."""
        return self.language.own_object.partition(" ")[0]

    @property
    def symbols(self) -> SymbolTable:
        assert self._symbols is not None
        return self._symbols

    @property
    def is_known(self) -> bool:
        """Whether a grammar reads the file."""
        return self._symbols is not None

    @cached_property
    def lines(self) -> list[str]:
        """The lines above the cursor's."""
        return self.above.split("\n")[:-1]

    @cached_property
    def end_above(self) -> str:
        """The last character above that is no white space, "" without one."""
        return next((line.rstrip()[-1] for line in reversed(self.lines) if line.strip()), "")

    @cached_property
    def opened_above(self) -> OpenStack:
        """What is open at the end of the lines above; offsets are those in `above`."""
        return self.language.lexer.open_above(self.path, self.above)

    def callee(self, dotted: str, written: str) -> Callee | None:
        """What a call of a dotted expression at the cursor means, of definitions below the cursor the indexed ones."""
        within = self.within(written)
        found = self._callees.of(dotted, within, self.line)
        if found is not None and found.is_sure:
            return found
        indexed = self._indexed_callees.of(dotted, within, self.line)
        return indexed if found is None or (indexed is not None and indexed.is_sure) else found

    def overloads(self, callee: Callee) -> list[bytes]:
        """The headers of the other definitions with the name of a callee."""
        symbols = self.graph.symbols(callee.path)
        entries = symbols.entries.get(callee.definition.qualified_name, ()) if symbols is not None else ()
        others = [each for each in entries if isinstance(each, Definition) and each != callee.definition]
        return [self._callees.header(callee.path, each)[0] for each in others[:MAX_OVERLOADS]]

    @cached_property
    def _callees(self) -> Callees:
        return Callees(self.graph, self.path, self.language, self.resolver, self.source_lines)

    @cached_property
    def _indexed_callees(self) -> Callees:
        def lines_of(path: str) -> Sequence[bytes]:
            if path == self.path and not self.sees_below:
                return self._own_lines
            return lines_of_source(self.texts.get(path, b""))

        return Callees(self.indexed, self.path, self.language, TypedResolver(self.indexed), lines_of)

    def lines_of(self, path: str) -> Sequence[str]:
        """The lines of a file of the graph; of the cursor's file those above the cursor."""
        return self.lines if path == self.path else _decoded_lines(self.texts.get(path, b""))

    def source_lines(self, path: str) -> Sequence[bytes]:
        """The same as bytes."""
        return self._own_lines if path == self.path else lines_of_source(self.texts.get(path, b""))

    def behind(self, written: str) -> str:
        """The text behind the cursor on its line and on the next one, as the last analysis of the file has them.

        "" where the lines around the cursor differ from it.
        """
        if not self.sees_below or "\n" in written:
            return ""
        lines = _decoded_lines(self.texts.get(self.path, b""))[max(0, self.line - 1) : self.line + 2]
        above = self.lines[-1:]
        own = lines[len(above)] if len(lines) > len(above) else ""
        if lines[: len(above)] != above or not own.startswith(written):
            return ""
        return "\n".join([own[len(written) :], *lines[len(above) + 1 : len(above) + 2]])

    @cached_property
    def _own_lines(self) -> tuple[bytes, ...]:
        return tuple(line.encode("utf-8", "replace") for line in self.lines)

    @cached_property
    def _scopes(self) -> list[int]:
        return scopes_around(self.graph, self.path, self.symbols, self.line)

    def scopes(self, written: str | None) -> tuple[Definition, ...]:
        """The definitions around the cursor's line, innermost first.

        Where indentation ends a block, those that the line is indented less than are over; where a brace ends it, those
        that the last brace above closes. None: the indentation of the line is unknown.
        """
        if written is None or self.language.blocks != "indentation":
            return self._scopes_at(-1)
        return self._scopes_at(indent_of(written))

    def _scopes_at(self, indent: int) -> tuple[Definition, ...]:
        return self.remembered("scopes", str(indent), find=lambda: self._find_scopes(indent))

    def _find_scopes(self, indent: int) -> tuple[Definition, ...]:
        found = (self.symbols.definitions[scope] for scope in self._scopes if scope != MODULE_SCOPE)
        return tuple(
            each
            for each in found
            if (indent_of(self._line(each.header_line)) < indent if indent >= 0 else not self._is_closed(each))
        )

    def _is_closed(self, definition: Definition) -> bool:
        """Whether a brace above the cursor ends a definition that no bracket is open in."""
        is_read = len(self.above) <= MAX_CHARACTERS  # else brackets before the part that is read are missing
        if self.language.blocks != "braces" or self.end_above != "}" or not is_read:
            return False
        return self._line_of_innermost < definition.header_line

    @cached_property
    def _line_of_innermost(self) -> int:
        """The line of the last bracket that is open above the cursor, -1 without one."""
        opened = [each.at for each in self.opened_above if each.kind == "bracket"]
        return self.above.count("\n", 0, opened[-1]) if opened else -1

    def within(self, written: str | None) -> str:
        """The qualified name of the scope of the cursor's line, "" for the module."""
        found = self.scopes(written)
        return found[0].qualified_name if found else MODULE

    def function_around(self, written: str | None) -> Definition | None:
        """The innermost function around the cursor's line."""
        return next((each for each in self.scopes(written) if each.kind in FUNCTION_KINDS), None)

    def as_variable(self, dotted: str) -> str:
        """A dotted expression that begins with a variable as the language writes it: `$this->rate` in PHP."""
        return f"${dotted.replace('.', '->')}" if self.language.name == "php" else dotted

    def object_around(self, written: str) -> Value | None:
        """The object of the class around the cursor's line, where a method has one."""
        function = self.function_around(written)
        if function is None or not self.language.own_object:
            return None
        return self.resolver.object_around(self.path, function.qualified_name)

    def _line(self, number: int) -> str:
        return self.lines[number] if 0 <= number < len(self.lines) else ""

    def value(self, dotted: str, written: str) -> Value | None:
        """The value of a dotted expression at the cursor; None when it is unknown."""
        if not dotted or dotted.startswith("?"):
            return None
        within = self.within(written)
        return self.remembered("value", dotted, within, find=lambda: self._read(dotted, within))

    def _read(self, dotted: str, within: str) -> Value | None:
        return self.resolver.read(self.path, within, parse_dotted(dotted), self.line)

    def locals(self, written: str) -> dict[str, tuple[BoundName, int]]:
        """The names that the functions around the cursor bind above it, and their last lines; latest last.

        Parameters come first, in their order. The names of blocks outside of functions are local, too: those of a
        callback at the top level of a file.
        """
        return self._locals_of(self.within(written))

    def _locals_of(self, within: str) -> dict[str, tuple[BoundName, int]]:
        return self.remembered("locals", within, find=lambda: self._find_locals(within))

    def _find_locals(self, within: str) -> dict[str, tuple[BoundName, int]]:
        found: dict[str, tuple[BoundName, int]] = {}
        file = self.graph.files[self.path]
        scopes = {}
        for number, definition in enumerate(self.symbols.definitions):
            name = definition.qualified_name
            if definition.kind in FUNCTION_KINDS and (within == name or within.startswith(f"{name}.")):
                scopes[number] = name
        blocks = self.lines_of_open_blocks
        if blocks:
            scopes[MODULE_SCOPE] = MODULE
        for binding in file.bindings:
            if binding.scope in scopes and binding.line <= self.line and binding.name.isidentifier():
                if binding.scope == MODULE_SCOPE and binding.line not in blocks:
                    continue
                found.pop(binding.name, None)
                found[binding.name] = BoundName(binding.how, binding.value, scopes[binding.scope]), binding.line
        return found

    @cached_property
    def lines_of_open_blocks(self) -> frozenset[int]:
        """The indented lines above the cursor whose block is not closed, as far as the indentation tells."""
        if self.language.blocks != "braces":
            return frozenset()
        found = set()
        least = MAX_BLOCK_INDENT
        for number in range(self.line - 1, max(-1, self.line - MAX_BLOCK_LINES), -1):
            text = self._line(number)
            if text.strip():
                indent = indent_of(text)
                if 0 < indent <= least:
                    found.add(number)
                least = min(least, indent)
        return frozenset(found)

    def is_closed_name(self, name: str) -> bool:
        """Whether a name of the file is bound only in blocks that are closed: in another callback at the top level."""
        return name in self._closed_names

    @cached_property
    def _closed_names(self) -> frozenset[str]:
        if self.language.blocks != "braces":
            return frozenset()
        closed: set[str] = set()
        others: set[str] = set()
        blocks = self.lines_of_open_blocks
        for binding in self.graph.files[self.path].bindings:
            if binding.scope == MODULE_SCOPE:
                is_closed = binding.line not in blocks and self._line(binding.line)[:1].isspace()
                (closed if is_closed else others).add(binding.name)
        for key in closed & self.symbols.entries.keys():
            if any(not isinstance(entry, BoundName) for entry in self.symbols.entries[key]):
                others.add(key)
        return frozenset(closed - others)

    def _unused_in(self, within: str) -> frozenset[str]:
        return self.remembered("unused", within, find=lambda: self._find_unused(within))

    def _find_unused(self, within: str) -> frozenset[str]:
        """Local names that the lines below their binding do not mention."""
        bound = {name: line for name, (_, line) in self._locals_of(within).items() if line >= self.line - UNUSED_LINES}
        words: set[str] = set()
        found = set()
        waiting = sorted(bound, key=lambda name: -bound[name])
        for number in range(self.line - 1, self.line - UNUSED_LINES - 1, -1):
            while waiting and bound[waiting[0]] == number:
                name = waiting.pop(0)
                if name not in words:
                    found.add(name)
            words.update(_WORD.findall(self._line(number)))
        return frozenset(found)

    def parameters(self, written: str | None) -> tuple[str, ...]:
        """The parameters of the function around the cursor, without its object."""
        function = self.function_around(written)
        return self._parameters_of(function) if function is not None else ()

    def _parameters_of(self, function: Definition) -> tuple[str, ...]:
        return self.remembered("parameters", function.qualified_name, find=lambda: self._find_parameters(function))

    def _find_parameters(self, function: Definition) -> tuple[str, ...]:
        own = set(self.language.own_object.split())
        names = self._locals_of(function.qualified_name)
        header = self.header(function)
        inside = set(_WORD.findall(header))
        return tuple(
            name
            for name, (bound, _) in names.items()
            if bound.scope == function.qualified_name and name in inside and name not in own
        )

    def header(self, function: Definition) -> str:
        """The header of a function of this file, from its name to the end of its parameters."""
        text = "\n".join(self.lines[function.header_line : function.header_line + 40])
        at = text.find("(", text.find(function.name))
        depth = 0
        for found in _BRACKET.finditer(text, max(at, 0)):
            depth += 1 if found[0] in "([{" else -1
            if not depth:
                return text[: found.end()]
        return text.partition("\n")[0]

    def attributes(self, owner: Value) -> Mapping[str, str]:
        """The members of a type, its own first, and how each is written: "name" or "name(" of a function."""
        return self.remembered("attributes", owner.path, owner.name, find=lambda: self._find_attributes(owner))

    def _find_attributes(self, owner: Value) -> dict[str, str]:
        found: dict[str, str] = {}
        for path, name in self.resolver.mro(owner.path, owner.name).classes:
            symbols = self.graph.symbols(path)
            if symbols is None:
                continue
            for file, member in self.resolver.members(path, name):
                is_called = member.kind in FUNCTION_KINDS and not self.is_property(file, member)
                found.setdefault(member.name, f"{member.name}(" if is_called else member.name)
            for attribute in (*_attributes(symbols).get(name, ()), *self._assigned_attributes(path, name)):
                found.setdefault(attribute, attribute)
        return found

    def _assigned_attributes(self, path: str, name: str) -> tuple[str, ...]:
        """The attributes that the methods of a class assign, also those of an unknown value."""
        own, definition = self.own_word, self.graph.definition(path, name)
        if not own or definition is None:
            return ()
        found: tuple[str, ...] = ()
        if path == self.path:
            lines = tuple(self.lines[definition.start_line : definition.end_line])
            found = _assigned(own, "\n".join(lines).encode("utf-8", "replace"), 0, len(lines))
        indexed = self.indexed.definition(path, name) if path != self.path or self.sees_below else None
        if indexed is not None:
            source = self.texts.get(path, b"")
            found = (*found, *_assigned(own, source, indexed.start_line, indexed.end_line))
        return found

    def is_property(self, path: str, definition: Definition) -> bool:
        """Whether a decorator makes a method an attribute."""
        if definition.start_line == definition.header_line or not self.language.decorator:
            return False
        decorators = self.lines_of(path)[definition.start_line : definition.header_line]
        return any(_PROPERTY.search(line) for line in decorators)

    def names_in_scope(self, written: str | None) -> tuple[str, ...]:
        """The local names around the cursor, latest first, and the names of the file."""
        local = reversed(self._locals_of(self.within(written)))
        of_file = (name for name in self.symbols.entries if "." not in name and name.isidentifier())
        return tuple(islice(dict.fromkeys((*local, *of_file)), MAX_NAMES))

    def role_of(self, name: str, written: str | None) -> Role:
        """What a plain name means at the cursor."""
        is_indented = written is not None and self.language.blocks == "indentation"
        indent = indent_of(written) if is_indented and written is not None else -1
        known = self._names_at.get(indent)
        if known is None:
            within = self.within(written)
            known = self._names_at[indent] = _Names(within, self.parameters(written), self._locals_of(within), {})
        role = known.roles.get(name)
        if role is None:
            role = known.roles[name] = self._role_of(name, known)
        return role

    def _role_of(self, name: str, names: _Names) -> Role:
        language, within = self.language, names.within
        if name in names.parameters:
            return "parameter"
        if name in names.locals:
            return "unused local" if name in self._unused_in(within) else "local"
        if name in self.symbols.entries:
            return "in the file"
        if name in language.builtin_names or (language.scope_rules and name in language.scope_rules.predefined_names):
            return "built-in"
        if self._may_reach_others and self._is_reachable(name, within):
            return "reachable"
        return "not bound" if language.scope_rules is not None else ""

    def _is_reachable(self, name: str, within: str) -> bool:
        """Whether a name that the file does not declare at its top level means something of the repository."""
        key, entries, scope = (name, within), self.symbols.entries, within
        while scope and f"{scope}.{name}" not in entries:
            scope = scope.rpartition(".")[0]
        # Without such an entry, and without lambdas, the line does not matter.
        known = self._reachable_in_file if not scope and not self.symbols.has_lambdas else {}
        if key not in known:
            value = self.resolver.name(self.path, within, name, self.line)
            known[key] = value is not None and value.kind != OUTSIDE_VALUE
        return known[key]

    @cached_property
    def _reachable_in_file(self) -> dict[tuple[str, str], bool]:
        """By name and scope, what the last facts of the file in the same graph found, as far as it still holds."""
        last = _LAST_REACHABLE.get(self.base)
        known: dict[tuple[str, str], bool] = {}
        if last is not None and last.path == self.path and last.symbols.package_key == self.symbols.package_key:
            names = changed_names(last.symbols, self.symbols)
            if all(_is_of_local(name, last.symbols, self.symbols) for name in names):
                changed = {name.rpartition(".")[2] for name in names}
                known = {key: found for key, found in list(last.found.items()) if key[0] not in changed}
        _LAST_REACHABLE[self.base] = _Reachable(self.path, self.symbols, known)
        return known

    @cached_property
    def _may_reach_others(self) -> bool:
        """Whether a plain name that the file does not bind may mean something of another file."""
        language = self.language
        is_wide = language.has_implicit_object or language.has_globals or language.shares_directory
        return bool(self.symbols.package_key) or is_wide or STAR_IMPORTS in self.symbols.entries


class _Names(NamedTuple):
    """The scope of a line, its parameters and locals, and what names mean there."""

    within: str
    parameters: tuple[str, ...]
    locals: Mapping[str, tuple[BoundName, int]]
    roles: dict[str, Role]  # only added to


class _Reachable(NamedTuple):
    path: str
    symbols: SymbolTable
    found: dict[tuple[str, str], bool]  # only added to


_LAST_REACHABLE: WeakKeyDictionary[CodeGraph, _Reachable] = WeakKeyDictionary()
"""By graph, which names can be reached in the file of the last cursor."""


def _is_of_local(changed: str, *tables: SymbolTable) -> bool:
    """Whether a changed qualified name is bound in a scope and defines nothing, so that it tells of no other name."""
    scope, _, name = changed.rpartition(".")
    return bool(scope) and name.isidentifier() and not any(is_definition(table, changed) for table in tables)


def expression_before(text: str) -> str:
    """The dotted name of the expression that ends a text, "" without one: `self.store` of `x = self.store`."""
    found = text[expression_start(text) :].lstrip(".")
    return dotted_name(found) if found else ""


def expression_start(text: str) -> int:
    """The offset of the expression that ends a text; its length without one."""
    at = end = len(text)
    least = max(0, end - MAX_EXPRESSION)
    while at > least:
        if text[at - 1] in ")]":
            opening = _opening(text, at - 1, least)
            if opening < 0:
                break
            at = opening
        elif at > 1 and text[at - 2 : at] in ("->", "::", "?."):
            at -= 2
        elif _PART(text[at - 1]):
            at -= 1
        else:
            break
    return at


def _opening(text: str, at: int, least: int) -> int:
    """The offset of the bracket that a closing one at `at` closes, -1 without one."""
    depth = 0
    while at >= least:
        if text[at] in ")]}":
            depth += 1
        elif text[at] in "([{":
            depth -= 1
            if not depth:
                return at
        at -= 1
    return -1


@lru_cache(maxsize=16_384)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, in lower case."""
    return tuple(word.lower() for word in _WORDS.findall(name))


@lru_cache(maxsize=256)
def _attributes(symbols: SymbolTable) -> Mapping[str, tuple[str, ...]]:
    """The attributes of each class of a file, in the order of their first assignment."""
    found: dict[str, list[str]] = {}
    for key, entries in symbols.entries.items():
        owner, _, name = key.rpartition(".")
        if owner and isinstance(entries[0], BoundName) and name.isidentifier() and symbols.is_class(owner):
            found.setdefault(owner, []).append(name)
    return {owner: tuple(names) for owner, names in found.items()}


@lru_cache(maxsize=256)
def _assigned(own: str, source: bytes, start_line: int, end_line: int) -> tuple[str, ...]:
    """The attributes of the own object that some lines assign, in their order."""
    text = b"\n".join(source.split(b"\n")[start_line:end_line]).decode("utf-8", "replace")
    return tuple(dict.fromkeys(re.findall(rf"\b{own}\.([^\W\d]\w*)(?:\s*:[^=\n]+)?\s*=(?!=)", text)))


@lru_cache(maxsize=64)
def _decoded_lines(source: bytes) -> list[str]:
    return source.decode("utf-8", "replace").split("\n")


_WORD = re.compile(r"[^\W\d]\w*")
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_BRACKET = re.compile(r"[()\[\]{}]")
_PART = re.compile(r"[\w$.@]").match
_PROPERTY = re.compile(r"@(?:\w+\.)*\w*property\b|\.(?:setter|getter)\b")
