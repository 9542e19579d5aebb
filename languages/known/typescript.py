"""TypeScript, and TypeScript with JSX (`tsx`), which has a grammar of its own."""

from __future__ import annotations

from dataclasses import replace

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexical_rules import SLASHES
from .javascript import (
    BASES,
    BUILTINS,
    COLLECTION_METHODS,
    DECORATOR,
    ELEMENT_METHODS,
    ELEMENTS,
    IMPORT_SUFFIXES,
    LEXER,
    value_reader,
)
from .javascript import TABLE as JAVASCRIPT

_HEADERS = "class enum function interface module namespace"
_TSX = SyntaxTable(
    definitions={
        **JAVASCRIPT.definitions,
        "abstract_class_declaration": "class",
        "abstract_method_signature": "function",
        "enum_declaration": "enum",
        "function_signature": "function",
        "interface_declaration": "interface",
        "internal_module": "namespace",
        "method_signature": "function",
        "module": "namespace",
        "type_alias_declaration": "type",
    },
    calls=JAVASCRIPT.calls,
    bases=BASES,
    returns="return_type",
    headers=_HEADERS,
    others={
        **{kind: reader for kind, reader in JAVASCRIPT.others.items() if kind != "field_definition"},
        "public_field_definition": value_reader("name", "value"),
    },
)
_TYPESCRIPT = SyntaxTable(
    definitions=_TSX.definitions,
    calls=_TSX.calls,
    bases=BASES,
    returns="return_type",
    headers=_HEADERS,
    others={kind: reader for kind, reader in _TSX.others.items() if kind not in ELEMENTS},
)

_RECORD = Language(
    "typescript",
    suffixes="ts mts cts",
    lexer=LEXER,
    comment=SLASHES,
    decorator=DECORATOR,
    blocks="braces",
    indent="  ",
    grammar=("tree_sitter_typescript", "language_typescript"),
    readers=readers_of(_TYPESCRIPT),
    family="web",
    module_style="web",
    import_suffixes=IMPORT_SUFFIXES,
    own_object="this",
    super_word="super",
    constructor="constructor",
    builtins=BUILTINS,
    element_methods=ELEMENT_METHODS,
    collection_methods=COLLECTION_METHODS,
    has_types=True,
    has_block_scopes=True,
    has_globals=True,
)

LANGUAGES = (
    _RECORD,
    replace(
        _RECORD,
        name="tsx",
        suffixes="tsx",
        lsp_ids="typescriptreact",
        grammar=("tree_sitter_typescript", "language_tsx"),
        readers=readers_of(_TSX),
    ),
)
