"""A synthetic book: chapters of prose about people of a town, with facts about them far from each other, and questions.

Owns the people and the facts. One kind of question needs one fact, another needs two from different chapters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ....memory import Item, Question
from ..values import Fact, Sample
from .prose import passage

SENTENCES_BETWEEN = 12
"""Of prose, before and after each fact: half a page."""

_FIRST = ("Alba", "Corin", "Delphine", "Emeric", "Fenna", "Gideon", "Hester", "Ilario", "Jorun", "Kasimir", "Leonie")
_LAST = ("Brandt", "Castell", "Dorn", "Ekholm", "Ferrand", "Galen", "Hollis", "Imrie", "Jasper", "Kestrel", "Lund")
_TOWNS = ("Ardvale", "Bracken Hill", "Corbury", "Dunmere", "Elsworth", "Farrow", "Greyhaven", "Holmsted", "Inchford")
_TRADES = ("glassblower", "cartographer", "botanist", "printer", "clockmaker", "surgeon", "ship owner", "engraver")
_BUILT = ("observatory", "paper mill", "music school", "canal", "botanical garden", "clock tower", "hospital", "press")


def book(n_people: int = 8, seed: int = 0) -> Iterator[Sample]:
    """Three questions for each person, all on one text of about 1,700 tokens a person."""
    if n_people > len(_BUILT):
        raise ValueError(f"A book has at most {len(_BUILT)} people.")
    draw = random.Random(f"book {seed}")
    names = [f"{a} {b}" for a, b in zip(draw.sample(_FIRST, n_people), draw.sample(_LAST, n_people), strict=True)]
    towns = draw.sample(_TOWNS, n_people)
    trades, built = draw.sample(_TRADES, n_people), draw.sample(_BUILT, n_people)
    statements = [f"{name} was born in {town}." for name, town in zip(names, towns, strict=True)]
    statements += [f"By trade {name} was a {trade}." for name, trade in zip(names, trades, strict=True)]
    statements += [f"It was {name} who founded the {what}." for name, what in zip(names, built, strict=True)]
    text, spans = _written(draw, statements, n_people)
    source = f"book {seed}"
    item = Item(source, text)
    for person, name in enumerate(names):
        born, trade, founded = (Fact(source, *spans[person + offset * n_people]) for offset in range(3))
        asked = (
            (f"Where was {name} born?", towns[person], (born,)),
            (f"Where was the person born who founded the {built[person]}?", towns[person], (born, founded)),
            (f"What was the trade of the founder of the {built[person]}?", trades[person], (trade, founded)),
        )
        for number, (question, answer, facts) in enumerate(asked):
            yield Sample(
                f"book-{seed}/{person}/{number}",
                "synthetic book",
                (item,),
                Question(question, task="short"),
                (answer,),
                facts,
            )


def _written(draw: random.Random, statements: list[str], per_chapter: int) -> tuple[str, list[tuple[int, int]]]:
    """The text and the span of each fact. Facts of all kinds are mixed over the chapters."""
    order = draw.sample(range(len(statements)), len(statements))
    text, spans = "", [(0, 0)] * len(statements)
    for place, number in enumerate(order):
        if place % per_chapter == 0:
            text += f"{'' if not text else chr(10) * 2}CHAPTER {place // per_chapter + 1}\n\n"
        text += passage(draw.randrange(1 << 30), SENTENCES_BETWEEN) + " "
        spans[number] = len(text), len(text) + len(statements[number])
        text += statements[number] + " " + passage(draw.randrange(1 << 30), SENTENCES_BETWEEN) + "\n\n"
    return text, spans
