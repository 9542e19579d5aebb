"""Next edits after a change of parameters: calls, overrides and interfaces of the function.

Owns which functions have other parameters now, where their calls and other declarations are, and what fills a new
argument. Knows no ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...codegraph.bound_names import word_spans
from ...codegraph.callees import header_of
from ...codegraph.file_graph import MODULE_SCOPE, Definition
from ...codegraph.graph import CodeGraph
from ...codegraph.parameters import Parameter, parameters_of, written_parameters
from ...codegraph.symbol_table import FUNCTION_KINDS, is_class
from ...languages import Language, language_named
from ...languages.call_syntax import ParameterOrder
from ...retrieval.definition_index import NamedDefinition
from ..symbols.occurrences import Occurrence, Occurrences
from ..symbols.symbol import symbol_in
from .before import Before, before_edits, occurrences_of, paired_definitions, text_before, text_now
from .edited_files import replaced_lines
from .lists import TextList, arguments_of_name, items_of, parameters_of_name
from .parameter_change import Argument, ParameterChange
from .parsed import Parsed, parsed
from .values import EditedFile, NextEdit, Origin, Situation, once_a_request

if TYPE_CHECKING:
    from tree_sitter import Node

CALL, DECLARED = 0.9, 0.8
"""Confidence of an edit by what it changes. Set by hand, see `weft bench next-edit`."""

MAX_HEADER_LINES = 20
"""An edit further below the first line of a header is none of it."""


@dataclass(frozen=True)
class Changed:
    """A function whose parameters changed."""

    file: EditedFile
    before: Parsed
    definition: Definition
    now: Definition
    change: ParameterChange
    header: str  # from its name on, now

    @property
    def cause(self) -> str:
        return f"signature {self.file.path} {self.definition.qualified_name}"


def signature_edits(situation: Situation) -> Iterator[NextEdit]:
    """The edits that follow from changed parameters."""
    for file in situation.edited:
        for changed in changed_functions(situation, file):
            yield from _edits(situation, changed)


@once_a_request
def changed_functions(situation: Situation, file: EditedFile) -> list[Changed]:
    """The functions of an edited file that take other arguments than before."""
    before, now = text_before(situation, file), text_now(situation, file)
    if before is None or now is None or file.path not in situation.index.graph.files:
        return []
    edited = replaced_lines(file)
    touched = [each for each in before.graph.definitions if each.kind in FUNCTION_KINDS and _is_touched(each, edited)]
    touched = [each for each in touched if _has_touched_header(before, each, edited)]
    if not touched:
        return []
    found = []
    same = dict(paired_definitions(before, now))
    for old in touched:
        new = same.get(old) or _renamed_to(before, now, old)
        if new is None:
            continue
        header = _header(now, new)
        was, is_now = _parameters(before, old, _header(before, old)), _parameters(now, new, header)
        if was is None or is_now is None:
            continue
        change = ParameterChange.between(was, is_now)
        if change.changes_calls:
            found.append(Changed(file, before, old, new, change, header))
    return found


def _is_touched(definition: Definition, edited: Sequence[tuple[int, int]]) -> bool:
    """Whether an edit may be in the header of a function; `edited` are ranges of lines before the edits."""
    first, last = definition.header_line, definition.header_line + MAX_HEADER_LINES
    return any(start <= last and first <= end for start, end in edited)


def _has_touched_header(before: Parsed, definition: Definition, edited: Sequence[tuple[int, int]]) -> bool:
    """Whether an edit is in the lines of a function from its name to the end of its parameters."""
    line = before.lines[definition.header_line]
    span = next(word_spans(line, definition.name.encode("utf-8", "surrogatepass")), None)
    name = None if span is None else before.leaf_at(definition.header_line, span[0])
    parameters = None if name is None else parameters_of_name(name)
    if parameters is None:
        return True
    first, last = definition.header_line, parameters.end_point[0]
    return any(start <= last and first <= end for start, end in edited)


def _renamed_to(before: Parsed, now: Parsed, old: Definition) -> Definition | None:
    """The definition that has the number of another one in its scope, if its name is the only one that is new."""
    was = {each.qualified_name for each in before.graph.definitions}
    fresh = [each for each in now.graph.definitions if each.qualified_name not in was and each.kind == old.kind]
    gone = {each.qualified_name for each in now.graph.definitions}
    lost = [each for each in before.graph.definitions if each.qualified_name not in gone and each.kind == old.kind]
    if len(fresh) == len(lost) == 1 and lost[0] == old and fresh[0].parent == old.parent:
        return fresh[0]
    return None


def _header(text: Parsed, definition: Definition) -> str:
    return header_of(text.lines, definition)[0].decode("utf-8", "replace")


def _parameters(text: Parsed, definition: Definition, header: str) -> tuple[Parameter, ...] | None:
    decorators = text.lines[definition.start_line : definition.header_line]
    is_method = definition.kind in ("method", "constructor") and not any(b"staticmethod" in line for line in decorators)
    return parameters_of(text.tree.language.name, header, is_method=is_method)


def _edits(situation: Situation, changed: Changed) -> Iterator[NextEdit]:
    definition, path, graph = changed.definition, changed.file.path, before_edits(situation).graph
    definitions = graph.files[path].definitions
    is_constructor = definition.kind == "constructor" or definition.name in _CONSTRUCTORS
    around = None if definition.parent == MODULE_SCOPE else definitions[definition.parent]
    if around is not None and not is_class(around):
        return  # a function inside of a function
    called = around if is_constructor and around is not None else definition
    symbol = symbol_in(graph, called.name, [NamedDefinition(path, called)])
    sites: dict[str, _Sites] = {}
    for occurrences, each in occurrences_of(situation, symbol, path):
        if each.path not in sites:
            sites[each.path] = _Sites(before_edits(situation), changed, each.path)
        if each.role == "call" and each.is_resolved:
            yield from sites[each.path].call(each)
        elif each.role == "declaration" and not is_constructor and occurrences.is_redefined(each):
            yield from sites[each.path].declaration(each)
    for twin in _twins(path, graph):
        yield from _in_twin(situation, changed, twin)


def _twins(path: str, graph: CodeGraph) -> Iterator[str]:
    """The stub of a Python module, and the module of a stub."""
    twin = f"{path}i" if path.endswith(".py") else path.removesuffix("i") if path.endswith(".pyi") else ""
    if twin in graph.files:
        yield twin


def _in_twin(situation: Situation, changed: Changed, path: str) -> Iterator[NextEdit]:
    """The edit of the declarations of the same qualified name in a stub, or in the module of a stub."""
    before = before_edits(situation)
    own = [
        each
        for each in before.graph.files[path].definitions
        if each.qualified_name == changed.definition.qualified_name
    ]
    symbol = symbol_in(before.graph, changed.definition.name, [NamedDefinition(path, each) for each in own])
    lines = {each.header_line for each in own}
    sites = _Sites(before, changed, path)
    for each in Occurrences(before.graph, before.texts, symbol).in_file(path):
        if each.role == "declaration" and each.line in lines:
            yield from sites.declaration(each)


class _Sites:
    """The edits in one file."""

    def __init__(self, before: Before, changed: Changed, path: str) -> None:
        self.before = before
        self.changed = changed
        self.path = path
        self.language: Language = language_named(before.graph.files[path].language)
        is_harmless = before.graph.files[path].is_harmless
        text = before.texts[path].decode("utf-8", "replace")
        self.text = parsed(path, text, self.language.name, is_harmless=is_harmless)

    def call(self, occurrence: Occurrence) -> Iterator[NextEdit]:
        """The edit of one call."""
        node = arguments_of_name(occurrence.node)
        written = None if node is None else TextList.of(node, self._source)
        syntax = self.language.call_syntax
        if node is None or written is None or syntax is None or self.text is None:
            return
        arguments = list(map(self._argument, items_of(node)))
        fill = _Filler(self.before.graph, self.text, occurrence, self.language)
        texts = self.changed.change.arguments(arguments, fill, syntax.keyword_sign)
        if texts is not None:
            yield from self._edit(written, texts, CALL, occurrence)

    def declaration(self, occurrence: Occurrence) -> Iterator[NextEdit]:
        """The edit of the header of another declaration of the function."""
        node = parameters_of_name(occurrence.node)
        listed = None if node is None else TextList.of(node, self._source)
        if node is None or listed is None or self.text is None:
            return
        pieces = _follow(self.changed, listed.texts, self.language)
        if pieces is not None and self.path.endswith(".pyi"):
            pieces = [each if each in listed.texts else _without_value(each) for each in pieces]
        if pieces is not None:
            yield from self._edit(listed, pieces, DECLARED, occurrence)

    @property
    def is_twin(self) -> bool:
        return self.path in _twins(self.changed.file.path, self.before.graph)

    @property
    def _source(self) -> bytes:
        return b"" if self.text is None else self.text.source

    def _argument(self, node: Node) -> Argument:
        text = (node.text or b"").decode("utf-8", "replace")
        syntax = self.language.call_syntax
        name = node.child_by_field_name("name") if node.type in _KEYWORDS else None
        if name is None or syntax is None or not syntax.keyword_sign:
            return Argument(text, "", text, node.type in _SPREADS)
        keyword = (name.text or b"").decode("utf-8", "replace")
        return Argument(text, keyword, text[len(keyword) :].lstrip().removeprefix(syntax.keyword_sign.strip()).lstrip())

    def _edit(self, written: TextList, texts: list[str], confidence: float, at: Occurrence) -> Iterator[NextEdit]:
        found = written.with_items(texts)
        if found is None or self.text is None:
            return
        start, end, new = found
        source = self.text.source
        first, last = source.count(b"\n", 0, start), source.count(b"\n", 0, end)
        lines = self.before.now(self.path, first), self.before.now(self.path, last)
        if lines[0] is None or lines[1] is None:
            return  # it was changed already
        old = source[start:end].decode("utf-8", "replace")
        name = self.changed.definition.name
        yield NextEdit(
            "signature",
            self.path,
            (lines[0], self.text.at(first, start)[1]),
            (lines[1], self.text.at(last, end)[1]),
            old,
            new,
            self.changed.change.sentence(name if name not in _CONSTRUCTORS else at.node.text.decode()),  # type: ignore[union-attr]
            self.changed.cause,
            confidence,
            origin=Origin(self.changed.file.path, self.changed.now.header_line),
            evidence=_CALLED if at.role == "call" else _DECLARED_AGAIN if self.is_twin else _DECLARED,
        )


def _follow(changed: Changed, own: Sequence[str], language: Language) -> list[str] | None:
    """The parameters of another declaration, as written, after the same change; None if they were others before."""
    syntax = language.call_syntax
    if syntax is None:
        return None
    before = written_parameters(_header(changed.before, changed.definition))
    now = written_parameters(changed.header)
    names = [_name_of(each, syntax.order) for each in before]
    if [_name_of(each, syntax.order) for each in own] != names:
        return None
    renamed = {new: old for old, new in changed.change.renamed.items()}
    found: list[str] = []
    for piece in now:
        name = _name_of(piece, syntax.order)
        was = renamed.get(name, name)
        if was not in names:
            found.append(piece)
            continue
        at = names.index(was)
        is_alike = own[at] == before[at]
        found.append(piece if is_alike else own[at] if was == name else own[at].replace(was, name, 1))
    return found


def _without_value(piece: str) -> str:
    """A parameter as stubs write it: "..." for its default."""
    head, sign, _ = piece.partition("=")
    return f"{head}{sign}{' ' if head.endswith(' ') else ''}..." if sign else piece


def _name_of(piece: str, order: ParameterOrder) -> str:
    """The name of a parameter as written; of a mark the mark."""
    words = _NAME.findall(piece.partition("=")[0].partition(":")[0])
    return piece.strip() if not words else words[-1] if order == "type name" else words[0]


_NAME = re.compile(r"[^\W\d][\w$]*")


class _Filler:
    """The argument for a new parameter: a name that the place knows, else an attribute, else the parameter's name."""

    def __init__(self, graph: CodeGraph, text: Parsed, occurrence: Occurrence, language: Language) -> None:
        self.graph, self.text, self.occurrence, self.language = graph, text, occurrence, language

    def __call__(self, parameter: Parameter) -> str:
        name = parameter.name
        if self._is_known(name):
            return name
        own = self._own_attribute(name)
        return own or name

    def _is_known(self, name: str) -> bool:
        """Whether a name can be read at the place without an object."""
        start = self.occurrence.start
        names = self.text.bound_names(start, self.occurrence.end)
        if names is None:
            return True
        found = names.occurrences(name.encode()) or ()
        return any(
            each.is_binding
            and all(scope.contains(start) for scope in each.scopes)
            and not (each.scopes and each.scopes[-1].is_object and not self.language.has_implicit_object)
            for each in found
        )

    def _own_attribute(self, name: str) -> str:
        """An attribute of the object around the place, as the class around it writes it."""
        symbols = self.graph.symbols(self.occurrence.path)
        if symbols is None or not self.language.own_object:
            return ""
        own = f"{self.language.own_object.split()[0]}.{name}"
        number = symbols.scope_at(self.occurrence.line)
        while number != MODULE_SCOPE:
            around = symbols.definitions[number]
            if is_class(around):
                lines = self.text.lines[around.start_line : around.end_line]
                return own if next(word_spans(b"\n".join(lines), own.encode()), None) else ""
            number = around.parent
        return ""


_CALLED = "It is a call of the function, by name resolution."
_DECLARED = "It is declared again here, by a class or an interface that inherits it."
_DECLARED_AGAIN = "The stub and its module declare the same function."
_CONSTRUCTORS = frozenset({"__init__", "constructor", "__construct", "initialize"})
_KEYWORDS = frozenset({"keyword_argument", "argument", "value_argument"})
_SPREADS = frozenset(
    {"list_splat", "dictionary_splat", "spread_element", "variadic_argument", "spread", "splat_argument"}
    | {"hash_splat_argument", "spread_expression"}
)
