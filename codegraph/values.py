"""Abstract values of names, as name resolution finds them.

Owns the kinds of values. Knows no file.
"""

from __future__ import annotations

from typing import NamedTuple

from .symbol_table import DECLARATION


class Value(NamedTuple):
    """The abstract value of a name: a definition and its role."""

    kind: int
    path: str
    name: str  # qualified name in `path`; of a module "", of a package the key to which its names are added
    how: str

    def reached(self, how: str) -> Value:
        """The same value, reached in another way; less work than `_replace`."""
        return Value(self.kind, self.path, self.name, how)


MODULE_VALUE, CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, SUPER_VALUE, OUTSIDE_VALUE = range(6)
COLLECTION_VALUE, METHOD_VALUE = range(6, 8)
"""Kinds of values. `super` has the class in whose methods it stands. A collection has elements of the class; a method
of a collection returns one of them, or all for the `how` "typed local"."""

OUTSIDE = Value(OUTSIDE_VALUE, "", "", "")

ELEMENTS = "[]"
"""The end of the type text of a collection."""

DEFAULT_EXPORT = "default"

MAX_PARTS = 60
"""Places of one type that are read."""

OBJECT_KINDS = (INSTANCE_VALUE, CLASS_VALUE)

INTERFACE_KINDS = frozenset({"interface", "trait"})
CONSTRUCTOR_KINDS = frozenset({"constructor", DECLARATION})
"""Kinds of a member with the name of its class."""


class MethodResolutionOrder(NamedTuple):
    """A class and its bases in the order of attribute lookup; `complete` when no base is unknown or from outside."""

    classes: tuple[tuple[str, str], ...]  # path, qualified name
    complete: bool
    n_parts: int = 1  # the first classes are parts of the class itself
