"""C++ and CUDA. A `.h` is parsed as C++: that grammar accepts nearly all C headers, while C's fails at classes."""

from __future__ import annotations

from ..cpp.macros import without_macros
from ..import_lines import C_INCLUDES
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASHES
from .c import CALL_SYNTAX, CPP_READERS, SCOPES, TEST_PATH
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
        call_syntax=CALL_SYNTAX,
        scope_rules=SCOPES,
        element_methods=_ELEMENT_METHODS,
        identity_methods="get lock release second value value_or",
        index_method="operator[]",
        has_globals=True,
    ),
)
