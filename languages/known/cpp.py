"""C++ and CUDA. A `.h` is parsed as C++: that grammar accepts nearly all C headers, while C's fails at classes."""

from __future__ import annotations

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASHES
from .c import LEXER as C_LEXER
from .c import TABLE as C_TABLE

_LEXER = Lexer(
    (Rule(r'(?<=R)"(?P<mark>\w*)\(', Open("string", end=r'[)]\g<mark>"', closing=')"')), *C_LEXER.rules),
    signs=C_LEXER.signs,
    comment_marks=C_LEXER.comment_marks,
)
_TABLE = SyntaxTable(
    definitions={
        **C_TABLE.definitions,
        "class_specifier": "class",
        "namespace_definition": "namespace",
    },
    calls={**C_TABLE.calls, "new_expression": "type"},
    bases=frozenset({"base_class_clause"}),
    headers="class enum namespace struct union",
    others=C_TABLE.others,
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
        grammar=("tree_sitter_cpp", "language"),
        readers=readers_of(_TABLE),
        family="native",
        module_style="include",
        import_suffixes="c cc cpp cxx",
    ),
)
