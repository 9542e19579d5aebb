"""Places that use a symbol, grouped by the definition around them: resolved, by name alone, and in text.

Owns the time that reading takes, and what is known of files that were not read in it. Knows no answer. Lines are
0-based.

The graph has the calls; the syntax trees of the files with the name have all other uses; comments, strings, documents
and data are found as words. Files that are not read in time keep the lines with the name, without what is around them.
"""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...codegraph.file_graph import OF_ONE_FILE
from ...codegraph.symbol_table import DECLARATION, MODULE
from ...languages import language_named
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import is_document, is_test
from ..chat.symbol_queries import callers, implementations, overridden
from ..next_edit.nearness import by_nearness
from ..symbols.occurrences import (
    Occurrence,
    Occurrences,
    files_with,
    is_in_macro,
    is_name_at,
    is_parsed,
    is_prototype,
)
from ..symbols.symbol import Symbol, symbol_of
from .folders import Folder
from .other_symbols import OtherSymbols
from .targets import Target

TIME_LIMIT_S = 0.04
"""Files are read within this processor time, nearest first; of the others words are searched."""

WORDS_TIME_LIMIT_S = 0.01
"""Within this time more, files are searched for words, and in documents the headings above them are found."""

LINES_TIME_LIMIT_S = 0.03
"""Within this time more, files are searched for words alone: about 10 µs a file."""

OTHERS_TIME_LIMIT_S = 0.02
"""Within this time more, lines of files that were not read are told apart by the code graph and their text."""

LEAST_READ = 8
"""So many of the nearest files are read whatever time it takes: the first ones of a process take longer."""

MAX_INTERFACES = 20
"""Definitions of the same name that are checked for a method of an interface."""

MAX_BYTES = 500_000
"""Larger files are searched for words only."""

Kind = Literal["use", "by name", "text", "unread", "other"]
"""Resolved; the name alone matches in code; in a comment, a string, a document or data; in a file that was not read; in
code as another symbol of the same name."""


@dataclass(slots=True)
class Group:
    """The uses of one kind in one definition, or at the top level of a file."""

    path: str
    enclosing: str  # the qualified name of the definition, the headings of a section; "" at the top level
    kind: Kind
    lines: list[int] = field(default_factory=list)
    roles: set[str] = field(default_factory=set)  # of `languages.references`, "definition", or nothing for text

    @property
    def is_test(self) -> bool:
        return is_test(self.path)

    @property
    def is_document(self) -> bool:
        return is_document(self.path)


@dataclass(frozen=True, slots=True)
class Uses:
    """Groups in order: nearest files first. `n_unsearched` files have the name and were not read at all; without text
    only those count that a grammar reads.

    `above` are the methods of base classes and interfaces that the symbol overrides or implements.
    """

    groups: tuple[Group, ...]
    above: tuple[NamedDefinition, ...] = ()
    n_unsearched: int = 0


def uses_of(target: Target, *, with_text: bool = True, time_limit_s: float | None = None) -> Uses:
    """The places that use a symbol; its own definition is none.

    A method is called through the classes above its own, and defined in their other subclasses: these are uses as well.
    Without `with_text` comments, strings, documents and files that are not read are left out.
    """
    index = target.folder.index
    found = (base for named in target.definitions for base in (*overridden(index, named), *_interfaces(index, named)))
    above = {(base.path, base.definition.header_line): base for base in found}.values()
    symbol = symbol_of(index, target.name, (*target.definitions, *above), target.values)
    reader = _Reader(target.folder, symbol, (*target.definitions, *above), with_text)
    paths = by_nearness(files_with(index, symbol.name, None), target.path)
    n_unsearched = reader.read_all(paths, TIME_LIMIT_S if time_limit_s is None else time_limit_s)
    reader.add_calls((*target.definitions, *above))
    reader.add_definitions(each for named in target.definitions for each in _implementing(index, named))
    reader.leave_out(target.definitions)
    order = {path: number for number, path in enumerate(by_nearness({group.path for group in reader}, target.path))}
    groups = sorted(reader, key=lambda group: (order[group.path], group.lines[0]))
    return Uses(tuple(groups), tuple(above), n_unsearched)


def _implementing(index: RepositoryIndex, named: NamedDefinition) -> Iterator[NamedDefinition]:
    """The methods of types that implement an interface or a protocol without naming it, for a method of it."""
    owner, _, method = named.definition.qualified_name.rpartition(".")
    interface = index.graph.definition(named.path, owner) if owner else None
    if interface is not None:
        for path, each in implementations(index, NamedDefinition(named.path, interface))[0]:
            found = index.graph.definition(path, f"{each.qualified_name}.{method}")
            if found is not None:
                yield NamedDefinition(path, found)


def _interfaces(index: RepositoryIndex, named: NamedDefinition) -> Iterator[NamedDefinition]:
    """The methods of interfaces that the type of a method implements without naming them."""
    rules = language_named(index.graph.files[named.path].language)
    if not rules.has_method_sets or "." not in named.definition.qualified_name:
        return
    for other in index.names.definitions(named.definition.name)[:MAX_INTERFACES]:
        if other != named and named in _implementing(index, other):
            yield other


class _Reader:
    """Collects the uses of one symbol."""

    def __init__(self, folder: Folder, symbol: Symbol, definitions: Iterable[NamedDefinition], with_text: bool) -> None:
        self._folder, self._index = folder, folder.index
        self._symbol, self._with_text = symbol, with_text
        named = tuple(definitions)
        self._own = {(each.path, each.definition.header_line) for each in named}
        self._definitions = [each.definition for each in named]
        owners = (self._index.graph.definition(*owner) for owner in symbol.owners)
        self._is_member = any(owner is None or owner.kind != "namespace" for owner in owners)
        self._occurrences = Occurrences(self._index.graph, self._index.texts, symbol)
        self._groups: dict[tuple[str, str, Kind], Group] = {}
        self._lines = set[tuple[str, int]]()  # of uses in code
        # The name comes first, so that the search of `re` jumps to it; what is before is compared afterwards.
        self._word = re.compile(re.escape(symbol.name.encode("utf-8", "surrogatepass")) + rb"(?![\w$])")

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups.values())

    def read_all(self, paths: Sequence[str], time_limit_s: float) -> int:
        """Read files from the first one, search the others for words; the number of files that are left then.

        Each step has its own time, so that a slow file leaves the others theirs.
        """
        others = deque[str]()
        until_s = time.thread_time() + time_limit_s
        for number, path in enumerate(paths):
            is_in_time = number < LEAST_READ or time.thread_time() <= until_s
            if is_in_time and is_parsed(self._index.graph.files[path]) and len(self._index.texts[path]) <= MAX_BYTES:
                self.read(path)
            else:
                others.append(path)
        if not self._with_text:
            return sum(is_parsed(self._index.graph.files[path]) for path in others)
        for with_headings, limit_s in ((True, WORDS_TIME_LIMIT_S), (False, LINES_TIME_LIMIT_S)):
            until_s = time.thread_time() + limit_s
            while others and time.thread_time() <= until_s:
                self.search(others.popleft(), with_headings=with_headings)
        self.tell_apart(paths, OTHERS_TIME_LIMIT_S)
        return len(others)

    def read(self, path: str) -> None:
        """Add the occurrences in a file that a grammar reads."""
        places, seen = self._occurrences.places(path), set[int]()
        for each in self._occurrences.at(places):
            if (kind := self._kind(each)) is not None:
                is_import = each.role == "declaration" and self._is_imported_on(each)
                role = "import" if is_import else "definition" if each.role == "declaration" else each.role
                seen.add(each.line)
                self._add(path, each.line, kind, role)
        words = [(line, at) for line, at in self._words(path) if line not in seen and (path, line) not in self._own]
        if self._with_text and words:
            in_code, in_macros = set[int](), set[int]()
            for start, end, root in places.roots():
                if is_name_at(root, start, end):
                    in_code.add(start)
                elif is_in_macro(root, start, end):
                    in_macros.add(start)
            code_lines = {line for line, at in words if at in in_code}
            macro_lines = {line for line, at in words if at in in_macros}
            for line in dict.fromkeys(line for line, _ in words):
                self._add(path, line, "by name" if line in macro_lines else "other" if line in code_lines else "text")

    def search(self, path: str, *, with_headings: bool) -> None:
        """Add the lines of a file with the word; of a document with their headings."""
        lines = dict.fromkeys(line for line, _ in self._words(path))
        if with_headings and is_document(path):
            for line in lines:
                self._add(path, line, "text")
        elif lines:
            kind: Kind = "unread" if is_parsed(self._index.graph.files[path]) else "text"
            self._groups[path, "", kind] = Group(path, "", kind, list(lines))

    def tell_apart(self, paths: Iterable[str], time_limit_s: float) -> None:
        """Of the lines in files that were not read, move those of other symbols to a group of their own."""
        unread = [(path, group) for path in paths if (group := self._groups.get((path, "", "unread"))) is not None]
        if not unread:
            return
        others = OtherSymbols(self._index, self._symbol)  # the first one of a snapshot reads the names of all files
        until_s = time.thread_time() + time_limit_s
        for path, group in unread:
            if time.thread_time() > until_s:
                return
            found = others.on(path, list(self._words(path)))
            if found:
                self._groups[path, "", "other"] = Group(path, "", "other", sorted(found))
                group.lines = [line for line in group.lines if line not in found]
                if not group.lines:
                    del self._groups[path, "", "unread"]

    def add_calls(self, definitions: Iterable[NamedDefinition]) -> None:
        """Add the calls that the graph resolves and no name shows: through an alias or an interface."""
        for named in definitions:
            for call in callers(self._index, named):
                if (call.path, call.line) not in self._lines:
                    self._add_certain(call.path, call.line, "call")

    def add_definitions(self, definitions: Iterable[NamedDefinition]) -> None:
        """Add methods that must keep the form of the symbol, a method of an interface."""
        for path, definition in definitions:
            self._add_certain(path, definition.header_line, "definition")

    def _add_certain(self, path: str, line: int, role: str) -> None:
        """Add a use in a file that may not have been read."""
        self._leave_out((path, "", "unread"), line)
        self._leave_out((path, "", "other"), line)
        self._add(path, line, "use", role)

    def leave_out(self, definitions: Iterable[NamedDefinition]) -> None:
        """Leave out the lines that define the symbol itself."""
        for path, definition in definitions:
            self._leave_out((path, definition.qualified_name, "use"), definition.header_line)

    def _leave_out(self, key: tuple[str, str, Kind], line: int) -> None:
        group = self._groups.get(key)
        if group is not None and line in group.lines:
            group.lines.remove(line)
            group.roles.discard("definition")
            if not group.lines:
                del self._groups[key]

    def _kind(self, occurrence: Occurrence) -> Kind | None:
        """Whether an occurrence is a use; None for the symbol's own declaration and for another symbol."""
        if occurrence.is_use and occurrence.is_resolved:
            return "use"
        if occurrence.is_use:
            may_mean_it = any(self._folder.may_share(occurrence.path, path) for path in self._symbol.paths)
            return "by name" if may_mean_it else None
        if occurrence.role == "declaration" and not self._is_imported_on(occurrence):
            is_use = self._occurrences.is_redefined(occurrence) or self._is_receiver(occurrence)
            return "use" if is_use or self._is_declared_again(occurrence) else None
        if occurrence.role in ("declaration", "import"):
            return self._kind_of_import(occurrence)
        return None

    def _is_imported_on(self, occurrence: Occurrence) -> bool:
        """Whether an import binds the name on this line: `import type { Price }` declares it."""
        imports = self._index.graph.files[occurrence.path].imports
        return any(item.name == self._symbol.name and item.line == occurrence.line for item in imports)

    def _is_receiver(self, occurrence: Occurrence) -> bool:
        """Whether the line is the header of a method that names its type: `func (p *Price) Total()`."""
        around = self._folder.definition_around(occurrence.path, occurrence.line)
        owner = "" if around is None else around.qualified_name.rpartition(".")[0]
        is_header = around is not None and around.header_line == occurrence.line
        return is_header and owner.rpartition(".")[2] == self._symbol.name

    def _is_declared_again(self, occurrence: Occurrence) -> bool:
        """Whether the line declares the symbol apart from its body, or has the body where the symbol is declared."""
        path, line = occurrence.path, occurrence.line
        if (path, line) in self._own:
            return False
        here = [each for each in self._index.graph.files[path].definitions if each.header_line == line]
        here = [each for each in here if each.name == self._symbol.name]
        if here:  # a member in a class
            is_other_half = {each.kind == DECLARATION for each in self._definitions} != {here[0].kind == DECLARATION}
            return is_other_half and here[0].qualified_name in {each.qualified_name for each in self._definitions}
        is_of_file = any(each.bases == OF_ONE_FILE for each in self._definitions)
        is_known = path in self._symbol.paths or not (is_of_file or self._is_member)
        return is_known and not self._is_member and is_prototype(occurrence.node)

    def _kind_of_import(self, occurrence: Occurrence) -> Kind | None:
        if self._occurrences.is_imported(occurrence):
            return "use"
        resolver, path = self._occurrences.resolver, occurrence.path
        for item in self._index.graph.files[path].imports:
            if item.name == self._symbol.name and resolver.name(path, MODULE, item.local_name or item.name) is not None:
                return None  # another symbol
        return "by name"

    def _words(self, path: str) -> Iterator[tuple[int, int]]:
        """The line and the offset in bytes of each word that is the name."""
        text = self._index.texts[path]
        line, at = 0, 0
        for found in self._word.finditer(text):
            if found.start() and text[found.start() - 1] in _WORD_BYTES:
                continue
            line += text.count(b"\n", at, found.start())
            at = found.start()
            yield line, at

    def _add(self, path: str, line: int, kind: Kind, role: str = "") -> None:
        enclosing = self._folder.enclosing(path, line)
        group = self._groups.setdefault((path, enclosing, kind), Group(path, enclosing, kind))
        if line not in group.lines:
            group.lines.append(line)
            group.lines.sort()
        if role:
            group.roles.add(role)
            self._lines.add((path, line))


_WORD_BYTES = frozenset(b"_$0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
