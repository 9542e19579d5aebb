"""Scope and type check of a text at a cursor: names that are not bound there, members and keywords that do not exist.

Owns the problems of a text's names and the name that is meant instead. Errs towards no problem: a name that may come
from outside of the repository, or from code that the grammar cannot read, is none. Knows no disk and no model.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from ..languages import Language, grammar, language_of
from ..languages.dotted import dotted_name
from ..languages.references import receiver_of
from .bound_names import BoundNames, Occurrence, word_spans
from .callees import Callees, lines_of_source
from .file_graph import FileGraph
from .graph import CodeGraph
from .modules import directory_of, upwards
from .resolver import global_name_key, parse_dotted
from .signatures import Signature, arguments_of, signature_of
from .symbol_table import MODULE, STAR_IMPORTS, ImportedName, SymbolTable, language_family
from .syntax import is_blanked, parse_file, tree_with
from .time_limit import CpuTimeLimit, TimeLimitExceeded
from .typed_resolver import TypedResolver
from .values import CLASS_VALUE, INSTANCE_VALUE, MODULE_VALUE, OUTSIDE, OUTSIDE_VALUE, SUPER_VALUE, Value

if TYPE_CHECKING:
    from tree_sitter import Node

NameProblemKind = Literal[
    "not bound", "no such member", "no such keyword", "wrong arguments", "already defined", "not exported"
]

LIMIT_S = 0.1
"""CPU time of the parse of one text."""

MAX_LENGTH = 400_000
"""Characters; a longer file is not checked."""

MIN_SIMILAR = 4
"""Characters; a shorter name resembles no other one."""


@dataclass(frozen=True, slots=True)
class NameProblem:
    """A name of a text that does not fit at the cursor.

    `start` and `end` are offsets in the text. `replacement` is the text for this range with the name that is clearly
    meant, "" if there is none.
    """

    kind: NameProblemKind
    name: str
    start: int
    end: int
    replacement: str = ""


def name_problems(
    graph: CodeGraph,
    path: str,
    prefix: str,
    text: str,
    suffix: str,
    language: Language,
    above: FileGraph | None = None,
    texts: Mapping[str, bytes] | None = None,
) -> tuple[NameProblem, ...]:
    """The problems of the names of `text` between `prefix` and `suffix`, in order.

    There are none in a language without scope rules.

    `above` has the facts of the lines above the cursor, None takes those that the graph has of the file. `texts` are
    the sources of the files of the graph; without them only plain names are checked.
    """
    rules = language.scope_rules
    if rules is None or language.embedded is not None or not text.strip() or len(prefix) + len(suffix) > MAX_LENGTH:
        return ()
    if language.source_filter is not None and is_blanked(language, prefix, suffix):
        return ()
    try:
        indexed = graph.files.get(path)
        harmless = texts.get(path) if texts and indexed is not None and indexed.is_harmless else None
        tree = tree_with(path, prefix, text, suffix, language, CpuTimeLimit(LIMIT_S, samples=False), harmless)
    except TimeLimitExceeded:
        return ()
    start = len(prefix.encode("utf-8", "replace"))
    end = start + len(text.encode("utf-8", "replace"))
    bound = BoundNames(tree, language, rules, start, end)
    check = _Check(graph, path, bound, language, above, {} if texts is None else texts)
    found = {(problem.start, problem.end): problem for problem in check.problems()}
    return tuple(found[span] for span in sorted(found))


def unbound_names(graph: CodeGraph, bound: BoundNames, names: Iterable[str]) -> frozenset[str]:
    """Those of some names that a whole text reads where nothing binds them; `bound` has the names of the text.

    The graph has the text's file, as of its last analysis.
    """
    tree = bound.tree
    if tree.language.embedded is not None or len(tree.source) > MAX_LENGTH:
        return frozenset()
    check = _Check(graph, tree.path, bound, tree.language, None, {})
    return frozenset(name for name in names if check.reads_unbound(name))


class _Check:
    """The check of one text."""

    def __init__(
        self,
        graph: CodeGraph,
        path: str,
        bound: BoundNames,
        language: Language,
        above: FileGraph | None,
        texts: Mapping[str, bytes],
    ) -> None:
        assert language.scope_rules is not None
        self.file = graph  # the facts of the whole file as of its last analysis
        self.graph = graph if above is None else graph.overlay(above)
        self.path = path
        self.language = language
        self.rules = language.scope_rules
        self.bound = bound
        self.texts = texts
        self.resolver = TypedResolver(self.graph)
        self.source = bound.source

    def problems(self) -> Iterator[NameProblem]:
        for name in self.bound.names:
            if name.is_checked and not name.is_binding and self._is_unbound(name):
                yield self._problem("not bound", name.start, name.end, self._similar_name(name))
        yield from self._defined_again()
        if self.texts and self.graph.symbols(self.path) is not None:
            if self.rules.member_kinds:
                yield from self._members()
            if self.rules.call_rules is not None:
                yield from self._calls()
            yield from self._imports()

    def reads_unbound(self, name: str) -> bool:
        """Whether the text reads a name where nothing binds it."""
        if self._is_predefined(name):
            return False
        found = self.bound.occurrences(name.encode("utf-8", "surrogatepass")) or ()
        return any(each.is_checked and not each.is_binding and self._is_unbound(each) for each in found)

    def _problem(self, kind: NameProblemKind, start: int, end: int, meant: str = "") -> NameProblem:
        at = max(start, self.bound.start)
        offset = len(self.source[self.bound.start : at].decode("utf-8", "replace"))
        length = len(self.source[at:end].decode("utf-8", "replace"))
        typed = self.source[start:at].decode("utf-8", "replace")  # the name may begin before the text
        replacement = meant[len(typed) :] if meant.startswith(typed) else ""
        return NameProblem(kind, self._text(start, end), offset, offset + length, replacement)

    def _text(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")

    # Plain names

    def _is_unbound(self, name: Occurrence) -> bool:
        spelled, rules = self._text(name.start, name.end), self.rules
        if self._is_predefined(spelled):
            return False
        before = self.source[name.start - 1 : name.start]
        if rules.has_markup and spelled[0].islower() and before in (b"<", b"/"):
            return False
        if rules.checked_kinds and all(node.type not in rules.checked_kinds for node, _ in name.path):
            return False
        if name.path[-2][0].type == "ERROR" or name.node.is_missing:
            return False
        if self.bound.is_bound(name) or self._is_known_elsewhere(name, spelled):
            return False
        if self._may_be_imported(name, spelled):
            return False
        if self._may_be_outside(name):
            # Then only a local name of other scopes is known to be none.
            marks = rules.attribute_marks
            is_attribute = marks and re.search(rf"[{marks}]{re.escape(spelled)}\b".encode(), self.source)
            return self.bound.is_local_elsewhere(name) and not is_attribute
        return True

    def _is_predefined(self, spelled: str) -> bool:
        """Whether the language or its usual libraries bind a name, or it is not one that is checked."""
        language, rules = self.language, self.rules
        if spelled in language.builtin_names or spelled in rules.predefined_names:
            return True
        if rules.outside_names and re.fullmatch(rules.outside_names, spelled):
            return True
        if rules.checked and not re.fullmatch(rules.checked, spelled):
            return True
        is_declared = rules.call_rules is not None and rules.call_rules.own_parameter  # as `self` of Python
        own_words = () if is_declared else f"{language.own_object} {language.own_class}".split()
        return spelled in _keywords(language.name) or spelled in own_words

    def _may_be_imported(self, name: Occurrence, spelled: str) -> bool:
        """Whether a name is one of a type, a package or a function, which local names of other scopes do not hide."""
        rules, after = self.rules, self.source[name.end : name.end + 8].lstrip()
        is_type = spelled[:1].isupper() or name.node.type == "type_identifier" or after.startswith(b"::")
        if self._is_in_foreign_part(name):
            return True
        if rules.has_package_paths and after[:1] == b"." and after[1:2].isupper():
            return True  # `shop.Till`, where `shop` is a package
        return (is_type and rules.open_types) or (rules.open_calls and _CALL.match(self.source, name.end) is not None)

    def _is_in_foreign_part(self, name: Occurrence) -> bool:
        """Whether a name is in an extension of a type from outside of the repository."""
        symbols = self.graph.symbols(self.path)
        if symbols is None or not self.language.has_extensions or not self.language.has_implicit_object:
            return False
        within = self._within(name.path)
        while within:
            if symbols.is_foreign_part(within):
                value = self.resolver.attribute(self.path, within)
                return value is None or (value.path, value.name) == (self.path, within)
            within = within.rpartition(".")[0]
        return False

    def _may_be_outside(self, name: Occurrence) -> bool:
        """Whether code outside of the repository may bind a name that the file does not bind."""
        rules, source = self.rules, self.source
        if rules.is_open or (rules.open_files and re.search(rules.open_files, self.path) is not None):
            return True
        if rules.open_macros and self._is_macro_argument(name):
            return True
        if rules.open_calls and _LAMBDA.match(source, name.end) is not None:
            return True
        if rules.open_stars and self._has_foreign_stars:
            return True
        if rules.open_bases and self._has_foreign_bases(name):
            return True
        return any(node.type in rules.open_lambda_kinds for node, _ in name.path)

    def _is_macro_argument(self, name: Occurrence) -> bool:
        for node, _ in name.path:
            function = node.child_by_field_name("function") if node.type == "call_expression" else None
            if function is not None and function.end_byte < name.start:
                called = (function.text or b"").decode("utf-8", "replace")
                if called in self.rules.macros.split():
                    return True
                value = self.resolver.name(self.path, MODULE, called) if called.isidentifier() else None
                definition = self.graph.definition(value.path, value.name) if value is not None else None
                if definition is not None and definition.kind == "macro":
                    return True
        return False

    @cached_property
    def _has_foreign_stars(self) -> bool:
        symbols = self.graph.symbols(self.path)
        items = symbols.entries.get(STAR_IMPORTS, ()) if symbols is not None else ()
        modules = [each.module for each in items if isinstance(each, ImportedName)]
        return any(self.resolver.declared(self.path, module) is None for module in modules)

    def _has_foreign_bases(self, name: Occurrence) -> bool:
        within = self._within(name.path)
        while within:
            around = self.resolver.object_around(self.path, within)
            if around is not None and not self.resolver.mro(around.path, around.name).complete:
                return True
            within = within.rpartition(".")[0]
        return False

    def _is_member_around(self, name: Occurrence, spelled: str) -> bool:
        """Whether the classes around a name may have it as a member that needs no receiver."""
        if not self.language.has_implicit_object:
            return False
        within = self._within(name.path)
        while within:
            around = self.resolver.object_around(self.path, within)
            if around is not None:
                for path, owner in self.resolver.mro(around.path, around.name).classes:
                    if self._has_entry(path, owner, spelled) or (path != self.path and self._occurs(path, spelled)):
                        return True
                if self.resolver.member(around, spelled) not in (None, OUTSIDE):
                    return True
            within = within.rpartition(".")[0]
        return False

    def _is_known_elsewhere(self, occurrence: Occurrence, name: str) -> bool:
        """Whether another file may bind the name here."""
        resolver = self.resolver
        if resolver.has_outside_stars(self.path) and self.language.package_style != "declared":
            return True
        value = resolver.name(self.path, MODULE, name)
        if value is not None and not (self.language.declares_all and value.kind == OUTSIDE_VALUE):
            return True
        if self._is_member_around(occurrence, name):
            return True
        symbols = self.graph.symbols(self.path)
        if symbols is None or not symbols.package_key:
            return False
        return self._is_defined(f"{symbols.package_key}{name}")  # also of an unknown value

    def _similar_name(self, name: Occurrence) -> str:
        """The only declared name around that resembles one that is not bound."""
        spelled = self._text(name.start, name.end)
        if len(spelled) < MIN_SIMILAR or not spelled.isascii():
            return ""
        words = {word for word in _alike(spelled).findall(self.source) if _resemble(spelled, word.decode())}
        found = []
        for word in words:
            others = self.bound.occurrences(word) or ()
            if any(other.is_binding and self.bound.is_visible_at(other, name) for other in others):
                found.append(word.decode())
        return found[0] if len(found) == 1 else ""

    # Definitions

    def _defined_again(self) -> Iterator[NameProblem]:
        """Functions and classes of the text that the same block of the file defines already."""
        kinds = self.rules.definition_kinds
        for start, end in self.bound.words:
            if start < self.bound.start:
                continue
            path = self.bound.path_to(start)
            if len(path) < 3 or path[-1][1] != "name" or path[-2][0].type not in kinds or path[-1][0].end_byte != end:
                continue
            definition, around = path[-2][0], path[-3][0]
            if around.type.startswith("decorated") or around.type == "ERROR":
                continue
            for at, after in word_spans(self.source, self.source[start:end]):
                if at == start:
                    continue
                other = self.bound.path_to(at)
                if (
                    len(other) == len(path)
                    and other[-1][1] == "name"
                    and other[-2][0].type == definition.type
                    and other[-3][0] == around
                    and other[-1][0].end_byte == after
                    and not other[-2][0].has_error
                ):
                    yield self._problem("already defined", start, end)
                    break

    # Members

    def _members(self) -> Iterator[NameProblem]:
        for start, end in self.bound.words:
            if self.source[start - 1 : start] not in (b".", b">", b":"):
                continue
            path = self.bound.path_to(start)
            node = path[-1][0]
            if node.start_byte != start or node.end_byte != end or node.child_count:
                continue
            receiver = receiver_of(node)
            if receiver is None or receiver.has_error or path[-2][0].type == "ERROR":
                continue
            if self.rules.adds_members and self._is_assigned(path):
                continue
            name = self._text(start, end)
            if self.rules.open_members and re.fullmatch(self.rules.open_members, name):
                continue
            if any(around.type in self.rules.open_lambda_kinds for around, _ in path):
                continue
            if self.rules.open_paths and self.source[start - 1 : start] == b":":
                continue
            is_called = _CALL.match(self.source, end) or _LAMBDA.match(self.source, end)
            if self.rules.open_methods and is_called:
                continue
            value = self._value(path, receiver)
            if value is not None and self._lacks(value, name):
                yield self._problem("no such member", start, end, self._similar_member(value, name))

    def _is_assigned(self, path: tuple[tuple[Node, str], ...]) -> bool:
        """Whether the member at the end of a path is the target of an assignment."""
        for (around, _), (_, field) in reversed(list(pairwise(path[:-1]))):
            place = f"{around.type}.{field}" if field else around.type
            if place in self.rules.target_children:
                return True
            if place not in self.rules.pattern_children:
                return False
        return False

    def _value(self, path: tuple[tuple[Node, str], ...], node: Node) -> Value | None:
        """The value of an expression, if its type is certain."""
        dotted = dotted_name((node.text or b"").decode("utf-8", "replace"))
        if not dotted or dotted.startswith("?"):
            return None
        parts = parse_dotted(dotted)
        return self.resolver.read(self.path, self._within(path), parts, node.start_point[0])

    def _within(self, path: tuple[tuple[Node, str], ...]) -> str:
        """The qualified name of the innermost definition around a node."""
        rows = {node.start_point[0] for node, _ in path[1:]}
        symbols = self.graph.symbols(self.path)
        row, found = path[-1][0].start_point[0], MODULE
        for definition in symbols.definitions if symbols is not None else ():
            if definition.start_line > row:
                break
            if definition.start_line in rows or definition.header_line in rows:
                found = definition.qualified_name
        return found

    def _lacks(self, value: Value, name: str) -> bool:
        """Whether a value of the repository certainly has no member of this name."""
        if value.kind == MODULE_VALUE:
            return self._module_lacks(value, name)
        if value.kind not in (CLASS_VALUE, INSTANCE_VALUE, SUPER_VALUE):
            return False
        classes, complete, _ = self.resolver.mro(value.path, value.name)
        if not complete or value.kind == SUPER_VALUE:
            return False
        found = self.resolver.member(value, name)
        if found is not None and (found.kind != OUTSIDE_VALUE or not self.language.declares_all):
            return False
        if self.language.has_extensions and self._is_defined(f"{language_family(self.language.name)}\0+{name}"):
            return False
        dynamic = self.rules.dynamic_members.split()
        for path, owner in classes:
            definition = self.graph.definition(path, owner)
            if definition is None or (path not in self.texts and path != self.path):
                return False
            if definition.kind not in self.rules.member_kinds.split():
                return False
            if self._has_entry(path, owner, name) or any(self._has_entry(path, owner, each) for each in dynamic):
                return False
            if self._occurs(path, name):
                return False
        return True

    def _module_lacks(self, module: Value, name: str) -> bool:
        if self.resolver.member(module, name) is not None:
            return False
        if module.name:  # a package
            if self._is_defined(f"{module.name}{name}") or self._is_defined(f"{module.name}{name}/"):
                return False
            # Without the name of the module a path of an import may mean a package from elsewhere.
            return self.language.package_style == "directory" and any(
                file.manifest for file in map(self.graph.files.get, self._go_modules) if file is not None
            )
        if not module.path or module.path.endswith("/"):
            return False
        key = global_name_key(self.language.name, name) if self.language.module_separator else None
        if key is not None and self._is_defined(key):
            return False  # macros are known at the root
        files = (module.path, *(path for path, _ in self.resolver.star_sources(module.path)))
        for path in files:
            if self.resolver.has_outside_stars(path) or self._occurs(path, name):
                return False
            if any(self._has_entry(path, MODULE, each) for each in self.rules.dynamic_members.split()):
                return False
        return True

    @cached_property
    def _go_modules(self) -> tuple[str, ...]:
        return tuple(
            f"{directory}go.mod" for directory in ("", *(f"{each}/" for each in upwards(directory_of(self.path))))
        )

    def _has_entry(self, path: str, owner: str, name: str) -> bool:
        key = f"{owner}.{name}" if owner else name
        return any(key in table.entries for table in self._tables(path))

    def _is_defined(self, key: str) -> bool:
        """Whether the repository has a definition of a global name, in the file at the cursor also below it."""
        return bool(self.graph.definitions_named(key) or self.file.definitions_named(key))

    def _tables(self, path: str) -> list[SymbolTable]:
        """The symbols of a file, of the file at the cursor also those below it."""
        tables = (self.graph.symbols(path), self.file.symbols(path) if path == self.path else None)
        return [table for table in tables if table is not None]

    def _occurs(self, path: str, name: str) -> bool:
        """Whether a file has a word, outside of the text."""
        word = name.encode("utf-8", "replace")
        if path != self.path:
            return any(word_spans(self.texts.get(path, b""), word))
        parts = (0, self.bound.start), (self.bound.end, len(self.source))
        return any(any(word_spans(self.source, word, *part)) for part in parts)

    def _similar_member(self, value: Value, name: str) -> str:
        if value.kind == MODULE_VALUE:
            return _only_similar(name, self.resolver.exports(value))
        found = set()
        for path, owner in self.resolver.mro(value.path, value.name).classes:
            for symbols in self._tables(path):
                found |= {key.rpartition(".")[2] for key in symbols.entries if key.rpartition(".")[0] == owner}
            # The source states an attribute of an unknown value only where it is used.
            source = self.source[: self.bound.start] if path == self.path else self.texts.get(path, b"")
            found |= {word.decode("utf-8", "replace") for word in _own_attribute(self.language).findall(source)}
        return _only_similar(name, found)

    # Calls

    def _calls(self) -> Iterator[NameProblem]:
        """Keywords that callees do not take and wrong numbers of arguments, of calls with arguments in the text."""
        rules = self.rules.call_rules
        assert rules is not None
        seen = set()
        for start in (*(start for start, _ in self.bound.words), self.bound.end - 1):
            path = self.bound.path_to(start)
            for at in range(len(path) - 1, 0, -1):
                call = path[at - 1][0]
                if call.type in rules.call_kinds and call.id not in seen and path[at][1] == "arguments":
                    seen.add(call.id)
                    yield from self._problems_of_call(path[:at], call)

    def _problems_of_call(self, path: tuple[tuple[Node, str], ...], call: Node) -> Iterator[NameProblem]:
        function = call.child_by_field_name("function")
        listed = call.child_by_field_name("arguments")
        if function is None or listed is None or call.has_error:
            return
        signature = self._signature(path, function)
        given = arguments_of(call, self.language)
        if signature is None or given is None:
            return
        names, rules = signature.names, self.rules.call_rules
        assert rules is not None
        known = set(names[signature.first_keyword :])
        for keyword, start, end in given.keywords:
            if keyword not in known and not signature.takes_any_keyword and end > self.bound.start:
                used = {each for each, _, _ in given.keywords} | set(names[: given.n_positional])
                meant = _only_similar(keyword, known - used)
                yield self._problem("no such keyword", start, end, meant)
        at = (function.child_by_field_name("attribute") or function).end_byte
        at = max(at, self.bound.start)
        is_closed = listed.end_byte <= self.bound.end and self.bound.start < listed.end_byte
        n, any_keyword = given.n_positional, {each for each, _, _ in given.keywords}
        is_wrong = n > signature.n_positional and not signature.takes_any and not rules.takes_more
        if is_closed and not given.is_open and not rules.takes_fewer:
            is_wrong |= any(number >= n and names[number] not in any_keyword for number in signature.required)
        if is_wrong and not given.is_open and is_closed:
            start = max(listed.start_byte, self.bound.start)
            yield self._problem("wrong arguments", start, listed.end_byte)

    def _signature(self, path: tuple[tuple[Node, str], ...], function: Node) -> Signature | None:
        """The parameters of the only function that an expression means."""
        dotted = dotted_name((function.text or b"").decode("utf-8", "replace"))
        if not dotted or dotted.startswith("?"):
            return None
        callee = self._callees.of(dotted, self._within(path), function.start_point[0])
        if callee is None or not callee.is_sure or not callee.is_function or callee.is_method is None:
            return None
        if any(len(table.entries.get(callee.definition.qualified_name, ())) > 1 for table in self._tables(callee.path)):
            return None  # several definitions of one name
        rules = self.rules.call_rules
        assert rules is not None
        if any(not rules.changing or not re.match(rules.changing, line) for line in callee.decorators):
            return None
        return signature_of(self.language.name, callee.header, callee.is_method)

    @cached_property
    def _callees(self) -> Callees:
        return Callees(self.graph, self.path, self.language, self.resolver, self._lines)

    def _lines(self, path: str) -> tuple[bytes, ...]:
        return self._own_lines if path == self.path else lines_of_source(self.texts.get(path, b""))

    @cached_property
    def _own_lines(self) -> tuple[bytes, ...]:
        return tuple(self.source[: self.bound.start].split(b"\n"))

    # Imports

    def _imports(self) -> Iterator[NameProblem]:
        kinds = self.rules.import_kinds
        seen = set()
        for start, _ in self.bound.words:
            path = self.bound.path_to(start)
            statement = next((node for node, _ in path if node.type in kinds or "import" in node.type), None)
            if statement is None or statement.id in seen or statement.has_error:
                continue
            seen.add(statement.id)
            yield from self._problems_of_import(statement)

    def _problems_of_import(self, statement: Node) -> Iterator[NameProblem]:
        file = parse_file(self.path, f"{(statement.text or b'').decode('utf-8', 'replace')}\n", self.language)
        style = self.language.module_style
        if style not in ("python", "web"):
            return
        for item in file.imports:
            if not item.name or item.name in (STAR_IMPORTS, "default"):
                continue
            found = self.resolver.module(style, directory_of(self.path), "." * item.level + item.module)
            if len(found) != 1 or found[0].endswith("/") or found[0] not in self.texts or found[0] == self.path:
                continue
            module = Value(MODULE_VALUE, found[0], "", "import")
            if not self._module_lacks(module, item.name) or language_of(found[0]).scope_rules is None:
                continue
            word, start = item.name.encode("utf-8", "replace"), max(statement.start_byte, self.bound.start)
            span = next(word_spans(self.source, word, start, self.bound.end), None)
            if span is not None:
                meant = _only_similar(item.name, self.resolver.exports(module))
                yield self._problem("not exported", *span, meant)


@lru_cache(maxsize=64)
def _own_attribute(language: Language) -> re.Pattern[bytes]:
    """Matches attributes of the object around a method."""
    words = "|".join(language.own_object.split()) or "(?!)"
    return re.compile(rf"\b(?:{words})\.(\w+)".encode())


@lru_cache(maxsize=64)
def _keywords(name: str) -> frozenset[str]:
    """The words of a grammar."""
    kinds = grammar(name)
    numbers = (number for number in range(kinds.node_kind_count) if not kinds.node_kind_is_named(number))
    words = (kinds.node_kind_for_id(number) or "" for number in numbers)
    return frozenset(word for word in words if word.isidentifier())


def _only_similar(name: str, names: Iterable[str]) -> str:
    """The only name that resembles another one."""
    found = [each for each in names if _resemble(name, each)]
    return found[0] if len(found) == 1 else ""


def _resemble(name: str, other: str) -> bool:
    """Whether two different names are spelled alike: in another style of letters, as a plural, or with one slip."""
    if name == other or min(len(name), len(other)) < MIN_SIMILAR or abs(len(name) - len(other)) > 2:
        return False
    if (name[0].isupper(), name.isupper()) != (other[0].isupper(), other.isupper()):
        return False  # a type, or a constant
    a, b = _folded(name), _folded(other)
    if a == b or a == f"{b}s" or b == f"{a}s":
        return True
    return min(len(a), len(b)) > MIN_SIMILAR and _one_slip(a, b)


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _one_slip(a: str, b: str) -> bool:
    """Whether one letter more, less, other, or two exchanged letters make two texts equal."""
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    a, b = a[n:], b[n:]
    return a[1:] == b or a == b[1:] or a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])


@lru_cache(maxsize=64)
def _alike(name: str) -> re.Pattern[bytes]:
    """Matches words of about the length of a name that begin with its first letter."""
    first = name.lstrip("_$")[:1]
    start = f"[{first.lower()}{first.upper()}]" if first.isalpha() else re.escape(first)
    n = len(name)
    return re.compile(rf"(?<![\w$])[_$]*{start}[\w$]{{{max(0, n - 4)},{n + 2}}}(?![\w$])".encode())


_CALL = re.compile(rb"\s*!?\(|\s*<[\w\s,.<>?\[\]]*>\s*\(")
_LAMBDA = re.compile(rb"\s*\{")
