"""What an agent asks about: definitions and values by name, by place, or by a name used at a place.

Owns the reading of `symbol`, `path` and `line`. Knows no answer. Lines of parameters are 1-based.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...codegraph.resolver import parse_dotted
from ...codegraph.symbol_table import MODULE
from ...codegraph.typed_resolver import TypedResolver
from ...errors import InvalidArgument
from ...retrieval.definition_index import NamedDefinition, ValueBinding
from ...retrieval.questions import is_document
from ..search import search_folders
from ..search.workspace_search import queried_name
from .folders import Folder, Folders
from .values import counted

MAX_MEANINGS = 8
"""Definitions of one name that are answered together; of more, `path` must choose."""

N_CLOSE = 3


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol in one folder: definitions or value bindings of one name."""

    folder: Folder
    name: str  # the qualified name, or the name as given where it has several meanings
    definitions: tuple[NamedDefinition, ...] = ()
    values: tuple[ValueBinding, ...] = ()

    @property
    def path(self) -> str:
        """A file that defines it."""
        return self.definitions[0].path if self.definitions else self.values[0].path

    @property
    def line(self) -> int:
        """The line of its name there, 0-based."""
        return self.definitions[0].definition.header_line if self.definitions else self.values[0].line

    @property
    def title(self) -> str:
        """The name and where it is defined: "Shop.pay (shop.py:3)"."""
        n_others = len(self.definitions or self.values) - 1
        more = f" and {counted(n_others, 'other')}" if n_others else ""
        return f"{self.name} ({self.folder.shown(self.path)}:{self.line + 1}{more})"


def find_target(folders: Folders, symbol: str = "", path: str = "", line: int = 0) -> Target:
    """The symbol that is meant: `symbol` as it is used at `path` and `line`, else the definition around the line.

    Raises InvalidArgument where nothing is meant, or where too many definitions are.
    """
    name = queried_name(symbol)
    if symbol.strip() and not name and not (path and line):  # a test of Kotlin may be named by a sentence
        raise InvalidArgument(f"{symbol[:80]} is no name. Give a name such as Shop.pay, or use `search` for words.")
    if not path:
        if not name:
            raise InvalidArgument("No symbol is named. Give `symbol`, or `path` and `line`.")
        return _by_name(folders, name)
    folder, key = folders.locate(path)
    if not name:
        return _around(folder, key, line)
    if line:
        check_line(folder, key, line)
    return _in_file(folder, key, name, line) or _by_name(folders, name, path)


def check_line(folder: Folder, path: str, line: int) -> None:
    """Raises InvalidArgument for a line (1-based) that a file does not have."""
    n_lines = folder.index.n_lines_of(path)
    if not 1 <= line <= max(1, n_lines):
        raise InvalidArgument(f"{folder.shown(path)} has {counted(n_lines, 'line')}. Give a line from 1 to {n_lines}.")


def _around(folder: Folder, path: str, line: int) -> Target:
    if not line:
        raise InvalidArgument(f"{folder.shown(path)} alone names no symbol. Give `line` or `symbol` too.")
    check_line(folder, path, line)
    definition = folder.definition_around(path, line - 1)
    if definition is not None:
        return Target(folder, definition.qualified_name, (NamedDefinition(path, definition),))
    bound = [each for each in folder.index.graph.files[path].bindings if each.line == line - 1]
    if bound:
        values = [each for each in folder.index.names.value_bindings(bound[0].name) if each.path == path]
        at = tuple(each for each in values if each.line == line - 1)
        if at:
            return Target(folder, at[0].name, values=at)
    raise InvalidArgument(
        f"No definition encloses {folder.shown(path)}:{line}. Give a `symbol`, or a line inside of a definition."
    )


def _in_file(folder: Folder, path: str, name: str, line: int) -> Target | None:
    """The symbol that a name means in a file: defined there, called on the line, or what scopes and imports say."""
    index, last = folder.index, name.rpartition(".")[2]
    defined = [
        each
        for each in index.graph.files[path].definitions
        if each.name == last and f".{each.qualified_name}".endswith(f".{name}")
    ]
    if defined:
        at = line - 1
        holding = [each for each in defined if line and each.start_line <= at < each.end_line]
        chosen = holding[-1:] or (
            [min(defined, key=lambda each: abs(each.header_line - at))] if line else defined[:MAX_MEANINGS]
        )
        named = tuple(NamedDefinition(path, each) for each in chosen)
        return Target(folder, chosen[0].qualified_name if len(chosen) == 1 else name, named)
    values = tuple(each for each in index.names.value_bindings(name) if each.path == path)
    if values:
        return Target(folder, values[0].name, values=values[:1])
    return _used(folder, path, name, line)


def _used(folder: Folder, path: str, name: str, line: int) -> Target | None:
    """The symbol that a file uses under a name."""
    graph, last = folder.index.graph, name.rpartition(".")[2]
    if line:
        calls = graph.files[path].calls
        for edge in graph.call_edges(path):
            call = calls[edge.call]
            target = graph.definition(edge.path, edge.qualified_name)
            if call.line == line - 1 and call.callee.rpartition(".")[2] == last and target is not None:
                return Target(folder, edge.qualified_name, (NamedDefinition(edge.path, target),))
    within = folder.enclosing(path, line - 1) if line else MODULE
    spellings = dict.fromkeys((_receiver_on_line(folder, path, last, line), name))
    resolver = TypedResolver(graph)
    for spelling in filter(None, spellings):
        value = resolver.read(path, within or MODULE, parse_dotted(spelling), line - 1 if line else None)
        definition = None if value is None else graph.definition(value.path, value.name)
        if value is not None and definition is not None and definition.name == last:
            return Target(folder, value.name, (NamedDefinition(value.path, definition),))
        if value is not None and value.name:
            bound = [each for each in folder.index.names.value_bindings(value.name) if each.path == value.path]
            if bound:
                return Target(folder, bound[0].name, values=(bound[0],))
    return None


def _receiver_on_line(folder: Folder, path: str, last: str, line: int) -> str:
    """The dotted text on a line that ends with a name: `self.store.load` for `load`; "" where there is none."""
    text = folder.line(path, line - 1) if line else ""
    found = re.search(rf"(?:[^\W\d]\w*\.)+{re.escape(last)}\b", text)
    return found[0] if found else ""


def _by_name(folders: Folders, name: str, path: str = "") -> Target:
    """The symbol of a name anywhere. Raises InvalidArgument where it has no or too many meanings."""
    for folder in folders:
        definitions = folder.index.names.definitions(name)
        values = () if definitions else tuple(folder.index.names.value_bindings(name))
        found: list[tuple[str, int]] = [(each.path, each.definition.header_line) for each in definitions]
        found += [(each.path, each.line) for each in values]
        if len(found) > MAX_MEANINGS:
            places = ", ".join(f"{folder.shown(at)}:{number + 1}" for at, number in found[:MAX_MEANINGS])
            raise InvalidArgument(
                f"{name} has {len(found)} definitions: {places}, and others. Give `path` and `line` of the one that is "
                "meant, or a longer name such as Owner.name."
            )
        if found:
            only = definitions[0].definition.qualified_name if len(definitions) == 1 else name
            return Target(folder, only, tuple(definitions), values)
    used = f" {path} may use it from outside of the workspace." if path else ""
    hits = search_folders([("", folder.index) for folder in folders], name, N_CLOSE).hits
    near = list(dict.fromkeys(hit.symbol for hit in hits if hit.symbol and not is_document(hit.path)))
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    raise InvalidArgument(f"Nothing is defined as {name}.{used}{guess} Try `search` with the name or with words.")
