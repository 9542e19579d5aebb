"""JavaScript, with JSX.

The grammar of JSX also parses plain JavaScript. TypeScript reuses these rules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexer import Lexer, Rule
from ..lexical_rules import NOT_AN_APOSTROPHE, SLASH_COMMENTS, SLASH_MARKS, SLASHES, quoted
from ..nodes import base_types, returned_type, spelled, unquoted
from ..syntax import NodeReader, SyntaxWalk

if TYPE_CHECKING:
    from tree_sitter import Node


# Not after ">" and "<", where it ends a tag, nor after a name or a closing bracket, where it is a division.
_REGEX = Rule(
    r"(?:(?<![^\r\n])|(?<=[=(,:;!&|?{\[+\-*%^~])|(?<=[=(,:;!&|?{\[+\-*%^~] )|(?<=\breturn ))/(?![/*])"
    r"(?:[^/\\\[\r\n]|\\[^\r\n]|\[(?:[^\]\\\r\n]|\\[^\r\n])*\])+/"
)
LEXER = Lexer(
    rules=(
        *SLASH_COMMENTS,
        _REGEX,
        *quoted('"'),
        *quoted("'", before=NOT_AN_APOSTROPHE),
        *quoted("`", lines=True, interpolation="${"),
    ),
    signs="/\"'`",
    comment_marks=SLASH_MARKS,
)
DECORATOR = r"@[\w.]+(?:\(.*\))?"
IMPORT_SUFFIXES = "ts tsx d.ts js jsx mjs cjs mts cts"

# Imports


def read_web_import(walk: SyntaxWalk, node: Node) -> None:
    """`import a, {b as c} from "m"`, `import * as m from "m"`, `import m = require("m")`; none for `import "m"`."""
    source = node.child_by_field_name("source")
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            required, name = clause.child_by_field_name("source"), clause.named_children[0]
            if required is not None:
                walk.add_import(node, walk.text(name), unquoted(walk, required), "")
        elif clause.type == "import_clause" and source is not None:
            _bring_clause(walk, clause, unquoted(walk, source))


def _bring_clause(walk: SyntaxWalk, clause: Node, module: str) -> None:
    for part in clause.named_children:
        if part.type == "identifier":
            walk.add_import(part, walk.text(part), module, "default")
        elif part.type == "namespace_import" and part.named_children:
            walk.add_import(part, walk.text(part.named_children[0]), module, "")
        elif part.type == "named_imports":
            _bring_specifiers(walk, part, module)


def read_reexport(walk: SyntaxWalk, node: Node) -> None:
    """`export {a as b} from "m"` and `export * from "m"`."""
    source = node.child_by_field_name("source")
    if source is None:
        return
    module = unquoted(walk, source)
    named = [child for child in node.named_children if child.type in ("export_clause", "namespace_export")]
    if not named:
        walk.add_import(node, "", module, "*")
    for clause in named:
        if clause.type == "namespace_export":
            walk.add_import(node, walk.text(clause.named_children[0]), module, "")
        else:
            _bring_specifiers(walk, clause, module)


def _bring_specifiers(walk: SyntaxWalk, clause: Node, module: str) -> None:
    for specifier in clause.named_children:
        name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
        if name is not None:
            walk.add_import(specifier, walk.text(alias or name), module, walk.text(name))


def read_require(walk: SyntaxWalk, target: Node, value: Node) -> None:
    """`const m = require("m")` and `const {a, b: c} = require("m")`; nothing for any other call."""
    function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
    if function is None or arguments is None or walk.text(function) != "require":
        return
    if len(arguments.named_children) != 1 or arguments.named_children[0].type != "string":
        return
    module = unquoted(walk, arguments.named_children[0])
    if target.type == "identifier":
        walk.add_import(target, walk.text(target), module, "")
    for part in target.named_children if target.type == "object_pattern" else ():
        if part.type == "shorthand_property_identifier_pattern":
            walk.add_import(part, walk.text(part), module, walk.text(part))
        elif part.type == "pair_pattern" and len(part.named_children) == 2:
            name, local_name = part.named_children
            if local_name.type == "identifier":
                walk.add_import(part, walk.text(local_name), module, walk.text(name))


# Definitions and calls

_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function"})
_NOT_PART_OF_NAME = frozenset({"exports", "module", "prototype", "this"})


def value_reader(name_field: str, value_field: str) -> NodeReader:
    """The reader of nodes that name a value: a function or a class gets that name, a `require` is an import."""

    def read(walk: SyntaxWalk, node: Node) -> None:
        name, value = node.child_by_field_name(name_field), node.child_by_field_name(value_field)
        if name is None or value is None:
            return
        if value.type == "call_expression":
            read_require(walk, name, value)
        elif value.type in _FUNCTION_VALUES or value.type == "class":
            parts = [part for part in spelled(walk, name).lstrip("#").split(".") if part not in _NOT_PART_OF_NAME]
            kind = "class" if value.type == "class" else "function"
            bases, returns = base_types(walk, value, BASES), returned_type(walk, value, "return_type")
            if any(parts):
                walk.add_definition(
                    node, ".".join(parts), kind, header_line=name.start_point[0], bases=bases, returns=returns
                )

    return read


def _read_element(walk: SyntaxWalk, node: Node) -> None:
    """`<Price of={x}/>` calls the component Price; names in lower case are HTML elements."""
    name = node.child_by_field_name("name")
    if name is not None:
        component = walk.dotted(name)
        if component[:1].isupper():
            walk.add_call(node, component)


BASES = frozenset({"class_heritage", "extends_type_clause"})
ELEMENTS: dict[str, NodeReader] = {"jsx_opening_element": _read_element, "jsx_self_closing_element": _read_element}
TABLE = SyntaxTable(
    definitions={
        "class": "class",
        "class_declaration": "class",
        "function_declaration": "function",
        "function_expression": "function",
        "generator_function_declaration": "function",
        "method_definition": "function",
    },
    calls={"call_expression": "function", "new_expression": "constructor"},
    bases=BASES,
    returns="return_type",
    headers="class function",
    others={
        "assignment_expression": value_reader("left", "right"),
        "export_statement": read_reexport,
        "field_definition": value_reader("property", "value"),
        "import_statement": read_web_import,
        "pair": value_reader("key", "value"),
        "variable_declarator": value_reader("name", "value"),
        **ELEMENTS,
    },
)

BUILTINS = (
    "AbortController AbortSignal AggregateError Array ArrayBuffer BigInt Blob Boolean Buffer CustomEvent DataView Date"
    " Deno Element Error Event EventTarget File FormData Function Headers HTMLElement Infinity Intl JSON Map Math"
    " MessageChannel NaN Node Number Object Promise Proxy RangeError ReadableStream Reflect RegExp Request Response Set"
    " String Symbol SyntaxError TextDecoder TextEncoder TransformStream TypeError URL URLSearchParams Uint8Array"
    " WeakMap WeakRef WeakSet Worker WritableStream XMLHttpRequest afterAll afterEach alert atob beforeAll beforeEach"
    " btoa cancelAnimationFrame clearInterval clearTimeout console crypto decodeURIComponent describe document"
    " encodeURIComponent escape eval exports expect fetch global globalThis history isFinite isNaN it jest"
    " localStorage location module navigator parseFloat parseInt performance process queueMicrotask"
    " requestAnimationFrame require self sessionStorage setImmediate setInterval setTimeout structuredClone test"
    " undefined unescape vi window"
)
"""Global names of browsers, Node.js and the usual test runners."""

ELEMENT_METHODS = "at find findLast get pop shift"
COLLECTION_METHODS = "concat filter reverse slice sort splice toReversed toSorted values"

LANGUAGES = (
    Language(
        "javascript",
        suffixes="js mjs cjs jsx",
        file_names="jakefile",
        lsp_ids="javascriptreact",
        lexer=LEXER,
        comment=SLASHES,
        decorator=DECORATOR,
        blocks="braces",
        indent="  ",
        grammar=("tree_sitter_javascript", "language"),
        readers=readers_of(TABLE),
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
    ),
)
