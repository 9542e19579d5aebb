"""LLM judges of answers: MTBench+'s rating, Segment+'s score, and true or false for a choice.

Owns the prompts, in our own words, and the parsing of verdicts. Any model may judge; the results name it. An unreadable
verdict is requested again; a verdict that stays unreadable is counted, and left out of the mean.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from ...memory import MeteredModel, UnparsableAnswer
from ...memory.budgets import truncate
from ...memory.json_repair import read_json
from ...memory.metered_model import Call
from .metrics import LETTERS
from .values import Sample

HISTORY_TOKENS = 3000
"""Of a conversation that a judge reads, the newest; with the rest it fits the 4,096 tokens of the paper's judge."""

VERDICT_TOKENS = 256

_RATING = """\
You are an impartial judge. Below are the part of a conversation that a question is about, the question of the user,
and the answer of a bot. Judge how faithful the answer is to the conversation and how well it serves the user.
Write one or two sentences of reasons. Then give a whole number from 1 to 100 in this form: [[rating]], for example
[[50]].

Conversation:
{history}

Question of the user: {question}

Answer of the bot: {answer}"""

_SCORE = """\
Score an answer to a question from 0 to 100 against the reference answer. Look at whether it is complete, whether it
agrees with the reference, and whether it is fluent and correct English.

Question: {question}
Reference answer: {gold}
Answer to score: {answer}

Answer with one JSON object and nothing else: {{"score": number from 0 to 100}}"""

_CHOICE = """\
Somebody answered a multiple-choice question in words. Read the first and the last sentence of the answer and decide
which one option it chooses. Say true only when it chooses exactly one option and that is {gold}.

Question: {question}
{options}

Answer: {answer}

Answer with one JSON object and nothing else: {{"right": true}} or {{"right": false}}"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A share between 0 and 1, or None for an unreadable verdict."""

    kind: str  # "rating", "score", "choice"
    value: float | None


def judge(metered: MeteredModel, sample: Sample, answer: str) -> Verdict:
    """The verdict that fits the sample: of a choice, against a gold answer, or of a dialogue. Raises ModelError.

    A rating reads the turns of the topics that the question is about.
    """
    asked = {"question": sample.question.text, "answer": answer}
    if choices := sample.question.choices:
        letters = LETTERS[: len(choices)]
        options = "\n".join(f"{letter}. {option}" for letter, option in zip(letters, choices, strict=True))
        prompt = _CHOICE.format(**asked, options=options, gold=letters[sample.details["gold"]])
        return _verdict(metered, "choice", prompt, _truth)
    if sample.answers:
        return _verdict(metered, "score", _SCORE.format(**asked, gold=sample.answers[0]), _score)
    about = {fact.turn for fact in sample.facts}
    turns = "\n".join(item.text for item in sample.items if item.number in about)
    history = truncate(turns, HISTORY_TOKENS, metered.count_tokens, "right")
    return _verdict(metered, "rating", _RATING.format(**asked, history=history), _rating)


def _verdict(metered: MeteredModel, kind: str, prompt: str, read: Callable[[str], float]) -> Verdict:
    try:
        return Verdict(kind, metered.ask_parsed(Call.of(kind, prompt, max_new_tokens=VERDICT_TOKENS), read))
    except UnparsableAnswer:
        return Verdict(kind, None)


def _rating(text: str) -> float:
    """The last number in double brackets: reasons may quote others before."""
    found = re.findall(r"\[\[\s*(\d+)\s*\]\]", text)
    if not found:
        raise ValueError("no rating in double brackets")
    return _share(int(found[-1]), 1)


def _score(text: str) -> float:
    return _share(_field(text, "score"), 0)


def _truth(text: str) -> float:
    value = _field(text, "right")
    if not isinstance(value, bool):
        raise ValueError("true or false was expected")
    return float(value)


def _share(value: object, least: int) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= 100:
        raise ValueError(f"a number from {least} to 100 was expected")
    return value / 100


def _field(text: str, name: str) -> object:
    value = read_json(text)
    if not isinstance(value, dict) or name not in value:
        raise ValueError(f"no field {name!r}")
    found = value[name]
    return json.loads(found) if isinstance(found, str) else found
