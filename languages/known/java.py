"""Java."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..declarations import SyntaxTable, readers_of
from ..error_nodes import error_reader
from ..import_lines import JAVA_IMPORTS
from ..java.bindings import (
    anonymous_body,
    bind_parameters,
    bind_type_parameters,
    define_component,
    read_catch,
    read_fields,
    read_for,
    read_instanceof,
    read_lambda,
    read_pattern,
    read_resource,
    read_variables,
)
from ..java.errors import JavaHeader
from ..java.types import base_texts, type_text
from ..java.values import callee_of, created_type, referenced_method
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import define_named, first_child
from ..scope_rules import ScopeRules
from ..syntax import MODULE_SCOPE, NodeReader, ScopedChildren, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_LEXER = Lexer(
    (*SLASH_COMMENTS, Rule('"""', Open("string", end='"""', escapes=True)), *quoted('"'), CHARACTER),
    signs="/\"'",
    comment_marks=SLASH_MARKS,
)


# Packages and imports


def _read_package(walk: SyntaxWalk, node: Node) -> None:
    path = next((child for child in node.named_children if child.type in _PATHS), None)
    if path is not None:
        walk.package = "".join(walk.text(path).split())


def read_java_import(walk: SyntaxWalk, node: Node) -> None:
    """`import a.b.Shop;` imports Shop of a.b, `import a.b.*;` all of it; so do static imports of members."""
    path = next((child for child in node.named_children if child.type in _PATHS), None)
    if path is not None:
        written = "".join(walk.text(path).split())
        if any(child.type == "asterisk" for child in node.named_children):
            walk.add_import(node, "", written, "*")
        else:
            module, _, name = written.rpartition(".")
            walk.add_import(node, name, module, name)


_PATHS = ("identifier", "scoped_identifier")

# Definitions


def _type_reader(kind: str) -> NodeReader:
    """The reader of classes, interfaces, enums and records."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        around = walk.scope
        define_named(walk, node, name, kind, base_texts(walk, node))
        if walk.scope != around:
            bind_type_parameters(walk, node.child_by_field_name("type_parameters"))
            components = node.child_by_field_name("parameters") if kind == "record" else None
            for component in components.named_children if components is not None else ():
                define_component(walk, component)

    return read


def _read_method(walk: SyntaxWalk, node: Node) -> None:
    """`<T> Shop open(T t) {…}`, a method of an interface without a body, an element of an annotation type."""
    name = node.child_by_field_name("name")
    if name is not None:
        is_array = node.child_by_field_name("dimensions") is not None
        returns = type_text(walk, node.child_by_field_name("type"), elements=is_array)
        define_named(walk, node, name, "function", returns=returns)
        bind_parameters(walk, node)


def _read_constructor(walk: SyntaxWalk, node: Node) -> None:
    """`Shop(Store store) {…}`, and `Shop {…}` of a record."""
    name = node.child_by_field_name("name")
    if name is not None:
        define_named(walk, node, name, "constructor")
        bind_parameters(walk, node)


def _read_enum_constant(walk: SyntaxWalk, node: Node) -> ScopedChildren | None:
    """`PLUS`, `PLUS(1)`, `PLUS {…}`: an object of the enum; one with a body is a class."""
    name, enum = node.child_by_field_name("name"), walk.scope
    if name is None or enum == MODULE_SCOPE or walk.definitions[enum].kind != "enum":
        return None
    owner = walk.definitions[enum].name
    arguments, body = node.child_by_field_name("arguments"), node.child_by_field_name("body")
    if arguments is not None:
        walk.add_call(node, owner)
    if body is None:
        walk.add_binding(enum, f"self.{walk.text(name)}", "annotation", owner, name)
        return None
    define_named(walk, node, name, "class", (owner,))
    return [([child for child in node.named_children if child != body], enum), ([body], walk.scope)]


# Calls


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    walk.add_call(node, callee_of(walk, node))


def _read_reference(walk: SyntaxWalk, node: Node) -> None:
    """A method reference is a call of the method, though a later one."""
    if node.named_child_count:
        walk.add_call(node, referenced_method(walk, node))


def _read_own_constructor(walk: SyntaxWalk, node: Node) -> None:
    """`this(1);` and `super(1);`."""
    word = node.child_by_field_name("constructor")
    if word is None:
        return
    own = walk.definitions[walk.definitions[walk.scope].parent].name if walk.scope != MODULE_SCOPE else ""
    walk.add_call(node, own if word.type == "this" else walk.text(word))


def _read_creation(walk: SyntaxWalk, node: Node) -> ScopedChildren | None:
    """`new Shop(…)`. An anonymous class is a class: of the variable that it is assigned to, else `$Shop`."""
    created, body = node.child_by_field_name("type"), anonymous_body(node)
    if created is None:
        return None
    is_generic = created.type == "generic_type"
    described = type_text(walk, first_child(created)) if is_generic else created_type(walk, node)
    walk.add_call(node, described)
    if body is None:
        return None
    around, declarator = walk.scope, node.parent
    name = declarator.child_by_field_name("name") if declarator is not None else None
    if declarator is not None and declarator.type == "variable_declarator" and name is not None:
        first = declarator.parent or declarator
        header_line, first_line = name.start_point[0], first.start_point[0]
        dotted = walk.text(name)
    else:
        header_line = first_line = node.start_point[0]
        dotted = f"${described.rpartition('.')[2]}"
    bases = (described,) if described else ()
    walk.add_definition(node, dotted, "class", header_line=header_line, first_line=first_line, bases=bases)
    return [([child for child in node.named_children if child != body], around), ([body], walk.scope)]


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={
        "ERROR": error_reader("", JavaHeader),
        "annotation_type_declaration": _type_reader("interface"),
        "annotation_type_element_declaration": _read_method,
        "catch_formal_parameter": read_catch,
        "class_declaration": _type_reader("class"),
        "compact_constructor_declaration": _read_constructor,
        "constant_declaration": read_fields,
        "constructor_declaration": _read_constructor,
        "enhanced_for_statement": read_for,
        "enum_constant": _read_enum_constant,
        "enum_declaration": _type_reader("enum"),
        "explicit_constructor_invocation": _read_own_constructor,
        "field_declaration": read_fields,
        "import_declaration": read_java_import,
        "instanceof_expression": read_instanceof,
        "interface_declaration": _type_reader("interface"),
        "lambda_expression": read_lambda,
        "local_variable_declaration": read_variables,
        "method_declaration": _read_method,
        "method_invocation": _read_call,
        "method_reference": _read_reference,
        "object_creation_expression": _read_creation,
        "package_declaration": _read_package,
        "record_declaration": _type_reader("record"),
        "record_pattern_component": read_pattern,
        "resource": read_resource,
        "type_pattern": read_pattern,
    },
)

_BUILTINS = (
    "AbstractMethodError Appendable ArithmeticException ArrayIndexOutOfBoundsException AssertionError AutoCloseable"
    " Boolean Byte CharSequence Character Class ClassCastException ClassLoader ClassNotFoundException"
    " CloneNotSupportedException Cloneable Comparable Deprecated Double Enum Error Exception Float FunctionalInterface"
    " IllegalAccessException IllegalArgumentException IllegalStateException IndexOutOfBoundsException"
    " InstantiationException Integer InterruptedException Iterable LinkageError Long Math NegativeArraySizeException"
    " NoSuchFieldException NoSuchMethodException NullPointerException Number NumberFormatException Object"
    " OutOfMemoryError Override Package Process ProcessBuilder Readable Record ReflectiveOperationException Runnable"
    " Runtime RuntimeException SafeVarargs SecurityException Short StackOverflowError StackTraceElement StrictMath"
    " String StringBuffer StringBuilder StringIndexOutOfBoundsException SuppressWarnings System Thread ThreadGroup"
    " ThreadLocal Throwable UnsupportedOperationException VirtualMachineError Void"
    " clone equals finalize getClass hashCode notify notifyAll toString wait"
)
"""Names of java.lang, and the methods of Object."""

_ELEMENT_METHODS = (
    "ceiling computeIfAbsent element elementAt findAny findFirst first firstElement firstEntry floor get getFirst"
    " getLast getOrDefault higher last lastElement lastEntry lower max merge min next nextElement peek peekFirst"
    " peekLast poll pollFirst pollLast pop previous put putIfAbsent reduce remove removeFirst removeLast take"
)
_COLLECTION_METHODS = (
    "clone collect copyOf descendingIterator descendingMap descendingSet distinct dropWhile elements entrySet filter"
    " headMap headSet iterator limit listIterator parallel parallelStream sequential skip sorted spliterator stream"
    " subList subMap subSet tailMap tailSet takeWhile toArray toList unordered values"
)
_IDENTITY_METHODS = (
    "call filter get getAcquire getBody getIfAvailable getNow getObject getPlain getValue join or orElse orElseGet"
    " orElseThrow orTimeout"
)
"""Methods of the standard types whose texts are those of the values that they hold."""

_SCOPES = ScopeRules(
    names="identifier type_identifier",
    scopes="method_declaration constructor_declaration compact_constructor_declaration lambda_expression block"
    " for_statement enhanced_for_statement catch_clause try_with_resources_statement switch_block_statement_group"
    " switch_rule class_declaration interface_declaration record_declaration enum_declaration",
    object_scopes="class_body interface_body enum_body annotation_type_body",
    bindings="variable_declarator.name formal_parameter.name catch_formal_parameter.name enhanced_for_statement.name"
    " resource.name lambda_expression.parameters inferred_parameters class_declaration.name interface_declaration.name"
    " enum_declaration.name record_declaration.name annotation_type_declaration.name method_declaration.name"
    " constructor_declaration.name compact_constructor_declaration.name enum_constant.name type_parameter type_pattern"
    " instanceof_expression.name record_pattern_component annotation_type_element_declaration.name",
    imports="import_declaration package_declaration module_declaration",
    keys="labeled_statement break_statement continue_statement element_value_pair.key",
    definitions="class_declaration interface_declaration enum_declaration record_declaration",
    predefined="var record yield sealed permits length",
    open_calls=True,
    open_types=True,
    member_kinds="class interface enum record",
    open_members=r"equals|hashCode|toString|getClass|notify|notifyAll|wait|finalize|clone|values|valueOf|name|ordinal|compareTo"
    r"|getDeclaringClass|class|this|super|length|new|annotationType|describeConstable",
    has_package_paths=True,
    member_signs=r"(?<!\.)\.|::|@",
)

_CALL_SYNTAX = CallSyntax(
    order="type name",
    modifiers="final",
    has_class_parameters=True,
    nothing="null",
)

LANGUAGES = (
    Language(
        "java",
        suffixes="java",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"(?:@[\w.]+\s+)*@[\w.]+(?:\(.*\))?",
        blocks="braces",
        member_operators="::",
        grammar=("tree_sitter_java", "language"),
        readers=readers_of(_TABLE),
        family="jvm",
        import_lines=JAVA_IMPORTS,
        package_style="declared",
        has_implicit_object=True,
        test_path=r"(?:^|/)src/(?:test|[a-z]\w*Test)/",
        own_object="this",
        has_function_names=True,
        super_word="super",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods=_ELEMENT_METHODS,
        collection_methods=_COLLECTION_METHODS,
        identity_methods=_IDENTITY_METHODS,
        has_interfaces=True,
        declares_all=True,
        has_typed_names=True,
    ),
)
