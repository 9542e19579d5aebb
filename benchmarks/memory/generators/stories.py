"""BABILong-style samples: the facts of a small story, in order, at random places of much longer prose.

Owns the assembly (papers' spec, section 7) and the sizes. Tokens are counted as four bytes each, so that no tokenizer
is needed: "128k" is half a megabyte.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from ....memory import Item, Question
from ....memory.strategy import estimate_tokens
from ..metrics import TASK_LABELS
from ..values import Fact, Sample
from .prose import sentences
from .story_tasks import TASKS, Puzzle

LENGTHS = {"0k": 0, "4k": 4000, "8k": 8000, "16k": 16000, "32k": 32000, "64k": 64000, "128k": 128000}
FOR_THE_PROMPT = 300
"""Tokens of a length that are left for the question and its instructions."""

BYTES_A_TOKEN = 4

N_BACKGROUND = 8000
"""Different sentences that all stories share, so that they are embedded once; more than 128k tokens."""


def stories(task: str, length: str, n: int, seed: int = 0) -> Iterator[Sample]:
    """`n` samples; stories whose facts are more than an eighth of the text are drawn again."""
    draw, budget = random.Random(f"stories {task} {length} {seed}"), max(0, LENGTHS[length] - FOR_THE_PROMPT)
    number = 0
    while number < n:
        puzzle = TASKS[task](draw)
        if budget and estimate_tokens(" ".join(puzzle.facts)) > budget / 8:
            continue
        yield _sample(draw, puzzle, task, f"{task}/{length}/{number}", budget)
        number += 1


def _sample(draw: random.Random, puzzle: Puzzle, task: str, name: str, budget: int) -> Sample:
    pieces, places = _mixed(draw, puzzle.facts, budget)
    starts, start = list[int](), 0
    for piece in pieces:
        starts.append(start)
        start += len(piece) + 1
    source = f"story {name}"
    facts = tuple(
        Fact(source, starts[places[number]], starts[places[number]] + len(puzzle.facts[number]))
        for number in puzzle.supporting
    )
    return Sample(
        name,
        f"babilong-style {task}",
        (Item(source, " ".join(pieces)),),
        Question(puzzle.question, task="short"),
        (puzzle.answer,),
        facts,
        "babilong",
        {"labels": TASK_LABELS[task]},
    )


def _mixed(draw: random.Random, facts: Sequence[str], budget: int) -> tuple[list[str], list[int]]:
    """All sentences of the text in order, and where the facts are among them."""
    noise, at = list[str](), draw.randrange(N_BACKGROUND)
    left = BYTES_A_TOKEN * budget - sum(len(fact) + 1 for fact in facts)  # the prose is ASCII but for its quotes
    while left > 1:
        sentence = _background()[at % N_BACKGROUND][: left - 1]
        noise.append(sentence)
        left -= len(sentence) + 1
        at += 1
    before = sorted(draw.randint(0, len(noise)) for _ in facts)  # how many sentences of noise come before each
    pieces, places, upto = list[str](), list[int](), 0
    for fact, n_before in zip(facts, before, strict=True):
        pieces += noise[upto:n_before]
        upto = n_before
        places.append(len(pieces))
        pieces.append(fact)
    return [*pieces, *noise[upto:]], places


@lru_cache(maxsize=1)
def _background() -> tuple[str, ...]:
    return tuple(islice(sentences(0), N_BACKGROUND))
