"""Packages and imports of Scala.

Owns the forms of package clauses and import selectors. Knows no file: the resolver finds what a path names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..nodes import define_named
from ..syntax import SyntaxWalk
from .values import name_text

if TYPE_CHECKING:
    from tree_sitter import Node


def read_package(walk: SyntaxWalk, node: Node) -> None:
    """`package org.shop`; a further clause goes on with it and sees its names, and one with a body is a namespace."""
    name = node.child_by_field_name("name")
    if name is None:
        return
    written = "".join(walk.text(name).split())
    if node.child_by_field_name("body") is not None:
        walk.add_definition(node, written, "namespace", header_line=name.start_point[0])
    elif walk.package:
        walk.add_import(node, "", walk.package, "*")
        walk.package = f"{walk.package}.{written}"
    else:
        walk.package = written


def read_package_object(walk: SyntaxWalk, node: Node) -> None:
    """The members of `package object shop {…}` are those of the package shop."""
    name = node.child_by_field_name("name")
    if name is not None:
        define_named(walk, node, name, "namespace")


def read_scala_import(walk: SyntaxWalk, node: Node) -> None:
    """`import a.b.C, d._`, `import a.{B, C => D, _}`, `import a.{B as C, *, given}`."""
    path: list[str] = []
    is_done = False
    for child in [*node.children, None]:
        kind = child.type if child is not None else ","
        if kind == ",":
            if path and not is_done:
                _bring(walk, node, path[:-1], path[-1], path[-1])
            path, is_done = [], False
        elif child is None:
            continue
        elif kind == "namespace_wildcard":
            walk.add_import(node, "", ".".join(path), "*")
            is_done = True
        elif kind == "namespace_selectors":
            for selector in child.named_children:
                _bring_selector(walk, selector, path)
            is_done = True
        elif kind.endswith("renamed_identifier"):
            _bring_selector(walk, child, path)
            is_done = True
        elif kind in ("identifier", "operator_identifier"):
            path.append(name_text(walk, child))


def _bring_selector(walk: SyntaxWalk, selector: Node, path: list[str]) -> None:
    if selector.type == "namespace_wildcard":
        if walk.text(selector) != "given":
            walk.add_import(selector, "", ".".join(path), "*")
    elif selector.type == "identifier":
        _bring(walk, selector, path, name_text(walk, selector), name_text(walk, selector))
    else:
        name, alias = selector.child_by_field_name("name"), selector.child_by_field_name("alias")
        if name is not None and alias is not None and alias.type == "identifier":
            _bring(walk, selector, path, name_text(walk, name), name_text(walk, alias))


def _bring(walk: SyntaxWalk, node: Node, path: list[str], name: str, local_name: str) -> None:
    walk.add_import(node, local_name, ".".join(path), name)
