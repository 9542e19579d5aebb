"""What source of the ten languages besides Python says: definitions, calls and imports, by a table for each.

Owns the tables, and the readers that they are turned into. Knows names and places, no types: what a
variable holds is read for Python alone.

A definition is the node that has both the name and the body: for `const pay = () => …` the declarator,
for a C function its `function_definition`. Declarations without a body count only in types, where a
method may have none. Namespaces and modules are definitions too, so they are part of qualified names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tree_sitter import Node

from . import plain_imports as imports
from .dotted import dotted_name
from .facts import MODULE_SCOPE
from .walk import Reader, Walk


@dataclass(frozen=True)
class Table:
    """The node kinds of one language that matter."""

    definitions: Mapping[str, str]  # node kind with a field "name" -> kind of definition
    calls: Mapping[str, str]  # node kind -> field that holds the callee, "" for the first named child
    sends: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # node kind -> fields of receiver and name
    bases: frozenset[str] = frozenset()  # kinds of clauses below a class that name what it is derived from
    returns: str = ""  # field of a function that holds its return type
    others: Mapping[str, Reader] = field(default_factory=dict)  # what takes more than a row


def _readers(table: Table) -> dict[str, Reader]:
    """The readers by node kind that a table stands for."""
    readers: dict[str, Reader] = {}
    for node_kind, kind in table.definitions.items():
        readers[node_kind] = _definition_reader(table, kind)
    for node_kind, callee in table.calls.items():
        readers[node_kind] = _call_reader(callee)
    for node_kind, (receiver, name) in table.sends.items():
        readers[node_kind] = _send_reader(receiver, name)
    return readers | dict(table.others)


# Definitions

# These kinds also stand where a type is only mentioned, `struct Shop *shop`, or kept elsewhere, `mod shop;`.
_NEEDS_BODY = frozenset({"class_specifier", "enum_specifier", "mod_item", "struct_specifier", "union_specifier"})


def _definition_reader(table: Table, kind: str) -> Reader:
    def read(walk: Walk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is not None and (node.type not in _NEEDS_BODY or node.child_by_field_name("body") is not None):
            _define(walk, node, name, kind, _bases(walk, node, table.bases), _returns(walk, node, table.returns))

    return read


def _define(walk: Walk, node: Node, name: Node, kind: str, bases: tuple[str, ...] = (), returns: str = "") -> None:
    if name.type in _SCOPED_NAMES:
        dotted = spelled(walk, name)
    elif name.child_count == 0 or name.type in _SIGNED_NAMES:
        dotted = "".join(walk.text(name).lstrip("#$@").split())
    else:
        return  # a computed key, a quoted module
    if dotted:
        walk.define(node, dotted, kind, header_line=name.start_point[0], bases=bases, returns=returns)


_SCOPED_NAMES = frozenset(
    {"namespace_name", "nested_identifier", "nested_namespace_specifier", "qualified_identifier", "qualified_name"}
    | {"scope_resolution", "template_function", "template_type"}
)
_SIGNED_NAMES = frozenset({"destructor_name", "operator", "operator_name", "setter"})


def spelled(walk: Walk, node: Node) -> str:
    """A name or a type as dotted text, without arguments; "" when it has no such form."""
    dotted = dotted_name(walk.text(node).lstrip(":?&* \t").partition("[")[0]).removesuffix("()")
    return "" if dotted.startswith("?") else dotted


def _returns(walk: Walk, node: Node, field_name: str) -> str:
    returns = node.child_by_field_name(field_name) if field_name else None
    return spelled(walk, returns) if returns is not None else ""


def _bases(walk: Walk, node: Node, kinds: frozenset[str]) -> tuple[str, ...]:
    return base_names(walk, [child for child in node.named_children if child.type in kinds]) if kinds else ()


def base_names(walk: Walk, clauses: list[Node]) -> tuple[str, ...]:
    """The types named in clauses like `extends Base<T>` or `: public Base, Other`, as dotted texts."""
    waiting = [*clauses]
    bases = []
    while waiting:
        for child in waiting.pop(0).named_children:
            if child.type in _BASE_LISTS:
                waiting.append(child)
            elif child.type not in _NOT_BASES:
                bases.append(spelled(walk, child))
    return tuple(base for base in bases if base)


_BASE_LISTS = frozenset({"extends_clause", "implements_clause", "type_list"})
_NOT_BASES = frozenset({"access_specifier", "arguments", "argument_list", "comment", "lifetime", "type_arguments"})

# Calls


def _call_reader(field_name: str) -> Reader:
    def read(walk: Walk, node: Node) -> None:
        callee = node.child_by_field_name(field_name) if field_name else _first(node)
        if callee is not None:
            walk.call(node, walk.dotted(callee))

    return read


def _send_reader(receiver_field: str, name_field: str) -> Reader:
    def read(walk: Walk, node: Node) -> None:
        walk.call(node, _sent(walk, node, receiver_field, name_field))

    return read


def _sent(walk: Walk, node: Node, receiver_field: str, name_field: str) -> str:
    """The callee of a call that holds its receiver and its method apart."""
    receiver, name = node.child_by_field_name(receiver_field), node.child_by_field_name(name_field)
    if name is None:
        return ""
    method = walk.text(name).lstrip("$")
    if receiver is None:
        return method
    dotted = walk.dotted(receiver)
    return f"{dotted}.{method}" if dotted and not dotted.startswith("?") else f"?.{method}"


def _first(node: Node) -> Node | None:
    return next(iter(node.named_children), None)


# JavaScript and TypeScript

_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_NOT_PART_OF_NAME = frozenset({"exports", "module", "prototype", "this"})


def _value_reader(name_field: str, value_field: str) -> Reader:
    """For what gives a name to a value: a function or a class takes that name, a `require` is an import."""

    def read(walk: Walk, node: Node) -> None:
        name, value = node.child_by_field_name(name_field), node.child_by_field_name(value_field)
        if name is None or value is None:
            return
        if value.type == "call_expression":
            imports.read_require(walk, name, value)
        elif value.type in _FUNCTION_VALUES or value.type == "class":
            parts = [part for part in spelled(walk, name).lstrip("#").split(".") if part not in _NOT_PART_OF_NAME]
            kind = "class" if value.type == "class" else "function"
            bases, returns = _bases(walk, value, _WEB_BASES), _returns(walk, value, "return_type")
            if any(parts):
                walk.define(node, ".".join(parts), kind, header_line=name.start_point[0], bases=bases, returns=returns)

    return read


def _read_element(walk: Walk, node: Node) -> None:
    """`<Price of={x}/>` calls the component Price; names in lower case are the browser's own elements."""
    name = node.child_by_field_name("name")
    if name is not None:
        component = walk.dotted(name)
        if component[:1].isupper():
            walk.call(node, component)


_WEB_BASES = frozenset({"class_heritage", "extends_type_clause"})
_ELEMENTS: dict[str, Reader] = {"jsx_opening_element": _read_element, "jsx_self_closing_element": _read_element}
_JAVASCRIPT = Table(
    definitions={
        "class": "class",
        "class_declaration": "class",
        "function_declaration": "function",
        "function_expression": "function",
        "generator_function_declaration": "function",
        "method_definition": "function",
    },
    calls={"call_expression": "function", "new_expression": "constructor"},
    bases=_WEB_BASES,
    returns="return_type",
    others={
        "assignment_expression": _value_reader("left", "right"),
        "export_statement": imports.read_reexport,
        "field_definition": _value_reader("property", "value"),
        "import_statement": imports.read_web_import,
        "pair": _value_reader("key", "value"),
        "variable_declarator": _value_reader("name", "value"),
        **_ELEMENTS,
    },
)
_TSX = Table(
    definitions={
        **_JAVASCRIPT.definitions,
        "abstract_class_declaration": "class",
        "abstract_method_signature": "function",
        "enum_declaration": "enum",
        "function_signature": "function",
        "interface_declaration": "interface",
        "internal_module": "namespace",
        "method_signature": "function",
        "module": "namespace",
        "type_alias_declaration": "type",
    },
    calls=_JAVASCRIPT.calls,
    bases=_WEB_BASES,
    returns="return_type",
    others={
        **{kind: reader for kind, reader in _JAVASCRIPT.others.items() if kind != "field_definition"},
        "public_field_definition": _value_reader("name", "value"),
    },
)
_TYPESCRIPT = Table(
    definitions=_TSX.definitions,
    calls=_TSX.calls,
    bases=_WEB_BASES,
    returns="return_type",
    others={kind: reader for kind, reader in _TSX.others.items() if kind not in _ELEMENTS},
)

# Go


def _read_go_method(walk: Walk, node: Node) -> None:
    """`func (s *Shop) Pay()` is Shop.Pay."""
    name, receiver = node.child_by_field_name("name"), node.child_by_field_name("receiver")
    declared = _first(receiver) if receiver is not None else None
    owner = declared.child_by_field_name("type") if declared is not None else None
    if name is not None:
        dotted = ".".join(filter(None, [spelled(walk, owner) if owner is not None else "", walk.text(name)]))
        walk.define(node, dotted, "method", header_line=name.start_point[0], returns=_returns(walk, node, "result"))


def _read_go_type(walk: Walk, node: Node) -> None:
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is not None:
        kinds = {"struct_type": "struct", "interface_type": "interface"}
        _define(walk, node, name, kinds.get(described.type if described is not None else "", "type"))


def _read_go_conversion(walk: Walk, node: Node) -> None:
    """`m.New[int](x)` reads as a conversion to a type, but calls a function as often."""
    callee = node.child_by_field_name("type")
    if callee is not None:
        walk.call(node, spelled(walk, callee))


_GO = Table(
    definitions={"function_declaration": "function", "method_elem": "function", "type_alias": "type"},
    calls={"call_expression": "function"},
    returns="result",
    others={
        "import_spec": imports.read_go_import,
        "method_declaration": _read_go_method,
        "type_conversion_expression": _read_go_conversion,
        "type_spec": _read_go_type,
    },
)

# Java and C#

_JAVA = Table(
    definitions={
        "annotation_type_declaration": "interface",
        "class_declaration": "class",
        "compact_constructor_declaration": "constructor",
        "constructor_declaration": "constructor",
        "enum_declaration": "enum",
        "interface_declaration": "interface",
        "method_declaration": "function",
        "record_declaration": "record",
    },
    calls={"explicit_constructor_invocation": "constructor", "object_creation_expression": "type"},
    sends={"method_invocation": ("object", "name")},
    bases=frozenset({"extends_interfaces", "super_interfaces", "superclass"}),
    returns="type",
    others={"import_declaration": imports.read_java_import},
)
_CSHARP = Table(
    definitions={
        "class_declaration": "class",
        "constructor_declaration": "constructor",
        "delegate_declaration": "type",
        "enum_declaration": "enum",
        "interface_declaration": "interface",
        "local_function_statement": "function",
        "method_declaration": "function",
        "namespace_declaration": "namespace",
        "property_declaration": "function",
        "record_declaration": "record",
        "struct_declaration": "struct",
    },
    calls={"invocation_expression": "function", "object_creation_expression": "type"},
    bases=frozenset({"base_list"}),
    returns="returns",
    others={"using_directive": imports.read_using},
)

# Rust


def _read_impl(walk: Walk, node: Node) -> None:
    """An impl block takes the name of its type, so that its functions are "Shop.pay" as well."""
    owner, trait = node.child_by_field_name("type"), node.child_by_field_name("trait")
    dotted = spelled(walk, owner) if owner is not None else ""
    if dotted:
        base = spelled(walk, trait) if trait is not None else ""
        walk.define(node, dotted, "impl", bases=(base,) if base else ())


def _read_token_tree(walk: Walk, node: Node) -> None:
    """The arguments of a macro are loose tokens: a name before an opening bracket is taken for a call."""
    tokens = node.children
    for at in range(1, len(tokens)):
        if tokens[at].type == "token_tree" and tokens[at - 1].type == "identifier" and _opens(walk, tokens[at]):
            start = at - 1
            while start >= 2 and tokens[start - 1].type in (".", "::") and tokens[start - 2].type in _PATH_TOKENS:
                start -= 2
            chain = walk.source[tokens[start].start_byte : tokens[at - 1].end_byte].decode("utf-8", "replace")
            taken_from = tokens[start - 1].type if start else ""
            walk.call(tokens[at - 1], dotted_name(f"?.{chain}" if taken_from in (".", "::") else chain))


def _opens(walk: Walk, tree: Node) -> bool:
    return walk.source[tree.start_byte] == ord("(")


_PATH_TOKENS = frozenset({"identifier", "self", "super", "crate"})
_RUST = Table(
    definitions={
        "enum_item": "enum",
        "function_item": "function",
        "function_signature_item": "function",
        "macro_definition": "macro",
        "mod_item": "module",
        "struct_item": "struct",
        "trait_item": "trait",
        "type_item": "type",
        "union_item": "union",
    },
    calls={"call_expression": "function", "macro_invocation": "macro"},
    bases=frozenset({"trait_bounds"}),
    returns="return_type",
    others={"impl_item": _read_impl, "token_tree": _read_token_tree, "use_declaration": imports.read_use},
)

# C and C++


def _read_c_function(walk: Walk, node: Node) -> None:
    name = declared_name(node.child_by_field_name("declarator"))
    if name is not None:
        _define(walk, node, name, _c_function_kind(walk, name), returns=_returns(walk, node, "type"))


def declared_name(declarator: Node | None) -> Node | None:
    """The name at the bottom of declarators: Shop::pay in `*Shop::pay(int x)`."""
    while declarator is not None and declarator.type.endswith("declarator"):
        below = (child for child in declarator.named_children if child.type.endswith("declarator"))
        declarator = declarator.child_by_field_name("declarator") or next(below, None)
    return declarator


def _c_function_kind(walk: Walk, name: Node) -> str:
    """A constructor has the name of its class, around it or before it; what has a class before it is a method."""
    *owners, last = spelled(walk, name).split(".")
    around = walk.definitions[walk.scope].name if walk.scope != MODULE_SCOPE else ""
    if last == (owners[-1] if owners else around):
        return "constructor"
    return "method" if owners else "function"


def _read_typedef(walk: Walk, node: Node) -> None:
    """`typedef struct { … } Item;` names what has no name of its own."""
    described, name = node.child_by_field_name("type"), node.child_by_field_name("declarator")
    if described is None or name is None or described.type not in _NEEDS_BODY:
        return
    if described.child_by_field_name("name") is None and described.child_by_field_name("body") is not None:
        _define(walk, node, name, described.type.removesuffix("_specifier"))


_C = Table(
    definitions={
        "enum_specifier": "enum",
        "preproc_function_def": "macro",
        "struct_specifier": "struct",
        "union_specifier": "union",
    },
    calls={"call_expression": "function"},
    others={
        "function_definition": _read_c_function,
        "preproc_include": imports.read_include,
        "type_definition": _read_typedef,
    },
)
_CPP = Table(
    definitions={
        **_C.definitions,
        "class_specifier": "class",
        "namespace_definition": "namespace",
    },
    calls={**_C.calls, "new_expression": "type"},
    bases=frozenset({"base_class_clause"}),
    others=_C.others,
)

# Ruby and PHP


def _read_ruby_call(walk: Walk, node: Node) -> None:
    """`Store.new(db)` calls the class itself, as `new Store(db)` does elsewhere."""
    if not imports.read_ruby_require(walk, node):
        walk.call(node, _sent(walk, node, "receiver", "method").removesuffix(".new"))


_RUBY = Table(
    definitions={"class": "class", "method": "function", "module": "module", "singleton_method": "function"},
    calls={},
    bases=frozenset({"superclass"}),
    others={"call": _read_ruby_call},
)
_PHP = Table(
    definitions={
        "class_declaration": "class",
        "enum_declaration": "enum",
        "function_definition": "function",
        "interface_declaration": "interface",
        "method_declaration": "function",
        "trait_declaration": "trait",
    },
    calls={"function_call_expression": "function", "object_creation_expression": ""},
    sends={
        "member_call_expression": ("object", "name"),
        "nullsafe_member_call_expression": ("object", "name"),
        "scoped_call_expression": ("scope", "name"),
    },
    bases=frozenset({"base_clause", "class_interface_clause"}),
    returns="return_type",
    others={"namespace_use_declaration": imports.read_php_use},
)

READERS = {
    language: _readers(table)
    for language, table in {
        "javascript": _JAVASCRIPT,
        "typescript": _TYPESCRIPT,
        "tsx": _TSX,
        "go": _GO,
        "java": _JAVA,
        "rust": _RUST,
        "c": _C,
        "cpp": _CPP,
        "csharp": _CSHARP,
        "ruby": _RUBY,
        "php": _PHP,
    }.items()
}
"""For each language, what to do at each kind of node."""
