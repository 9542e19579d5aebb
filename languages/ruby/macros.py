"""Methods that declare, called in a class body or in a test of Ruby: attributes, mix-ins, delegation, associations.

Owns the meaning of these calls: bindings, definitions and mentions. Such a call has no receiver.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..nodes import first_child, unquoted
from ..syntax import MODULE_SCOPE, SyntaxWalk
from .bindings import RESULT
from .expressions import class_around, class_name, expression_text, last_statement, meanings

if TYPE_CHECKING:
    from tree_sitter import Node

Macro = Callable[[SyntaxWalk, "Node", "list[Node]"], None]
"""Reads a call with these arguments."""

MIX_INS = frozenset({"extend", "include", "prepend"})
CLASS_METHODS = "ClassMethods"
"""The module inside a mix-in whose methods the class itself gets, by the convention of ActiveSupport."""


def mixed_in(walk: SyntaxWalk, body: Node | None, name: str) -> tuple[str, ...]:
    """The modules that the class or module of this name includes or extends, the last one first."""
    return mixed_in_by(walk, body.named_children if body is not None else [], name)


def mixed_in_by(walk: SyntaxWalk, statements: list[Node], name: str) -> tuple[str, ...]:
    """The same from the statements of its body."""
    found: list[str] = []
    for statement in statements:
        kind = statement.type
        if kind == "call":
            found += _mixed_in_by_call(walk, statement, name)
        elif kind == "singleton_class":
            found += mixed_in(walk, statement.child_by_field_name("body"), name)
        elif kind == "module" and walk.text(statement.child_by_field_name("name") or statement) == CLASS_METHODS:
            found.append(f"{name}.{CLASS_METHODS}")
    return tuple(reversed(found))


def _mixed_in_by_call(walk: SyntaxWalk, call: Node, owner: str) -> list[str]:
    method = first_child(call)
    name = walk.text(method) if method is not None and method.type == "identifier" else ""
    if name in MIX_INS:
        arguments = call.child_by_field_name("arguments")
        parts = arguments.named_children if arguments is not None else []
        texts = [expression_text(walk, part) for part in parts if part.type in ("constant", "scope_resolution")]
        return [text for text in texts if not text.startswith(_NO_BASES)]
    if name == "included":
        block = call.child_by_field_name("block")
        return list(reversed(mixed_in(walk, block.child_by_field_name("body"), owner))) if block is not None else []
    return []


_NO_BASES = ("ActiveSupport.", "Comparable", "Enumerable", "Forwardable", "Kernel", "Singleton")
"""Mix-ins that add a few well-known methods; a class with them is as open to other definitions as without."""


def symbols_of(walk: SyntaxWalk, arguments: list[Node]) -> list[Node]:
    """The arguments that are symbols or strings."""
    return [argument for argument in arguments if argument.type in ("simple_symbol", "string")]


def symbol_text(walk: SyntaxWalk, symbol: Node) -> str:
    """The name that a symbol or a string holds."""
    return walk.text(symbol)[1:] if symbol.type == "simple_symbol" else unquoted(walk, symbol)


def option(walk: SyntaxWalk, arguments: list[Node], name: str) -> Node | None:
    """The value of a named argument."""
    for argument in arguments:
        if argument.type == "pair":
            key = first_child(argument)
            if key is not None and walk.text(key).strip(":") == name:
                return argument.child_by_field_name("value")
    return None


# Attributes


def _read_readers(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`attr_reader :cart`: the value of @cart."""
    for symbol in symbols_of(walk, arguments):
        name = symbol_text(walk, symbol).removesuffix("?")
        walk.add_binding(class_around(walk), f"self.{name}", "alias", f"self.@{name}", symbol)


def _read_class_attribute(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`class_attribute :cart`, `property :cart, default: Cart.new`."""
    default = option(walk, arguments, "default")
    for symbol in symbols_of(walk, arguments)[:1]:
        for how, value in meanings(walk, default) or [("unknown", "")]:
            walk.add_binding(class_around(walk), f"self.{symbol_text(walk, symbol)}", how, value, symbol)


def _read_alias(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`alias_method :total, :sum`."""
    names = symbols_of(walk, arguments)
    if len(names) == 2:
        bind_alias(walk, symbol_text(walk, names[0]), symbol_text(walk, names[1]), node)


def bind_alias(walk: SyntaxWalk, name: str, other: str, node: Node) -> None:
    """Bind another name of a method."""
    own = class_around(walk)
    if own == MODULE_SCOPE:
        walk.add_binding(own, name, "alias", other, node)
    else:
        walk.add_binding(own, f"self.{name}", "alias", f"self.{other}", node)


def _read_association(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`belongs_to :shop`, `has_many :line_items, class_name: "Item"`."""
    names = symbols_of(walk, arguments)[:1]
    method = first_child(node)
    is_many = method is not None and walk.text(method).endswith("many")
    for symbol in names:
        name = symbol_text(walk, symbol)
        declared = option(walk, arguments, "class_name")
        is_text = declared is not None and declared.type == "string"
        type_name = unquoted(walk, declared) if is_text and declared is not None else _class_of(name, is_many)
        text = type_name.replace("::", ".").lstrip(".") + ("[]" if is_many else "")
        walk.add_binding(class_around(walk), f"self.{name}", "annotation", text, symbol)


def _class_of(name: str, is_plural: bool) -> str:
    if is_plural:
        name = f"{name[:-3]}y" if name.endswith("ies") else name.removesuffix("s")
    return class_name(name)


# Definitions


def _define(walk: SyntaxWalk, node: Node, symbol: Node, value: str = "") -> None:
    """Add a method that a call defines, and what it returns, if that is known."""
    scope = walk.scope
    kind = "method" if class_around(walk) != MODULE_SCOPE else "function"
    walk.add_definition(node, symbol_text(walk, symbol), kind, header_line=symbol.start_point[0])
    for how in () if not value else ("alias",) if value == "self" else ("call", "alias"):
        walk.add_binding(walk.scope, RESULT, how, value, symbol)
    walk.scope = scope


def _read_delegate(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`delegate :name, :price, to: :item`."""
    target = option(walk, arguments, "to")
    prefix = option(walk, arguments, "prefix")
    if target is None or prefix is not None:
        return
    owner = symbol_text(walk, target) if target.type in ("simple_symbol", "string") else expression_text(walk, target)
    if owner:
        for symbol in symbols_of(walk, arguments):
            _define(walk, node, symbol, f"self.{owner}.{symbol_text(walk, symbol)}")


def _read_def_delegators(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`def_delegators :@items, :size, :each`."""
    names = symbols_of(walk, arguments)
    for symbol in names[1:]:
        _define(walk, node, symbol, f"self.{symbol_text(walk, names[0])}.{symbol_text(walk, symbol)}")


def _read_def_delegator(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`def_delegator :@items, :size, :count`: the last name is the new one."""
    names = symbols_of(walk, arguments)
    if len(names) in (2, 3):
        _define(walk, node, names[-1], f"self.{symbol_text(walk, names[0])}.{symbol_text(walk, names[1])}")


def _read_define_method(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`define_method(:pay) do … end`."""
    if arguments and arguments[0].type in ("simple_symbol", "string") and arguments[0].named_child_count == 0:
        name = symbol_text(walk, arguments[0])
        walk.add_definition(node, name, "method" if class_around(walk) != MODULE_SCOPE else "function")


def _read_scope(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`scope :open, -> { where(…) }` of ActiveRecord."""
    if len(arguments) > 1 and arguments[0].type == "simple_symbol" and class_around(walk) != MODULE_SCOPE:
        _define(walk, node, arguments[0], "self")


# Tests


def _read_let(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`let(:shop) { Shop.new }`, `subject { … }` of RSpec."""
    block = node.child_by_field_name("block")
    name = symbol_text(walk, arguments[0]) if symbols_of(walk, arguments[:1]) else "subject"
    body = block.child_by_field_name("body") if block is not None else None
    if body is not None:
        for how, value in meanings(walk, last_statement(body)) or [("unknown", "")]:
            walk.add_binding(walk.scope, name, how, value, node)


def _read_describe(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """`describe Shop do` of RSpec: `described_class` is Shop."""
    if arguments and arguments[0].type in ("constant", "scope_resolution"):
        walk.add_binding(walk.scope, "described_class", "alias", expression_text(walk, arguments[0]), node)


# Mentions


def read_mentions(walk: SyntaxWalk, node: Node, name: str, arguments: list[Node]) -> None:
    """The methods that a call names by symbols: `before_action :load_shop`, `validate :prices`."""
    if _CALLBACK(name):
        for symbol in arguments:
            if symbol.type == "simple_symbol":
                walk.add_call(node, symbol_text(walk, symbol))


_CALLBACK = re.compile(
    r"(?:append_|prepend_)?(?:before|after|around)_\w+|validate|helper_method|before|after|set_callback"
).fullmatch


def _ignored(walk: SyntaxWalk, node: Node, arguments: list[Node]) -> None:
    """A call of the core library that names nothing of the repository."""


MACROS: Mapping[str, Macro] = {
    **dict.fromkeys(("include", "extend", "prepend", "attr_writer", "private_constant"), _ignored),
    **dict.fromkeys(("attr_accessor", "attr_reader", "cattr_accessor", "cattr_reader"), _read_readers),
    **dict.fromkeys(("mattr_accessor", "mattr_reader"), _read_readers),
    **dict.fromkeys(("class_attribute", "attribute"), _read_class_attribute),
    **dict.fromkeys(("belongs_to", "has_and_belongs_to_many", "has_many", "has_one"), _read_association),
    **dict.fromkeys(("context", "describe"), _read_describe),
    **dict.fromkeys(("def_delegators", "def_instance_delegators"), _read_def_delegators),
    **dict.fromkeys(("def_delegator", "def_instance_delegator"), _read_def_delegator),
    **dict.fromkeys(("let", "let!", "subject"), _read_let),
    "alias_method": _read_alias,
    "define_method": _read_define_method,
    "delegate": _read_delegate,
    "scope": _read_scope,
}
"""Methods without a receiver -> their reader. The call itself is no call of a definition then."""


def bind_struct_fields(walk: SyntaxWalk, arguments: list[Node]) -> None:
    """`Struct.new(:name, :price)`."""
    for symbol in arguments:
        if symbol.type == "simple_symbol":
            walk.add_binding(walk.scope, f"self.{symbol_text(walk, symbol)}", "unknown", "", symbol)
