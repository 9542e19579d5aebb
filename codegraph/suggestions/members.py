"""Members of the receiver before the cursor, by type; those that the code nearby uses first.

Owns their ranking. They are those of the receiver's class and its bases, or the exports of a module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from ..symbol_table import FUNCTION_KINDS
from ..values import CLASS_VALUE, FUNCTION_VALUE, INSTANCE_VALUE, MODULE_VALUE, SUPER_VALUE, Value
from .cursor_facts import CursorFacts, expression_before
from .followers import followers
from .place import header_of
from .values import Suggested, weighted

MAX_MEMBERS = 400
NEAR_LINES = 200
FOLLOWING = 8.0
"""Weight of a member for each use behind the same name, against one without."""

UNFIT, SELDOM = 0.02, 0.3
"""Factors of members that the sign before them cannot reach, or seldom does."""

_WITH_OBJECT = re.compile(r"\(\s*(?:&\s*(?:'\w+\s+)?)?(?:mut\s+)?self\b")
_CALLED = re.compile(r"(\w+)\(\)")
_STATIC = re.compile(r"\bstatic\b")
_SIGN = re.compile(r"(?:(?<![.\d])\.|->|::)\Z")


def members(facts: CursorFacts, written: str) -> list[Suggested]:
    """Suggestions after `receiver.`; none elsewhere, and of a receiver of an unknown type."""
    sign = _SIGN.search(written[-2:])
    if sign is None:
        return []
    line = written.rpartition("\n")[2]
    receiver = expression_before(line[: len(line) - len(sign[0])].removesuffix("?"))
    value = value_before(facts, line, receiver)
    if value is None:
        return []
    return weighted("member", ranked_members(facts, value, receiver, sign[0], line))


def ranked_members(facts: CursorFacts, value: Value, receiver: str, sign: str, line: str) -> list[tuple[str, float]]:
    """The members of a receiver behind a sign, each as it is written, with weights."""
    named = members_of(facts, value, receiver)
    used = _uses(facts, receiver)
    is_own = receiver in (*facts.language.own_object.split(), *facts.language.own_class.split())
    method = facts.function_around(line)
    last = receiver.rpartition(".")[2]
    following = followers(facts, last.rstrip("()[]"), last.endswith("()")) if not is_own else {}
    own_name = method.name if method is not None else ""
    unfit = _unfit(facts, value, sign)
    called = set(_CALLED.findall(receiver))

    def weight(name: str) -> float:
        if name.startswith("__") and name.endswith("__"):
            return UNFIT
        hidden = name.startswith("_") and not is_own
        return (
            (0.1 if hidden else 1.0)
            * (1.0 + 6.0 * used[name] + FOLLOWING * following.get(named[name], 0.0))
            * (SELDOM if name == own_name or name in called else 1.0)
            * unfit.get(name, 1.0)
        )

    return [(text, weight(name)) for name, text in named.items()]


def _unfit(facts: CursorFacts, value: Value, sign: str) -> Mapping[str, float]:
    """Factors of members by name: of constructors, of functions without an object behind `.`, of fields behind `::`."""
    if value.kind not in (CLASS_VALUE, INSTANCE_VALUE, SUPER_VALUE) or facts.language.name == "python":
        return {}
    key = "unfit", value.path, value.name, sign
    return facts.remembered(*key, find=lambda: _find_unfit(facts, value, sign))


def _find_unfit(facts: CursorFacts, value: Value, sign: str) -> dict[str, float]:
    language = facts.language
    found = {each: UNFIT for each in (language.constructor, value.name.rpartition(".")[2]) if each}
    if language.name not in ("rust", "php"):
        return found
    functions: dict[str, bool] = {}  # whether a function has an object
    for path, name in facts.resolver.mro(value.path, value.name).classes:
        for file, member in facts.resolver.members(path, name):
            if member.kind in FUNCTION_KINDS:
                header = header_of(facts, file, member)
                is_method = _WITH_OBJECT.search(header) if language.name == "rust" else not _STATIC.search(header)
                functions.setdefault(member.name, bool(is_method))
    for name in facts.attributes(value):
        if sign == "::":
            if functions.get(name, True) and value.kind != SUPER_VALUE:
                found[name] = SELDOM if name in functions else UNFIT
        elif not functions.get(name, True):
            found[name] = UNFIT
    return found


def value_before(facts: CursorFacts, line: str, receiver: str) -> Value | None:
    """The value of a receiver on a line; None if its members are unknown."""
    value = facts.value(receiver, line)
    return value if value is not None and members_of(facts, value, receiver) else None


def members_of(facts: CursorFacts, value: Value, receiver: str) -> Mapping[str, str]:
    """The members of a value by name, and how each is written: "name" or "name(" of a function."""
    if value.kind == MODULE_VALUE:
        exports = facts.resolver.exports(value)
        if len(exports) > MAX_MEMBERS:
            used = _uses(facts, receiver)
            exports = {name: each for name, each in exports.items() if name in used}
        return {
            name: f"{name}(" if each is not None and each.kind == FUNCTION_VALUE else name
            for name, each in exports.items()
        }
    if value.kind in (CLASS_VALUE, INSTANCE_VALUE, SUPER_VALUE):
        return facts.attributes(value)
    if value.kind == FUNCTION_VALUE:
        result = facts.resolver.result(value)  # a property, or a function without brackets
        if result is not None and result.kind == INSTANCE_VALUE:
            return facts.attributes(result)
    return {}


def _uses(facts: CursorFacts, receiver: str) -> Counter[str]:
    """How often the lines above use each member of the receiver, by its last name."""
    last = receiver.rpartition(".")[2].rstrip("()[]")

    def find() -> Counter[str]:
        text = "\n".join(facts.lines[-NEAR_LINES:])
        return Counter(re.findall(rf"\b{re.escape(last)}(?:\(\))?(?:\.|->|::)(\w+)", text))

    return facts.remembered("uses", last, find=find)
