"""How QRMeM reads what a model answers: names, relations, a verdict, a letter.

Knows no prompt. Every function raises ValueError for what it cannot read, after which the model is asked again. What
is wrong in a list is left out, as long as there is a list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .merging import Name


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether segments answer a question: with the answer, or with what is missing."""

    answerable: bool
    answer: str = ""
    missing: str = ""


def read_names(value: Any) -> list[Name]:
    entries = _field(value, "entities")
    if not isinstance(entries, list):
        raise ValueError("“entities” is no list")
    names = list[Name]()
    for entry in entries:
        if isinstance(entry, str):
            entry = {"name": entry}
        if isinstance(entry, dict) and isinstance(entry.get("name"), str) and entry["name"].strip():
            aliases = entry.get("aliases")
            aliases = [a for a in aliases if isinstance(a, str)] if isinstance(aliases, list) else []
            kind = entry.get("type")
            useful = tuple(alias for alias in map(_clean, aliases) if alias.lower() not in _PRONOUNS)
            names.append(Name(_clean(entry["name"]), kind if isinstance(kind, str) else "", useful))
    return [name for name in names if name.name.lower() not in _PRONOUNS]


def read_relations(value: Any) -> list[tuple[str, str, str]]:
    entries = _field(value, "relations")
    if not isinstance(entries, list):
        raise ValueError("“relations” is no list")
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
        raise ValueError("“same” is no list")
    return {int(entry) for entry in entries if isinstance(entry, int | str) and str(entry).strip().isdecimal()}


def read_verdict(value: Any) -> Verdict:
    answerable = value.get("answerable") if isinstance(value, dict) else None
    if isinstance(answerable, str):
        answerable = {"true": True, "yes": True, "false": False, "no": False}.get(answerable.strip().lower())
    if not isinstance(answerable, bool):
        raise ValueError("“answerable” is neither true nor false")
    answer, missing = value.get("answer"), value.get("missing")
    return Verdict(answerable, *(_clean(text) if isinstance(text, str) else "" for text in (answer, missing)))


def read_text(value: Any, field: str) -> str:
    text = value.get(field) if isinstance(value, dict) else None
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"there is no “{field}”")
    return " ".join(text.split())


def not_empty(text: str) -> str:
    if not text:
        raise ValueError("nothing was said")
    return text


def letter_of(choices: Sequence[str]) -> Callable[[str], str]:
    return lambda text: read_letter(text, choices)


def read_letter(text: str, choices: Sequence[str]) -> str:
    """The letter of the option that an answer chooses. Raises ValueError when it names none, or several."""
    letters = "".join(map(letter, range(len(choices))))
    said = _AFTER_ANSWER.split(text)[-1].strip()
    several = rf"\b[{letters}]\b\)?\s*(?:\bor\b|\band\b|/|,|&)\s*\(?[{letters}]\b"
    if re.search(several, said):
        raise ValueError(f"not one option is chosen in {text[:80]!r}")
    if match := re.match(rf"\W*(?:([{letters}{letters.lower()}])\W*$|([{letters}])(?:[.):,]|\s*\n))", said):
        return (match.group(1) or match.group(2)).upper()
    # An A or an I before a small letter is a word.
    alone = rf"^\W*([{letters}])\b(?!['’]|(?<=[AI]) [a-z])|\(([{letters}])\)|(?<![\w'’])([{letters}])(?=[.):,]|\s*$)"
    named = {found for match in re.finditer(alone, said) for found in match.groups() if found}
    if not named:
        folded = " ".join(said.lower().split())
        options = [" ".join(choice.lower().split()) for choice in choices]
        held = [i for i, option in enumerate(options) if option and option in folded]
        # An option may be a part of another one: the longest is meant.
        named = {letter(i) for i in held if not any(options[i] in options[j] for j in held if j != i)}
    if len(named) != 1:
        raise ValueError(f"not one option is chosen in {text[:80]!r}")
    return named.pop()


def letter(i: int) -> str:
    return chr(ord("A") + i)


def _field(value: Any, field: str) -> Any:
    """The field of an object; a bare list stands for it where a model left the object out."""
    if isinstance(value, dict) and field in value:
        return value[field]
    if isinstance(value, list):
        return value
    raise ValueError(f"there is no “{field}”")


def _clean(text: str) -> str:
    return " ".join(text.split())


_PRONOUN_WORDS = "i me you he him she her it we us they them his hers its their this that who"
_PRONOUNS = {"", *_PRONOUN_WORDS.split()}
_AFTER_ANSWER = re.compile(r"(?i)\banswer(?:\s*(?:\bis\b|[:：]))+\s*")
