"""C. A `.h` is parsed as C++, whose readers these are too."""

from __future__ import annotations

from ..call_syntax import CallSyntax
from ..cpp.bindings import read_catch, read_lambda, read_range_loop
from ..cpp.definitions import (
    read_alias,
    read_call,
    read_class,
    read_declaration,
    read_friend,
    read_function,
    read_include,
    read_macro,
    read_namespace,
    read_namespace_alias,
    read_new,
    read_typedef,
    read_using,
)
from ..cpp.errors import CppHeader
from ..cpp.macros import without_macros
from ..error_nodes import error_reader
from ..import_lines import C_INCLUDES
from ..language import Language
from ..lexer import Lexer
from ..lexical_rules import CHARACTER, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..scope_rules import ScopeRules
from ..syntax import NodeReader

LEXER = Lexer((*SLASH_COMMENTS, *quoted('"'), CHARACTER), signs="/\"'", comment_marks=SLASH_MARKS)

_READERS: dict[str, NodeReader] = {
    "ERROR": error_reader("", CppHeader),
    "call_expression": read_call,
    "compound_literal_expression": read_new,
    "declaration": read_declaration,
    "enum_specifier": read_class,
    "field_declaration": read_declaration,
    "function_definition": read_function,
    "preproc_function_def": read_macro,
    "preproc_include": read_include,
    "struct_specifier": read_class,
    "type_definition": read_typedef,
    "union_specifier": read_class,
}
CPP_READERS: dict[str, NodeReader] = {
    **_READERS,
    "alias_declaration": read_alias,
    "catch_clause": read_catch,
    "class_specifier": read_class,
    "for_range_loop": read_range_loop,
    "friend_declaration": read_friend,
    "lambda_expression": read_lambda,
    "namespace_alias_definition": read_namespace_alias,
    "namespace_definition": read_namespace,
    "new_expression": read_new,
    "using_declaration": read_using,
}

TEST_PATH = r"(?:^|/)(?:tests?|testing)/|_test\.(?:cc|cpp|c)$"
_BUILTINS = "NULL abort assert calloc errno exit fclose fopen fprintf free malloc memcpy memset printf realloc strlen"

SCOPES = ScopeRules(
    names="identifier type_identifier field_identifier namespace_identifier",
    scopes="function_definition compound_statement for_statement for_range_loop catch_clause lambda_expression"
    " if_statement while_statement switch_statement",
    object_scopes="field_declaration_list",
    own_names="declarator name",
    bindings="parameter_declaration.declarator optional_parameter_declaration.declarator init_declarator.declarator"
    " declaration.declarator field_declaration.declarator function_declarator.declarator for_range_loop.declarator"
    " variadic_parameter_declaration.declarator structured_binding_declarator lambda_capture_initializer.left"
    " type_parameter_declaration optional_type_parameter_declaration.name variadic_type_parameter_declaration"
    " class_specifier.name struct_specifier.name union_specifier.name enum_specifier.name enumerator.name"
    " namespace_definition.name namespace_alias_definition.name alias_declaration.name type_definition.declarator"
    " preproc_def.name preproc_function_def.name preproc_params concept_definition.name friend_declaration"
    " type_parameter_declaration.name template_template_parameter_declaration",
    patterns="pointer_declarator.declarator reference_declarator array_declarator.declarator parenthesized_declarator"
    " variadic_declarator attributed_declarator structured_binding_declarator qualified_identifier.name"
    " function_declarator.declarator template_function.name destructor_name",
    imports="using_declaration",
    keys="offsetof_expression.member field_initializer field_designator goto_statement labeled_statement",
    ignored="preproc_arg preproc_directive attribute_specifier attribute_declaration preproc_if preproc_elif",
    predefined="static_cast dynamic_cast reinterpret_cast const_cast stdin stdout stderr errno environ"
    " optarg optind opterr optopt"
    " nullptr this std NULL true false bool"
    " size_t ssize_t va_args __func__ __FILE__ __LINE__ __VA_ARGS__ __FUNCTION__ defined final override main"
    " ptrdiff_t signed unsigned environ",
    checked="[a-z_]\\w*",
    outside_names=r"__\w+|\w+_t|std\w*|k[A-Z]\w*",
    open_macros=True,
    open_calls=True,
    open_types=True,
    member_kinds="class struct union enum",
    open_bases=True,
    macros="offsetof va_arg container_of",
    checked_within="compound_statement",
    open_paths=True,
    member_signs=r"(?<!\.)\.|->|::|#",
)
"""Of C and C++: the kinds that C lacks never occur in it."""

CALL_SYNTAX = CallSyntax(
    order="type name",
    modifiers="const register",
    nothing="NULL",
)

LANGUAGES = (
    Language(
        "c",
        suffixes="c",
        lexer=LEXER,
        comment=SLASHES,
        blocks="braces",
        member_operators="->",
        grammar=("tree_sitter_c", "language"),
        source_filter=without_macros,
        readers=_READERS,
        family="native",
        module_style="include",
        import_lines=C_INCLUDES,
        import_suffixes="c cc cpp cxx",
        package_style="declared",
        has_extensions=True,
        test_path=TEST_PATH,
        own_object="",
        index_method="operator[]",
        builtins=_BUILTINS,
        call_syntax=CALL_SYNTAX,
        scope_rules=SCOPES,
    ),
)
