"""Questions with answers to choose from: how the choices are shown, and which letter a model chose.

Owns the letters and their reading. What a model is told to do with them is in the prompts of each strategy.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .values import Question


def format_choices(choices: Sequence[str]) -> str:
    """The choices, each on a line behind its letter."""
    return "\n".join(f"{_letter(i)}. {choice}" for i, choice in enumerate(choices))


def with_choices(question: Question) -> str:
    """The question, and below it its choices where it has any."""
    return f"{question.text}\n{format_choices(question.choices)}" if question.choices else question.text


def as_answer(text: str, question: Question) -> str:
    """What a model wrote; to a question with choices the letter alone, where one can be read."""
    try:
        return read_letter(text, question.choices) if question.choices else text
    except ValueError:
        return text


def read_letter(text: str, choices: Sequence[str]) -> str:
    """The letter of the option that an answer chooses. Raises ValueError when it names none, or several."""
    letters = re.escape("".join(map(_letter, range(len(choices)))))
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
        named = {_letter(i) for i in held if not any(options[i] in options[j] for j in held if j != i)}
    if len(named) != 1:
        raise ValueError(f"not one option is chosen in {text[:80]!r}")
    return named.pop()


def _letter(i: int) -> str:
    return chr(ord("A") + i)


_AFTER_ANSWER = re.compile(r"(?i)\banswer(?:\s*(?:\bis\b|[:：]))+\s*")
