"""C#."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..call_syntax import CallSyntax
from ..csharp.bindings import (
    bind_arguments,
    bind_parameters,
    bind_type_constraints,
    read_declared,
    read_enum_member,
    read_foreach,
    read_from,
    read_lambda,
    read_let,
    read_property,
    read_result,
    read_variables,
)
from ..csharp.errors import read_error
from ..csharp.types import base_types, named_type, outer_name, type_text
from ..csharp.values import expression_text
from ..declarations import SyntaxTable, readers_of
from ..import_lines import CSHARP_IMPORTS
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import define_named, spelled
from ..scope_rules import ScopeRules
from ..syntax import MODULE_SCOPE, NodeReader, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


_ODD_QUOTES = '(?<!")(?:"")*"(?!")'  # two quotes escape one
_LEXER = Lexer(
    rules=(
        *SLASH_COMMENTS,
        Rule(r'(?P<quotes>"{3,})', Open("string", end=r"\g<quotes>")),
        Rule(r'(?:(?<=\$@)|(?<=@\$))"', Open("string", end=_ODD_QUOTES, interpolation="{", closing='"')),
        Rule(r'(?<=@)"(?:[^"]|"")*"(?!")'),
        Rule('(?<=@)"', Open("string", end=_ODD_QUOTES, closing='"')),
        Rule(r'(?<=\$)"', Open("string", end='"', lines=False, escapes=True, interpolation="{")),
        *quoted('"'),
        CHARACTER,
    ),
    signs="/\"'",
    comment_marks=SLASH_MARKS,
)


# Namespaces and imports


def _read_namespace(walk: SyntaxWalk, node: Node) -> None:
    """`namespace A.B;` of a whole file."""
    name = node.child_by_field_name("name")
    if name is not None:
        walk.package = spelled(walk, name)


def read_using(walk: SyntaxWalk, node: Node) -> None:
    """`using A.B;` and `using static A.B;` import all of A.B, `using X = A.B.C;` imports C of A.B as X.

    A `global using` holds in all files of the project, see `GLOBAL_USING`. One inside of a namespace has a level,
    because it may name a part of that namespace.
    """
    level = int(walk.scope != MODULE_SCOPE or bool(walk.package))
    alias, parts = node.child_by_field_name("name"), node.named_children
    if not parts:
        return
    if alias is None:
        is_global = node.children[0].type == "global"
        walk.add_import(
            node, GLOBAL_USING if is_global else "", spelled(walk, parts[-1]).removeprefix("global."), "*", level
        )
    else:
        module, _, name = type_text(walk, parts[-1]).rpartition(".")
        if name and not name.endswith("[]"):
            walk.add_import(node, walk.text(alias), module, name, level)


GLOBAL_USING = "global"
"""The local name of a star import that holds in other files too."""


# Definitions


def _read_type(kind: str) -> NodeReader:
    """A class, a struct, a record or an interface with its type parameters and its primary constructor."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        name = node.child_by_field_name("name")
        if name is None:
            return
        bases = [part for part in node.named_children if part.type == "base_list"]
        define_named(walk, node, name, kind, base_types(walk, bases))
        for part in node.named_children:
            if part.type == "parameter_list":
                bind_parameters(walk, part, fields=True)
        bind_type_constraints(walk, node.named_children)

    return read


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    """A method, a local function, a constructor or an operator; an extension method belongs to its receiver too."""
    kind = node.type
    name = node.child_by_field_name("name")
    around = walk.scope
    returned = node.child_by_field_name("returns") or node.child_by_field_name("type")
    if kind in _OPERATORS:
        sign = node.child_by_field_name("operator")
        written = f"operator{walk.text(sign)}" if sign is not None else "operator"
        if written == "operator." or "." in written:
            return
        walk.add_definition(node, written, "function", returns=type_text(walk, returned))
    elif name is None:
        return
    elif kind == "constructor_declaration":
        define_named(walk, node, name, "constructor")
    else:
        returns = RECEIVER_TYPE if _returns_receiver(walk, node, returned) else type_text(walk, returned)
        define_named(walk, node, name, "function", returns=returns)
    parameters = node.child_by_field_name("parameters")
    constraints = bind_type_constraints(walk, node.named_children)
    bind_parameters(walk, parameters, positions=True)
    if name is not None and parameters is not None and around != MODULE_SCOPE:
        _bind_extension(walk, around, walk.text(name), parameters, constraints)


RECEIVER_TYPE = "this"
"""The result of an extension method that returns its receiver: `static T With<T>(this T shop) where T : Shop`."""


def _returns_receiver(walk: SyntaxWalk, node: Node, returned: Node | None) -> bool:
    """Whether the first parameter of an extension method has the type parameter that the method returns."""
    types, parameters = node.child_by_field_name("type_parameters"), node.child_by_field_name("parameters")
    if returned is None or types is None or parameters is None or returned.type != "identifier":
        return False
    text, first = walk.text(returned), extended_parameter(walk, parameters)
    described = first.child_by_field_name("type") if first is not None else None
    return described is not None and walk.text(described) == text


def extended_parameter(walk: SyntaxWalk, parameters: Node) -> Node | None:
    """The parameter `this Shop shop` of an extension method."""
    first = next((part for part in parameters.named_children if part.type == "parameter"), None)
    if first is None or not any(part.type == "modifier" and walk.text(part) == "this" for part in first.named_children):
        return None
    return first


_OPERATORS = frozenset({"conversion_operator_declaration", "operator_declaration"})


def _bind_extension(walk: SyntaxWalk, owner: int, name: str, parameters: Node, constraints: dict[str, str]) -> None:
    """`static void Ext(this Shop s)` in a class Exts is "Shop.Ext" in the scope around the class."""
    first = extended_parameter(walk, parameters)
    if first is None:
        return
    described = first.child_by_field_name("type")
    receiver = type_text(walk, described) or outer_name(walk, described)
    receiver = constraints.get(receiver, receiver)
    if receiver:
        around = walk.definitions[owner]
        walk.add_binding(around.parent, f"{receiver}.{name}", "alias", f"{around.name}.{name}", first)


def _read_indexer(walk: SyntaxWalk, node: Node) -> None:
    """`Item this[int i] { get … }`."""
    returns = type_text(walk, node.child_by_field_name("type"))
    walk.add_definition(node, "this[]", "function", returns=returns)
    bind_parameters(walk, node.child_by_field_name("parameters"))


def _read_delegate(walk: SyntaxWalk, node: Node) -> None:
    """`delegate Bill Maker(int x);` is a type with a method Invoke."""
    name = node.child_by_field_name("name")
    if name is not None:
        define_named(walk, node, name, "type")
        returns = type_text(walk, node.child_by_field_name("type"))
        walk.add_definition(node, "Invoke", "method", header_line=name.start_point[0], returns=returns)
        bind_parameters(walk, node.child_by_field_name("parameters"), positions=True)


def _read_initializer(walk: SyntaxWalk, node: Node) -> None:
    """`: base(x)` and `: this(x)` of a constructor are calls."""
    word = next((child.type for child in node.children if child.type in ("base", "this")), "")
    if word == "this":
        word = walk.definitions[walk.scope].name if walk.scope != MODULE_SCOPE else ""
    walk.add_call(node, word)


def _read_base_arguments(walk: SyntaxWalk, node: Node) -> None:
    """`record Bill(int x) : Paper(x)` calls the constructor of the base."""
    parts = node.named_children
    for at, part in enumerate(parts[1:]):
        if part.type == "argument_list":
            walk.add_call(node, named_type(walk, parts[at]))


# Calls


def _read_call(walk: SyntaxWalk, node: Node) -> None:
    function, arguments = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    if function is None:
        return
    callee = expression_text(walk, function)
    if callee == "nameof":
        return
    walk.add_call(node, callee)
    if arguments is not None and (
        walk.source.find(b"=>", arguments.start_byte, arguments.end_byte) >= 0
        or walk.source.find(b"out ", arguments.start_byte, arguments.end_byte) >= 0
    ):
        bind_arguments(walk, arguments, callee)


def _read_new(walk: SyntaxWalk, node: Node) -> None:
    described, arguments = node.child_by_field_name("type"), node.child_by_field_name("arguments")
    if described is None:
        return
    callee = spelled(walk, described).removeprefix("global.")
    walk.add_call(node, callee)
    if arguments is not None and walk.source.find(b"=>", arguments.start_byte, arguments.end_byte) >= 0:
        bind_arguments(walk, arguments, callee)


_TABLE = SyntaxTable(
    definitions={
        "enum_declaration": "enum",
        "namespace_declaration": "namespace",
    },
    calls={},
    others={
        "ERROR": read_error,
        "anonymous_method_expression": read_lambda,
        "arrow_expression_clause": read_result,
        "base_list": _read_base_arguments,
        "catch_declaration": read_declared,
        "class_declaration": _read_type("class"),
        "constructor_declaration": _read_function,
        "constructor_initializer": _read_initializer,
        "conversion_operator_declaration": _read_function,
        "declaration_expression": read_declared,
        "declaration_pattern": read_declared,
        "delegate_declaration": _read_delegate,
        "enum_member_declaration": read_enum_member,
        "file_scoped_namespace_declaration": _read_namespace,
        "foreach_statement": read_foreach,
        "from_clause": read_from,
        "indexer_declaration": _read_indexer,
        "interface_declaration": _read_type("interface"),
        "invocation_expression": _read_call,
        "join_clause": read_from,
        "lambda_expression": read_lambda,
        "let_clause": read_let,
        "local_function_statement": _read_function,
        "method_declaration": _read_function,
        "object_creation_expression": _read_new,
        "operator_declaration": _read_function,
        "primary_constructor_base_type": _read_base_arguments,
        "property_declaration": read_property,
        "record_declaration": _read_type("record"),
        "recursive_pattern": read_declared,
        "return_statement": read_result,
        "struct_declaration": _read_type("struct"),
        "using_directive": read_using,
        "variable_declaration": read_variables,
    },
)

_BUILTINS = (
    "bool byte char decimal default double dynamic false float int long nameof nint nuint null object sbyte short"
    " sizeof string true typeof uint ulong ushort void"
    " Action Activator Array ArgumentException ArgumentNullException Assembly Attribute BitConverter CancellationToken"
    " Console Convert DateTime DateTimeOffset Debug Dictionary Directory Encoding Enum Enumerable Environment EventArgs"
    " EventHandler Exception Expression File Func GC Guid HashSet IAsyncDisposable ICollection IComparable IDictionary"
    " IDisposable IEnumerable IEnumerator IEquatable IList IQueryable InvalidOperationException Interlocked"
    " KeyValuePair List Math MemberInfo MethodInfo Monitor NotImplementedException NotSupportedException Nullable"
    " Object Path PropertyInfo Queue Random Regex Stack Stopwatch Stream StreamReader StreamWriter String StringBuilder"
    " StringComparer StringReader StringWriter Task TextReader TextWriter Thread TimeSpan Tuple Type Uri ValueTask"
    " Version"
)
"""Keywords, and types that most files import from the standard library."""

_ELEMENT_METHODS = (
    "Aggregate Dequeue ElementAt ElementAtOrDefault Find FindLast First FirstAsync FirstOrDefault FirstOrDefaultAsync"
    " GetValueOrDefault Last LastOrDefault Max MaxBy Min MinBy Peek Pop Single SingleAsync SingleOrDefault"
    " SingleOrDefaultAsync"
)
_COLLECTION_METHODS = (
    "Append AsEnumerable AsQueryable AsReadOnly Concat Distinct DistinctBy Except FindAll GetRange Intersect OrderBy"
    " OrderByDescending Prepend Reverse Skip SkipLast SkipWhile Take TakeLast TakeWhile ThenBy ThenByDescending ToArray"
    " ToArrayAsync ToHashSet ToImmutableArray ToImmutableList ToList ToListAsync Union Where"
)

_SCOPES = ScopeRules(
    names="identifier implicit_parameter",
    scopes="method_declaration constructor_declaration destructor_declaration operator_declaration indexer_declaration"
    " lambda_expression anonymous_method_expression local_function_statement block for_statement foreach_statement"
    " using_statement catch_clause switch_section switch_expression_arm query_expression class_declaration"
    " interface_declaration struct_declaration record_declaration delegate_declaration accessor_declaration",
    object_scopes="declaration_list",
    bindings="parameter.name type_parameter.name variable_declarator.name tuple_pattern.name foreach_statement.left"
    " catch_declaration.name declaration_pattern.name recursive_pattern.name declaration_expression.name"
    " from_clause.name let_clause:first join_clause:first"
    " local_function_statement.name method_declaration.name constructor_declaration.name property_declaration.name"
    " class_declaration.name interface_declaration.name struct_declaration.name record_declaration.name"
    " enum_declaration.name enum_member_declaration.name delegate_declaration.name event_declaration.name"
    " parameter_list.name var_pattern.name parenthesized_variable_designation.name namespace_declaration.name"
    " lambda_expression.parameters list_pattern.name tuple_element.name join_into_clause:first",
    patterns="tuple_pattern qualified_name assignment_expression.left",
    declared="implicit_parameter",
    imports="using_directive extern_alias_directive file_scoped_namespace_declaration",
    keys="argument.name goto_statement labeled_statement subpattern:first"
    " attribute_argument.name initializer_expression with_initializer anonymous_object_creation_expression"
    " attribute.name",
    predefined="var value nameof dynamic nint nuint notnull unmanaged field when where select from global _ await async"
    " yield partial get set init add remove args",
    open_calls=True,
    open_types=True,
    member_kinds="class interface struct record enum",
    open_members=r"Equals|GetHashCode|ToString|GetType|MemberwiseClone|ReferenceEquals|Finalize|HasFlag|CompareTo|Deconstruct"
    r"|PrintMembers|EqualityContract|Value|HasValue|GetValueOrDefault|Invoke|BeginInvoke|EndInvoke|Should\w*|As\w*|To\w*|Length",
    open_bases=True,
    open_methods=True,
    member_signs=r"(?<!\.)\.|::|\?\.|->",
)

_CALL_SYNTAX = CallSyntax(
    order="type name",
    modifiers="ref out in params scoped readonly",
    keyword_sign=": ",
    has_class_parameters=True,
    nothing="null",
)

LANGUAGES = (
    Language(
        "csharp",
        title="C#",
        suffixes="cs csx",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"\[[\w.]+(?:\(.*\))?\]",
        blocks="braces",
        member_operators="?.",
        grammar=("tree_sitter_c_sharp", "language"),
        readers=readers_of(_TABLE),
        shares_directory=True,
        package_style="declared",
        has_outer_packages=True,
        has_open_types=True,
        has_extensions=True,
        has_extension_packages=True,
        has_implicit_object=True,
        test_path=r"(?:^|/)[\w.]*[Tt]ests?/",
        own_object="this",
        receiver_types=RECEIVER_TYPE,
        super_word="base",
        call_method="Invoke",
        builtins=_BUILTINS,
        call_syntax=_CALL_SYNTAX,
        scope_rules=_SCOPES,
        element_methods=_ELEMENT_METHODS,
        collection_methods=_COLLECTION_METHODS,
        identity_methods="AsTask ConfigureAwait GetAwaiter GetResult Result Value",
        declares_all=True,
        project_ending=".csproj",
        import_lines=CSHARP_IMPORTS,
        has_interfaces=True,
    ),
)
