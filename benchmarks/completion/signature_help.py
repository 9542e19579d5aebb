"""Signature help at a cursor: the function that is called there, and the members of the receiver.

Owns which call and which receiver count, and how each is written on one line. The facts are those of
`suggestions/cursor_facts`. Knows no prompt and no ranking of suggestions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...codegraph.callees import Callee
from ...codegraph.parameters import fields_of, pieces_of
from ...codegraph.suggestions.cursor_facts import CursorFacts, expression_start
from ...codegraph.suggestions.members import members
from ...codegraph.suggestions.open_call import is_declared
from ...codegraph.symbol_table import FUNCTION_KINDS
from ...languages.dotted import dotted_name

MAX_MEMBERS = 12
MAX_CHARACTERS = 240
"""Of the line for a callee or for a receiver."""
MAX_EXPRESSION = 400
"""Characters of a callee or a receiver that are read."""
MAX_CALL = 4_000
"""Characters of a call before the cursor."""
MAX_FIELD_LINES = 200
MAX_HEADER_LINES = 12


class SignatureHelp(NamedTuple):
    """The innermost open call that is known, and the receiver before the cursor; empty where they are unknown."""

    callee: str = ""  # as written: "self.store.find"
    parameters: tuple[str, ...] = ()  # as declared, without the object: "key: str", "default=None"
    result: str = ""  # as declared: " -> Item"
    receiver: str = ""  # as written: "self.store"
    members: tuple[str, ...] = ()  # most used first; functions with their parameters: "items", "clear()"

    @property
    def callee_line(self) -> str:
        """The call with the declared parameters: "self.store.find(key: str, default=None) -> Item"."""
        return _limited(f"{self.callee}({', '.join(self.parameters)}){self.result}") if self.callee else ""

    @property
    def receiver_line(self) -> str:
        """The members of the receiver: "self.store: items, clear()"."""
        return _limited(f"{self.receiver}: {', '.join(self.members)}") if self.members else ""


def signature_help(facts: CursorFacts, written: str) -> SignatureHelp:
    """What the graph knows about the call and the receiver at the end of `written`, the beginning of a line."""
    if not facts.is_known:
        return SignatureHelp()
    found = _known_call(facts, written) or SignatureHelp()
    receiver, names = _known_receiver(facts, written)
    return found._replace(receiver=receiver, members=names)


def _known_call(facts: CursorFacts, written: str) -> SignatureHelp | None:
    for expression in _open_calls(facts, written):
        callee = facts.callee(dotted_name(expression) or "", written)
        if callee is None or not callee.is_sure:
            continue
        if callee.is_function:
            header = callee.header.decode("utf-8", "replace")
            parameters, result = _declared(facts, header, is_method=bool(callee.is_method))
            return SignatureHelp(expression, parameters, "" if _is_constructor(callee) else result)
        fields = _fields(facts, callee.path, callee.definition.qualified_name)
        if fields:
            return SignatureHelp(expression, fields)
    return None


def _open_calls(facts: CursorFacts, written: str) -> Iterator[str]:
    """The callees of the open calls at the cursor as they are written, innermost first."""
    text = facts.above + written
    opened, _ = facts.language.lexer.read(text, facts.opened_above, len(facts.above), len(text))
    for bracket in reversed(opened):
        if len(text) - bracket.at > MAX_CALL:
            return
        if bracket.kind != "bracket" or not text.startswith("(", bracket.at):
            continue
        before = text[max(0, bracket.at - MAX_EXPRESSION) : bracket.at]
        start = expression_start(before)
        name = dotted_name(before[start:])
        if name and not name.startswith("?") and not is_declared(before[:start]):
            yield before[start:]


def _is_constructor(callee: Callee) -> bool:
    return callee.definition.kind == "constructor" or callee.definition.name == "__init__"


def _declared(facts: CursorFacts, header: str, *, is_method: bool) -> tuple[tuple[str, ...], str]:
    """The parameters and the result in a header that begins behind its name."""
    start = header.find("(")
    end = _closing(header, start)
    if end < 0:
        return (), ""
    inside = _COMMENT.sub("", header[start + 1 : end])
    parameters = [each for each in pieces_of(inside, types=facts.language.blocks != "indentation") if each]
    rules = facts.language.scope_rules.call_rules if facts.language.scope_rules is not None else None
    if is_method and rules is not None and rules.own_parameter:
        parameters = parameters[1:]
    result = (_ARROW_RESULT if facts.language.blocks == "indentation" else _RESULT)(header, end + 1)
    return tuple(_SPACE.sub(" ", each) for each in parameters), result[0].partition(" = ")[0].rstrip() if result else ""


def _closing(text: str, start: int) -> int:
    """The offset of the bracket that closes the one at `start`, -1 without one."""
    depth = 0
    for sign in _BRACKET.finditer(text, max(start, 0)):
        depth += 1 if sign[0] in "([{" else -1
        if not depth:
            return sign.start()
    return -1


def _fields(facts: CursorFacts, path: str, name: str) -> tuple[str, ...]:
    """The fields of a class and its bases, as its constructor takes them: those of the bases first."""
    found: dict[str, str] = {}
    for file, owner in reversed(facts.resolver.mro(path, name).classes):
        definition = facts.graph.definition(file, owner)
        if definition is None:
            continue
        lines = facts.lines_of(file)[definition.header_line + 1 : definition.end_line]
        for field in fields_of(facts.language, lines[:MAX_FIELD_LINES]):
            typed = f"{field.name}: {field.type}" if field.type else field.name
            found[field.name] = f"{typed} = {field.default}" if field.default else typed
    return tuple(found.values())


def _known_receiver(facts: CursorFacts, written: str) -> tuple[str, tuple[str, ...]]:
    """The receiver that ends `written`, but for a begun name, and its members."""
    line = written.rpartition("\n")[2]
    line = line[: len(line) - len(_last_word(line))]
    names = [each.text.rstrip("(") for each in members(facts, line)]
    names = [name for name in names if not name.startswith("__")][:MAX_MEMBERS]
    if not names:
        return "", ()
    receiver = line[expression_start(line) :].rstrip(".:->?")
    declared = _declared_members(facts, receiver, line, names)
    return receiver, tuple(declared.get(name, name) for name in names)


def _declared_members(facts: CursorFacts, receiver: str, line: str, names: Sequence[str]) -> dict[str, str]:
    """The functions among some members of a receiver, with their parameters."""
    value = facts.value(dotted_name(receiver) or "", line)
    if value is None:
        return {}
    if not value.name:
        exports = facts.resolver.exports(value)
        functions = [(each.path, each.name) for name, each in exports.items() if each is not None and name in names]
        found = [(path, facts.graph.definition(path, name)) for path, name in functions]
    else:
        classes = facts.resolver.mro(value.path, value.name).classes
        known = [each for each in classes if facts.graph.symbols(each[0]) is not None]
        found = [(file, member) for each in known for file, member in facts.resolver.members(*each)]
    declared: dict[str, str] = {}
    for path, definition in found:
        if definition is None or definition.kind not in FUNCTION_KINDS or definition.name not in names:
            continue
        if definition.name not in declared and not facts.is_property(path, definition):
            text = _header(facts, path, definition.header_line, definition.name)
            parameters, _ = _declared(facts, text, is_method=bool(value.name))
            declared[definition.name] = f"{definition.name}({', '.join(parameters)})"
    return declared


def _header(facts: CursorFacts, path: str, line: int, name: str) -> str:
    """The source of a definition behind its name."""
    return "\n".join(facts.lines_of(path)[line : line + MAX_HEADER_LINES]).partition(name)[2]


def _limited(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 5].rpartition(',')[0]}, ..."


def _last_word(line: str) -> str:
    found = _WORD(line)
    return found[0] if found is not None else ""


_WORD = re.compile(r"\w*\Z").search
_BRACKET = re.compile(r"[()\[\]{}]")
_COMMENT = re.compile(r"(?:#|//)[^\n]*(?=\n)")
_SPACE = re.compile(r"\s+")
_ARROW_RESULT = re.compile(r"\s*->[^:\n]+").match
_RESULT = re.compile(r"\s*(?:->|:)?[^:{;\n]*").match
