"""Values that may be given for a parameter: names around the cursor that fit its name or its type.

Owns the kinds of candidates and their weights. Knows no call.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from ..parameters import Parameter, parameters_of
from ..values import INSTANCE_VALUE
from .assigned import singular_of
from .cursor_facts import CursorFacts, words_of

N_TYPED_LOCALS = 10
"""The latest locals whose types are read."""
MAX_ATTRIBUTES = 300
N_AT_HAND = 4

# About the share of arguments that are the candidate, of those with a candidate of the kind; measured on calls of
# repositories in seven languages.
WEIGHTS = {
    "parameter": 0.85,
    "local": 0.8,
    "type of a local": 0.75,
    "constant": 0.55,
    "module name": 0.4,
    "words of a local": 0.37,
    "element of the receiver": 0.4,
    "own attribute": 0.18,
    "own object": 0.15,
    "attribute of a local": 0.1,
    "latest local": 0.1,
    "local at hand": 0.04,
    "words of an own attribute": 0.05,
}
LATEST_FACTOR = 1.1
"""Of names that the line above assigns."""


def values_for(
    facts: CursorFacts, parameter: Parameter, owner: tuple[str, str], written: str, callee: str = ""
) -> dict[str, float]:
    """Candidates for a parameter of the function or class `owner` (path, qualified name), with weights below 1.

    `callee` is the dotted expression that is called; its parts are no arguments.
    """
    found: dict[str, float] = {}
    around = {callee, callee.rpartition(".")[0], callee.partition(".")[0]}
    candidates = _candidates(facts, parameter, owner, written)
    for text, kind, line in (*candidates, *_elements_of_receiver(facts, callee, written)):
        if text in around:
            continue
        text = _referenced(facts, parameter, facts.as_variable(text) if kind in _VARIABLES else text, written)
        factor = LATEST_FACTOR if line >= facts.line - 1 >= 0 else 1.0
        weight = WEIGHTS[kind] * factor
        found[text] = 1.0 - (1.0 - min(weight, 0.95)) * (1.0 - found.get(text, 0.0))
    return found


def _candidates(
    facts: CursorFacts, parameter: Parameter, owner: tuple[str, str], written: str
) -> Iterator[tuple[str, str, int]]:
    """Texts, their kinds, and the lines that assign their names, -1 for none."""
    name = parameter.name
    wanted = words_of(name)
    locals_ = facts.locals(written)
    parameters = facts.parameters(written)
    own_words = facts.language.own_object.split()
    own = facts.object_around(written)
    if wanted:
        for local, (_, line) in locals_.items():
            if local in own_words:
                continue
            words = words_of(local)
            if words == wanted:
                yield local, "parameter" if local in parameters else "local", line
            elif words and (words[-len(wanted) :] == wanted or wanted[-len(words) :] == words):
                yield local, "words of a local", line
        for each in {name, name.upper()}:
            if each not in locals_ and facts.role_of(each, written) in ("in the file", "reachable"):
                yield each, "module name", -1
        if own is not None:
            prefix = "" if facts.language.has_implicit_object else f"{facts.own_word}."
            for attribute, text in facts.attributes(own).items():
                words = words_of(attribute)
                if words == wanted:
                    yield f"{prefix}{text.rstrip('(')}" + ("()" if text.endswith("(") else ""), "own attribute", -1
                elif words[-len(wanted) :] == wanted and len(wanted) > 1:
                    yield f"{prefix}{text.rstrip('(')}", "words of an own attribute", -1
    yield from _by_type(facts, parameter, owner, written)
    for rank, local in enumerate(locals_at_hand(facts, written)):
        yield local, "local at hand" if rank else "latest local", -1
    true, false = facts.language.call_syntax.true_and_false.split() if facts.language.call_syntax else ("", "")
    if parameter.default in (true, false):
        yield (false if parameter.default == true else true), "constant", -1


def locals_at_hand(facts: CursorFacts, written: str) -> tuple[str, ...]:
    """A few locals that wait for their use or were assigned last, and functions in the function around the cursor."""
    within = facts.within(written)
    return facts.remembered("locals at hand", within, find=lambda: _locals_at_hand(facts, written, within))


def _locals_at_hand(facts: CursorFacts, written: str, within: str) -> tuple[str, ...]:
    own_words = facts.language.own_object.split()
    bound = {name: line for name, (_, line) in facts.locals(written).items() if name not in own_words}
    for each in facts.symbols.definitions:
        if within and each.qualified_name == f"{within}.{each.name}":
            bound[each.name] = each.end_line
    late = sorted(bound, key=lambda name: -bound[name])[: 2 * N_AT_HAND]
    late.sort(key=lambda name: facts.role_of(name, written) != "unused local")
    return tuple(late[:N_AT_HAND])


def _elements_of_receiver(facts: CursorFacts, callee: str, written: str) -> Iterator[tuple[str, str, int]]:
    """`word` for `self.words.append(`."""
    receiver = callee.rpartition(".")[0].rpartition(".")[2]
    name = singular_of(receiver.lstrip("_"))
    if receiver and name != receiver:
        for local, (_, line) in facts.locals(written).items():
            if local == name or local.endswith(f"_{name}"):
                yield local, "element of the receiver", line


def _referenced(facts: CursorFacts, parameter: Parameter, text: str, written: str) -> str:
    """The value, or a reference to it where the parameter is one and the value is known to be none."""
    syntax = facts.language.call_syntax
    mark = _REFERENCE.match(parameter.type) if syntax is not None and syntax.has_references else None
    if mark is None or text in facts.language.own_object.split() or "(" in text:
        return text
    is_reference = text.isidentifier() and _types_of_parameters(facts, written).get(text, "").startswith("&")
    is_unknown = text.isidentifier() and text not in _types_of_parameters(facts, written) and "mut" not in mark[0]
    return text if is_reference or is_unknown else f"{'&mut ' if 'mut' in mark[0] else '&'}{text}"


def _by_type(
    facts: CursorFacts, parameter: Parameter, owner: tuple[str, str], written: str
) -> Iterator[tuple[str, str, int]]:
    """Locals of the parameter's class, and members of locals that are spelled like it."""
    name = parameter.name
    locals_ = facts.locals(written)
    wanted_type = None
    if name and owner[1]:
        wanted_type = facts.resolver.name(owner[0], owner[1], name)
        if wanted_type is not None and wanted_type.kind != INSTANCE_VALUE:
            wanted_type = None
    type_text = _simple(parameter.type)
    own_types = _types_of_parameters(facts, written)
    wanted = words_of(name)
    for local in islice(reversed(locals_), N_TYPED_LOCALS):
        line = locals_[local][1]
        value = facts.value(local, written)
        is_object = value is not None and value.kind == INSTANCE_VALUE
        if is_object and wanted_type is not None and value is not None and value[1:3] == wanted_type[1:3]:
            own = local in facts.language.own_object.split()
            yield local, "own object" if own else "type of a local", line
        elif type_text and _simple(own_types.get(local, "")) == type_text:
            yield local, "type of a local", line
        if is_object and value is not None and wanted and local not in facts.language.own_object.split():
            for attribute, text in islice(facts.attributes(value).items(), MAX_ATTRIBUTES):
                if words_of(attribute) == wanted and not text.endswith("("):
                    yield f"{local}.{attribute}", "attribute of a local", line


def _types_of_parameters(facts: CursorFacts, written: str) -> dict[str, str]:
    """The types of the parameters around the cursor as written."""
    function = facts.function_around(written)
    if function is None:
        return {}

    def find() -> dict[str, str]:
        header = facts.header(function).partition(function.name)[2]
        return {each.name: each.type for each in parameters_of(facts.language.name, header) or ()}

    return facts.remembered("types of parameters", function.qualified_name, find=find)


def _simple(text: str) -> str:
    """A type as written, without what does not matter: references, missing values, white space."""
    text = re.sub(r"\s+|\b(?:Optional|const|final)\b|\|\s*None|[&?]|'\w+", "", text)
    return "" if text in _COMMON else text


_VARIABLES = frozenset(WEIGHTS) - {"constant", "module name"}
_REFERENCE = re.compile(r"&\s*(?:'\w+\s+)?(?:mut\b)?")
_COMMON = frozenset({"", "Any", "any", "object", "Object", "unknown", "str", "string", "String", "int", "bool"})
