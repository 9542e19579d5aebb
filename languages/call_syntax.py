"""How a language writes parameters, arguments, and values of types, as text.

Owns the record that `codegraph.parameters` and the suggestions of arguments read. Knows no file and no syntax tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

ParameterOrder = Literal["name: type", "type name", "name type"]
"""The order of a parameter's parts; in the first one the type may be missing."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CallSyntax:
    """Parameters and arguments of one language. Texts that list words separate them by spaces."""

    order: ParameterOrder = "name: type"
    modifiers: str = ""  # words before a parameter
    keyword_sign: str = ""  # between a keyword and its argument, "" without keywords
    has_labels: bool = False  # an argument needs its keyword, unless the parameter's label is "_"
    has_keyword_parameters: bool = False  # a parameter `name:` is given by its keyword, any other one by position
    field: str = ""  # pattern of a line in a type that declares a field, with the groups name, type and default
    has_class_parameters: bool = False  # the header of a class has the parameters of its constructor
    has_field_parameters: bool = False  # the fields of a class without a constructor are its parameters
    has_literals: bool = False  # `Type{field: value}` makes an object
    has_spaced_literals: bool = False  # `Type { field: value }`
    has_trailing_comma: bool = False  # an argument on a line of its own has a comma behind it, the last one too
    has_macros: bool = False  # `name!(…)` is a call, too
    has_references: bool = False  # the argument for a parameter of a type `&T` is a reference, too
    true_and_false: str = "true false"
    nothing: str = ""  # the value of a missing object

    @cached_property
    def field_pattern(self) -> re.Pattern[str]:
        return re.compile(self.field or "(?!)")

    @cached_property
    def modifier_words(self) -> frozenset[str]:
        return frozenset(self.modifiers.split())
