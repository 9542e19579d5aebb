"""Methods of builders: `this.x = x;` and `return this;` in a method that returns its own object.

Owns the ways to return it: `this`, `self`, or a method that returns it. Source: the header of the method, the fields of
its type, and the other methods of the file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ..file_graph import Definition
from .constructors import parameters
from .place import Place, Weighted, declared_fields, header_of

STORED, RETURNED = 0.6, 0.75
"""Shares of the line that stores the parameter, and of the return below such a line."""
MAX_LINES_ABOVE = 200


_PREFIX = re.compile(r"(?:set|with)_?(?=[A-Za-z])")


class _Style(NamedTuple):
    stored: str  # the line that stores a parameter
    form: re.Pattern[str]  # the same, of any parameter
    returned: str  # the line that returns the object
    header: str  # pattern of the header of a builder's method, with the names of its type
    other: re.Pattern[str]  # a line that returns the object, in other methods


def _style(stored: str, form: str, returned: str, header: str, other: str) -> _Style:
    return _Style(stored, re.compile(form), returned, header, re.compile(other))


_OF_THIS = r"\s+this\.\w+ = [^;]+;?"
_BEFORE_NAME = r"(?:[\w@]+ )*(?:{types})(?:<.*>)? \w+\("
_RETURN_THIS = r"\s+(return (?:this|\w+\(\)));"
_SCRIPT = _style("this.{field} = {name}", _OF_THIS, "return this", r".*\): (?:this|{types})\b", r"\s+(return this);?")
_STYLES = {
    "java": _style("this.{field} = {name};", _OF_THIS, "return this;", _BEFORE_NAME, _RETURN_THIS),
    "csharp": _style(
        "{field} = {name};", r"\s+(?:this\.)?\w+ = [^;]+;", "return this;", _BEFORE_NAME, r"\s+(return this);"
    ),
    "typescript": _SCRIPT,
    "tsx": _SCRIPT,
    "php": _style(
        "$this->{field} = ${name};",
        r"\s+\$this->\w+ = [^;]+;",
        "return $this;",
        r".*\): (?:self|static|\$this|{types})\b",
        r"\s+(return \$this);",
    ),
    "rust": _style(
        "self.{field} = {name};", r"\s+self\.\w+ = [^;]+;", "self", r".*-> &?(?:mut )?(?:Self|{types})\b", r"\s+(self)"
    ),
}


def builder_methods(place: Place) -> Weighted:
    """At the start of a line in a method that returns its own object: the store of its parameter, or the return."""
    style = _STYLES.get(place.language)
    beginning = place.line.strip()
    if style is None or not place.indent or len(beginning) > 10:
        return []
    is_first = place.is_in_header_below
    is_below_store = not is_first and style.form.fullmatch(place.line_above) is not None
    if not is_first and not is_below_store:
        return []
    function, owner = place.function, place.type_of_function
    if function is None or owner is None or not _returns_own_type(place, function, owner, style):
        return []
    if is_below_store:
        return place.rest_of(f"{_returned(place, style)}\n", RETURNED)
    return _stored(place, function, owner, style)


def _returns_own_type(place: Place, function: Definition, owner: Definition, style: _Style) -> bool:
    types = {owner.name, *(base.rpartition(".")[2] for base in owner.bases), "T", "B", "Self"}
    pattern = style.header.replace("{types}", "|".join(re.escape(each) for each in sorted(types)))
    return re.match(pattern, header_of(place.facts, place.facts.path, function)) is not None


def _returned(place: Place, style: _Style) -> str:
    """The return as the nearest other method has it below a store."""
    lines = place.facts.lines[-MAX_LINES_ABOVE:]
    for store, line in zip(reversed(lines[:-1]), reversed(lines[1:]), strict=True):
        match = style.other.fullmatch(line)
        if match is not None and style.form.fullmatch(store):
            return line.strip()
    if place.language in ("typescript", "tsx") and place.line_above.endswith(";"):
        return f"{style.returned};"
    return style.returned


def _stored(place: Place, function: Definition, owner: Definition, style: _Style) -> Weighted:
    """The store of the only parameter in a field of its name."""
    names = parameters(place.facts, function)
    if len(names) != 1:
        return []
    (name,) = names
    fields = declared_fields(place.facts, place.facts.path, owner.qualified_name)
    of_method = _PREFIX.sub("", function.name)
    of_method = of_method[:1].lower() + of_method[1:]
    choices = (name, f"_{name}", name[:1].upper() + name[1:], of_method, f"_{of_method}")
    field = next((each for each in choices if each in fields), "")
    if not field:
        return []
    text = style.stored.format(field=field, name=name)
    if place.language == "csharp" and field == name:
        text = f"this.{text}"
    if place.language in ("typescript", "tsx") and any(line.endswith(";") for line in place.above[-20:]):
        text = f"{text};"
    return place.rest_of(f"{text}\n", STORED)
