"""JavaScript, with JSX.

The grammar of JSX also parses plain JavaScript. TypeScript reuses these rules.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..import_lines import WEB_IMPORTS
from ..language import Language
from ..lexer import Lexer, Rule
from ..lexical_rules import NOT_AN_APOSTROPHE, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import base_types, define_named, first_child, spelled, unquoted
from ..scope_rules import CallRules, ScopeRules
from ..syntax import MODULE_SCOPE, NodeReader, SyntaxWalk
from ..web.bindings import (
    FUNCTION_VALUES,
    FUNCTION_WRAPPERS,
    MAX_NESTING,
    MEMBER_KINDS,
    OBJECT_WRAPPERS,
    RESULT,
    annotated_type,
    bind,
    bind_callback,
    bind_member,
    bind_parameters,
    bind_pattern,
    bind_result,
    bind_value,
    callback_targets,
    class_around,
    dynamic_import,
    expression_text,
    has_callback,
    meanings,
    plain_name,
    read_catch,
    read_for,
)
from ..web.docs import DocumentedTypes, bind_documented, doc_comment
from ..web.errors import read_error
from ..web.types import TypeText, type_name

if TYPE_CHECKING:
    from tree_sitter import Node


# Not after ">" and "<", where it ends a tag, nor after a name or a closing bracket, where it is a division.
_REGEX = Rule(
    r"(?:(?<![^\r\n])|(?<=[=(,:;!&|?{\[+\-*%^~])|(?<=[=(,:;!&|?{\[+\-*%^~] )|(?<=\breturn ))/(?![/*])"
    r"(?:[^/\\\[\r\n]|\\[^\r\n]|\[(?:[^\]\\\r\n]|\\[^\r\n])*\])+/"
)
LEXER = Lexer(
    rules=(
        *SLASH_COMMENTS,
        _REGEX,
        *quoted('"'),
        *quoted("'", before=NOT_AN_APOSTROPHE),
        *quoted("`", lines=True, interpolation="${"),
    ),
    signs="/\"'`",
    comment_marks=SLASH_MARKS,
)
DECORATOR = r"@[\w.]+(?:\(.*\))?"
IMPORT_SUFFIXES = "ts tsx d.ts js jsx mjs cjs mts cts"

BASES = frozenset({"class_heritage", "extends_type_clause"})

# Imports


def _read_import(walk: SyntaxWalk, node: Node) -> None:
    """`import a, {b as c} from "m"`, `import * as m from "m"`, `import m = require("m")`; none for `import "m"`."""
    source = node.child_by_field_name("source")
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            required, name = clause.child_by_field_name("source"), clause.named_children[0]
            if required is not None:
                walk.add_import(node, plain_name(walk, name), unquoted(walk, required), "")
        elif clause.type == "import_clause" and source is not None:
            _bring_clause(walk, clause, unquoted(walk, source))


def _bring_clause(walk: SyntaxWalk, clause: Node, module: str) -> None:
    for part in clause.named_children:
        if part.type == "identifier":
            walk.add_import(part, plain_name(walk, part), module, "default")
        elif part.type == "namespace_import" and part.named_children:
            walk.add_import(part, plain_name(walk, part.named_children[0]), module, "")
        elif part.type == "named_imports":
            _bring_specifiers(walk, part, module)


def _bring_specifiers(walk: SyntaxWalk, clause: Node, module: str) -> None:
    for specifier in clause.named_children:
        name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
        if name is not None:
            walk.add_import(specifier, plain_name(walk, alias or name), module, plain_name(walk, name))


def _read_reexport(walk: SyntaxWalk, node: Node, module: str) -> None:
    """`export {a as b} from "m"`, `export * from "m"` and `export * as m from "m"`."""
    named = [child for child in node.named_children if child.type in ("export_clause", "namespace_export")]
    if not named:
        walk.add_import(node, "", module, "*")
    for clause in named:
        if clause.type == "namespace_export":
            walk.add_import(node, plain_name(walk, clause.named_children[0]), module, "")
        else:
            _bring_specifiers(walk, clause, module)


def _bring_module(walk: SyntaxWalk, target: Node, module: str) -> None:
    """A module that an expression loads, `require("m")` or `await import("m")`, in a name or a pattern."""
    if target.type == "identifier":
        walk.add_import(target, plain_name(walk, target), module, "")
    for part in target.named_children if target.type == "object_pattern" else ():
        name, local_name = part, part
        if part.type == "pair_pattern" and len(part.named_children) == 2:
            name, local_name = part.named_children
        if local_name.type in ("assignment_pattern", "object_assignment_pattern"):
            local_name = local_name.child_by_field_name("left") or local_name
            name = local_name if name is part else name
        if local_name.type in ("identifier", "shorthand_property_identifier_pattern"):
            walk.add_import(part, plain_name(walk, local_name), module, plain_name(walk, name))


def _bring_value(walk: SyntaxWalk, target: Node, value: Node) -> bool:
    """Whether a value is a loaded module or a name of one; then it is imported."""
    module = dynamic_import(walk, value)
    if module:
        _bring_module(walk, target, module)
        return True
    if target.type != "identifier":
        return False
    if value.type == "member_expression":  # require("m").name
        loaded, name = value.child_by_field_name("object"), value.child_by_field_name("property")
        module = dynamic_import(walk, loaded) if loaded is not None else ""
        if module and name is not None:
            walk.add_import(target, plain_name(walk, target), module, plain_name(walk, name))
    elif value.type == "call_expression":  # lazy(() => import("m"))
        loader = wrapped_value(walk, value, _LAZY, ("arrow_function",))
        body = loader.child_by_field_name("body") if loader is not None else None
        module = dynamic_import(walk, body) if body is not None else ""
        if module:
            walk.add_import(target, plain_name(walk, target), module, "default")
    return bool(module)


_LAZY = frozenset({"defineAsyncComponent", "dynamic", "lazy"})

# Exports


def _read_export(walk: SyntaxWalk, node: Node) -> None:
    """Other names of what a module exports: its default export, `export {a as b}`, and re-exports."""
    source = node.child_by_field_name("source")
    if source is not None:
        _read_reexport(walk, node, unquoted(walk, source))
        return
    value = node.child_by_field_name("value")
    if value is not None:
        name = value.child_by_field_name("name") if value.type in _NAMED_VALUES else None
        if name is not None:  # error recovery reads an unfinished `export default function f() {` as an expression
            _export_name(walk, name, "default", "alias", plain_name(walk, name))
        else:
            _export_default(walk, node, value)
        return
    declaration = node.child_by_field_name("declaration")
    if declaration is not None:
        name = declaration.child_by_field_name("name")
        if name is not None and any(child.type == "default" for child in node.children):
            _export_name(walk, name, "default", "alias", plain_name(walk, name))
        return
    for clause in node.named_children:
        if clause.type == "export_clause":
            for specifier in clause.named_children:
                exported, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
                if exported is not None and alias is not None:
                    _export_name(walk, alias, plain_name(walk, alias), "alias", plain_name(walk, exported))
        elif clause.type == "identifier":  # export = name
            _export_name(walk, clause, "default", "alias", plain_name(walk, clause))


def _export_default(walk: SyntaxWalk, node: Node, value: Node) -> None:
    """`export default value` and `module.exports = value`: a literal function, class or object is a definition."""
    if not define_value(walk, node, node, "default", value):
        for how, text in meanings(walk, value):
            _export_name(walk, node, "default", how, text)


def _export_name(walk: SyntaxWalk, node: Node, name: str, how: str, value: str) -> None:
    if name and value and (name, how) != (value, "alias"):
        walk.add_binding(MODULE_SCOPE, name, how, value, node)


# Definitions

_NAMED_VALUES = frozenset({"class", "function_expression", "generator_function"})
_NOT_PART_OF_NAME = frozenset({"exports", "module", "prototype", "this"})
_CASTS = frozenset({"as_expression", "non_null_expression", "parenthesized_expression", "satisfies_expression"})


def wrapped_value(walk: SyntaxWalk, value: Node, wrappers: frozenset[str], kinds: Collection[str]) -> Node | None:
    """The literal of these kinds that is the first argument of a wrapper: of `memo(() => 1)` it is `() => 1`."""
    for _ in range(MAX_NESTING):
        if value.type in kinds:
            return value
        if value.type in _CASTS:
            inner = first_child(value)
        elif value.type == "call_expression":
            function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
            if function is None or arguments is None or arguments.type != "arguments":
                return None
            inner = first_child(arguments)
            if inner is None or walk.dotted(function).rpartition(".")[2] not in wrappers:
                return None
        else:
            return None
        if inner is None:
            return None
        value = inner
    return None


def define_value(walk: SyntaxWalk, node: Node, name: Node, dotted: str, value: Node, declared: str = "") -> bool:
    """Add the definition of a name that is bound to a literal function, class or object; False for another value.

    `declared` is the type of the name where it is annotated.
    """
    kind = value.type
    header_line = name.start_point[0]
    if kind == "class":
        bases = base_types(walk, value, BASES)
        walk.add_definition(node, dotted, "class", header_line=header_line, bases=bases)
        return True
    if kind not in FUNCTION_VALUES and kind != "object" and kind != "call_expression" and kind not in _CASTS:
        return False
    function = wrapped_value(walk, value, FUNCTION_WRAPPERS, FUNCTION_VALUES)
    if function is not None:
        documented = doc_comment(walk, node)
        returned = _returned(walk, function, documented)
        returns = returned.value if returned.how == "annotation" else ""
        walk.add_definition(node, dotted, "function", header_line=header_line, returns=returns)
        _bind_function(walk, function, returned, documented)
        return True
    literal = wrapped_value(walk, value, OBJECT_WRAPPERS, ("object",))
    if literal is None or not _is_namespace(walk, literal):
        return False
    bases = (declared,) if declared else ()
    if kind in ("as_expression", "satisfies_expression") and len(value.named_children) == 2:
        typed = type_name(walk.text(value.named_children[1]))
        bases = (*bases, typed) if typed and typed != "const" else bases
    _define_object(walk, node, dotted, literal, header_line, bases)
    return True


def _is_namespace(walk: SyntaxWalk, literal: Node, depth: int = 0) -> bool:
    """Whether an object literal holds functions; at top level also one that only collects names."""
    names_only = walk.scope == MODULE_SCOPE and literal.named_child_count > 0
    for member in literal.named_children:
        kind = member.type
        if kind == "method_definition":
            return True
        if kind == "pair":
            value = member.child_by_field_name("value")
            if value is None:
                continue
            if value.type == "object":
                if depth < MAX_NESTING and _is_namespace(walk, value, depth + 1):
                    return True
                names_only = False
            elif (
                value.type in FUNCTION_VALUES
                or wrapped_value(walk, value, FUNCTION_WRAPPERS, FUNCTION_VALUES) is not None
            ):
                return True
            else:
                names_only = names_only and value.type == "identifier"
        elif kind != "comment":
            names_only = names_only and kind == "shorthand_property_identifier"
    return names_only


def _define_object(
    walk: SyntaxWalk, node: Node, dotted: str, literal: Node, header_line: int, bases: tuple[str, ...]
) -> None:
    """A definition with members: functions are definitions inside, other known values are bindings."""
    spread = [member for member in literal.named_children if member.type == "spread_element"]
    copied = tuple(text for text in (_spread_name(walk, member) for member in spread) if text)
    walk.add_definition(node, dotted, "object", header_line=header_line, bases=(*bases, *copied))
    for member in literal.named_children:
        if member.type == "shorthand_property_identifier":
            bind_member(walk, walk.scope, member, "alias", plain_name(walk, member))
        elif member.type == "pair":
            key, value = member.child_by_field_name("key"), member.child_by_field_name("value")
            if (
                value is None
                or key is None
                or wrapped_value(walk, value, FUNCTION_WRAPPERS, FUNCTION_VALUES) is not None
            ):
                continue
            for how, text in meanings(walk, value):
                bind_member(walk, walk.scope, key, how, text)


def _spread_name(walk: SyntaxWalk, spread: Node) -> str:
    value = first_child(spread)
    return spelled(walk, value) if value is not None and value.type in ("identifier", "member_expression") else ""


def _returned(walk: SyntaxWalk, function: Node, documented: DocumentedTypes | None) -> TypeText:
    """The meaning of the declared result of a function; `_NOT_DECLARED` without an annotation."""
    annotation = function.child_by_field_name("return_type")
    if annotation is not None:
        return annotated_type(walk, annotation)
    return documented.returns if documented is not None and documented.returns.value else _NOT_DECLARED


_NOT_DECLARED = TypeText("unknown", "")


def _bind_function(walk: SyntaxWalk, function: Node, returned: TypeText, documented: DocumentedTypes | None) -> None:
    """The bindings of a function that has just been added: its result and documented parameters."""
    if documented is not None:
        bind_documented(walk, function, documented)
    if returned.how in ("alias", "call"):  # typeof x, ReturnType<typeof f>
        walk.add_binding(walk.scope, RESULT, returned.how, returned.value, function)
    elif returned is _NOT_DECLARED:
        bind_result(walk, function)


def read_function(walk: SyntaxWalk, node: Node) -> None:
    """A function, method or signature with a name, and the parameters of any function."""
    read_signature(walk, node)
    parameters = node.child_by_field_name("parameters")
    if parameters is not None:
        bind_parameters(walk, parameters)


def read_signature(walk: SyntaxWalk, node: Node) -> None:
    """A function with a name. It may have no body: an overload, a method of an interface, an abstract method."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    owner, documented = walk.scope, doc_comment(walk, node)
    returned = _returned(walk, node, documented)
    returns = returned.value if returned.how == "annotation" else ""
    define_named(walk, node, name, "function", returns=returns)
    if walk.scope != owner:
        _bind_function(walk, node, returned, documented)
        if returned.value and node.type == "method_definition" and any(part.type == "get" for part in node.children):
            bind_member(walk, owner, name, *returned)


def read_arrow(walk: SyntaxWalk, node: Node) -> None:
    """The parameters of an arrow function; a named one is a definition already."""
    single, parameters = node.child_by_field_name("parameter"), node.child_by_field_name("parameters")
    if single is not None:
        bind(walk, single, "unknown", "")
    elif parameters is not None:
        bind_parameters(walk, parameters)


def _read_class(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        define_named(walk, node, name, "class", base_types(walk, node, BASES))


# Variables and fields


def _read_declarator(walk: SyntaxWalk, node: Node) -> None:
    """`name = value`, with or without a type."""
    target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if target is None:
        return
    annotation = node.child_by_field_name("type")
    declared = annotated_type(walk, annotation)
    if not declared.value and annotation is None and (documented := doc_comment(walk, node)) is not None:
        declared = documented.type
    if target.type != "identifier":
        if declared.value:
            bind_pattern(walk, target, declared.value)
        elif value is not None and not _bring_value(walk, target, value):
            bind_value(walk, target, value)
        return
    if value is not None:
        name = plain_name(walk, target)
        class_name = declared.value if declared.how == "annotation" else ""
        if name and define_value(walk, node, target, name, value, class_name):
            return
        if _bring_value(walk, target, value):
            return
    if annotation is not None or declared.value:
        bind(walk, target, *declared)
    else:
        bind_value(walk, target, value)


def field_reader(name_field: str) -> NodeReader:
    """The reader of fields of a class."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        target, value = node.child_by_field_name(name_field), node.child_by_field_name("value")
        if target is None or target.type not in ("private_property_identifier", "property_identifier"):
            return
        owner = walk.scope
        annotation = node.child_by_field_name("type")
        declared = annotated_type(walk, annotation)
        if not declared.value and annotation is None and (documented := doc_comment(walk, node)) is not None:
            declared = documented.type
        name = plain_name(walk, target)
        class_name = declared.value if declared.how == "annotation" else ""
        if value is not None and name and define_value(walk, node, target, name, value, class_name):
            return
        if owner != MODULE_SCOPE and walk.definitions[owner].kind in MEMBER_KINDS:
            for how, text in [declared] if annotation is not None or declared.value else meanings(walk, value):
                bind_member(walk, owner, target, how, text)

    return read


def _read_pair(walk: SyntaxWalk, node: Node) -> None:
    """`key: value` in an object: a function or a class gets the name of the key, in an object also another object."""
    name, value = node.child_by_field_name("key"), node.child_by_field_name("value")
    if name is None or value is None:
        return
    is_member = walk.scope != MODULE_SCOPE and walk.definitions[walk.scope].kind == "object"
    if value.type in FUNCTION_VALUES or value.type == "class" or is_member:
        dotted = spelled(walk, name).lstrip("#") if name.type != "computed_property_name" else ""
        if dotted:
            define_value(walk, node, name, dotted, value)


def _read_assignment(walk: SyntaxWalk, node: Node) -> None:
    """`this.name = value`, `exports.name = value`, `module.exports = value`, `Shop.prototype.name = value`."""
    target, value = node.child_by_field_name("left"), node.child_by_field_name("right")
    if target is None or value is None:
        return
    if target.type == "identifier":
        local_name = plain_name(walk, target)
        is_literal = value.type in FUNCTION_VALUES or value.type == "class"
        if not (is_literal and local_name and define_value(walk, node, target, local_name, value)):
            for how, text in meanings(walk, value):
                bind(walk, target, how, text)
        return
    owner = target.child_by_field_name("object") if target.type == "member_expression" else None
    name = target.child_by_field_name("property")
    if owner is None or name is None:
        return
    if owner.type == "this":
        _assign_member(walk, node, name, value)
        return
    path = walk.dotted(target)
    if path == "module.exports":
        _export_module(walk, node, value)
        return
    parts = [part for part in path.split(".") if part not in _NOT_PART_OF_NAME]
    if not any(parts) or path.startswith("?"):
        return
    is_export = path in (f"exports.{parts[-1]}", f"module.exports.{parts[-1]}")
    if value.type in FUNCTION_VALUES or value.type == "class":
        define_value(walk, node, target, ".".join(parts), value)
    elif is_export and not _export_loaded(walk, node, parts[-1], value):
        for how, text in meanings(walk, value):
            _export_name(walk, node, parts[-1], how, text)


def _assign_member(walk: SyntaxWalk, node: Node, name: Node, value: Node) -> None:
    """`this.name = value`: a member of the class around; of a function where there is no class."""
    owner, dotted = class_around(walk), plain_name(walk, name)
    if value.type in FUNCTION_VALUES or value.type == "class":
        if owner != MODULE_SCOPE:
            walk.scope = owner
        define_value(walk, node, name, dotted, value)
        return
    for how, text in meanings(walk, value):
        bind_member(walk, owner, name, how, text)


def _export_module(walk: SyntaxWalk, node: Node, value: Node) -> None:
    """`module.exports = value`: an object exports the names of its members."""
    if value.type == "object":
        for member in value.named_children:
            key, held = member.child_by_field_name("key"), member.child_by_field_name("value")
            if member.type == "spread_element" and member.named_children:
                _export_loaded(walk, member, "", member.named_children[0])
            elif key is not None and held is not None and not _export_loaded(walk, member, plain_name(walk, key), held):
                for how, text in meanings(walk, held):
                    _export_name(walk, member, plain_name(walk, key), how, text)
        return
    own_name = value.child_by_field_name("name") if value.type in FUNCTION_VALUES or value.type == "class" else None
    if own_name is not None:
        _export_name(walk, node, "default", "alias", plain_name(walk, own_name))
    elif not _export_loaded(walk, node, "", value):
        _export_default(walk, node, value)


def _export_loaded(walk: SyntaxWalk, node: Node, name: str, value: Node) -> bool:
    """Whether an exported value is a whole module, `exports.m = require("m")`; all its names without a name."""
    module = dynamic_import(walk, value)
    if module:
        walk.add_import(node, name, module, "" if name else "*")
    return bool(module)


# Calls


def read_call(walk: SyntaxWalk, node: Node) -> None:
    """A call or a tagged template, and the parameters of its callback."""
    function = node.child_by_field_name("function")
    if function is None:
        return
    callee = expression_text(walk, function)
    if function.type != "import":
        walk.add_call(node, callee)
    method = callee.rpartition(".")[2]
    if function.type == "member_expression" and has_callback(method):
        receiver, arguments = function.child_by_field_name("object"), node.child_by_field_name("arguments")
        if receiver is None or arguments is None:
            return
        targets = callback_targets(arguments)
        module = dynamic_import(walk, receiver) if targets and method == "then" else ""
        if module:
            _bring_module(walk, targets[0], module)
        else:
            bind_callback(walk, receiver, method, targets)


def _read_decorator(walk: SyntaxWalk, node: Node) -> None:
    """A decorator without arguments is called too."""
    named = first_child(node)
    if named is not None and named.type in ("identifier", "member_expression"):
        walk.add_call(node, walk.dotted(named))


def _read_element(walk: SyntaxWalk, node: Node) -> None:
    """`<Price of={x}/>` calls the component Price; plain names in lower case are HTML elements."""
    name = node.child_by_field_name("name")
    if name is not None:
        component = walk.dotted(name)
        if component[:1].isupper() or "." in component:
            walk.add_call(node, component)


ELEMENTS: dict[str, NodeReader] = {"jsx_opening_element": _read_element, "jsx_self_closing_element": _read_element}
TABLE = SyntaxTable(
    definitions={},
    calls={"new_expression": "constructor"},
    others={
        "ERROR": read_error,
        "arrow_function": read_arrow,
        "assignment_expression": _read_assignment,
        "call_expression": read_call,
        "catch_clause": read_catch,
        "class": _read_class,
        "class_declaration": _read_class,
        "decorator": _read_decorator,
        "export_statement": _read_export,
        "field_definition": field_reader("property"),
        "for_in_statement": read_for,
        "function_declaration": read_function,
        "function_expression": read_function,
        "generator_function": read_function,
        "generator_function_declaration": read_function,
        "import_statement": _read_import,
        "method_definition": read_function,
        "pair": _read_pair,
        "variable_declarator": _read_declarator,
        **ELEMENTS,
    },
)

_BUILTINS = (
    "AbortController AbortSignal AggregateError Array ArrayBuffer BigInt Blob Boolean Buffer CustomEvent DataView Date"
    " Deno Element Error Event EventTarget File FormData Function Headers HTMLElement Infinity Intl JSON Map Math"
    " MessageChannel NaN Node Number Object Promise Proxy RangeError ReadableStream Reflect RegExp Request Response Set"
    " String Symbol SyntaxError TextDecoder TextEncoder TransformStream TypeError URL URLSearchParams Uint8Array"
    " WeakMap WeakRef WeakSet Worker WritableStream XMLHttpRequest afterAll afterEach alert atob beforeAll beforeEach"
    " btoa cancelAnimationFrame clearInterval clearTimeout console crypto decodeURIComponent describe document"
    " encodeURIComponent escape eval exports expect fetch global globalThis history isFinite isNaN it jest"
    " localStorage location module navigator parseFloat parseInt performance process queueMicrotask"
    " requestAnimationFrame require self sessionStorage setImmediate setInterval setTimeout structuredClone test"
    " undefined unescape vi window"
)
"""Global names of browsers, Node.js and the usual test runners."""

SCOPES = ScopeRules(
    names="identifier type_identifier shorthand_property_identifier",
    scopes="function_declaration function_expression arrow_function method_definition generator_function"
    " generator_function_declaration statement_block class_declaration class abstract_class_declaration catch_clause"
    " for_statement for_in_statement interface_declaration type_alias_declaration function_type constructor_type"
    " method_signature abstract_method_signature construct_signature call_signature function_signature object_type"
    " conditional_type switch_body internal_module module",
    bindings="variable_declarator.name function_declaration.name generator_function_declaration.name"
    " function_expression.name generator_function.name class_declaration.name class.name"
    " abstract_class_declaration.name interface_declaration.name type_alias_declaration.name enum_declaration.name"
    " function_signature.name required_parameter.pattern required_parameter.name optional_parameter.pattern"
    " arrow_function.parameter catch_clause.parameter for_in_statement.left formal_parameters type_parameter.name"
    " mapped_type_clause.name internal_module.name module.name infer_type index_signature.name type_predicate.name"
    " import_alias rest_pattern",
    patterns="object_pattern array_pattern pair_pattern.value assignment_pattern.left object_assignment_pattern.left"
    " rest_pattern",
    declared="shorthand_property_identifier_pattern",
    imports="import_clause import_require_clause namespace_export export_clause",
    has_markup=True,
    keys="export_specifier.alias jsx_attribute labeled_tuple_type.name namespace_export meta_property",
    ignored="jsx_attribute_name jsx_namespace_name",
    predefined="arguments async await undefined NaN any unknown never object string number boolean symbol bigint void"
    " this intrinsic asserts Partial Required Readonly Record Pick Omit Exclude Extract NonNullable Parameters"
    " ConstructorParameters ReturnType InstanceType ThisParameterType OmitThisParameter ThisType Uppercase Lowercase"
    " Capitalize Uncapitalize Awaited NoInfer PropertyKey PropertyDescriptor PropertyDescriptorMap TemplateStringsArray"
    " ArrayLike Iterable IterableIterator Iterator IteratorResult IteratorReturnResult IteratorYieldResult Generator"
    " AsyncGenerator AsyncIterable AsyncIterator AsyncIterableIterator AsyncGeneratorFunction GeneratorFunction"
    " PromiseLike PromiseSettledResult PromiseFulfilledResult PromiseRejectedResult PromiseConstructor"
    " ReadonlyArray ReadonlyMap ReadonlySet ConcatArray RegExpMatchArray RegExpExecArray CallableFunction"
    " NewableFunction ClassDecorator MethodDecorator PropertyDecorator ParameterDecorator NodeJS JSX React WebAssembly"
    " Atomics SharedArrayBuffer FinalizationRegistry Iterator EvalError SuppressedError DisposableStack"
    " AsyncDisposableStack Temporal encodeURI decodeURI __dirname __filename __proto__ exports require module"
    " process define Bun Deno global assert suite before after context beforeEach afterEach xit xdescribe fdescribe fit"
    " jasmine cy Cypress sinon chai mocha vitest expectTypeOf assertType bench $ jQuery _ angular importScripts"
    " postMessage addEventListener removeEventListener dispatchEvent getComputedStyle matchMedia requestIdleCallback"
    " cancelIdleCallback getSelection confirm prompt open close focus blur print scroll scrollTo scrollBy stop find"
    " innerWidth innerHeight outerWidth outerHeight devicePixelRatio screen parent top frames opener name status origin"
    " event caches indexedDB customElements isSecureContext reportError clearImmediate"
    " Image Audio Option Text Comment Range Selection Storage Window Document DocumentFragment Location History"
    " Navigator Screen Console Crypto CryptoKey SubtleCrypto Performance BroadcastChannel ByteLengthQueuingStrategy"
    " CountQueuingStrategy Cache CacheStorage Client Clients DOMException DOMParser DOMRect DOMRectReadOnly DOMPoint"
    " DOMMatrix DOMTokenList DOMStringMap DOMImplementation EventSource ExtendableEvent FetchEvent Headers HeadersInit"
    " BodyInit RequestInit RequestInfo RequestCredentials RequestMode RequestCache RequestRedirect ReferrerPolicy"
    " ResponseInit ResponseType BufferSource BlobPart BlobPropertyBag EventListener EventListenerOrEventListenerObject"
    " AddEventListenerOptions EventListenerOptions EventInit MessagePort Notification NodeList NodeListOf NodeFilter"
    " NamedNodeMap Attr CharacterData ShadowRoot MutationRecord ImageData ImageBitmap OffscreenCanvas Path2D"
    " CanvasRenderingContext2D CanvasImageSource ClipboardItem Clipboard DataTransfer DataTransferItem"
    " DataTransferItemList FileList FileReader FileSystemHandle FileSystemFileHandle FileSystemDirectoryHandle"
    " FontFace FontFaceSet Geolocation GeolocationPosition GamepadButton Gamepad MediaStream MediaRecorder"
    " MediaQueryList"
    " PermissionStatus Plugin PushManager ReadableStreamDefaultController ReadableStreamDefaultReader"
    " ReadableStreamBYOBReader ReadableByteStreamController WritableStreamDefaultWriter WritableStreamDefaultController"
    " TransformStreamDefaultController CompressionStream DecompressionStream TextDecoderStream TextEncoderStream"
    " QueuingStrategy UnderlyingSource ServiceWorker ServiceWorkerGlobalScope ServiceWorkerContainer SharedWorker"
    " StyleSheet StyleSheetList Touch TouchList TrustedHTML URLPattern ValidityState"
    " VisualViewport WebSocket WebSocketPair"
    " XMLSerializer XPathResult Algorithm BigInt64Array BigUint64Array Float32Array Float64Array Int8Array Int16Array"
    " Int32Array Uint8ClampedArray Uint16Array Uint32Array Transferable WorkerGlobalScope DedicatedWorkerGlobalScope"
    " ExecutionContext Lambda navigation performance chrome browser ErrorEventHandler OnErrorEventHandler EventHandler"
    " GlobalEventHandlers HTMLElementTagNameMap SVGElementTagNameMap HTMLCollection HTMLCollectionOf ElementRef"
    " ErrorOptions StructuredSerializeOptions ImportMeta ImportMetaEnv ImportAttributes KeyframeEffect Animation"
    " AnimationTimeline ScrollBehavior ScrollIntoViewOptions FrameRequestCallback IdleRequestCallback IdleDeadline"
    " FormDataEntryValue BinaryType EndingType DOMHighResTimeStamp Ping VoidFunction CSS Console ToggleEvent",
    outside_names=r"(?:HTML|SVG|CSS|WebGL|GPU|RTC|IDB|Intl|Media|Audio|Mutation|Intersection|Resize|Performance|File"
    r"System)[A-Z]\w*|[A-Z]\w*(?:Event|EventMap|EventInit|Observer|Element)",
    member_signs=r"(?<!\.)\.|\?\.|#",
    definitions="function_declaration generator_function_declaration class_declaration abstract_class_declaration",
    member_kinds="class enum interface",
    targets="assignment_expression.left augmented_assignment_expression.left",
    open_members=r"__\w+__|constructor|prototype|name|length|toString|valueOf|hasOwnProperty|isPrototypeOf"
    r"|toLocaleString|propertyIsEnumerable|call|apply|bind|caller|arguments|default|should",
    call_rules=CallRules(
        frame="function f(%s) {}",
        parameters="formal_parameters",
        rest="rest_pattern spread_element",
        optional="optional_parameter assignment_pattern",
    ),
)
"""The rules of TypeScript too."""

CALL_SYNTAX = CallSyntax(
    modifiers="private public protected readonly override static",
    has_trailing_comma=True,
    nothing="null",
)

LANGUAGES = (
    Language(
        "javascript",
        title="JavaScript",
        suffixes="js mjs cjs jsx",
        file_names="jakefile",
        lsp_ids="javascriptreact",
        lexer=LEXER,
        comment=SLASHES,
        decorator=DECORATOR,
        blocks="braces",
        indent="  ",
        grammar=("tree_sitter_javascript", "language"),
        readers=readers_of(TABLE),
        family="web",
        module_style="web",
        import_lines=WEB_IMPORTS,
        import_suffixes=IMPORT_SUFFIXES,
        own_object="this",
        super_word="super",
        constructor="constructor",
        builtins=_BUILTINS,
        call_syntax=CALL_SYNTAX,
        scope_rules=replace(SCOPES, adds_members=True),
        element_methods="at find findLast get pop shift",
        collection_methods="concat filter reverse slice sort splice toReversed toSorted values",
        has_interfaces=True,
        has_block_scopes=True,
        has_globals=True,
    ),
)
