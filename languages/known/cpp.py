"""C++ and CUDA. A `.h` is parsed as C++: that grammar accepts nearly all C headers, while C's fails at classes."""

from __future__ import annotations

from ..cpp.macros import without_macros
from ..import_lines import C_INCLUDES
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASHES
from ..scope_rules import ScopeRules
from .c import CPP_READERS, TEST_PATH
from .c import LEXER as C_LEXER

_LEXER = Lexer(
    (Rule(r'(?<=R)"(?P<mark>\w*)\(', Open("string", end=r'[)]\g<mark>"', closing=')"')), *C_LEXER.rules),
    signs=C_LEXER.signs,
    comment_marks=C_LEXER.comment_marks,
)

_BUILTINS = (
    "append assign at back begin c_str cbegin cend clear count data emplace emplace_back empty end erase find"
    " first front get insert length lock max min move nullptr open pop_back pop_front push push_back push_front rbegin"
    " release rend"
    " reserve reset resize second size std str substr swap top unlock value"
)
"""The namespace of the standard library, and names of its members."""

_ELEMENT_METHODS = "at back begin cbegin end find front rbegin top value lower_bound upper_bound"

_SCOPES = ScopeRules(
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

LANGUAGES = (
    Language(
        "cpp",
        title="C++",
        suffixes="cpp cc cxx c++ h hh hpp hxx h++ ipp tpp inl cu cuh",
        lsp_ids="cuda-cpp",
        lexer=_LEXER,
        comment=SLASHES,
        decorator=r"template\s*<.*>|\[\[.*\]\]",
        blocks="braces",
        member_operators=":: ->",
        grammar=("tree_sitter_cpp", "language"),
        source_filter=without_macros,
        readers=CPP_READERS,
        family="native",
        module_style="include",
        import_lines=C_INCLUDES,
        import_suffixes="c cc cpp cxx",
        package_style="declared",
        has_extensions=True,
        has_implicit_object=True,
        test_path=TEST_PATH,
        own_object="this",
        builtins=_BUILTINS,
        scope_rules=_SCOPES,
        element_methods=_ELEMENT_METHODS,
        identity_methods="get lock release second value value_or",
        index_method="operator[]",
        has_globals=True,
    ),
)
