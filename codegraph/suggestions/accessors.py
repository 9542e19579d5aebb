"""Accessors: properties of private attributes and their bodies, getters and setters of fields.

Owns the names of accessors. Source: the attributes that the class has.
"""

from __future__ import annotations

import re

from .place import Place, Weighted, declared_fields, shared

_PROPERTY_NAME = re.compile(r"\s+def ?")
_PYTHON_BODY = re.compile(r"\s+(?:return ?(?:self\.?)?)?")
_PROPERTY = re.compile(r"\s*@(?:\w+\.)*(?:cached_)?property\s*")
_JAVA_START = re.compile(r"[ \t]+(?:public ?)?")
_JAVA_BODY = re.compile(r"[ \t]+(?:return ?)?(?:this\.?)?")
_ACCESSOR = re.compile(r"(get|set|is)([A-Z]\w*)")
_FIELD = re.compile(r"(\s+)(?:(?:private|protected|final) )+([\w.<>\[\], ?]+?) (\w+)(?: = .*)?;.*")


def accessors(place: Place) -> Weighted:
    """Names and bodies of accessors."""
    language, line = place.language, place.line
    if language == "python":
        if _PROPERTY_NAME.fullmatch(line):
            return _property(place) if _PROPERTY.fullmatch(place.line_above) else []
        return _body_of_property(place) if _PYTHON_BODY.fullmatch(line) else []
    if language == "java":
        found = _body_of_accessor(place) if _JAVA_BODY.fullmatch(line) else []
        return found or (_next_getter(place) if _JAVA_START.fullmatch(line) else [])
    return []


def _property(place: Place) -> Weighted:
    """`name(self) -> T:` of the attributes `_name` without a property, in their order."""
    around = place.type_around
    if around is None:
        return []
    facts = place.facts
    defined = {each.name for each in facts.symbols.members(around.qualified_name)}
    fields = declared_fields(facts, facts.path, around.qualified_name)
    names = [
        name for name in fields if name.startswith("_") and name.lstrip("_") not in defined and name[1:2].isalpha()
    ]
    return [
        (place.gap(f"{name.lstrip('_')}(self)"), 0.15 if not rank else 0.3 / len(names))
        for rank, name in enumerate(names[:20])
    ]


def _body_of_property(place: Place) -> Weighted:
    function, owner = place.function, place.type_of_function
    if function is None or owner is None or len(function.qualified_name.split(".")) < 2:
        return []
    body = [text for text in place.body_above(function)[1:] if text.strip()]
    if not place.is_in_header_below and not (len(body) == 1 and body[0].lstrip().startswith('"""')):
        return []
    if not place.facts.is_property(place.facts.path, function):
        return []
    fields = declared_fields(place.facts, place.facts.path, owner.qualified_name)
    name = next((name for name in (f"_{function.name}", f"__{function.name}") if name in fields), "")
    return place.rest_of(f"return self.{name}\n", 0.7) if name else []


def _body_of_accessor(place: Place) -> Weighted:
    function, owner = place.function, place.type_of_function
    match = _ACCESSOR.fullmatch(function.name) if function is not None else None
    if match is None or owner is None or not place.is_in_header_below:
        return []
    name = match[2][0].lower() + match[2][1:]
    if name not in declared_fields(place.facts, place.facts.path, owner.qualified_name):
        return []
    if match[1] == "set":
        return place.rest_of(f"this.{name} = {name};\n", 0.6)
    text = "".join(place.facts.lines[-200:])
    is_dotted = text.count("return this.") * 2 > text.count("return ")
    return place.rest_of(f"return this.{name};\n" if is_dotted else f"return {name};\n", 0.6)


def _next_getter(place: Place) -> Weighted:
    """The getter of the next field of a class whose last method is an accessor, and its setter."""
    around = place.type_around
    if around is None or around.kind != "class" or not place.is_in_body(around):
        return []
    members = place.facts.symbols.members(around.qualified_name)
    last = _ACCESSOR.fullmatch(members[-1].name) if members else None
    if last is None:
        return []
    defined = {each.name for each in members}
    fields: dict[str, str] = {}
    for text in place.body_above(around)[1:]:
        match = _FIELD.fullmatch(text)
        if match is not None and match[1] == place.indent:
            fields[match[3]] = match[2]
    own = last[2][0].lower() + last[2][1:]
    names = list(fields)
    if own not in names:
        return []
    after = names.index(own)
    texts: dict[str, float] = {}
    for name in (*names[after:], *names[:after]):
        kind, title = fields[name], name[0].upper() + name[1:]
        getter, setter = f"{'is' if kind == 'boolean' else 'get'}{title}", f"set{title}"
        if getter not in defined and "get" + title not in defined:
            texts.setdefault(f"public {kind} {getter}() {{\n", 1.0)
        elif setter not in defined and any(each.startswith("set") for each in defined):
            texts.setdefault(f"public void {setter}({kind} {name}) {{\n", 1.0)
    beginning = place.line.strip()
    found = [
        (text, 2.0 if not rank else 1.0) for rank, text in enumerate(list(texts)[:8]) if text.startswith(beginning)
    ]
    return [pair for text, weight in shared(0.3, found) for pair in place.rest_of(text, weight)]
