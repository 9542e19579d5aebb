"""Shell scripts in the syntax of bash: functions, commands that call them, and sourced files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..declarations import SyntaxTable, readers_of
from ..language import Language
from ..lexical_rules import HASH_LEXER
from ..nodes import define_named
from ..syntax import ScopedChildren, SyntaxWalk, node_lines, note_error

if TYPE_CHECKING:
    from tree_sitter import Node


def _read_function(walk: SyntaxWalk, node: Node) -> None:
    name = node.child_by_field_name("name")
    if name is not None and _is_plain(walk.text(name)):
        define_named(walk, node, name, "function")


def _is_plain(name: str) -> bool:
    """Whether a word can be the name of a function that others call: no path and no expansion."""
    return bool(name) and not any(sign in name for sign in "./$\"'`*?[]{}\\=")


def _read_command(walk: SyntaxWalk, node: Node) -> None:
    """`pay 1` calls a function or a program, `source x.sh` brings its functions, `trap pay EXIT` calls it later."""
    name = node.child_by_field_name("name")
    text = walk.text(name) if name is not None else ""
    if text in ("source", "."):
        arguments = node.children_by_field_name("argument")
        module = _sourced(walk, arguments[0]) if arguments else ""
        if module:
            walk.add_import(node, "", module, "*")
        return
    if text == "trap":
        handler = node.child_by_field_name("argument")
        text = walk.text(handler).strip("\"'") if handler is not None else ""
    # The header of a function whose end is missing reads as a command.
    if _is_plain(text) and walk.source[node.end_byte : node.end_byte + 2] != b"()":
        walk.add_call(node, text)


def _sourced(walk: SyntaxWalk, argument: Node) -> str:
    """The path of a sourced file, without the expansions at its beginning: "lib/x.sh" for "$DIR/lib/x.sh"."""
    if argument.type in ("string", "concatenation"):
        parts = argument.named_children
        if not parts or parts[-1].type not in ("string_content", "word"):
            return ""
        text = walk.text(parts[-1])
        return text.lstrip("/") if len(parts) > 1 else text
    text = walk.text(argument).strip("'")
    return "" if "$" in text else text


def _read_error(walk: SyntaxWalk, node: Node) -> ScopedChildren:
    """Functions whose closing brace is missing: what follows their headers is inside of them."""
    note_error(walk, node)
    parts: ScopedChildren = []
    outermost = walk.scope
    scopes: list[int] = []  # for each open brace, the scope of its content
    before = node.prev_sibling
    header: Node | None = None
    children = node.children
    for at, child in enumerate(children):
        walk.scope = around = scopes[-1] if scopes else outermost
        kind = child.type
        if child.is_named:
            parts.append(([child], around))
        if kind == "(" and at + 1 < len(children) and children[at + 1].type == ")":
            header = before
        elif kind == "word" and before is not None and before.type == "function":
            header = child
        elif kind == "{":
            if header is not None and _is_plain(name := walk.text(header).strip()) and " " not in name:
                walk.add_definition(header, name, "function")
                walk.is_unsorted = True
            scopes.append(walk.scope)
            header = None
        elif kind == "}" and scopes:
            closed = scopes.pop()
            if closed != (scopes[-1] if scopes else outermost):
                walk.end_definition(closed, node_lines(child)[1])
        before = child
    for definition in set(scopes) - {outermost}:
        walk.end_definition(definition, node_lines(node)[1])
    return parts


_TABLE = SyntaxTable(
    definitions={},
    calls={},
    others={"ERROR": _read_error, "command": _read_command, "function_definition": _read_function},
)

# Built-in commands and common programs.
_BUILTINS = (
    "alias awk basename bg bind break builtin caller cat cd chmod chown command compgen complete continue cp curl"
    " cut date declare diff dirname dirs disown docker du echo enable env eval exec exit export expr false fc fg"
    " find getopts git grep groups gzip hash head help history id install jobs jq kill let ln local logout ls make"
    " mapfile mkdir mktemp mv node npm popd printf ps pushd pwd python python3 read readarray readonly realpath"
    " return rm rmdir rsync sed seq set shift shopt sleep sort source ssh stat sudo suspend tail tar tee test time"
    " timeout times touch tr trap true type typeset ulimit umask unalias uname uniq unset unzip wait wc wget which"
    " whoami xargs zip"
)

LANGUAGES = (
    Language(
        "shellscript",
        title="shell",
        suffixes="sh bash zsh ksh",
        lexer=HASH_LEXER,
        comment_tokens=("#",),
        indent="  ",
        grammar=("tree_sitter_bash", "language"),
        readers=readers_of(_TABLE),
        module_style="source",
        test_path=r"(?:^|/)tests?/",
        own_object="",
        builtins=_BUILTINS,
        has_globals=True,
    ),
    Language("fish", suffixes="fish", lexer=HASH_LEXER, comment_tokens=("#",)),
)
