"""What a call at a cursor calls: its parameters, and the arguments that other calls of it pass.

Owns the choice among overloads, the parameters that fields of a type are, and the fallback for a callee without a known
definition. Knows no ranking of values.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ..callees import Callee
from ..parameters import Parameter, fields_of, parameters_of
from .argument_values import values_for
from .cursor_facts import CursorFacts
from .open_call import OpenCall
from .unresolved_calls import FEW, NEAR_WEIGHT, calls_of_name, guessed_parameters
from .usual_arguments import Call, calls_above, calls_nearby, other_calls

OTHER_WEIGHT = 0.6
"""Of a call in another file, against one above."""
MAX_COMPARED = 4
"""Parameters by which overloads are compared."""
MAX_FIELD_LINES = 200


class Target(NamedTuple):
    """What is called: its parameters, and the arguments of other calls of it, nearest first."""

    owner: tuple[str, str]  # path and qualified name
    parameters: tuple[Parameter, ...]
    calls: tuple[tuple[Call, float], ...]  # with weights
    has_overloads: bool = False


def target_of(facts: CursorFacts, call: OpenCall, line: str) -> Target | None:
    """What a call means; None where it is unknown or its parameters cannot be read."""
    if call.callee.endswith("!"):
        return _find(facts, call, line)  # its parameters are in a format string
    key = "target", call.callee, facts.within(line), str(call.is_literal)
    target = facts.remembered(*key, find=lambda: _find(facts, call, line))
    if target is not None and target.has_overloads and len(call.given) >= len(target.parameters):
        return _find(facts, call, line)  # another overload takes more arguments
    return target


def _find(facts: CursorFacts, call: OpenCall, line: str) -> Target | None:
    if call.callee.endswith("!"):
        return _find_formatted(call) or _find_unresolved(facts, call)
    return _find_defined(facts, call, line) or _find_unresolved(facts, call)


def _find_formatted(call: OpenCall) -> Target | None:
    """The values of the placeholders of a format string in Rust, `"{} {}"`, each named like the word before it."""
    last = next((at for at, each in enumerate(call.given) if each.text.startswith('"')), -1)
    if last < 0:
        return None
    names = [match[1] or "" for match in _PLACEHOLDER.finditer(call.given[last].text)]
    if not names:
        return None
    before = [Parameter("", takes_keyword=False)] * (last + 1)
    named = [Parameter(name, takes_keyword=False) for name in names]
    return Target(("", call.callee), (*before, *named), ())


def _find_defined(facts: CursorFacts, call: OpenCall, line: str) -> Target | None:
    syntax, language = facts.language.call_syntax, facts.language
    assert syntax is not None
    callee = facts.callee(call.callee, line)
    if callee is None:
        return None
    header = callee.header.decode("utf-8", "replace")
    found: tuple[Parameter, ...] | None = None
    overloads: list[bytes] = []
    if call.is_literal:
        if callee.is_function:
            return None
        found = _fields(facts, callee.path, callee.definition.qualified_name)
    elif callee.is_function:
        found = parameters_of(language.name, header, is_method=bool(callee.is_method))
        overloads = facts.overloads(callee)
        if overloads:
            found = _best_overload(facts, call, callee, [callee.header, *overloads], line) or found
    elif syntax.has_class_parameters:
        found = parameters_of(language.name, header, of_class=True)
    elif syntax.has_field_parameters:
        found = _fields(facts, callee.path, callee.definition.qualified_name) or None
    if found is None:
        return None
    name = call.callee.rpartition(".")[2].rstrip("[]")
    sign = ":" if call.is_literal else syntax.keyword_sign.strip()
    above = calls_above(facts, name, "{" if call.is_literal else "(", sign)
    others = [] if call.is_literal else other_calls(facts, callee, name, sign)
    calls = [(each, 1.0 / (1.0 + 0.15 * at)) for at, each in enumerate(above)]
    calls += [(each, OTHER_WEIGHT) for each in others]
    if len(calls) < FEW and not call.is_literal:
        calls += [(each, NEAR_WEIGHT) for each in calls_nearby(facts, name, sign) if each not in others]
    return Target(
        (callee.path, callee.definition.qualified_name), _with_others(found, calls), tuple(calls), bool(overloads)
    )


def _find_unresolved(facts: CursorFacts, call: OpenCall) -> Target | None:
    """A target with the parameters that other calls of the name show; None for a literal."""
    syntax = facts.language.call_syntax
    name = call.callee.rpartition(".")[2].rstrip("[]")
    if call.is_literal or syntax is None or not name:
        return None
    calls = calls_of_name(facts, name, syntax.keyword_sign.strip())
    return Target(("", name), _with_others(guessed_parameters(calls), calls), tuple(calls))


def _best_overload(
    facts: CursorFacts, call: OpenCall, callee: Callee, headers: Sequence[bytes], line: str
) -> tuple[Parameter, ...] | None:
    """The parameters of the overload that fits the names around the cursor, and is not the one around it."""
    around = facts.function_around(line)
    is_around = around is not None and (facts.path, around.qualified_name) == (
        callee.path,
        callee.definition.qualified_name,
    )
    own = facts.header(around).partition(around.name)[2] if around is not None and is_around else ""
    best: tuple[Parameter, ...] | None = None
    most = -1.0
    owner = callee.path, callee.definition.qualified_name
    for header in headers:
        text = header.decode("utf-8", "replace")
        found = parameters_of(facts.language.name, text, is_method=bool(callee.is_method))
        if found is None or len(found) <= len(call.given) or (own and text.startswith(own)):
            continue
        left = found[len(call.given) : len(call.given) + MAX_COMPARED]
        values = (values_for(facts, each, owner, line, call.callee) for each in left)
        fit = sum(max(each.values(), default=0.0) for each in values) / len(left)
        if fit > most:
            best, most = found, fit
    return best


def _with_others(parameters: tuple[Parameter, ...], calls: Sequence[tuple[Call, float]]) -> tuple[Parameter, ...]:
    """The parameters, and those that only other calls show: of `**options`, or of another function of the name."""
    found = list(parameters)
    keywords = {each.label or each.name for each in parameters}
    for call, _ in calls:
        positions = sum(each.takes_position for each in found)
        n_positional = sum(not each.keyword for each in call)
        found += [Parameter("", is_required=False, takes_keyword=False)] * (n_positional - positions)
        for argument in call:
            if argument.keyword and argument.keyword not in keywords:
                keywords.add(argument.keyword)
                found.append(Parameter(argument.keyword, is_required=False, takes_position=False))
    return tuple(found)


def _fields(facts: CursorFacts, path: str, name: str) -> tuple[Parameter, ...]:
    """The fields of a class and its bases as parameters, those of the bases first."""
    found: dict[str, Parameter] = {}
    for at, owner in reversed(facts.resolver.mro(path, name).classes):
        definition = facts.graph.definition(at, owner)
        if definition is not None:
            lines = facts.source_lines(at)[definition.header_line + 1 : definition.end_line]
            text = [line.decode("utf-8", "replace") for line in lines[:MAX_FIELD_LINES]]
            found.update((each.name, each) for each in fields_of(facts.language, text))
    return tuple(found.values())


_PLACEHOLDER = re.compile(r"(?:([A-Za-z_]\w*)[^\w{}]*)?(?<!\{)\{(?:\d*)(?::[^{}]*)?\}(?!\})")
