"""Parsing of QRMeM's model responses: names, relations, a verdict.

Knows no prompt. Every function raises ValueError for an unparsable value, and the call is retried. Invalid entries of a
list are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .entity_resolution import EntityName


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether segments answer a question: with the answer, or with the missing information."""

    answerable: bool
    answer: str = ""
    missing: str = ""


def read_names(value: Any) -> list[EntityName]:
    entries = _field(value, "entities")
    if not isinstance(entries, list):
        raise ValueError("`entities` is not a list")
    names = list[EntityName]()
    for entry in entries:
        if isinstance(entry, str):
            entry = {"name": entry}
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"].strip():
            aliases = entry.get("aliases")
            aliases = [a for a in aliases if isinstance(a, str)] if isinstance(aliases, list) else []
            kind = entry.get("type")
            useful = tuple(alias for alias in map(_clean, aliases) if alias.lower() not in _PRONOUNS)
            names.append(EntityName(_clean(entry["name"]), kind if isinstance(kind, str) else "", useful))
    return [name for name in names if name.name.lower() not in _PRONOUNS]


def read_relations(value: Any) -> list[tuple[str, str, str]]:
    entries = _field(value, "relations")
    if not isinstance(entries, list):
        raise ValueError("`relations` is not a list")
    read = list[tuple[str, str, str]]()
    for entry in entries:
        if isinstance(entry, dict):
            entry = [entry.get("first"), entry.get("second"), entry.get("relation")]
        if isinstance(entry, list) and len(entry) == 3 and all(isinstance(e, str) and e.strip() for e in entry):
            first, second, text = map(_clean, entry)
            read.append((first, second, text))
    return read


def read_numbers(value: Any) -> set[int]:
    entries = _field(value, "same")
    if not isinstance(entries, list):
        raise ValueError("`same` is not a list")
    return {int(entry) for entry in entries if isinstance(entry, int | str) and str(entry).strip().isdecimal()}


def read_verdict(value: Any) -> Verdict:
    answerable = value.get("answerable") if isinstance(value, dict) else None
    if isinstance(answerable, str):
        answerable = {"true": True, "yes": True, "false": False, "no": False}.get(answerable.strip().lower())
    if not isinstance(answerable, bool):
        raise ValueError("`answerable` is neither true nor false")
    answer, missing = value.get("answer"), value.get("missing")
    return Verdict(answerable, *(_clean(text) if isinstance(text, str) else "" for text in (answer, missing)))


def read_text(value: Any, field: str) -> str:
    text = value.get(field) if isinstance(value, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"there is no `{field}`")
    return " ".join(text.split())


def not_empty(text: str) -> str:
    if not text:
        raise ValueError("the response is empty")
    return text


def _field(value: Any, field: str) -> Any:
    """The field of an object; also accepts the bare list."""
    if isinstance(value, dict) and field in value:
        return value[field]
    if isinstance(value, list):
        return value
    raise ValueError(f"there is no `{field}`")


def _clean(text: str) -> str:
    return " ".join(text.split())


_PRONOUN_WORDS = "i me you he him she her it we us they them his hers its their this that who"
_PRONOUNS = {"", *_PRONOUN_WORDS.split()}
