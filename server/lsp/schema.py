"""Schema generation: Python message types as TypeScript interfaces and as Markdown tables.

Owns the mapping of types to both. Knows no message and no file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import attrs
from lsprotocol import types

from ..output import types as answers
from .messages import json_name

# Parameter types of the LSP library, and the equivalent typed dictionaries.
_STANDARD: dict[Any, type] = {
    types.Position: answers.Position,
    types.Range: answers.Range,
    types.TextDocumentIdentifier: answers.TextDocumentIdentifier,
    types.VersionedTextDocumentIdentifier: answers.VersionedTextDocumentIdentifier,
}

_PLAIN: dict[Any, str] = {
    str: "string",
    bool: "boolean",
    int: "number",
    float: "number",
    NoneType: "null",
    Any: "unknown",
}


@dataclass(frozen=True, slots=True)
class Member:
    """One field of a JSON object."""

    name: str
    is_optional: bool
    kind: str  # in TypeScript syntax
    meaning: str


def members(kind: type) -> list[Member]:
    """The fields of a typed dictionary or of parameters, in their order."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        optional = frozenset(getattr(kind, "__optional_keys__", ()))
        return [_member(name, name in optional, hint) for name, hint in hints.items()]
    return [
        _member(json_name(field.name), field.default is not attrs.NOTHING, hints[field.name])
        for field in attrs.fields(kind)
    ]


def typescript(kinds: Iterable[Any]) -> str:
    """Interfaces for these types and the types that they refer to, each before its first use."""
    return "\n".join(map(_interface, reachable(kinds)))


def table(kind: type) -> str:
    """The fields of a type as a Markdown table."""
    kinds = [(each, each.kind.replace("|", "\\|")) for each in members(kind)]
    rows = [f"| `{_shown_name(each)}` | `{shown}` | {each.meaning} |" for each, shown in kinds]
    return "\n".join(("| field | type | |", "|---|---|---|", *rows))


def reachable(kinds: Iterable[Any]) -> list[type]:
    """These types and the types that they refer to, in dependency order, without duplicates."""
    found: dict[type, None] = {}
    for kind in kinds:
        _reach(kind, found)
    return list(found)


def typescript_type(hint: Any) -> str:
    """A type in TypeScript syntax."""
    hint = _STANDARD.get(hint, hint)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return typescript_type(arguments[0])
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(typescript_type, arguments)))
    if origin is Literal:
        return " | ".join(json.dumps(choice) for choice in arguments)
    if origin is list:
        inner = typescript_type(arguments[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is dict:
        return f"Record<string, {typescript_type(arguments[1])}>"
    return _PLAIN.get(hint) or str(hint.__name__)


def _member(name: str, is_optional: bool, hint: Any) -> Member:
    kind, meaning = get_args(hint)
    return Member(name, is_optional, typescript_type(kind), meaning)


def _interface(kind: type) -> str:
    first_paragraph = " ".join((kind.__doc__ or "").split("\n\n")[0].split())
    lines = [f"/** {first_paragraph} */", f"export interface {kind.__name__} {{"]
    for each in members(kind):
        lines += [f"  /** {each.meaning} */", f"  {_shown_name(each)}: {each.kind};"]
    return "\n".join((*lines, "}", ""))


def _shown_name(member: Member) -> str:
    return f"{member.name}?" if member.is_optional else member.name


def _reach(hint: Any, found: dict[type, None]) -> None:
    for part in _parts(_STANDARD.get(hint, hint)):
        if part not in found:
            for inner in get_type_hints(part).values():
                _reach(inner, found)
            found[part] = None


def _parts(hint: Any) -> Iterator[type]:
    """The types in a hint that have fields."""
    if is_typeddict(hint) or attrs.has(hint):
        yield _STANDARD.get(hint, hint)
    for argument in get_args(hint):
        yield from _parts(_STANDARD.get(argument, argument))
