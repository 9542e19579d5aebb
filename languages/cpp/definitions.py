"""Definitions, calls and imports of C and C++.

Owns what a declaration defines: functions, methods inside and outside of their class, types and their other names,
namespaces and macros. A declaration of a free function defines nothing. A member function that is only declared, and a
pointer to a function in a struct, are definitions of the kind "declaration": another file may define the body.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import define_named
from ..syntax import MODULE_SCOPE, ScopedChildren, SyntaxWalk
from .bindings import (
    bind_declared,
    bind_enumerators,
    bind_parameters,
    bind_type_parameters,
    callee_of,
    in_class,
    made_class,
    value_of,
)
from .types import (
    Declarator,
    base_classes,
    declared_type,
    named_type,
    read_declarator,
    scoped_name,
    type_text,
)

if TYPE_CHECKING:
    from tree_sitter import Node

DECLARATION = "declaration"
"""The kind of a function without a body."""

_FUNCTIONS = frozenset({"constructor", "function", "method"})
_RESULT = "()"  # `codegraph.file_graph.RESULT`
_OF_ONE_FILE = ("static",)  # `codegraph.file_graph.OF_ONE_FILE`
_FIXTURE_TESTS = frozenset({"TEST_F", "TEST_P", "TYPED_TEST", "TYPED_TEST_P"})

# Functions


def read_function(walk: SyntaxWalk, node: Node) -> None:
    """A function or a method with a body; in a class also `= default` and `= 0`."""
    shape = read_declarator(node.child_by_field_name("declarator"))
    described, body = node.child_by_field_name("type"), node.child_by_field_name("body")
    if shape.parameters is None and described is not None and _is_in_function(walk):
        walk.add_call(node, named_type(walk, described))  # `LIST_EACH(list) {…}`
        return
    is_declared = body is None and any(child.type == "pure_virtual_clause" for child in node.named_children)
    if define_function(walk, node, described, shape, is_declared=is_declared):
        is_deduced = described is not None and described.type == "placeholder_type_specifier" and shape.result is None
        if is_deduced and body is not None:
            _bind_result(walk, body)


def define_function(
    walk: SyntaxWalk, node: Node, described: Node | None, shape: Declarator, *, is_declared: bool = False
) -> bool:
    """Add a function that begins at a node and bind its parameters; False for what is none."""
    if shape.name is None or shape.parameters is None:
        return False
    name = scoped_name(walk, shape.name)
    owner, _, last = name.rpartition(".")
    if described is None and not owner and last.startswith(("TEST", "TYPED_TEST")):
        name, owner = _test_name(walk, last, shape.parameters)
    if not name:
        return False
    if described is None and not owner and _is_in_function(walk):
        walk.add_call(node, name)  # `LIST_EACH(list, item) {…}`
        return False
    around = walk.definitions[walk.scope].name if in_class(walk) else ""
    kind = DECLARATION if is_declared else _function_kind(last, owner, around)
    returns = declared_type(walk, described, shape)
    is_static = kind == "function" and not around and _is_static(node)
    bases = _OF_ONE_FILE if is_static else ()
    walk.add_definition(node, name, kind, header_line=shape.name.start_point[0], bases=bases, returns=returns)
    bind_type_parameters(walk, node)
    if owner:
        walk.add_binding(walk.scope, "this", "annotation", owner, node)
    bind_parameters(walk, shape.parameters)
    return True


def _is_in_function(walk: SyntaxWalk) -> bool:
    return walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind in _FUNCTIONS


def _is_static(node: Node) -> bool:
    for child in node.children[:3]:
        if child.type == "storage_class_specifier" and child.end_byte - child.start_byte == len("static"):
            return child.child_count == 0 or child.children[0].type == "static"
    return False


def _function_kind(name: str, owner: str, around: str) -> str:
    """A constructor has the name of its class, around it or before it; a name with a class before it is a method."""
    if name == (owner.rpartition(".")[2] if owner else around):
        return "constructor"
    return "method" if owner else "function"


def _test_name(walk: SyntaxWalk, macro: str, parameters: Node) -> tuple[str, str]:
    """The name and the class of `TEST_F(Fixture, Name)`, whose body is a method of a class with the base Fixture."""
    names = [walk.text(each) for each in parameters.named_children]
    if len(names) != 2 or not all(each.isidentifier() for each in names):
        return macro, ""
    if macro in _FIXTURE_TESTS:
        return ".".join(names), names[0]
    return "_".join(names), ""


def _bind_result(walk: SyntaxWalk, body: Node) -> None:
    for statement in body.named_children:
        if statement.type == "return_statement" and statement.named_child_count:
            how, value = value_of(walk, statement.named_children[0])
            if value:
                walk.add_binding(walk.scope, _RESULT, how, value, statement)


# Declarations


def read_declaration(walk: SyntaxWalk, node: Node) -> ScopedChildren | None:
    """Variables and fields; member functions without a body."""
    described = node.child_by_field_name("type")
    declarators = node.children_by_field_name("declarator")
    scope, is_member = walk.scope, in_class(walk)
    if described is not None and declarators and _is_anonymous(described):
        return _name_anonymous(walk, node, described, read_declarator(declarators[0]))
    at_top = scope == MODULE_SCOPE or walk.definitions[scope].kind == "namespace"
    value = node.child_by_field_name("default_value" if is_member else "value") if len(declarators) == 1 else None
    n_functions = 0
    for declarator in declarators:
        shape = read_declarator(declarator)
        if shape.is_function and (is_member or at_top):
            n_functions += 1
        if is_member and shape.parameters is not None:
            _declare_method(walk, node, described, shape)
            walk.scope = scope
        elif shape.is_function and at_top:
            continue
        elif len(declarators) == 1 and _define_lambda(walk, node, shape, shape.value or value):
            return None
        else:
            bind_declared(walk, described, shape, value)
            if not is_member:
                _add_construction(walk, node, described, declarator, shape)
    return [] if declarators and n_functions == len(declarators) else None


def _declare_method(walk: SyntaxWalk, node: Node, described: Node | None, shape: Declarator) -> None:
    name = scoped_name(walk, shape.name) if shape.name is not None else ""
    if shape.name is not None and name:
        returns = declared_type(walk, described, shape)
        walk.add_definition(node, name, DECLARATION, header_line=shape.name.start_point[0], returns=returns)


def _define_lambda(walk: SyntaxWalk, node: Node, shape: Declarator, value: Node | None) -> bool:
    """Whether a lambda is bound to a name, which makes it a definition."""
    if value is None or value.type != "lambda_expression" or shape.name is None or shape.name.type != "identifier":
        return False
    returns = type_text(walk, read_declarator(value.child_by_field_name("declarator")).result)
    walk.add_definition(node, walk.text(shape.name), "function", returns=returns)
    return True


def _add_construction(
    walk: SyntaxWalk, node: Node, described: Node | None, declarator: Node, shape: Declarator
) -> None:
    """`Shop shop(1)` and `Shop shop{1}` call the constructor."""
    if shape.value is not None:
        inner = declarator.child_by_field_name("declarator")
        if shape.value.type not in ("argument_list", "initializer_list") or inner is None or inner.type != "identifier":
            return
        if declarator.child_count > 2:  # `Shop shop = {1}`
            return
    elif not shape.is_function or shape.parameters is None:
        return
    else:
        _add_argument_calls(walk, shape.parameters)
    walk.add_call(node, named_type(walk, described))


def _add_argument_calls(walk: SyntaxWalk, parameters: Node) -> None:
    """`Shop shop(make());` reads as the declaration of a function that has a function as its parameter."""
    for each in parameters.named_children:
        declarator = each.child_by_field_name("declarator")
        if declarator is not None and declarator.type == "abstract_function_declarator":
            walk.add_call(each, named_type(walk, each.child_by_field_name("type")))


def _is_anonymous(described: Node) -> bool:
    return (
        described.type in ("struct_specifier", "union_specifier")
        and described.child_by_field_name("name") is None
        and described.child_by_field_name("body") is not None
    )


def _name_anonymous(walk: SyntaxWalk, node: Node, described: Node, shape: Declarator) -> ScopedChildren | None:
    """`struct { int x; } point;`: the variable names the struct."""
    scope = walk.scope
    if shape.name is None or shape.name.type not in ("identifier", "field_identifier"):
        return None
    kind = described.type.removesuffix("_specifier")
    walk.add_definition(node, walk.text(shape.name), kind, header_line=shape.name.start_point[0])
    others = [child for child in node.named_children if child != described]
    return [([described], walk.scope), (others, scope)]


def read_friend(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """A friend is no member, unless its body is here."""
    return [([child for child in node.named_children if child.type == "function_definition"], walk.scope)]


# Types


def read_class(walk: SyntaxWalk, node: Node) -> None:
    """A class, struct, union or enum with a body. The bases of a specialisation are not those of the template."""
    name, outer = node.child_by_field_name("name"), walk.scope
    if node.child_by_field_name("body") is None:
        return
    dotted = scoped_name(walk, name) if name is not None else ""
    kind = node.type.removesuffix("_specifier")
    if name is not None and dotted:
        bases = () if name.type == "template_type" else base_classes(walk, node)
        walk.add_definition(node, dotted, kind, header_line=name.start_point[0], bases=bases)
        bind_type_parameters(walk, node)
    if kind == "enum":
        around = walk.definitions[outer] if outer != MODULE_SCOPE else None
        if not dotted and around is not None and around.kind == "enum":  # `typedef enum { A } kind_t;`
            bind_enumerators(walk, node, around.parent, around.name)
        else:
            bind_enumerators(walk, node, outer, dotted)


def read_typedef(walk: SyntaxWalk, node: Node) -> None:
    """`typedef struct shop shop_t;`; `typedef struct {…} Item;` names an anonymous type."""
    described = node.child_by_field_name("type")
    names = [read_declarator(each).name for each in node.children_by_field_name("declarator")]
    if described is None or not names or names[0] is None:
        return
    outer = walk.scope
    inner = outer
    text = type_text(walk, described)
    has_body = described.child_by_field_name("body") is not None
    if has_body and described.child_by_field_name("name") is None:
        text = walk.text(names[0])
        kind = described.type.removesuffix("_specifier")
        walk.add_definition(node, text, kind, header_line=names[0].start_point[0])
        inner, names = walk.scope, names[1:]
    for name in names:
        walk.scope = outer
        if name is not None and walk.text(name) != text:
            _define_alias(walk, node, name, text)
    walk.scope = inner


def read_alias(walk: SyntaxWalk, node: Node) -> None:
    """`using Shops = std::vector<Shop>;`."""
    name, described = node.child_by_field_name("name"), node.child_by_field_name("type")
    if name is not None and described is not None:
        scope = walk.scope
        _define_alias(walk, node, name, type_text(walk, described))
        walk.scope = scope


def _define_alias(walk: SyntaxWalk, node: Node, name: Node, text: str) -> None:
    define_named(walk, node, name, "type", (text,) if text else ())


# Namespaces and imports


def read_namespace(walk: SyntaxWalk, node: Node) -> None:
    """The names in an anonymous and in an inline namespace are known around it."""
    name = node.child_by_field_name("name")
    if name is not None and node.children[0].type != "inline":
        define_named(walk, node, name, "namespace")


def read_namespace_alias(walk: SyntaxWalk, node: Node) -> None:
    """`namespace fs = std::filesystem;`."""
    names = node.named_children
    if len(names) == 2:
        value = ".".join(walk.text(names[1]).replace("::", " ").split())
        walk.add_binding(walk.scope, walk.text(names[0]), "alias", value, node)


def read_using(walk: SyntaxWalk, node: Node) -> None:
    """`using namespace a::b;` brings all names of a namespace, `using a::b;` one. A class has those of its bases."""
    if not node.named_child_count or in_class(walk):
        return
    name = node.named_children[-1]
    dotted = scoped_name(walk, name)
    if any(child.type == "namespace" for child in node.children):
        walk.add_import(node, "", dotted, "*")
    elif "." in dotted:
        walk.add_binding(walk.scope, dotted.rpartition(".")[2], "alias", dotted, node)


def read_include(walk: SyntaxWalk, node: Node) -> None:
    """An include imports all declarations of its file."""
    path = node.child_by_field_name("path")
    if path is not None and path.type in ("string_literal", "system_lib_string"):
        walk.add_import(node, "", walk.text(path).strip('"<>'), "*")


def read_macro(walk: SyntaxWalk, node: Node) -> None:
    """`#define LIST_ADD(list, item) …`. A namespace around it does not matter."""
    name = node.child_by_field_name("name")
    if name is not None:
        around = walk.scope
        define_named(walk, node, name, "macro")
        if around != MODULE_SCOPE:
            qualified_name = walk.definitions[-1].qualified_name
            walk.add_binding(MODULE_SCOPE, walk.text(name), "alias", qualified_name, node)


# Calls


def read_call(walk: SyntaxWalk, node: Node) -> None:
    function = node.child_by_field_name("function")
    if function is not None:
        walk.add_call(node, made_class(walk, function) or callee_of(walk, function))


def read_new(walk: SyntaxWalk, node: Node) -> None:
    """`new Shop(1)`, `Shop{1}`."""
    described = node.child_by_field_name("type")
    if described is not None and described.type != "type_descriptor":  # `(struct shop){0}` calls nothing
        walk.add_call(node, named_type(walk, described))
