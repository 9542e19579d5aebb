"""Lists in brackets as text: the items of arguments and parameters, and the same list with other items.

Owns separators and the range that differs. Knows no names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..workspace.text import TextChange

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True)
class TextList:
    """The source between two brackets. `start` is the offset of its first byte, `items` are the items' ranges in it."""

    start: int
    source: bytes
    items: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, node: Node, source: bytes) -> TextList | None:
        """The list of a node that begins and ends with brackets; None if it is broken."""
        if node.has_error or source[node.start_byte : node.start_byte + 1] != b"(" or not _is_closed(node, source):
            return None
        start, end = node.start_byte + 1, node.end_byte - 1
        items = tuple((each.start_byte - start, each.end_byte - start) for each in items_of(node))
        return cls(start, source[start:end], items)

    @property
    def texts(self) -> list[str]:
        return [self.source[start:end].decode("utf-8", "replace") for start, end in self.items]

    def with_items(self, texts: Sequence[str]) -> tuple[int, int, str] | None:
        """The range of bytes to replace, and its new text, so that the list has these items; None if it has them."""
        old = self.source.decode("utf-8", "replace")
        new = self._joined(texts)
        change = TextChange.between(old, new)
        if change.start == change.end_before == change.end_after:
            return None
        first = self.start + len(old[: change.start].encode())
        last = self.start + len(old[: change.end_before].encode())
        return first, last, new[change.start : change.end_after]

    def _joined(self, texts: Sequence[str]) -> str:
        if not self.items:
            return ", ".join(texts)
        text = self.source
        between = text[self.items[0][1] : self.items[1][0]] if len(self.items) > 1 else b", "
        opening, closing = text[: self.items[0][0]], text[self.items[-1][1] :]
        if not texts:
            opening = closing = b""
        if len(self.items) == 1 and b"\n" in opening:
            between = b"," + opening
        return f"{opening.decode()}{between.decode().join(texts)}{closing.decode()}"


def _is_closed(node: Node, source: bytes) -> bool:
    return node.end_byte - node.start_byte >= 2 and source[node.end_byte - 1 : node.end_byte] == b")"


def items_of(node: Node) -> list[Node]:
    """The items of a list, without comments."""
    return [each for each in node.named_children if "comment" not in each.type]


def arguments_of_name(name: Node) -> Node | None:
    """The list of arguments of the call whose callee ends with a name."""
    node = name
    for _ in range(MAX_STEPS):
        around = node.parent
        if around is None:
            return None
        for child in around.named_children:
            if child.start_byte >= name.end_byte and child.type in _ARGUMENTS:
                return child
            if child.start_byte >= name.end_byte and child.type == "call_suffix":
                return next((each for each in child.named_children if each.type in _ARGUMENTS), None)
        if around.end_byte != name.end_byte:
            return None
        node = around
    return None


def parameters_of_name(name: Node) -> Node | None:
    """The list of parameters of the definition that a name is declared by."""
    around = name.parent
    for _ in range(2):
        if around is None:
            return None
        found = around.child_by_field_name("parameters")
        if found is None:
            found = next((each for each in around.named_children if each.type in _PARAMETERS), None)
        if found is not None:
            return found if found.start_byte >= name.end_byte else None
        around = around.parent
    return None


MAX_STEPS = 4
_ARGUMENTS = frozenset({"arguments", "argument_list", "value_arguments"})
_PARAMETERS = frozenset(
    {"parameters", "parameter_list", "formal_parameters", "function_value_parameters", "method_parameters"}
)
