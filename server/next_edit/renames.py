"""Next edits after a rename: the other uses of the name, in the file and in all others.

Owns what was renamed, by the syntax before the edit, and the confidence of each use. A local name is followed by
scopes, a definition, member or value by name resolution on the code graph as it was before the edit. Half-typed names
are followed too: each key gives the uses the text of now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ...codegraph.bound_names import Occurrence as PlainName
from ...codegraph.bound_names import Scope
from ...codegraph.file_graph import MODULE_SCOPE, Definition
from ...codegraph.symbol_table import is_class
from ...languages.references import is_name, receiver_of, role_of
from ...retrieval.definition_index import NamedDefinition, ValueBinding
from ..symbols.occurrences import Occurrence, Occurrences
from ..symbols.symbol import Symbol, symbol_in
from .before import Before, before_edits, n_definitions, occurrences_of, text_before, text_now
from .edited_files import Substitution, substitutions, word_of
from .parsed import Parsed
from .values import EditedFile, NextEdit, Origin, Situation, once_a_request

if TYPE_CHECKING:
    from tree_sitter import Node


class Found(NamedTuple):
    """How sure a use is, and the sentence that says how it was found."""

    confidence: float
    evidence: str


LOCAL = Found(0.95, "It is the same local name, by its scope.")
RESOLVED = Found(0.9, "It is the same symbol, by name resolution.")
IMPORTED = Found(0.9, "It is imported here.")
OVERRIDE = Found(0.8, "It is declared again here, by a class or an interface that inherits it.")
BY_UNIQUE_NAME = Found(0.35, "The name alone matches; nothing else of the workspace has it.")
BY_NAME = Found(0.1, "The name alone matches.")
"""Confidences are set by hand, see `weft bench next-edit`."""


@dataclass(frozen=True)
class Renamed:
    """A name that was renamed where it is declared: `symbol` None for a local one."""

    file: EditedFile
    before: Parsed
    substitution: Substitution
    symbol: Symbol | None
    definition: Definition | None = None

    @property
    def cause(self) -> str:
        return f"rename {self.file.path} {self.substitution.old} {self.substitution.before[0]}"

    @property
    def sentence(self) -> str:
        old, new = self.substitution.old, self.substitution.new
        return f"`{old}` is `{new}` now (line {self.substitution.now[0] + 1} of {self.file.path})."


def renames(situation: Situation) -> Iterator[NextEdit]:
    """The edits that follow from renamed declarations, those of the latest file first."""
    for file in situation.edited:
        for renamed in renamed_names(situation, file):
            yield from uses_of(situation, renamed)


@once_a_request
def renamed_names(situation: Situation, file: EditedFile) -> list[Renamed]:
    """What was renamed in a file where it is declared."""
    replaced = substitutions(file)
    if not replaced or file.path not in situation.index.graph.files:
        return []
    before, now = text_before(situation, file), text_now(situation, file)
    if before is None or now is None:
        return []
    found: list[Renamed] = []
    seen: set[tuple[str, str]] = set()
    for substitution in replaced:
        renamed = _renamed(situation, file, before, substitution)
        key = substitution.old, "" if renamed is None or renamed.symbol is None else str(sorted(renamed.symbol.paths))
        if renamed is None or key in seen or _is_still_declared(renamed, now):
            continue
        seen.add(key)
        found.append(renamed)
    return found


def _renamed(situation: Situation, file: EditedFile, before: Parsed, substitution: Substitution) -> Renamed | None:
    """What a replaced name declared; None for a use of a name."""
    node = before.name_at(substitution.before)
    if node is None or not is_name(node):
        return None
    role = role_of(node)
    if role not in ("declaration", "assignment") and not (role == "read" and _is_bound_here(before, node)):
        return None
    line, old = substitution.before[0], substitution.old
    definition = next(
        (each for each in before.graph.definitions if each.header_line == line and each.name == old), None
    )
    if definition is not None:
        around = definition.parent
        if around == MODULE_SCOPE or is_class(before.graph.definitions[around]):
            symbol = symbol_in(before_edits(situation).graph, old, [NamedDefinition(file.path, definition)])
            return Renamed(file, before, substitution, symbol, definition)
    value = _value_at(file.path, before, node, old, line)
    if value is None:
        return Renamed(file, before, substitution, None)
    return Renamed(file, before, substitution, symbol_in(before_edits(situation).graph, value.name, (), [value]))


def _value_at(path: str, before: Parsed, node: Node, name: str, line: int) -> ValueBinding | None:
    """The module's or class's value that a name declares; None for a local name."""
    definitions = before.graph.definitions
    around = _innermost(before, line)
    receiver = receiver_of(node)
    if receiver is not None:  # `self.x = 1`
        own = f"{before.tree.language.own_object} {before.tree.language.own_class}".split()
        if (receiver.text or b"").decode("utf-8", "replace") not in own:
            return None
        while around != MODULE_SCOPE and not is_class(definitions[around]):
            around = definitions[around].parent
        if around == MODULE_SCOPE:
            return None
    if around == MODULE_SCOPE:
        return ValueBinding(path, name, line) if _is_free(before, node) else None
    if not is_class(definitions[around]):
        return None
    return ValueBinding(path, f"{definitions[around].qualified_name}.{name}", line)


def _innermost(before: Parsed, line: int) -> int:
    """The number of the innermost definition whose body may have a line, MODULE_SCOPE for none."""
    found = MODULE_SCOPE
    for number, each in enumerate(before.graph.definitions):
        if each.start_line <= line < each.end_line and (each.header_line != line or each.end_line == line + 1):
            found = number
    return found


def _is_bound_here(before: Parsed, node: Node) -> bool:
    """Whether a plain name is declared in an inner scope by its syntax: the target of a loop, `:=` in Go."""
    names = before.plain_names
    found = () if names is None else names.occurrences(node.text or b"") or ()
    return any(each.start == node.start_byte and each.is_binding and each.scopes for each in found)


def _is_free(before: Parsed, node: Node) -> bool:
    """Whether a name at the top level is in no scope, as that of a lambda or a block."""
    names = before.bound_names(node.start_byte, node.end_byte)
    own = None if names is None else next((each for each in names.names if each.start == node.start_byte), None)
    return own is None or not own.scopes


def _is_still_declared(renamed: Renamed, now: Parsed) -> bool:
    """Whether the old name is declared as before or used in a changed line, so that the new one is another name."""
    definition, old = renamed.definition, renamed.substitution.old
    if definition is not None:
        return any(each.qualified_name == definition.qualified_name for each in now.graph.definitions)
    changed = (line for hunk in renamed.file.hunks for line in set(hunk.after) - set(hunk.before))
    return any(word_of(old).search(line) for line in changed)


def uses_of(situation: Situation, renamed: Renamed) -> Iterator[NextEdit]:
    """The uses of a renamed name that still have its old text."""
    if renamed.symbol is None:
        yield from _local_uses(renamed, before_edits(situation))
        return
    before = before_edits(situation)
    old = renamed.symbol.name
    n_alike = n_definitions(situation, old, renamed.file.language.name)
    for occurrences, each in occurrences_of(situation, renamed.symbol, renamed.file.path):
        source, line = before.texts[each.path], before.now(each.path, each.line)
        found = _found(occurrences, each, n_alike)
        is_alias = source[each.start : each.end].decode("utf-8", "replace") != old
        if line is None or is_alias or found is None:
            continue
        start = source.rfind(b"\n", 0, each.start) + 1
        first = len(source[start : each.start].decode("utf-8", "replace"))
        yield _edit(renamed, each.path, line, first, found, not each.is_resolved)


def _found(occurrences: Occurrences, each: Occurrence, n_alike: int) -> Found | None:
    """How sure an occurrence is the renamed symbol; None for another one."""
    if each.is_use:
        if each.is_resolved:
            return RESOLVED
        return BY_UNIQUE_NAME if n_alike <= 1 else BY_NAME
    if each.role == "import":
        return IMPORTED if occurrences.is_imported(each) else None
    if each.role == "declaration":
        return OVERRIDE if occurrences.is_redefined(each) else None
    return RESOLVED  # another binding of the same value


def _local_uses(renamed: Renamed, before: Before) -> Iterator[NextEdit]:
    """The other places of a local name, by scopes."""
    start = renamed.before.offset(renamed.substitution.before)
    old = renamed.substitution.old.encode("utf-8", "surrogatepass")
    names = renamed.before.bound_names(start, start + len(old))
    found = None if names is None else names.occurrences(old)
    own = next((each for each in found or () if each.start == start), None)
    if found is None or own is None or not own.scopes:
        return
    path = renamed.file.path
    for each in found:
        line = each.node.start_point[0]
        now = before.now(path, line)
        if each.start == start or now is None or not _is_bound_in(each, own.scopes[-1], found):
            continue
        yield _edit(renamed, path, now, renamed.before.at(line, each.start)[1], LOCAL, False)


def _is_bound_in(name: PlainName, scope: Scope, names: tuple[PlainName, ...]) -> bool:
    """Whether a name is in a scope, and no inner scope around it binds it again."""
    if scope not in name.scopes:
        return False
    inner = set(name.scopes[name.scopes.index(scope) + 1 :])
    return not any(each.is_binding and each.scopes and each.scopes[-1] in inner for each in names)


def _edit(renamed: Renamed, path: str, line: int, first: int, found: Found, is_marked: bool) -> NextEdit:
    old, new = renamed.substitution.old, renamed.substitution.new
    places = (line, first), (line, first + len(old))
    origin = Origin(renamed.file.path, renamed.substitution.now[0])
    confidence, evidence = found
    return NextEdit(
        "rename", path, *places, old, new, renamed.sentence, renamed.cause, confidence, is_marked, origin, evidence
    )
