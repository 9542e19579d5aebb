"""What an agent asks about: definitions and values by name, by place, or by a name used at a place.

Owns the reading of `symbol`, `path` and `line`. Knows no answer. Lines of parameters are 1-based.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import NamedTuple

from ...codegraph.resolve import SAME_NAME
from ...codegraph.resolver import parse_dotted
from ...codegraph.symbol_table import MODULE, is_class
from ...codegraph.typed_resolver import TypedResolver
from ...errors import InvalidArgument
from ...retrieval.definition_index import NamedDefinition, ValueBinding
from ...retrieval.name_segment import normalised_name
from ...retrieval.questions import is_document, is_test
from ..search import search_folders
from ..symbols.occurrences import files_with
from .folders import Folder, Folders
from .hints import Hint, Unclear
from .spelling import dotted
from .values import counted

MAX_MEANINGS = 8
"""Qualified names in files that are answered together, with all their overloads; of more, `path` must choose."""

N_CLOSE = 3
LEAST_ALIKE = 0.6
"""Names that are less alike (difflib's ratio) are not suggested for an unknown one."""

MAX_BEGUN = 1_000
"""Names with the first letter of an unknown one that are compared with it, the shortest first."""

CONSTRUCTORS = frozenset({"__init__", "__new__", "__construct", "constructor", "initialize", "init", "new"})

OWN_RECEIVERS = frozenset({"self", "cls", "this", "super"})
_PATH_AND_NAME = re.compile(r"([^\s:]+\.\w+)::?([^\s:].*)")
_LINE = re.compile(r"\d+(?:[-:,]\d+)*")


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol in one folder: definitions or value bindings of one name."""

    folder: Folder
    name: str  # the qualified name, or the name as given where it has several meanings
    definitions: tuple[NamedDefinition, ...] = ()
    values: tuple[ValueBinding, ...] = ()
    notes: tuple[str, ...] = ()  # how the symbol differs from what was asked for

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


def find_target(folders: Folders, symbol: str = "", path: str = "", line: int = 0, most: int = MAX_MEANINGS) -> Target:
    """The symbol that is meant: `symbol` as it is used at `path` and `line`, else the definition around the line.

    `symbol` may begin with a path: `shop.py::Shop.pay`. Raises InvalidArgument where nothing is meant, where more than
    `most` definitions are, and for a local name.
    """
    found = _PATH_AND_NAME.fullmatch(symbol.strip().replace("#L", ":")) if not path else None
    if found is not None and folders.has(found[1]):
        path, symbol = found[1], found[2]
        if _LINE.fullmatch(symbol):
            line, symbol = int(symbol.partition(":")[0]), ""
    name = dotted(symbol)
    if symbol.strip() and not name and not (path and line):  # a test of Kotlin may be named by a sentence
        _check_no_file(folders, symbol)
        raise Unclear(f"{symbol[:80]} is no name.", Hint.GIVE_NAME)
    if not path:
        if not name:
            raise Unclear("No symbol is named.", Hint.GIVE_SYMBOL)
        return _by_name(folders, name, most=most, written=symbol)
    if not folders.has(path) and (directory := folders.directory(path)) is not None:
        return _below(*directory, name, path, most)
    folder, key = folders.locate(path)
    if not name:
        return _around(folder, key, line)
    if line:
        check_line(folder, key, line)
    return _in_file(folder, key, name, line, most) or _by_name(folders, name, path, most)


def _check_no_file(folders: Folders, symbol: str) -> None:
    """Raises InvalidArgument for the name of a file."""
    files = [folder.shown(path) for folder, path in folders.ending(symbol)[:MAX_MEANINGS]]
    if files:
        raise Unclear(f"{symbol} is a file: {', '.join(files)}.", Hint.OF_FILE)


def _below(folder: Folder, directory: str, name: str, path: str, most: int) -> Target:
    """The symbol of a name in the files of a directory."""
    if not name:
        raise Unclear(f"{path} is a folder.", Hint.OF_FOLDER)
    _, definitions, values = meanings(folder, name)
    here = tuple(each for each in definitions if each.path.startswith(directory))
    bound = tuple(each for each in values if each.path.startswith(directory))
    if not here and not bound:
        raise Unclear(f"Nothing below {path} is defined as {name}.", Hint.ELSEWHERE)
    _check_number(folder, name, here, most)
    only = here[0].definition if len(here) == 1 else None
    return Target(folder, name if only is None else only.qualified_name, here, bound)


def check_line(folder: Folder, path: str, line: int) -> None:
    """Raises InvalidArgument for a line (1-based) that a file does not have."""
    n_lines = folder.index.n_lines_of(path)
    if not 1 <= line <= max(1, n_lines):
        raise InvalidArgument(f"{folder.shown(path)} has {counted(n_lines, 'line')}. Give a line from 1 to {n_lines}.")


def _around(folder: Folder, path: str, line: int) -> Target:
    if not line:
        raise Unclear(f"{folder.shown(path)} alone names no symbol.", Hint.GIVE_SYMBOL_TOO)
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
    hint = Hint.INSIDE_DOCUMENT if is_document(path) else Hint.INSIDE
    raise Unclear(f"No definition encloses {folder.shown(path)}:{line}.", hint)


def _in_file(folder: Folder, path: str, name: str, line: int, most: int) -> Target | None:
    """The symbol that a name means in a file: what the line says, defined there, or what scopes and imports say."""
    index, last = folder.index, name.rpartition(".")[2]
    defined = [
        each
        for each in index.graph.files[path].definitions
        if each.name == last and f".{each.qualified_name}".endswith(f".{name}")
    ]
    if defined:
        at = line - 1
        on_header = [each for each in defined if line and each.start_line <= at <= each.header_line]
        if line and not on_header and (used := _on_line(folder, path, name, line)) is not None:
            return used
        holding = [each for each in defined if line and each.start_line <= at < each.end_line]
        chosen = on_header[-1:] or holding[-1:] or defined
        if line and not holding:
            chosen = [min(defined, key=lambda each: abs(each.header_line - at))]
        named = tuple(NamedDefinition(path, each) for each in chosen)
        _check_number(folder, name, named, most)
        return Target(folder, chosen[0].qualified_name if len(chosen) == 1 else name, named)
    if line and (used := _on_line(folder, path, name, line)) is not None:
        return used
    values = tuple(each for each in index.names.value_bindings(name) if each.path == path)
    values = tuple(each for each in values if each.name.rpartition(".")[2] == last)
    if values:
        return Target(folder, values[0].name, values=values[:1])
    return _used(folder, path, name, line)


def _on_line(folder: Folder, path: str, name: str, line: int) -> Target | None:
    """What a name means where a line uses it; None where the line does not say. Raises InvalidArgument for a local."""
    text = folder.line(path, line - 1)
    if not re.search(rf"(?<![\w$]){re.escape(name.rpartition('.')[2])}(?![\w$])", text):
        return None
    used = _used(folder, path, name, line)
    if used is not None or "." in name:
        return used
    is_member = re.search(rf"(\w*)(?:\(\))?(?:\?\.|\.|->|::){re.escape(name)}(?![\w$])", text)
    if is_member is None:
        _check_local(folder, path, name, line)
        return None
    if is_member[1] in OWN_RECEIVERS:
        return None
    named = [each for each in folder.index.names.definitions(name) if folder.may_share(path, each.path)]
    if len(named) > 1:
        raise InvalidArgument(
            f"The receiver of {name} on {folder.shown(path)}:{line} is of an unknown type. {name} has "
            f"{counted(named, 'definition')}: {_named_places(folder, named)}. Give the one that is meant as `symbol`."
        )
    return None


def _check_local(folder: Folder, path: str, name: str, line: int) -> None:
    """Raises InvalidArgument for a parameter or a local variable of the functions around a line."""
    file = folder.index.graph.files[path]
    for scope, each in enumerate(file.definitions):
        if not each.start_line <= line - 1 < each.end_line or is_class(each):
            continue
        bound = next((item for item in file.bindings if item.scope == scope and item.name == name), None)
        if bound is not None:
            raise InvalidArgument(
                f"{name} on {folder.shown(path)}:{line} is local to {each.qualified_name}, bound on line "
                f"{bound.line + 1}: {folder.line(path, bound.line)} Leave `line` out for another {name}."
            )


def _named_places(folder: Folder, named: Iterable[NamedDefinition]) -> str:
    """The first definitions with their places: "Shop.pay (shop.py:3), …"."""
    shown = [
        f"{each.definition.qualified_name} ({folder.shown(each.path)}:{each.definition.header_line + 1})"
        for each in named
    ]
    return ", ".join(shown[:MAX_MEANINGS]) + (", and others" if len(shown) > MAX_MEANINGS else "")


def _check_number(folder: Folder, name: str, named: tuple[NamedDefinition, ...], most: int) -> None:
    """Raises InvalidArgument for more than `most` meanings of a name: overloads of one qualified name are one."""
    if len({(each.path, each.definition.qualified_name) for each in named}) > most:
        places = _named_places(folder, named)
        raise Unclear(f"{name} has {len(named)} definitions: {places}.", Hint.WHICH_MEANING)


def _used(folder: Folder, path: str, name: str, line: int) -> Target | None:
    """The symbol that a file uses under a name."""
    graph, last = folder.index.graph, name.rpartition(".")[2]
    if line:
        calls = graph.files[path].calls
        for edge in graph.call_edges(path):
            call = calls[edge.call]
            target = graph.definition(edge.path, edge.qualified_name)
            is_it = call.line == line - 1 and call.callee.rpartition(".")[2] == last and edge.how != SAME_NAME
            if is_it and target is not None:
                return Target(folder, edge.qualified_name, (NamedDefinition(edge.path, target),))
    within = folder.enclosing(path, line - 1) if line else MODULE
    member = _receiver_on_line(folder, path, last, line)
    spellings = dict.fromkeys((member, name if "." in name or not member else ""))
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


class Meanings(NamedTuple):
    """The definitions of a name in a folder, or the values that are bound to it."""

    folder: Folder
    definitions: tuple[NamedDefinition, ...] = ()
    values: tuple[ValueBinding, ...] = ()


def meanings(folder: Folder, name: str) -> Meanings:
    """The definitions of a name in a folder, or the values that are bound to it.

    A value of exactly that name has priority over a definition that is only imported or inherited under it. Those of
    tests come last.
    """
    names, last = folder.index.names, name.rpartition(".")[2]
    definitions = tuple(sorted(names.definitions(name), key=lambda each: is_test(each.path)))
    if any(each.definition.name == last for each in definitions):
        return Meanings(folder, definitions)
    values = tuple(sorted(names.value_bindings(name), key=lambda each: is_test(each.path)))
    if not definitions:
        return Meanings(folder, (), values)
    exact = tuple(each for each in values if each.name.rpartition(".")[2] == last)
    return Meanings(folder, (), exact) if exact else Meanings(folder, definitions)


def is_spelled(found: Iterable[Meanings], name: str) -> bool:
    """Whether one of the meanings of a name is spelled exactly so."""
    last = name.rpartition(".")[2]
    return any(
        any(each.definition.name == last for each in of_folder.definitions)
        or any(each.name.rpartition(".")[2] == last for each in of_folder.values)
        for of_folder in found
    )


def _by_name(folders: Folders, name: str, path: str = "", most: int = MAX_MEANINGS, written: str = "") -> Target:
    """The symbol of a name anywhere, which was `written` so. Raises InvalidArgument where it has no or too many
    meanings, and for the name of a file.
    """
    found = [meanings(folder, name) for folder in folders]
    if written and not is_spelled(found, name):
        _check_no_file(folders, written)
    for folder, definitions, values in found:
        _check_number(folder, name, definitions, most)
        if len(values) > most:
            places = ", ".join(f"{folder.shown(each.path)}:{each.line + 1}" for each in values[:MAX_MEANINGS])
            raise Unclear(f"{name} is bound at {len(values)} places: {places}, and others.", Hint.WHICH_PLACE)
        if definitions or values:
            only = definitions[0].definition if len(definitions) == 1 else None
            is_own = only is not None and normalised_name(only.name) == normalised_name(name.rpartition(".")[2])
            shown = only.qualified_name if only and is_own else name
            notes = spelled_otherwise(name, definitions, values)
            notes += folders.left_out(name) if notes else ()
            return Target(folder, shown, definitions, values, notes)
    if (other := _without_last(folders, name, most)) is not None:
        return other
    if left_out := folders.left_out(name):
        raise InvalidArgument(f"Nothing is defined as {name}. {left_out[0]} Try to read that file without Weft.")
    if outside := next(filter(None, (_imported(folder, name) for folder in folders)), ""):
        raise InvalidArgument(f"Nothing is defined as {name} in the workspace. {outside}")
    used = f" {path} may use it from outside of the workspace." if path else ""
    near = list(dict.fromkeys(each for folder in folders for each in _close_names(folder, name)))[:N_CLOSE]
    guess = f" Did you mean {' or '.join(near)}?" if near else ""
    raise Unclear(f"Nothing is defined as {name}.{used}{guess}", Hint.TRY_WORDS)


def spelled_otherwise(
    name: str, definitions: Sequence[NamedDefinition], values: Sequence[ValueBinding]
) -> tuple[str, ...]:
    """The note on a name that is found only with other upper and lower case letters."""
    last = name.rpartition(".")[2]
    names = [*(each.definition.name for each in definitions), *(each.name.rpartition(".")[2] for each in values)]
    if last in names or normalised_name(names[0]) != normalised_name(last):
        return ()
    return (f"Nothing is spelled {last}; {' and '.join(dict.fromkeys(names))} is what comes closest.",)


def _without_last(folders: Folders, name: str, most: int) -> Target | None:
    """The class of a constructor that nothing defines, and what has the name without the sign of a macro."""
    if name[-1] in "!?=" and (name := name.rstrip("!?=")):
        with suppress(InvalidArgument):
            return _by_name(folders, name, most=most)
    outer, _, last = name.rpartition(".")
    if not outer or last not in (*CONSTRUCTORS, outer.rpartition(".")[2]):
        return None
    for folder in folders:
        classes = tuple(each for each in meanings(folder, outer).definitions if is_class(each.definition))
        if classes:
            note = f"No {last} is defined in {outer}, so this is the class."
            _check_number(folder, outer, classes, most)
            return Target(folder, classes[0].definition.qualified_name, classes, (), (note,))
    return None


def _imported(folder: Folder, name: str) -> str:
    """Where a file imports a name, or the module before it, from outside of the workspace; "" if none does."""
    outer, _, last = name.rpartition(".")
    first = name.partition(".")[0]
    for part in dict.fromkeys((first, last)):
        if any(each.definition.name == part for each in folder.index.names.definitions(part)) and part == first:
            continue  # a class of the workspace
        for path in files_with(folder.index, part):
            for item in folder.index.graph.files[path].imports:
                module = re.split(r"\W+", item.module)
                is_it = part in (item.local_name, item.name) or (part == first and outer and part == module[-1])
                if is_it and (part == first or outer.rpartition(".")[2] in module):
                    place = f"{folder.shown(path)}:{item.line + 1}"
                    return (
                        f"{part} is imported from outside of it, as on {place}: {folder.line(path, item.line)} "
                        f"Find its uses with `search`, as words: `{last}`."
                    )
    return ""


def _close_names(folder: Folder, name: str) -> Iterator[str]:
    """Definitions whose last parts are nearly that of a name: members of its class, then any, the closest first."""
    outer, _, last = name.rpartition(".")
    owners = folder.index.names.definitions(outer) if outer else []
    members = [
        each.qualified_name
        for path, owner in owners
        for each in folder.index.graph.files[path].definitions
        if each.qualified_name.rpartition(".")[0] == owner.qualified_name
    ]
    for path, owner in owners:
        file = folder.index.graph.files[path]
        own = [binding for binding in file.bindings if binding.scope >= 0]
        members += [
            f"{owner.qualified_name}.{each.name.removeprefix('self.')}"
            for each in own
            if file.definitions[each.scope].qualified_name == owner.qualified_name
        ]
    begun = [each.definition.qualified_name for each in folder.index.names.begun(last[:1], MAX_BEGUN)]
    hits = search_folders([("", folder.index)], name, N_CLOSE).hits
    found = [hit.symbol for hit in hits if hit.symbol and not is_document(hit.path)]
    found += [each.name for each in folder.index.names.value_bindings(last)]
    for names in (members, [*found, *begun]):
        likeness = {each: _likeness(each, last) for each in names}
        yield from (
            each for each in sorted(likeness, key=lambda each: -likeness[each]) if likeness[each] >= LEAST_ALIKE
        )


def _likeness(name: str, last: str) -> float:
    """How alike the last part of a name and another name are, 0 to 1."""
    return SequenceMatcher(None, name.rpartition(".")[2].lower(), last.lower()).ratio()
