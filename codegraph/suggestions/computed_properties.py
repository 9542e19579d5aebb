"""Bodies of properties: C# (`Name => |`, `get => |`, `set => |`), Kotlin (`get() = |`) and Swift (`var name: T { |`).

Owns the field behind a property: `_name`, `name` or `m_name`. Source: the fields of the type, and the property above.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...languages.indentation import indent_of
from .place import Place, Weighted, declared_fields

FIELD, DELEGATED, SAME_AS_GETTER = 0.7, 0.35, 0.8
"""Shares of the field behind a property, of a member that the property above suggests, and of the getter's value."""
MAX_LINES_ABOVE = 40

_CSHARP_BODY = re.compile(r"\s+(?:[\w<>\[\],.?]+ )+(?P<name>[A-Z]\w*) =>(?P<space> ?)")
_ACCESSOR = re.compile(r"\s+(?:(?:private|protected|internal) )*(?P<word>get|set|init) ?(?P<sign>=>|\{)(?P<rest>.*)")
_WORDS = frozenset({"", "get", "set", "init"})
_CSHARP_PROPERTY = re.compile(r"\s+(?:[\w<>\[\],.?]+ )+(?P<name>[A-Z]\w*)(?: \{)?")
_CSHARP_FIELD = re.compile(
    r"\s+(?:(?:private|protected|internal|public|static|readonly|volatile) )+[\w<>\[\],.? ]+? (\w+)(?: = .*)?;.*"
)
_OF_GETTER = re.compile(r"\s+get (?:=> |\{ return )([\w.]+);.*")
_DELEGATED = re.compile(r".*=> ([\w.]+\.)([A-Z]\w*);")
_NAMED_DELEGATED = re.compile(r".* (?P<name>[A-Z]\w*) => ([\w.]+\.)(?P=name);")
_RETURN = re.compile(r"\s*(?:return ?)?")
_KOTLIN_GETTER = re.compile(
    r"(?:\s+(?:override |public )*val (?P<name>\w+): (?P<type>[^=]+?))?\s+get\(\) =(?P<space> ?)"
)
_KOTLIN_PROPERTY = re.compile(
    r"\s+(?:override |public )*val (?P<name>\w+)(?:: (?P<type>[^=]+))?(?P<sign> =(?P<space> ?))?"
)
_SWIFT_PROPERTY = re.compile(r"\s*(?:(?:public|internal|open|static|override|final) )*var (?P<name>\w+): [^={]+\{")
_SWIFT_ACCESSOR = re.compile(r"\s+(?P<word>get|set) \{")
_FLOWS = (("MutableStateFlow", "asStateFlow()"), ("MutableSharedFlow", "asSharedFlow()"))


def computed_properties(place: Place) -> Weighted:
    """At the place of the value of a property."""
    if not place.line[:1].isspace():
        return []
    if place.language == "csharp":
        return _of_csharp(place)
    if place.language == "kotlin":
        return _of_kotlin(place)
    if place.language == "swift":
        return _of_swift(place)
    return []


def _fields(place: Place) -> dict[str, str]:
    owner = place.type_around or place.type_of_function
    return declared_fields(place.facts, place.facts.path, owner.qualified_name) if owner is not None else {}


def _field_of(name: str, fields: Iterable[str]) -> str:
    """The field that holds the value of a property, "" without one."""
    small = name[:1].lower() + name[1:]
    choices = (f"_{small}", f"m_{small}", f"s_{small}", f"_{name}", small if small != name else "")
    return next((choice for choice in choices if choice in fields), "")


def _of_csharp(place: Place) -> Weighted:
    line = place.line
    body = _CSHARP_BODY.fullmatch(line) if line.rstrip()[-2:] == "=>" else None
    if body is not None:
        return _csharp_values(place, body["name"], _NAMED_DELEGATED, "" if body["space"] else " ", ";\n")
    accessor = _ACCESSOR.fullmatch(line)
    start = line.strip()
    if accessor is not None and _RETURN.fullmatch(accessor["rest"]):
        word, end = accessor["word"], ";\n" if accessor["sign"] == "=>" else "; }\n"
        start = accessor["rest"].strip()
        needs_return = accessor["sign"] == "{" and word == "get"
    elif _RETURN.fullmatch(line) and (word := _word_above(place)):
        end, needs_return = ";\n", word == "get"
    else:
        return []
    name = _property_around(place)
    if not name or (start and not needs_return):
        return []
    space = "" if line[-1:].isspace() else " "
    if word != "get":
        value = next((match[1] for text in place.above[-4:] if (match := _OF_GETTER.fullmatch(text))), "")
        share = SAME_AS_GETTER if value else FIELD
        value = value or _field_of(name, _csharp_fields(place))
        return [(f"{space}{value} = value{end}", share)] if value else []
    before = f"{space}return " if needs_return and not start else space
    return _csharp_values(place, name, _DELEGATED, before, end)


def _csharp_fields(place: Place) -> set[str]:
    """The fields of the type, and those that are written above: half a file of C# often has no tree of its types."""
    return {*_fields(place), *(match[1] for text in place.above if (match := _CSHARP_FIELD.fullmatch(text)))}


def _property_around(place: Place) -> str:
    """The name of the property whose accessor the line is in, "" without one."""
    for text in reversed(place.above[-MAX_LINES_ABOVE:]):
        if indent_of(text) < len(place.indent) and text.strip().removesuffix("{").strip() not in _WORDS:
            header = _CSHARP_PROPERTY.fullmatch(text)
            return header["name"] if header is not None else ""
    return ""


def _word_above(place: Place) -> str:
    """`get` or `set` where the line is the first one of the body of such an accessor."""
    lines = [text.strip() for text in place.above[-2:]]
    if not lines or not place.is_in_header_below or lines[-1][-1:] != "{":
        return ""
    word = lines[-1].removesuffix("{").strip() or (lines[0] if len(lines) > 1 else "")
    return word if word in ("get", "set", "init") else ""


def _csharp_values(place: Place, name: str, form: re.Pattern[str], before: str, end: str) -> Weighted:
    field = _field_of(name, _csharp_fields(place))
    if field:
        return [(f"{before}{field}{end}", FIELD)]
    for text in reversed(place.above[-MAX_LINES_ABOVE:]):
        match = form.fullmatch(text)
        if match is not None and "value" not in match[0]:
            receiver = match[2] if form is _NAMED_DELEGATED else match[1]
            return [(f"{before}{receiver}{name}{end}", DELEGATED)]
    return []


def _of_kotlin(place: Place) -> Weighted:
    line = place.line
    if line.rstrip()[-1:] != "=":
        return []
    getter = _KOTLIN_GETTER.fullmatch(line)
    found = getter
    if getter is None or not getter["name"]:
        found = _KOTLIN_PROPERTY.fullmatch(place.line_above if getter is not None else line)
    if found is None:
        return []
    field = f"_{found['name']}"
    if field not in _fields(place):
        return []
    space = "" if line.endswith(" ") else " "
    if getter is None:  # a value that is stored once is a view of the mutable one
        declared = next((text for text in reversed(place.above) if f" {field} =" in text or f" {field}:" in text), "")
        field += next((f".{view}" for kind, view in _FLOWS if kind in declared), "")
    return [(f"{space}{field}\n", FIELD)]


def _of_swift(place: Place) -> Weighted:
    line = place.line.rstrip()
    word, end = "", "\n"
    if line.endswith("{"):
        opened, end = line, " }\n"
    elif not line.strip() or line.strip() == "return":
        opened = place.line_above if place.is_in_header_below else ""
    else:
        return []
    accessor = _SWIFT_ACCESSOR.fullmatch(opened)
    word = accessor["word"] if accessor is not None else ""
    found = _SWIFT_PROPERTY.fullmatch(opened)
    function = place.function
    name = found["name"] if found is not None else function.name if word and function is not None else ""
    field = _field_of(name, _fields(place)) if name else ""
    if not field or (word == "set" and line.endswith("return")):
        return []
    if word == "set":
        text = f"{field} = newValue"
    else:
        has_return = any("return " in above for above in place.above[-MAX_LINES_ABOVE:]) and end == "\n"
        text = f"return {field}" if has_return else field
    if line.endswith("return"):
        return [(place.gap(f"{field}{end}"), FIELD)]
    return [(place.gap(f"{text}{end}") if end != "\n" else f"{text}{end}", FIELD)]
