"""Prompt templates with fields in braces, and multiple-choice questions: their format and the chosen letter.

Owns the letters. The instruction to choose is in the prompts of each strategy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .values import Question

_FIELD = re.compile(r"\{(\w+)\}")


def fill(template: str, **values: object) -> str:
    """The template with its fields replaced in one pass: braces in values are literal, unknown fields stay."""
    return _FIELD.sub(lambda match: str(values.get(match[1], match[0])), template)


def format_choices(choices: Sequence[str]) -> str:
    """The choices, one a line, each after its letter."""
    return "\n".join(f"{_letter(i)}. {choice}" for i, choice in enumerate(choices))


def with_choices(question: Question) -> str:
    """The question, followed by its choices if it has any."""
    return f"{question.text}\n{format_choices(question.choices)}" if question.choices else question.text


def as_answer(text: str, question: Question) -> str:
    """The chosen letter if the question has choices and one can be parsed, otherwise the text."""
    try:
        return read_letter(text, question.choices) if question.choices else text
    except ValueError:
        return text


def read_letter(text: str, choices: Sequence[str]) -> str:
    """The letter of the option that an answer chooses. Raises ValueError if it names none or several."""
    letters = re.escape("".join(map(_letter, range(len(choices)))))
    said = _AFTER_ANSWER.split(text)[-1].strip()
    several = rf"\b[{letters}]\b\)?\s*(?:\bor\b|\band\b|/|,|&)\s*\(?[{letters}]\b"
    if re.search(several, said):
        raise ValueError(f"no single option is chosen in {text[:80]!r}")
    if match := re.match(rf"\W*(?:([{letters}{letters.lower()}])\W*$|([{letters}])(?:[.):,]|\s*\n))", said):
        return (match.group(1) or match.group(2)).upper()
    # "A" or "I" before a lower-case letter is an English word, not a choice.
    alone = rf"^\W*([{letters}])\b(?!['’]|(?<=[AI]) [a-z])|\(([{letters}])\)|(?<![\w'’])([{letters}])(?=[.):,]|\s*$)"
    named = {found for match in re.finditer(alone, said) for found in match.groups() if found}
    if not named:
        folded = " ".join(said.lower().split())
        options = [" ".join(choice.lower().split()) for choice in choices]
        held = [i for i, option in enumerate(options) if option and option in folded]
        # If an option contains another option, the longer one is meant.
        named = {_letter(i) for i in held if not any(options[i] in options[j] for j in held if j != i)}
    if len(named) != 1:
        raise ValueError(f"no single option is chosen in {text[:80]!r}")
    return named.pop()


def _letter(i: int) -> str:
    return chr(ord("A") + i)


_AFTER_ANSWER = re.compile(r"(?i)\banswer(?:\s*(?:\bis\b|[:：]))+\s*")
