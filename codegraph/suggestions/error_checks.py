"""Go: `if err != nil {` below a call that returns an error, and the return of that error from the function around.

Owns the zero values of types. Source: the line above, and the results in the header of the function around.
"""

from __future__ import annotations

import re

from ...languages.indentation import indent_of
from .place import Place, Weighted, type_named

_AT_START = re.compile(r"\t+(?:return)? ?")
_BOUND = re.compile(r"\t+(?:[\w.]+, )*(err\w*|\w+Err) :?= .*[)}]")
_CLOSED = re.compile(r"\t+[)}]+(?:\(\))?\)?")
_CHECKED = re.compile(r"\t+(?:\} else )?if (?:.*; )?(\w*[eE]rr\w*) != nil \{")
_NUMBERS = re.compile(r"u?int(?:8|16|32|64)?|float(?:32|64)|byte|rune|uintptr|time\.Duration|os\.FileMode")
_NIL = re.compile(r"\*|\[\]|map\[|chan |func\(|interface|any$|error$|context\.Context$|io\.|http\.Handler")
_NAMED_TYPE = re.compile(r"(?:\w+\.)?\w+")
MAX_LINES_OF_CALL = 30
MAX_SEEN = 6
PRIOR = 2.0
"""Bindings above that weigh as much as what is expected."""


def error_checks(place: Place) -> Weighted:
    """At the start of a line of Go: the check of an error, or its return in the body of the check."""
    if place.language != "go" or not _AT_START.fullmatch(place.line):
        return []
    above = place.above[-1] if place.above else ""
    checked = _CHECKED.fullmatch(above)
    if checked is not None:
        return _returns(place, checked[1])
    if place.line.strip():
        return []
    name = _bound_error(place, above)
    if not name:
        return []
    checked_text = f"if {name} != nil {{\n"
    share = 0.4 if place.facts.path.endswith("_test.go") else 0.85
    return _mixed([(checked_text, share)], _after_bindings(place, name))


def _mixed(expected: Weighted, written: list[str]) -> Weighted:
    """Expected texts with those that stand at the same places above."""
    weights = {text: weight * PRIOR / (PRIOR + len(written)) for text, weight in expected}
    for text in written:
        weights[text] = weights.get(text, 0.0) + 1.0 / (PRIOR + len(written))
    return list(weights.items())


def _after_bindings(place: Place, name: str) -> list[str]:
    """The first tokens of the lines below the last bindings of an error above: a whole line of a check, or a call."""
    found = []
    lines = place.above
    for at in range(len(lines) - 2, 0, -1):
        if name in lines[at] and _BOUND.fullmatch(lines[at]):
            text = lines[at + 1].strip()
            if text and text[0] != "}" and indent_of(lines[at]) == indent_of(lines[at + 1]):
                found.append(f"{text}\n")
            if len(found) == MAX_SEEN:
                break
    return found


def _bound_error(place: Place, above: str) -> str:
    """The error that the statement that ends above has bound."""
    indent = place.indent
    if _CLOSED.fullmatch(above) and indent_of(above) == len(indent):
        for line in reversed(place.above[-MAX_LINES_OF_CALL:-1]):
            if line.startswith(indent) and line[len(indent) : len(indent) + 1] not in ("\t", "", ")", "}"):
                above = line + ")"
                break
    found = _BOUND.fullmatch(above)
    return found[1] if found is not None and above.startswith(indent + above.lstrip()[:1]) else ""


def _returns(place: Place, name: str) -> Weighted:
    results = results_around(place)
    if results is None:
        return []
    beginning = place.line.strip()
    values = [_zero(place, result) for result in results]
    if not results:
        texts = [("return\n", 0.15)]
    elif results[-1] != "error":
        return []
    else:
        first = ", ".join([*values[:-1], ""])
        texts = [(f"return {first}{name}\n", 0.55), (f'return {first}fmt.Errorf("', 0.25)]
    if not beginning:
        return texts
    return [(place.gap(text.removeprefix("return").lstrip(" ")), weight) for text, weight in texts if " " in text]


def results_around(place: Place) -> list[str] | None:
    """The types of the results of the innermost function around, None when it is not found."""
    inside = len(place.indent)
    for line in reversed(place.above):
        indent = indent_of(line)
        if indent >= inside or not line.strip():
            continue
        inside = indent
        if "func" not in line and not line.startswith(")"):
            continue
        found = _results_of(line)
        if found is not None:
            return _types(found)
        if not indent:
            return None
    return None


def _results_of(header: str) -> str | None:
    """The text of the results behind the parameters of the last function in the header, without brackets."""
    text = header.rstrip().removesuffix("{").rstrip()
    at = text.find("func") if text.lstrip().startswith("func") else text.rfind("func")
    if at >= 0 and not header.rstrip().endswith("{"):
        return None
    rest = (text[at + 4 :] if at >= 0 else text).lstrip()
    if at >= 0 and at == indent_of(text) and rest.startswith("("):
        rest = _behind_brackets(rest).lstrip()  # the receiver
    rest = rest.removeprefix(")") if at < 0 else _behind_brackets(rest[rest.find("(") :]) if "(" in rest else ""
    rest = rest.strip()
    return rest[1:-1] if rest.startswith("(") and rest.endswith(")") else rest


def _behind_brackets(text: str) -> str:
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if not depth:
            return text[at + 1 :]
    return ""


def _types(text: str) -> list[str]:
    """The types of results: "n int, err error" has int and error."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    are_named = any(" " in part and not part.startswith(("chan ", "func", "<-")) for part in parts)
    if not are_named:
        return parts
    found, last = [], ""
    for part in reversed(parts):
        last = part.partition(" ")[2] or last
        found.append(last)
    return found[::-1]


def _zero(place: Place, kind: str) -> str:
    """The zero value of a type as a return statement has it; `nil` of one that is not known."""
    if kind == "string":
        return '""'
    if kind == "bool":
        return "false"
    if _NUMBERS.fullmatch(kind):
        return "0"
    if _NIL.match(kind):
        return "nil"
    value = type_named(place.facts, kind, place.line) if _NAMED_TYPE.fullmatch(kind) else None
    if value is None:
        return "nil"
    definition = place.facts.graph.definition(value.path, value.name)
    return f"{kind}{{}}" if definition is not None and definition.kind == "struct" else "nil"
