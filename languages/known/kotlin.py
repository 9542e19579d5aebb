"""Kotlin."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..import_lines import JAVA_IMPORTS
from ..kotlin.bindings import (
    bind_class_parameters,
    bind_receiver,
    bind_result,
    bind_type_parameters,
    object_bases,
    read_catch,
    read_for,
    read_if,
    read_property,
    read_when,
)
from ..kotlin.lambdas import bind_function_value, bind_lambda, bind_lambda_types, bind_parameters
from ..kotlin.types import TYPES, base_types, declared_type, name_of, qualified_name, receiver_name, type_text
from ..kotlin.values import adds_lambda, expression_text, generic_call, parts_of_call
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_MARKS, SLASHES, block_comment, line_comment, quoted
from ..scope_rules import ScopeRules
from ..syntax import MODULE_SCOPE, SyntaxWalk, node_lines
from ..unclosed import closed

if TYPE_CHECKING:
    from tree_sitter import Node


_OF_ONE_FILE = ("static",)  # `codegraph.file_graph.OF_ONE_FILE`

_LEXER = Lexer(
    (
        *line_comment("//"),
        *block_comment("/*", "*/", nests=True),
        Rule('"""', Open("string", end='"""+', closing='"""', interpolation="${")),
        *quoted('"', interpolation="${"),
        *quoted('"'),  # on a complete line, with its templates
        CHARACTER,
        Rule(r"`[^`\r\n]*`"),
    ),
    signs="/\"'`",
    comment_marks=SLASH_MARKS,
)


_CONSTRUCTOR = re.compile(
    rb"(\bclass[ \t]+\w{1,99}(?:<[^<>\n]{0,200}>)?)"
    rb"([ \t]+(?:@\w{1,99}[ \t]+)?(?:(?:actual|expect|internal|private|protected|public)[ \t]+){0,3}constructor)"
    rb"(?=[ \t]*\()"
)


_CLASS_OF_ONE_LINE = re.compile(rb"^.{0,200}?\b(?:class|interface|object)\b.{0,300}?\{.{0,400} \}$", re.MULTILINE)
_END_OF_BODY = re.compile(rb"(?<=[^\s{;>]) \}")


def _readable(source: bytes) -> bytes:
    """The source without the words before a primary constructor, with closed brackets and a line break at its end.

    The grammar reads `open class A protected constructor() {}` as an expression in some places, and never ends on a
    text like `class A`, a new line, and `@Suppress("x`, where no line break follows. It wants a semicolon at the end of
    a class body on one line.
    """
    if b"constructor" in source:
        source = _CONSTRUCTOR.sub(lambda found: found[1] + b" " * len(found[2]), source)
    if b" }" in source:
        source = _CLASS_OF_ONE_LINE.sub(lambda found: _END_OF_BODY.sub(b";}", found[0]), source)
    return closed(source, _LEXER, "null")


# Packages and imports


def _read_package(walk: SyntaxWalk, node: Node) -> None:
    for child in node.named_children:
        if child.type == "qualified_identifier":
            walk.package = qualified_name(walk, child)


def read_kotlin_import(walk: SyntaxWalk, node: Node) -> None:
    """`import a.b.Shop as S` imports Shop of a.b, `import a.b.*` all of it."""
    parts = [child for child in node.named_children if child.type in ("identifier", "qualified_identifier")]
    if not parts:
        return
    path = qualified_name(walk, parts[0]) if parts[0].type == "qualified_identifier" else name_of(walk, parts[0])
    module, _, name = path.rpartition(".")
    # A companion's members are members of its class.
    if any(child.type == "*" for child in node.children):
        walk.add_import(node, "", path.removesuffix(".Companion"), "*")
    elif name:
        local_name = name_of(walk, parts[1]) if len(parts) > 1 else name
        walk.add_import(node, local_name, module.removesuffix(".Companion"), name)


# Definitions


def _read_class(walk: SyntaxWalk, node: Node) -> None:
    """`class Shop(val till: Till) : Base()`, also of an enum or an interface."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    kind = "class"
    for child in node.children:
        if child.type == "interface":
            kind = "interface"
        elif child.type == "modifiers" and "enum" in walk.text(child).split():
            kind = "enum"
    define(walk, node, name, kind, bases=base_types(walk, node))
    bind_type_parameters(walk, node)
    for child in node.named_children:
        if child.type == "primary_constructor":
            bind_class_parameters(walk, child)


def _read_object(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None:
        define(walk, node, name, "object", bases=base_types(walk, node))


def _read_companion(walk: SyntaxWalk, node: Node) -> None:
    """The members of a companion are members of the class around it, which its name means too."""
    if walk.scope != MODULE_SCOPE:
        name = node.child_by_field_name("name")
        walk.add_binding(walk.scope, f"self.{name_of(walk, name) if name else 'Companion'}", "alias", "this", node)


def _read_object_literal(walk: SyntaxWalk, node: Node) -> None:
    """`object : Listener() { … }`; a property with such a value is the definition."""
    if walk.scope != MODULE_SCOPE:
        around = walk.definitions[walk.scope]
        if around.kind == "object" and around.end_line == node_lines(node)[1]:
            return
    walk.add_definition(node, "object", "object", bases=object_bases(walk, node))


def _read_enum_entry(walk: SyntaxWalk, node: Node) -> None:
    """An instance of the enum; one with a body is a class of its own."""
    name = next((child for child in node.named_children if child.type == "identifier"), None)
    if name is None or walk.scope == MODULE_SCOPE:
        return
    enum = walk.definitions[walk.scope].name
    if any(child.type == "class_body" for child in node.named_children):
        define(walk, node, name, "object", bases=(enum,))
    else:
        walk.add_binding(walk.scope, f"self.{name_of(walk, name)}", "annotation", enum, name)


def _read_alias(walk: SyntaxWalk, node: Node) -> None:
    """`typealias Shops = List<Shop>`."""
    name = node.child_by_field_name("type")
    if name is not None:
        text = type_text(walk, declared_type(node))
        define(walk, node, name, "type", bases=(text,) if text else ())
        bind_type_parameters(walk, node)
        bind_lambda_types(walk, declared_type(node))


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """`fun open(): Shop`; `fun Shop.pay()` is Shop.pay."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    receiver = result = body = parameters = None
    is_private = False
    for child in node.named_children:
        kind = child.type
        if kind == "function_value_parameters":
            parameters = child
        elif kind == "modifiers":
            is_private = "private" in walk.text(child).split()
        elif kind == "function_body":
            body = child
        elif kind in TYPES:
            if parameters is None:
                receiver = child
            else:
                result = child
    dotted = name_of(walk, name)
    if receiver is not None:
        dotted = f"{receiver_name(walk, receiver)}.{dotted}"
    bases = _OF_ONE_FILE if is_private and walk.scope == MODULE_SCOPE else ()
    walk.add_definition(
        node, dotted, "function", header_line=name.start_point[0], bases=bases, returns=type_text(walk, result)
    )
    bind_type_parameters(walk, node)
    if receiver is not None:
        bind_receiver(walk, receiver)
    if parameters is not None:
        bind_parameters(walk, parameters)
    if body is not None and result is None:
        bind_result(walk, body)


def _read_constructor(walk: SyntaxWalk, node: Node) -> None:
    walk.add_definition(node, "constructor", "constructor")
    for child in node.named_children:
        if child.type == "function_value_parameters":
            bind_parameters(walk, child)


def define(walk: SyntaxWalk, node: Node, name: Node, kind: str, bases: tuple[str, ...] = ()) -> None:
    """Add the definition of a class, an object or a type."""
    walk.add_definition(node, name_of(walk, name), kind, header_line=name.start_point[0], bases=bases)


# Calls


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    callee, arguments, literal = parts_of_call(node)
    if callee is None:
        return
    if not adds_lambda(node):
        walk.add_call(node, expression_text(walk, callee))
        for argument in arguments.named_children if arguments is not None else ():
            value = argument.named_children[-1] if argument.named_child_count else argument
            if value.type == "lambda_literal":
                bind_lambda(walk, callee, arguments, value)
            elif value.type == "anonymous_function":
                bind_function_value(walk, value)
    if literal is not None:
        bind_lambda(walk, callee, arguments, literal)


def _read_infix(walk: SyntaxWalk, node: Node) -> None:
    """`shop sells cart` calls shop.sells; the grammar reads some headers of classes as such an expression."""
    parts = node.named_children
    if len(parts) == 3 and walk.text(parts[1]) in ("class", "interface", "object"):
        name: Node | None = parts[2]
        while name is not None and name.type == "call_expression":  # the parameters and the body
            name = name.named_child(0)
        if name is not None and name.type == "identifier":
            define(walk, node, name, walk.text(parts[1]))
        return
    if len(parts) == 3 and parts[1].type == "identifier":
        receiver, method = expression_text(walk, parts[0]), name_of(walk, parts[1])
        walk.add_call(node, f"{receiver}.{method}" if receiver and receiver[0] != "?" else f"?.{method}")


def _read_generic_call(walk: SyntaxWalk, node: Node) -> None:
    """`single<Shop> { … }` reads as two comparisons."""
    generic = generic_call(node)
    if generic is not None:
        callee, _, literal = generic
        walk.add_call(node, expression_text(walk, callee))
        bind_lambda(walk, callee, None, literal)


def _read_base_call(walk: SyntaxWalk, node: Node) -> None:
    """`: Base(x)` calls the constructor of Base."""
    first = node.named_children[0] if node.named_child_count else None
    if first is not None and first.type == "constructor_invocation":
        described = declared_type(first)
        if described is not None:
            walk.add_call(node, walk.dotted(described))


def _read_delegation(walk: SyntaxWalk, node: Node) -> None:
    """`: super(x)` in a secondary constructor."""
    if node.child_count and node.children[0].type == "super":
        walk.add_call(node, "super")


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    headers="class interface object",
    others={
        "binary_expression": _read_generic_call,
        "call_expression": _read_call,
        "catch_block": read_catch,
        "class_declaration": _read_class,
        "companion_object": _read_companion,
        "constructor_delegation_call": _read_delegation,
        "delegation_specifier": _read_base_call,
        "enum_entry": _read_enum_entry,
        "for_statement": read_for,
        "function_declaration": _read_function,
        "if_expression": read_if,
        "import": read_kotlin_import,
        "infix_expression": _read_infix,
        "object_declaration": _read_object,
        "object_literal": _read_object_literal,
        "package_header": _read_package,
        "property_declaration": read_property,
        "secondary_constructor": _read_constructor,
        "type_alias": _read_alias,
        "when_expression": read_when,
    },
)

_BUILTINS = (
    "Array Boolean BooleanArray Byte ByteArray Char CharArray Double DoubleArray Exception Float"
    " FloatArray IllegalArgumentException IllegalStateException Int IntArray List Long LongArray Map MutableList"
    " MutableMap MutableSet Nothing Pair Regex RuntimeException Sequence Set Short ShortArray String"
    " StringBuilder TODO Throwable Triple Unit UnsupportedOperationException add addAll all also and any append apply"
    " arrayListOf arrayOf arrayOfNulls assert asSequence associate associateBy await buildList buildMap buildSet"
    " buildString check checkNotNull clear close coerceAtLeast coerceAtMost coerceIn collect compareTo component1"
    " component2 contains containsKey contentEquals copyInto copyOf copyOfRange count delay distinct drop emit"
    " emptyArray emptyList emptyMap emptySet endsWith equals error fill filter filterNot filterNotNull find first"
    " firstOrNull flatMap fold forEach forEachIndexed format get getOrDefault getOrElse getOrNull getOrPut getValue"
    " groupBy hashCode hashMapOf hashSetOf indexOf indexOfFirst invoke isBlank isEmpty isNotBlank isNotEmpty"
    " isNullOrBlank isNullOrEmpty iterator joinToString last lastIndexOf lastOrNull launch lazy let linkedMapOf listOf"
    " listOfNotNull lowercase map mapIndexed mapNotNull mapOf maxOf maxOrNull minOf minOrNull minus mutableListOf"
    " mutableMapOf mutableSetOf next none onEach or orEmpty padStart partition plus print println put putAll"
    " readLine reduce remove removeAll removeAt removePrefix removeSuffix repeat replace require requireNotNull"
    " reversed"
    " run runBlocking runCatching sequence sequenceOf set setOf setValue shl shr single size sleep sort sortBy sorted"
    " sortedBy split startsWith subList substring sum sumOf synchronized take takeIf takeUnless takeWhile to toBoolean"
    " toByte toByteArray toChar toCharArray toDouble toFloat toInt toIntOrNull toList toLong toLongOrNull toMap"
    " toMutableList toMutableMap toRegex toSet toShort toString toTypedArray trim trimIndent uppercase use value"
    " withContext with xor zip"
)
"""Names of the packages that every file imports, kotlin, kotlin.collections, kotlin.text and others, and of members of
their types, which mean nothing in a repository when the receiver is unknown."""

_ELEMENT_METHODS = (
    "elementAt elementAtOrNull find findLast first firstOrNull get getOrDefault getOrElse getOrNull getOrPut getValue"
    " last lastOrNull max maxBy maxByOrNull min minBy minByOrNull next peek poll pollFirst pollLast pop random"
    " randomOrNull reduce remove removeAt removeFirst removeFirstOrNull removeLast removeLastOrNull single singleOrNull"
    " value"
)
_COLLECTION_METHODS = (
    "also apply asFlow asIterable asReversed asSequence asStateFlow distinct distinctBy drop dropLast dropWhile filter"
    " filterIndexed filterNot filterNotNull filterValues filterKeys flowOn iterator listIterator minus onEach orEmpty"
    " plus requireNoNulls reversed shuffled slice sorted sortedBy sortedByDescending sortedDescending sortedWith"
    " subList take takeLast takeWhile toArray toCollection toHashSet toList toMutableList toMutableMap toMutableSet"
    " toSet toSortedSet toTypedArray values withIndex"
)

_SCOPES = ScopeRules(
    names="identifier",
    scopes="function_declaration anonymous_function lambda_literal annotated_lambda block for_statement catch_block"
    " when_expression class_declaration object_declaration secondary_constructor getter setter type_alias"
    " anonymous_initializer",
    object_scopes="class_body enum_class_body",
    bindings="class_parameter parameter variable_declaration catch_block type_parameter enum_entry"
    " function_declaration.name class_declaration.name object_declaration.name companion_object.name type_alias.type",
    imports="import package_header",
    keys="infix_expression:second return_expression.label label labeled_expression this_expression super_expression",
    keyword_arguments="value_argument",
    predefined="it field value this super null true false continue break return throw",
    definitions="class_declaration object_declaration",
    own_names="name type",
    open_files=r"\.kts\Z",
    open_calls=True,
    open_types=True,
    open_stars=True,
    open_lambdas="lambda_literal annotated_lambda getter setter",
    member_kinds="class interface object enum",
    open_members=r"equals|hashCode|toString|let|also|apply|run|takeIf|takeUnless|to|copy|component\d+|values|valueOf|entries|name|ordinal"
    r"|compareTo|java|javaClass|javaObjectType|simpleName|class|use|with|repeat|declaringJavaClass|invoke|require\w*|as\w*|should\w*",
    open_bases=True,
    open_methods=True,
    has_package_paths=True,
    member_signs=r"(?<!\.)\.|::|\?\.|@",
)

_CALL_SYNTAX = CallSyntax(
    modifiers=("vararg crossinline noinline val var private public internal protected override open lateinit final"),
    keyword_sign=" = ",
    has_class_parameters=True,
    nothing="null",
)

LANGUAGES = (
    Language(
        "kotlin",
        suffixes="kt kts",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"(?:@[\w.:]+(?:\([^()]*\))?\s+)*@[\w.:]+(?:\(.*\))?",
        blocks="braces",
        member_operators="?. ::",
        grammar=("tree_sitter_kotlin", "language"),
        source_filter=_readable,
        readers=readers_of(_TABLE),
        family="jvm",
        import_lines=JAVA_IMPORTS,
        shares_directory=True,
        package_style="declared",
        has_open_types=True,
        has_extensions=True,
        has_implicit_object=True,
        test_path=r"(?:^|/)src/(?:test|\w*Test)/",
        own_object="this",
        super_word="super",
        call_method="invoke",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods=_ELEMENT_METHODS,
        collection_methods=_COLLECTION_METHODS,
        identity_methods="await getOrThrow orElseThrow",
        declares_all=True,
        has_interfaces=True,
    ),
)
