"""Call labels by name from tree-sitter grammars, for languages without a compiler that runs on a bare checkout.

Owns the definitions and calls of a file as its grammar states them, and the names that standard libraries use. A call
is labelled when the repository has one definition of its name, which is long and no standard library's, or, for a
static member as in `Shop.make()`, one of its qualified name. Knows no types and uses none of Weft's readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from typing import Any

from tree_sitter import Language, Node, Parser

from ..resolution import MIN_UNIQUE_NAME
from ..sources import SourceFile
from ..task_languages import TaskLanguage
from ..tasks import HEAD_LINES
from .standard_names import STANDARD_NAMES

SIMPLE_NAME, QUALIFIED_NAME = "simple_name", "qualified_name"
"""Resolutions of a call: by a name that the repository defines once, and through the name of a type, `Shop.make()`."""

_Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class NameTable:
    """Node kinds of one grammar. A value is the field that holds the name, or "" for the first child with a name."""

    types: Mapping[str, str]
    functions: Mapping[str, str]
    calls: Mapping[str, str]
    extensions: Mapping[str, str] = field(default_factory=dict)  # hold members of a type that they do not define
    constructors: frozenset[str] = frozenset()  # functions without a name of their own
    constructor_names: frozenset[str] = frozenset()
    new_method: str = ""  # `Shop.new` constructs a Shop
    receiver: str = ""  # field of a call that holds the receiver, where the callee does not contain it


TABLES: Mapping[str, NameTable] = {
    "rust": NameTable(
        types=dict.fromkeys(("enum_item", "struct_item", "trait_item", "type_item", "union_item"), "name"),
        functions=dict.fromkeys(("function_item", "function_signature_item", "macro_definition"), "name"),
        calls={"call_expression": "function", "macro_invocation": "macro"},
        extensions={"impl_item": "type"},
    ),
    "csharp": NameTable(
        types=dict.fromkeys(
            (
                "class_declaration",
                "delegate_declaration",
                "enum_declaration",
                "interface_declaration",
                "record_declaration",
                "struct_declaration",
            ),
            "name",
        ),
        functions=dict.fromkeys(("local_function_statement", "method_declaration"), "name"),
        calls={"invocation_expression": "function", "object_creation_expression": "type"},
        constructors=frozenset({"constructor_declaration"}),
    ),
    "ruby": NameTable(
        types=dict.fromkeys(("class", "module"), "name"),
        functions=dict.fromkeys(("method", "singleton_method"), "name"),
        calls={"call": "method"},
        constructor_names=frozenset({"initialize"}),
        new_method="new",
        receiver="receiver",
    ),
    "php": NameTable(
        types=dict.fromkeys(
            ("class_declaration", "enum_declaration", "interface_declaration", "trait_declaration"), "name"
        ),
        functions=dict.fromkeys(("function_definition", "method_declaration"), "name"),
        calls={
            "function_call_expression": "function",
            "member_call_expression": "name",
            "nullsafe_member_call_expression": "name",
            "object_creation_expression": "",
            "scoped_call_expression": "name",
        },
        constructor_names=frozenset({"__construct"}),
        receiver="scope",
    ),
    "swift": NameTable(
        types=dict.fromkeys(("class_declaration", "protocol_declaration", "typealias_declaration"), "name"),
        functions=dict.fromkeys(("function_declaration", "protocol_function_declaration"), "name"),
        calls={"call_expression": "", "constructor_expression": "constructed_type", "macro_invocation": ""},
        constructors=frozenset({"init_declaration"}),
    ),
    "scala": NameTable(
        types=dict.fromkeys(
            ("class_definition", "enum_definition", "object_definition", "trait_definition", "type_definition"), "name"
        ),
        functions=dict.fromkeys(("function_declaration", "function_definition"), "name"),
        calls={"call_expression": "function", "instance_expression": ""},
    ),
}

_LEAVES = frozenset({"constant", "field_identifier", "identifier", "name", "simple_identifier", "type_identifier"})
# Nodes around a name, with the field of the part that holds it; "" is the last child with a name.
_AROUND_A_NAME = {
    "alias_qualified_name": "name",
    "conditional_access_expression": "",
    "field_expression": "field",
    "generic_function": "function",
    "generic_type": "type",
    "member_access_expression": "name",
    "member_binding_expression": "name",
    "navigation_expression": "suffix",
    "navigation_suffix": "suffix",
    "prefix_expression": "target",
    "qualified_name": "name",
    "scope_resolution": "name",
    "scoped_identifier": "name",
    "scoped_type_identifier": "name",
    "stable_type_identifier": "",
    "user_type": "",
}
_RECEIVERS = ("path", "expression", "value", "target", "scope", "qualifier")


@dataclass(slots=True)
class _Definition:
    """All definitions of one qualified name in a file: overloads, and the constructors of a class."""

    name: str
    owner: str  # name of the innermost type around it
    path: str
    qualname: str
    is_type: bool
    spans: list[tuple[int, int]] = field(default_factory=list)

    @property
    def callee(self) -> _Record:
        return {"path": self.path, "qualname": self.qualname, "spans": self.spans}


def records_by_name(language: TaskLanguage, sources: Mapping[str, SourceFile]) -> Iterator[_Record]:
    """The calls of all files with their labels, as records of the label programs."""
    readers = [_FileReader(TABLES[language.name], path, source) for path, source in sources.items()]
    types: set[str] = set()
    by_name: dict[str, list[_Definition]] = {}
    by_qualified_name: dict[tuple[str, str], list[_Definition]] = {}
    for reader in readers:
        for definition in reader.definitions.values():
            by_name.setdefault(definition.name, []).append(definition)
            by_qualified_name.setdefault((definition.owner, definition.name), []).append(definition)
            if definition.is_type:
                types.add(definition.name)
    standard = STANDARD_NAMES[language.name]
    for reader in readers:
        for call, owner in reader.calls:
            name = call["name"]
            letters = name.rstrip("?!")
            is_telling = len(letters) >= MIN_UNIQUE_NAME and letters not in standard
            found = by_name.get(name, []) if is_telling else []
            how = SIMPLE_NAME
            if owner in types and len(found) != 1:
                found, how = by_qualified_name.get((owner, name), []), QUALIFIED_NAME
            if len(found) == 1:
                yield {**call, "how": how, "callee": found[0].callee}


class _FileReader:
    """The definitions and calls of one file."""

    def __init__(self, table: NameTable, path: str, source: SourceFile) -> None:
        self.definitions: dict[str, _Definition] = {}
        self.calls: list[tuple[_Record, str]] = []  # with the type before the name, or ""
        self._table, self._path = table, path
        suffix = source.language.suffix_of(path)
        assert suffix is not None
        root = _parser(*source.language.grammars[suffix]).parse(source.text.encode()).root_node
        # A stack, not recursion: a chain of a thousand calls is a tree a thousand deep.
        pending: list[tuple[Node, str]] = [(root, "")]
        while pending:
            node, scope = pending.pop()
            inner = self._read(node, scope)
            pending += [(child, inner) for child in reversed(node.named_children)]

    def _read(self, node: Node, scope: str) -> str:
        """Read one node; returns the qualified name of the types around its children."""
        table, kind = self._table, node.type
        if kind in table.calls:
            if not _is_assigned(node):
                self._read_call(node, table.calls[kind])
        elif kind in table.extensions or (kind in table.types and node.child(0) and _is_extension(node)):
            name = _name_in(node.child_by_field_name(table.extensions.get(kind, "name")))
            return _joined(scope, _text(name)) if name else scope
        elif kind in table.types:
            name = _name_in(node.child_by_field_name(table.types[kind]))
            if name is not None:
                self._define(node, _joined(scope, _text(name)), is_type=True)
                return _joined(scope, _text(name))
        elif kind in table.functions:
            name = _name_in(node.child_by_field_name(table.functions[kind]))
            if name is not None and _text(name) in table.constructor_names:
                self._define(node, scope, is_type=True)
            elif name is not None:
                self._define(node, _joined(scope, _text(name)), is_type=False)
        elif kind in table.constructors:
            self._define(node, scope, is_type=True)
        return scope

    def _define(self, node: Node, qualname: str, is_type: bool) -> None:
        if not qualname:
            return
        owner, _, name = qualname.rpartition(".")
        definition = self.definitions.setdefault(
            qualname, _Definition(name, owner.rpartition(".")[2], self._path, qualname, is_type)
        )
        first = node.start_point[0]
        definition.spans.append((first, min(node.end_point[0] + 1, first + HEAD_LINES)))

    def _read_call(self, node: Node, of_callee: str) -> None:
        callee = node.child_by_field_name(of_callee) if of_callee else next(iter(node.named_children), None)
        name = _name_in(callee)
        if callee is None or name is None:
            return
        before = node.child_by_field_name(self._table.receiver) if self._table.receiver else _receiver(callee)
        owner = _type_name(before)
        if owner and _text(name) == self._table.new_method:
            name, owner = _name_in(before) or name, ""
        place = {
            "path": self._path,
            "line": name.start_point[0],
            "end_line": node.end_point[0] + 1,
            "column": name.start_point[1],
        }
        self.calls.append(({"kind": "call", **place, "name": _text(name)}, owner))


@lru_cache
def _parser(module: str, function: str) -> Parser:
    return Parser(Language(getattr(import_module(module), function)()))


def _text(node: Node | None) -> str:
    return node.text.decode() if node is not None and node.text is not None else ""


def _joined(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name


def _is_assigned(node: Node) -> bool:
    """`shop.name = 1` of Ruby calls a writer, but its left side has the node kind of a call."""
    parent = node.parent if node.type == "call" else None
    return parent is not None and parent.type.endswith("assignment") and parent.child_by_field_name("left") == node


def _is_extension(node: Node) -> bool:
    """An `extension` of Swift has the node kind of a class."""
    return _text(node.child_by_field_name("declaration_kind")) == "extension"


def _name_in(node: Node | None) -> Node | None:
    """The last name of a path or of a chain of members; None for other expressions."""
    while node is not None and node.type not in _LEAVES:
        if node.type in ("generic_name", "nullable_type"):
            node = node.named_children[0]
        elif node.type in _AROUND_A_NAME:
            inner = node.child_by_field_name(_AROUND_A_NAME[node.type]) if _AROUND_A_NAME[node.type] else None
            children = [child for child in node.named_children if child.type != "type_arguments"]
            node = inner or (children[-1] if children else None)
        else:
            return None
    return node


def _receiver(callee: Node) -> Node | None:
    """The expression before the last name of a callee."""
    if callee.type in ("generic_function", "generic_type"):
        inner = callee.child_by_field_name("function") or callee.child_by_field_name("type")
        return _receiver(inner) if inner is not None else None
    if callee.type not in _AROUND_A_NAME or len(callee.named_children) < 2:
        return None
    named = (callee.child_by_field_name(name) for name in _RECEIVERS)
    return next((node for node in named if node is not None), callee.named_children[0])


def _type_name(node: Node | None) -> str:
    """The last name of a receiver that is a path to a type, which begins with a capital letter; or ""."""
    name = _text(_name_in(node))
    return name if name[:1].isupper() else ""
