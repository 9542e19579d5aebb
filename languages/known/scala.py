"""Scala 2 and 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..error_nodes import error_reader
from ..import_lines import SCALA_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_MARKS, SLASHES, block_comment, line_comment, quoted
from ..nodes import define_named
from ..scala.bindings import (
    anonymous_body,
    bind_cases,
    bind_class,
    bind_parameters,
    bind_result,
    owner_text,
    placeholder_calls,
    read_capture,
    read_enumerator,
    read_lambda,
    read_match,
    read_parts,
    read_type,
    read_typed_pattern,
    read_value,
)
from ..scala.errors import ScalaHeader
from ..scala.imports import read_package, read_package_object, read_scala_import
from ..scala.types import base_texts, instance_type, type_head, type_text
from ..scala.values import created_type, element_texts, expression_text, name_text, parts_of_call
from ..scope_rules import ScopeRules
from ..syntax import MODULE_SCOPE, NodeReader, ScopedChildren, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (
        *line_comment("//"),
        *block_comment("/*", "*/", nests=True),
        Rule(r'(?<=[a-z])"""', Open("string", end='"""+', closing='"""', interpolation="${")),
        Rule('"""', Open("string", end='"""+', closing='"""')),
        *quoted('"', interpolation="${", before="(?<=[a-z])"),
        *quoted('"'),
        CHARACTER,  # any other quote begins a symbol
        Rule(r"`[^`\r\n]*`"),
    ),
    signs="/\"'`",
    comment_marks=SLASH_MARKS,
)


_HEADER = re.compile(
    r".*(?:[)=]|=>|\b(?:catch|do|else|finally|match|try|with|yield))\s*\{\s*(?://.*)?"
    r"|.*(?:\{|\bcase\b)[^{}\"]*=>\s*(?://.*)?"  # the parameters of a lambda, a pattern
    r"|\s*(?:(?:abstract|case|final|implicit|lazy|opaque|override|package|private(?:\[\w+\])?|protected|sealed)\s+)*"
    r"(?:(?:class|enum|extension|for|given|if|object|package|trait|while)\b[^;]*\{\s*(?:\w+\b[^{}=]*=>\s*)?(?://.*)?"
    r"|(?:def|val|var)\b.*(?<![=!<>])=\s*(?://.*)?)"
)
"""A line that ends with the beginning of a body."""


# Definitions


def _type_reader(kind: str) -> NodeReader:
    """The reader of classes, objects, traits and enums."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        around = walk.scope
        body = node.child_by_field_name("body")
        bases = base_texts(walk, node.child_by_field_name("extend")) + self_type(walk, body)
        define_named(walk, node, name, kind, bases)
        if walk.scope == around:
            return
        bind_class(walk, node)
        if any(child.type == "modifiers" and "implicit" in walk.text(child).split() for child in node.named_children):
            _extend(walk, node, body)

    return read


def self_type(walk: SyntaxWalk, body: Node | None) -> tuple[str, ...]:
    """The type in `{ self: Other =>`, whose members a trait has as well."""
    first = body.named_children[0] if body is not None and body.named_child_count else None
    if first is None or first.type != "self_type" or first.named_child_count < 2:
        return ()
    described = instance_type(walk, first.named_children[1])
    return (described,) if described else ()


def _extend(walk: SyntaxWalk, node: Node, body: Node | None) -> None:
    """The methods of an implicit class are those of the type of its parameter."""
    clauses = node.children_by_field_name("class_parameters")
    if not clauses or not clauses[0].named_child_count or body is None:
        return
    owner = owner_text(walk, clauses[0].named_children[0].child_by_field_name("type"))
    extended = walk.definitions[walk.scope].qualified_name
    for member in body.named_children:
        name = member.child_by_field_name("name") if member.type == "function_definition" else None
        if name is not None and owner:
            text = name_text(walk, name)
            walk.add_binding(MODULE_SCOPE, f"{owner}.{text}", "alias", f"{extended}.{text}", name)


def _read_extension(walk: SyntaxWalk, node: Node) -> None:
    """`extension (shop: Shop) def pay() = …`: a part of Shop."""
    clauses = node.children_by_field_name("parameters")
    parameters = [each for clause in clauses for each in clause.named_children if each.type == "parameter"]
    owner = owner_text(walk, parameters[0].child_by_field_name("type")) if parameters else ""
    if owner:
        walk.add_definition(node, owner, "extension")
        extended = walk.scope
        bind_parameters(walk, node)
        walk.scope = extended


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """`def pay[T](shop: Shop)(using Till): Cart = …`; `def this(n: Int)` is a constructor."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    if walk.text(name) == "this" and walk.scope != MODULE_SCOPE:
        owner = walk.definitions[walk.scope].name
        walk.add_definition(node, owner, "constructor", header_line=name.start_point[0])
    else:
        returns = type_text(walk, node.child_by_field_name("return_type"))
        walk.add_definition(node, name_text(walk, name), "function", header_line=name.start_point[0], returns=returns)
        bind_result(walk, node)
    bind_parameters(walk, node)


def _read_given(walk: SyntaxWalk, node: Node) -> None:
    """`given shopOrder: Order[Shop] with …` is an object, `given Till = till` a value."""
    name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
    described = node.child_by_field_name("return_type")
    head = type_head(walk, described)[0] if described is not None else ""
    if body is not None and body.type == "with_template_body":
        text = name_text(walk, name) if name is not None else f"${head.rpartition('.')[2]}"
        walk.add_definition(node, text, "object", bases=(head,) if head else ())
    elif name is not None:
        is_member = walk.scope != MODULE_SCOPE
        text = f"self.{name_text(walk, name)}" if is_member else name_text(walk, name)
        walk.add_binding(walk.scope, text, "annotation" if head else "unknown", head, name)


def _read_enum_case(walk: SyntaxWalk, node: Node) -> None:
    """`case Red`, `case Red extends Color(1)`, `case Mixed(a: Color)` of an enum."""
    name = node.child_by_field_name("name")
    if name is None or walk.scope == MODULE_SCOPE:
        return
    owner = walk.definitions[walk.scope].name
    if node.child_by_field_name("class_parameters") is None:
        walk.add_binding(walk.scope, f"self.{name_text(walk, name)}", "annotation", owner, name)
    else:
        define_named(walk, node, name, "class", (owner,))
        bind_class(walk, node)


# Calls


def _read_call(walk: SyntaxWalk, node: Node) -> ScopedChildren | None:
    """A call of a plain name; the reader of selections adds the others."""
    function = node.child_by_field_name("function")
    if function is not None and function.type == "generic_function":
        function = function.child_by_field_name("function")
    if function is not None and function.type == "identifier":
        walk.add_call(node, _own_class(walk, name_text(walk, function)))
    elif function is not None and function.type == "field_expression":
        _add_selected(walk, function, is_called=True)
    for part, callee in placeholder_calls(walk, node):
        walk.add_call(part, callee)
    arguments = node.child_by_field_name("arguments")
    if arguments is not None and arguments.type == "case_block":
        method, receiver, _ = parts_of_call(walk, node)
        bind_cases(walk, arguments, element_texts(walk, receiver) if receiver is not None and method else [])
    return None


def _own_class(walk: SyntaxWalk, callee: str) -> str:
    """The name of the class for `this(1)`."""
    if callee != "this" or walk.scope == MODULE_SCOPE:
        return callee
    around = walk.definitions[walk.scope].parent
    return walk.definitions[around].name if around != MODULE_SCOPE else callee


def _read_selection(walk: SyntaxWalk, node: Node) -> None:
    """`shop.pay`, which may be a call without parentheses, and the function of `shop.pay(1)`."""
    _add_selected(walk, node, is_called=False)


def _add_selected(walk: SyntaxWalk, node: Node, *, is_called: bool) -> None:
    """Add the call of a member. Without parentheses a name with a capital is a constant or an object."""
    name = node.child_by_field_name("field")
    if name is not None and name.type == "identifier" and walk.text(name)[:1].isupper() == is_called:
        receiver = expression_text(walk, node.child_by_field_name("value"))
        if receiver:
            walk.add_call(node, f"{receiver}.{name_text(walk, name)}")


def _read_infix(walk: SyntaxWalk, node: Node) -> None:
    """`shop pay cart`."""
    name = node.child_by_field_name("operator")
    if name is not None and name.type == "identifier":
        receiver = expression_text(walk, node.child_by_field_name("left"))
        walk.add_call(node, f"{receiver or '?'}.{name_text(walk, name)}")
        for part, callee in placeholder_calls(walk, node):
            walk.add_call(part, callee)
        right = node.child_by_field_name("right")
        if right is not None and right.type == "case_block":
            bind_cases(walk, right, element_texts(walk, node.child_by_field_name("left")))


def _read_creation(walk: SyntaxWalk, node: Node) -> ScopedChildren | None:
    """`new Shop(1)`. An anonymous class is a class: of the value that it is assigned to, else `$Shop`."""
    described, body = created_type(walk, node), anonymous_body(node)
    if described:
        walk.add_call(node, described)
    if body is None:
        return None
    around, declaration = walk.scope, node.parent
    names = declaration.children_by_field_name("pattern") if declaration is not None else []
    if declaration is not None and len(names) == 1 and names[0].type == "identifier":
        dotted = name_text(walk, names[0])
        header_line, first_line = names[0].start_point[0], declaration.start_point[0]
    else:
        header_line = first_line = node.start_point[0]
        dotted = f"${described.rpartition('.')[2]}"
    bases = (described,) if described else ()
    walk.add_definition(node, dotted, "class", header_line=header_line, first_line=first_line, bases=bases)
    return [([child for child in node.named_children if child != body], around), ([body], walk.scope)]


def _read_extends(walk: SyntaxWalk, node: Node) -> None:
    """`extends Base(1)` calls the constructor of Base."""
    bases = node.children_by_field_name("type")
    if bases and node.child_by_field_name("arguments") is not None:
        walk.add_call(node, type_head(walk, bases[0])[0])


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={
        "ERROR": error_reader("", ScalaHeader),
        "call_expression": _read_call,
        "capture_pattern": read_capture,
        "case_class_pattern": read_parts,
        "class_definition": _type_reader("class"),
        "enum_definition": _type_reader("enum"),
        "enumerator": read_enumerator,
        "extends_clause": _read_extends,
        "extension_definition": _read_extension,
        "field_expression": _read_selection,
        "full_enum_case": _read_enum_case,
        "function_declaration": _read_function,
        "function_definition": _read_function,
        "given_definition": _read_given,
        "import_declaration": read_scala_import,
        "infix_expression": _read_infix,
        "instance_expression": _read_creation,
        "lambda_expression": read_lambda,
        "match_expression": read_match,
        "object_definition": _type_reader("object"),
        "package_clause": read_package,
        "package_object": read_package_object,
        "simple_enum_case": _read_enum_case,
        "trait_definition": _type_reader("trait"),
        "tuple_pattern": read_parts,
        "type_definition": read_type,
        "typed_pattern": read_typed_pattern,
        "val_declaration": read_value,
        "val_definition": read_value,
        "var_declaration": read_value,
        "var_definition": read_value,
    },
)

_BUILTINS = (
    "Any AnyRef AnyVal Array Boolean Byte Char Class Double Either Error Exception Float Function"
    " IllegalArgumentException IllegalStateException Int Iterable Iterator LazyList Left List Long Map Math Nil None"
    " Nothing Null Object Option Ordering Predef Right Runnable RuntimeException Seq Set Short Some Stream"
    " String StringBuilder System Thread Throwable Unit UnsupportedOperationException Vector"
    " asInstanceOf assert assume classOf clone equals eq getClass hashCode identity implicitly isInstanceOf locally ne"
    " notify notifyAll print printf println require summon synchronized toString wait"
)
"""Names of java.lang and of Predef, and the methods of all objects."""

_ELEMENT_METHODS = (
    "apply collectFirst find foldLeft foldRight get getOrElse getOrElseUpdate head headOption last lastOption max maxBy"
    " maxOption min minBy minOption next pop reduce reduceLeft reduceOption"
)
_COLLECTION_METHODS = (
    "clone distinct distinctBy drop dropRight dropWhile filter filterNot init iterator par prepended appended reverse"
    " reverseIterator result slice sortBy sortWith sorted tail take takeRight takeWhile tapEach to toArray toIndexedSeq"
    " toIterator toList toSeq toSet toStream toVector union updated values valuesIterator view withFilter"
)
_IDENTITY_METHODS = (
    "asInstanceOf copy ensuring filter filterNot get getOrElse head orElse orNull recover recoverWith result tap to"
    " value withFilter"
)
"""Methods of the standard types whose texts are those of the values that they hold, and `copy`."""

_SCOPES = ScopeRules(
    names="identifier type_identifier",
    scopes="function_definition function_declaration lambda_expression block indented_block case_clause for_expression"
    " class_definition trait_definition type_definition given_definition extension_definition",
    object_scopes="template_body with_template_body",
    bindings="class_parameter.name parameter.name val_definition.pattern var_definition.pattern val_declaration.name"
    " var_declaration.name enumerator:first case_clause.pattern lambda_expression.parameters binding.name"
    " function_definition.name function_declaration.name class_definition.name object_definition.name"
    " trait_definition.name type_definition.name type_parameters.name enum_definition.name simple_enum_case.name"
    " full_enum_case.name self_type:first capture_pattern.name given_definition.name package_object.name"
    " bindings covariant_type_parameter.name contravariant_type_parameter.name",
    patterns="tuple_pattern case_class_pattern.pattern typed_pattern.pattern capture_pattern.pattern identifiers"
    " alternative_pattern infix_pattern.left infix_pattern.right repeat_pattern stable_identifier",
    imports="import_declaration package_clause export_declaration",
    keys="infix_expression.operator postfix_expression:second assignment_expression.left infix_type.operator"
    " interpolated_string_expression.interpolator infix_pattern.operator",
    predefined="_ using inline opaque open derives end extension transparent infix as",
    open_files=r"\.sbt\Z",
    open_calls=True,
    open_types=True,
    open_stars=True,
    open_bases=True,
    has_package_paths=True,
    member_signs=r"(?<!\.)\.|@|#|::",
)

_CALL_SYNTAX = CallSyntax(
    modifiers="val var private protected override final implicit using inline lazy",
    keyword_sign=" = ",
    has_class_parameters=True,
)

LANGUAGES = (
    Language(
        "scala",
        suffixes="scala sc sbt mill",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"@[\w.]+(?:\[.*\])?(?:\(.*\))?",
        blocks="braces",
        header=_HEADER,
        indent="  ",
        grammar=("tree_sitter_scala", "language"),
        readers=readers_of(_TABLE),
        family="jvm",
        import_lines=SCALA_IMPORTS,
        package_style="declared",
        has_relative_imports=True,
        has_extensions=True,
        has_implicit_object=True,
        test_path=r"(?:^|/)src/(?:test|it|[a-z]\w*Test)/",
        own_object="this",
        super_word="super",
        constructor="apply",
        call_method="apply",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods=_ELEMENT_METHODS,
        collection_methods=_COLLECTION_METHODS,
        identity_methods=_IDENTITY_METHODS,
        has_interfaces=True,
        has_bare_calls=True,
        declares_all=True,
    ),
)
