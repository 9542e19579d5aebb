"""How the ten languages besides Python write imports.

Owns one reader per form. An import keeps its module as written ("./shop", "crate::shop", "shop/money.h");
what file that is, is for resolution to find out. A whole module's names at once are "*", as in Python.
"""

from __future__ import annotations

from tree_sitter import Node

from .walk import Walk


def read_web_import(walk: Walk, node: Node) -> None:
    """`import a, {b as c} from "m"`, `import * as m from "m"`, `import m = require("m")`; none for `import "m"`."""
    source = node.child_by_field_name("source")
    for clause in node.named_children:
        if clause.type == "import_require_clause":
            required, name = clause.child_by_field_name("source"), clause.named_children[0]
            if required is not None:
                walk.bring(node, walk.text(name), _unquoted(walk, required), "")
        elif clause.type == "import_clause" and source is not None:
            _bring_clause(walk, clause, _unquoted(walk, source))


def _bring_clause(walk: Walk, clause: Node, module: str) -> None:
    for part in clause.named_children:
        if part.type == "identifier":
            walk.bring(part, walk.text(part), module, "default")
        elif part.type == "namespace_import" and part.named_children:
            walk.bring(part, walk.text(part.named_children[0]), module, "")
        elif part.type == "named_imports":
            _bring_specifiers(walk, part, module)


def read_reexport(walk: Walk, node: Node) -> None:
    """`export {a as b} from "m"` and `export * from "m"`."""
    source = node.child_by_field_name("source")
    if source is None:
        return
    module = _unquoted(walk, source)
    named = [child for child in node.named_children if child.type in ("export_clause", "namespace_export")]
    if not named:
        walk.bring(node, "", module, "*")
    for clause in named:
        if clause.type == "namespace_export":
            walk.bring(node, walk.text(clause.named_children[0]), module, "")
        else:
            _bring_specifiers(walk, clause, module)


def _bring_specifiers(walk: Walk, clause: Node, module: str) -> None:
    for specifier in clause.named_children:
        name, alias = specifier.child_by_field_name("name"), specifier.child_by_field_name("alias")
        if name is not None:
            walk.bring(specifier, walk.text(alias or name), module, walk.text(name))


def read_require(walk: Walk, target: Node, value: Node) -> None:
    """`const m = require("m")` and `const {a, b: c} = require("m")`; nothing for any other call."""
    function, arguments = value.child_by_field_name("function"), value.child_by_field_name("arguments")
    if function is None or arguments is None or walk.text(function) != "require":
        return
    if len(arguments.named_children) != 1 or arguments.named_children[0].type != "string":
        return
    module = _unquoted(walk, arguments.named_children[0])
    if target.type == "identifier":
        walk.bring(target, walk.text(target), module, "")
    for part in target.named_children if target.type == "object_pattern" else ():
        if part.type == "shorthand_property_identifier_pattern":
            walk.bring(part, walk.text(part), module, walk.text(part))
        elif part.type == "pair_pattern" and len(part.named_children) == 2:
            name, local_name = part.named_children
            if local_name.type == "identifier":
                walk.bring(part, walk.text(local_name), module, walk.text(name))


def read_go_import(walk: Walk, node: Node) -> None:
    """`import m "example.com/money"`; a package without a name of its own goes by the last part of its path."""
    name, path = node.child_by_field_name("name"), node.child_by_field_name("path")
    if path is None:
        return
    module = _unquoted(walk, path)
    local_name = walk.text(name) if name is not None else module.rpartition("/")[2]
    if local_name == ".":
        walk.bring(node, "", module, "*")
    elif local_name != "_":
        walk.bring(node, local_name, module, "")


def read_java_import(walk: Walk, node: Node) -> None:
    """`import a.b.Shop;` brings Shop of a.b, `import a.b.*;` all of it; so do static imports."""
    path = next((child for child in node.named_children if child.type in ("identifier", "scoped_identifier")), None)
    if path is not None:
        written = walk.text(path)
        if any(child.type == "asterisk" for child in node.named_children):
            walk.bring(node, "", written, "*")
        else:
            module, _, name = written.rpartition(".")
            walk.bring(node, name, module, name)


def read_using(walk: Walk, node: Node) -> None:
    """C#: `using A.B;` brings all of A.B, `using X = A.B.C;` brings C of A.B as X."""
    alias, parts = node.child_by_field_name("name"), node.named_children
    if not parts:
        return
    written = walk.text(parts[-1])
    if alias is None:
        walk.bring(node, "", written, "*")
    else:
        module, _, name = written.rpartition(".")
        walk.bring(node, walk.text(alias), module, name)


def read_use(walk: Walk, node: Node) -> None:
    """Rust: `use a::b::{c, d as e, f::*, self};`, each with the whole path that it is taken from."""
    argument = node.child_by_field_name("argument")
    waiting = [("", argument)] if argument is not None else []
    while waiting:
        path, part = waiting.pop(0)
        kind = part.type
        if kind == "scoped_use_list":
            head, inner = part.child_by_field_name("path"), part.child_by_field_name("list")
            path = _joined(path, walk.text(head)) if head is not None else path
            waiting += [(path, child) for child in inner.named_children] if inner is not None else []
        elif kind == "use_list":
            waiting += [(path, child) for child in part.named_children]
        elif kind == "use_wildcard":
            walk.bring(part, "", _joined(path, walk.text(part).rstrip("*: ")), "*")
        elif kind == "use_as_clause":
            taken, alias = part.child_by_field_name("path"), part.child_by_field_name("alias")
            if taken is not None and alias is not None:
                _bring_path(walk, part, _joined(path, walk.text(taken)), walk.text(alias))
        elif kind == "self":
            walk.bring(part, path.rpartition("::")[2], path, "")
        elif kind in ("identifier", "scoped_identifier", "crate", "super"):
            _bring_path(walk, part, _joined(path, walk.text(part)), "")


def _bring_path(walk: Walk, node: Node, path: str, alias: str) -> None:
    module, _, name = path.rpartition("::")
    if name == "self":  # `use a::b::{self as c}`
        walk.bring(node, alias, module, "")
    else:
        walk.bring(node, alias or name, module, name)


def _joined(path: str, rest: str) -> str:
    return f"{path}::{rest}" if path and rest else path or rest


def read_include(walk: Walk, node: Node) -> None:
    """C and C++: an include brings all that its file declares."""
    path = node.child_by_field_name("path")
    if path is not None and path.type in ("string_literal", "system_lib_string"):
        walk.bring(node, "", walk.text(path).strip('"<>'), "*")


def read_ruby_require(walk: Walk, node: Node) -> bool:
    """`require "json"`, `require_relative "shop/item"`, which is kept as "./shop/item"; False for any other call."""
    method, arguments = node.child_by_field_name("method"), node.child_by_field_name("arguments")
    if method is None or arguments is None or walk.text(method) not in ("require", "require_relative"):
        return False
    parts = arguments.named_children
    if len(parts) != 1 or parts[0].type != "string":
        return False
    module = _unquoted(walk, parts[0])
    if walk.text(method) == "require_relative" and not module.startswith("."):
        module = f"./{module}"
    walk.bring(node, "", module, "*")
    return True


def read_php_use(walk: Walk, node: Node) -> None:
    r"""PHP: `use X\Y;`, `use X\Z as W;`, `use X\{R, S as T};`."""
    prefix, clauses = "", []
    for child in node.named_children:
        if child.type == "namespace_name":
            prefix = walk.text(child)
        elif child.type == "namespace_use_group":
            clauses += child.named_children
        elif child.type == "namespace_use_clause":
            clauses.append(child)
    for clause in clauses:
        name, alias = clause.named_children[:1], clause.child_by_field_name("alias")
        if name:
            path = f"{prefix}\\{walk.text(name[0])}".strip("\\")
            module, _, last = path.rpartition("\\")
            walk.bring(clause, walk.text(alias) if alias is not None else last, module, last)


def _unquoted(walk: Walk, string: Node) -> str:
    return walk.text(string).strip("\"'`")
