"""C++ and CUDA. A `.h` is parsed as C++: that grammar accepts nearly all C headers, while C's fails at classes."""

from __future__ import annotations

from ..cpp_macros import without_macros
from ..language import Language
from ..lexer import Lexer, Open, Rule
from ..lexical_rules import SLASHES
from .c import CPP_READERS
from .c import LEXER as C_LEXER

_LEXER = Lexer(
    (Rule(r'(?<=R)"(?P<mark>\w*)\(', Open("string", end=r'[)]\g<mark>"', closing=')"')), *C_LEXER.rules),
    signs=C_LEXER.signs,
    comment_marks=C_LEXER.comment_marks,
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
        source_filter=without_macros,
        readers=CPP_READERS,
        family="native",
        module_style="include",
        import_suffixes="c cc cpp cxx",
    ),
)
