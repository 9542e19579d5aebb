"""Bodies and parameters of constructors: the next parameter to store, the call of the base's constructor, literals.

Owns the style in which a class names its attributes. Source: the header of the constructor, the lines of its body, and
the fields that the class declares.
"""

from __future__ import annotations

import re

from ..file_graph import Definition
from ..parameters import parameters_of, written_parameters
from .cursor_facts import CursorFacts
from .place import Place, Weighted, declared_fields, header_of

_AT_START = re.compile(r"\s+(?:self\.?|this\.?|super\(\)\.?|\$this(?:->)?|@)?")
_PARAMETERS = re.compile(r"\s+def __init__\(?")
_SELF_LITERAL = re.compile(r".*\b(\w+) \{ ?")

_STORED = {
    "python": re.compile(r"\s*self\.(\w+)(?:: [^=]+)? = (.+)"),
    "ruby": re.compile(r"\s*@(\w+) = (.+)"),
    "php": re.compile(r"\s*\$this->(\w+) = (.+);"),
    "swift": re.compile(r"\s*self\.(\w+) = (.+)"),
}
_STORED_IN_THIS = re.compile(r"\s*(?:this\.)?(\w+) = ([^;]+);?")
_TEXTS = {
    "python": "self.{field} = {name}\n",
    "ruby": "@{field} = {name}\n",
    "php": "$this->{field} = ${name};\n",
    "swift": "self.{field} = {name}\n",
    "java": "this.{field} = {name};\n",
    "csharp": "{field} = {name};\n",
    "typescript": "this.{field} = {name};\n",
    "tsx": "this.{field} = {name};\n",
    "javascript": "this.{field} = {name};\n",
}
_BASE_CALL = re.compile(r"super\(\)\.__init__\(|\w+\.__init__\(self")

NEXT, LATER = 0.55, 0.15
"""Shares of the next parameter and of a later one, of the lines of a constructor whose last line stored one."""
FIRST = 0.35


def constructors(place: Place) -> Weighted:
    """At the start of a line in a constructor, behind `def __init__(`, and behind `Self {` of Rust."""
    language, line = place.language, place.line
    if language == "rust":
        return _literal(place) if line.endswith(("{", "{ ")) else []
    if language not in _TEXTS:
        return []
    if language == "python" and _PARAMETERS.fullmatch(line):
        return _from_fields(place)
    if not _AT_START.fullmatch(line):
        return []
    function = place.function
    if function is None or not _is_constructor(place, function):
        return []
    if not place.is_in_body(function):
        return []
    base = _base_call(place, function)
    share = 0.5 if base else 1.0
    found = [*base, *((text, weight * share) for text, weight in _stores(place, function))]
    beginning = line.strip()
    return [(text[len(beginning) :], weight) for text, weight in found if text.startswith(beginning)]


def _is_constructor(place: Place, function: Definition) -> bool:
    return place.facts.symbols.is_constructor(function.qualified_name) or function.name in ("init", "initialize")


def _stores(place: Place, function: Definition) -> Weighted:
    language, facts = place.language, place.facts
    names = parameters(facts, function)
    if not names:
        return []
    pattern = _STORED.get(language, _STORED_IN_THIS)
    stored: dict[str, str] = {}  # parameters, and the attributes that hold them
    mentioned: set[str] = set()
    is_last_store = False
    for text in place.body_above(function)[1:]:
        match = pattern.fullmatch(text)
        is_last_store = match is not None
        if match is not None:
            mentioned.update(_WORD.findall(match[2]))
            if match[2].lstrip("$") in names:
                stored[match[2].lstrip("$")] = match[1]
    waiting = [name for name in names if name not in mentioned]
    if mentioned:
        latest = max((names.index(name) for name in mentioned if name in names), default=-1)
        waiting = [name for name in waiting if names.index(name) > latest] or waiting
    own_type = place.type_of_function
    fields = declared_fields(facts, facts.path, own_type.qualified_name) if own_type is not None else {}
    style = _style(stored) if stored else _style_of_file(facts, language)
    found = []
    for rank, name in enumerate(waiting[:4]):
        field = _field(name, style, fields, language)
        if field:
            weight = (NEXT if is_last_store else FIRST) if not rank else LATER / rank
            text = _TEXTS[language].format(field=field, name=name)
            if language == "csharp" and field == name:
                text = f"this.{text}"
            if language in ("typescript", "tsx", "javascript") and not _has_semicolons(facts):
                text = text.replace(";", "")
            found.append((text, weight))
    return found


_NO_FIELD = frozenset({"args", "kwargs"})


def parameters(facts: CursorFacts, function: Definition) -> list[str]:
    """The names of the parameters of a function of the cursor's file, without its object and those that are fields."""
    header = header_of(facts, facts.path, function).partition(function.name)[2]
    own = facts.language.own_object.split()
    found = (each.name for each in parameters_of(facts.language.name, header) or () if not each.is_field)
    return [name for name in found if name.isidentifier() and name not in _NO_FIELD and name not in own]


def _field(name: str, style: str, fields: dict[str, str], language: str) -> str:
    """The attribute that holds a parameter."""
    if fields and language in ("java", "csharp", "swift", "php"):
        choices = (name, f"_{name}", name[:1].upper() + name[1:], f"m_{name}")
        return next((choice for choice in choices if choice in fields), "")
    return f"{style}{name}"


def _style(stored: dict[str, str]) -> str:
    name, field = next(reversed(stored.items()))
    return field.removesuffix(name) if field.endswith(name) and set(field.removesuffix(name)) <= {"_"} else ""


def _style_of_file(facts: CursorFacts, language: str) -> str:
    pattern = _STORED.get(language, _STORED_IN_THIS)
    for line in reversed(facts.lines[-400:]):
        match = pattern.fullmatch(line) if " = " in line else None
        if match is not None and match[1].lstrip("_") == match[2].lstrip("$"):
            return match[1][: len(match[1]) - len(match[1].lstrip("_"))]
    return ""


def _has_semicolons(facts: CursorFacts) -> bool:
    ends = [line[-1] for line in facts.lines[-200:] if line and (line[-1] in ";)]'\"`" or line[-1].isalnum())]
    return ends.count(";") * 2 >= len(ends)


def _base_call(place: Place, function: Definition) -> Weighted:
    """The call of the constructor of the nearest base, with parameters of the same names."""
    owner = place.type_of_function
    if owner is None or not owner.bases:
        return []
    body = place.body_above(function)[1:]
    if place.language in ("typescript", "tsx", "javascript"):
        is_called = any("super(" in line for line in body)
        return [] if is_called or function.name != "constructor" else [("super(", 0.6)]
    if place.language != "python":
        return []
    if any(_BASE_CALL.search(line) for line in body):
        return []
    header = place.facts.remembered(
        "constructor of a base", owner.qualified_name, find=lambda: _constructor_of_base(place.facts, owner)
    )
    is_first = not [line for line in body if line.strip()]
    if not header:
        is_known = place.facts.resolver.mro(place.facts.path, owner.qualified_name).complete
        return [("super().__init__(", 0.3)] if is_first and not is_known else []
    own, given = set(parameters(place.facts, function)), []
    by_place = True
    for each in written_parameters(header)[1:]:
        name = re.split(r"[:=\s]", each.lstrip("*"))[0]
        if each in ("*", "/") or (each.startswith("*") and not each.startswith("**") and name not in own):
            by_place = False
        elif each.startswith("*"):
            if re.search(rf"{re.escape(each.split(':')[0])}\b", header_of(place.facts, place.facts.path, function)):
                given.append((each.split(":")[0], each.split(":")[0]))
        elif name in own:
            given.append((name if by_place else f"{name}={name}", f"{name}={name}"))
        else:
            by_place = False
    required = [each for each in written_parameters(header)[1:] if "=" not in each and not each.startswith(("*", "/"))]
    if len(required) > len(given):
        return [("super().__init__(", 0.4 if is_first else 0.15)]
    positional = f"super().__init__({', '.join(text for text, _ in given)})\n"
    named = f"super().__init__({', '.join(text for _, text in given)})\n"
    total = 0.5 if is_first else 0.2
    if positional == named:
        return [(positional, total)]
    return [(positional, total * 0.6), (named, total * 0.4)]


def _constructor_of_base(facts: CursorFacts, owner: Definition) -> str:
    """The header of the nearest constructor of a base, "" without one."""
    for path, name in facts.resolver.mro(facts.path, owner.qualified_name).classes[1:]:
        table = facts.graph.symbols(path)
        found = table.definition(f"{name}.__init__") if table is not None else None
        if found is not None:
            return header_of(facts, path, found)
    return ""


def _from_fields(place: Place) -> Weighted:
    """`def __init__(` from the annotated names in the body of the class."""
    around = place.type_around
    if around is None:
        return []
    facts = place.facts
    indent = place.indent
    found = []
    for text in facts.lines_of(facts.path)[around.header_line + 1 :]:
        match = _ANNOTATED.fullmatch(text)
        if match is not None and match[1] == indent and not match[3].startswith("ClassVar"):
            found.append((match[2], match[3]))
    if not found:
        return []
    is_open = place.line.endswith("(")
    shown = [f"{name.lstrip('_')}: {kind}" for name, kind in found]
    return [((("" if is_open else "(") + ", ".join(["self", *shown]) + ") -> None:\n"), 0.2)]


def _literal(place: Place) -> Weighted:
    """`Self { a, b }` where all fields of the type are names of the function."""
    match = _SELF_LITERAL.fullmatch(place.line)
    function = place.function
    if match is None or function is None or not function.qualified_name.count("."):
        return []
    owner = function.qualified_name.rpartition(".")[0]
    if match[1] not in ("Self", owner) or "fn " in place.line or "impl" in place.line:
        return []
    names = [name for name in declared_fields(place.facts, place.facts.path, owner) if "#" not in name]
    known = place.facts.locals(place.line)
    if not names or not all(name in known for name in names):
        return []
    return [(place.gap(f"{', '.join(names)} }}"), 0.6)]


_ANNOTATED = re.compile(r"(\s+)(\w+): ([^=#]+?)")
_WORD = re.compile(r"[^\W\d]\w*")
