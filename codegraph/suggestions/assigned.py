"""The right side of an assignment, a return or a loop, by the name that it is for.

Owns the choice of parameters, attributes and callables that are spelled like the name on the left, like the function
around, or like the plural of a loop's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..symbol_table import BoundName, ImportedName
from ..values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE
from .cursor_facts import CursorFacts, words_of
from .values import Suggested, weighted

MAX_OBJECTS = 12
"""Local objects whose attributes are compared with the name."""

MAX_TEXTS = 12

MAX_NAMES = 300
"""Names of a file that are compared."""

_TARGET = re.compile(
    r"\s*(?:(?:const|let|var|val|final|auto|static|local|mut|public|private|readonly)\s+)*"
    r"(?P<target>[@$]*[\w$]+(?:(?:\.|->)[\w$]+)?)(?:\s*:\s*[\w.<>\[\], |?&*]+?)?\s*(?::=|=)(?P<space>\s?)\Z"
)
_TYPED_TARGET = re.compile(r"\s*(?:final\s+)?[A-Z][\w.<>\[\], ?]*\s+(?P<target>\w+)\s*=(?P<space>\s?)\Z")
_RETURN = re.compile(r"\s*return(?P<space>\s?)\Z")
_LOOP = re.compile(
    r"\s*(?:async\s+)?for\s*\(?\s*(?:(?:const|let|var|val|auto&?|final)\s+)?(?P<name>\w+)\s+(?:in|of)(?P<space>\s?)\Z"
)
_RANGE = re.compile(r"\s*for\s+\w+,\s*(?P<name>\w+)\s*:=\s*range(?P<space>\s?)\Z")


def assigned(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions behind `name =`, `return` and `for name in`."""
    line = written.rpartition("\n")[2]
    if (found := _LOOP.match(line) or _RANGE.match(line)) is not None:
        return _result(found, _plurals(facts, line, found["name"]))
    if (found := _RETURN.match(line)) is not None:
        return _result(found, _returned(facts, line))
    found = _TARGET.match(line) or _TYPED_TARGET.match(line)
    if found is None or line[found.end("target") :].lstrip().startswith("=="):
        return []
    return _result(found, _values_for(facts, line, found["target"]))


def _result(found: re.Match[str], texts: Iterator[tuple[str, float]]) -> list[Suggested]:
    space = "" if found["space"] else " "
    candidates = [(f"{space}{text}", weight) for text, weight in texts]
    return weighted("assigned", candidates, min(1.0, sum(weight for _, weight in candidates)))[:MAX_TEXTS]


def _values_for(facts: CursorFacts, line: str, target: str) -> Iterator[tuple[str, float]]:
    receiver, _, last = target.replace("->", ".").rpartition(".")
    name = last.lstrip("_@$")
    if not name:
        return
    own = facts.own_word
    is_own = bool(receiver) and receiver in facts.language.own_object.split()
    parameters = facts.parameters(line)
    for parameter in parameters:
        if _same(parameter, name):
            yield parameter, 1.0 if is_own else 0.15
        elif is_own and _ends_alike(parameter, name):
            yield parameter, 0.1
    if not is_own:
        around = facts.object_around(line) if own else None
        for attribute, text in (facts.attributes(around) if around is not None else {}).items():
            if _same(attribute, name):
                yield f"{own}.{text}", 0.3
        yield from _attributes_of_objects(facts, line, name, receiver)
    yield from _callables(facts, line, name)


def _returned(facts: CursorFacts, line: str) -> Iterator[tuple[str, float]]:
    function = facts.function_around(line)
    if function is None:
        return
    names = facts.locals(line)
    if names:
        last, (_, at) = list(names.items())[-1]
        yield last, 0.6 if facts.line - at <= 3 else 0.3
        wanted = facts.resolver.result(facts.value(function.name, line)) if function.returns else None
        for name in list(names)[-MAX_OBJECTS:]:
            value = facts.value(name, line)
            if value is not None and wanted is not None and value[:3] == wanted[:3]:
                yield name, 0.3
    words = [word for word in words_of(function.name) if word not in _VERBS]
    around = facts.object_around(line)
    own = facts.own_word
    if around is not None and words:
        for attribute, text in facts.attributes(around).items():
            if attribute != function.name and list(words_of(attribute)) == words:
                yield f"{own}.{text}", 0.4


def _plurals(facts: CursorFacts, line: str, name: str) -> Iterator[tuple[str, float]]:
    def fits(other: str) -> float:
        singular = singular_of(other.lstrip("_"))
        if other == name:
            return 0.0
        return 1.0 if singular == name else 0.3 if singular != other and singular.endswith(f"_{name}") else 0.0

    names = facts.locals(line)
    for other in names:
        if weight := fits(other):
            yield other, weight
    around = facts.object_around(line)
    own = facts.own_word
    for attribute, text in (facts.attributes(around) if around is not None else {}).items():
        if weight := fits(attribute):
            yield f"{own}.{text}", 0.6 * weight
    for other, (bound, _) in list(names.items())[-MAX_OBJECTS:]:
        value = facts.value(other, line) if bound.value else None
        if value is not None and value.kind == INSTANCE_VALUE:
            for attribute, text in facts.attributes(value).items():
                if weight := fits(attribute):
                    yield f"{other}.{text}", 0.4 * weight


def _attributes_of_objects(facts: CursorFacts, line: str, name: str, receiver: str) -> Iterator[tuple[str, float]]:
    """`request.url` for `url`."""
    for other, (bound, _) in list(facts.locals(line).items())[-MAX_OBJECTS:]:
        value = facts.value(other, line) if bound.value else None
        if value is not None and value.kind == INSTANCE_VALUE and other not in (name, receiver):
            for attribute, text in facts.attributes(value).items():
                if _same(attribute, name):
                    yield f"{other}.{text}", 0.4


def _callables(facts: CursorFacts, line: str, name: str) -> Iterator[tuple[str, float]]:
    """Classes and functions in the file's names, and own methods, that end like the name."""
    words = list(words_of(name))
    if not words:
        return
    own_names = {definition.name for definition in facts.scopes(line)}
    entries = facts.symbols.entries
    for key in list(entries)[:MAX_NAMES]:
        if "." in key or key in own_names or not _ends_with(key, words) or _TEST.match(key):
            continue
        entry = entries[key][0]
        if isinstance(entry, BoundName):
            continue
        value = facts.value(key, line)
        is_callable = value is not None and value.kind in (CLASS_VALUE, FUNCTION_VALUE)
        if is_callable or (isinstance(entry, ImportedName) and key[0].isupper()):
            yield f"{key}(", 0.4 if _same("".join(words_of(key)), "".join(words)) else 0.2
    around = facts.object_around(line)
    own = facts.own_word
    if around is not None:
        for member, text in facts.attributes(around).items():
            if text.endswith("(") and member not in own_names and _ends_with(member, words):
                yield f"{own}.{text}", 0.3


def _ends_with(name: str, words: list[str]) -> bool:
    return words_of(name)[-len(words) :] == tuple(words)


def _same(a: str, b: str) -> bool:
    return a == b or a.strip("_") == b.strip("_")


def _ends_alike(a: str, b: str) -> bool:
    first, second = words_of(a), words_of(b)
    return bool(first and second) and (first[-len(second) :] == second or second[-len(first) :] == first)


def singular_of(name: str) -> str:
    """The singular of a name, the name itself without one."""
    if name.endswith("ies") and len(name) > 4:
        return f"{name[:-3]}y"
    if name.endswith(("sses", "xes", "ches", "shes")):
        return name[:-2]
    for ending in ("_list", "List", "_set", "_map"):
        if name.endswith(ending):
            return name.removesuffix(ending)
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


_TEST = re.compile(r"test_|Test[A-Z]")
_VERBS = frozenset({"get", "make", "create", "build", "load", "fetch", "find", "is", "has", "to", "with"})
