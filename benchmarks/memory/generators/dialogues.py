"""MTBench+-style dialogues: blocks of turns on several topics, and a last question about one or two of them.

Owns the assembly and a small set of topics, for use without seed questions. Topics have the form of MemoChat's seed
questions: two mandatory turns, up to two optional ones, a question about earlier turns (retrospection) and a follow-up
(continuation).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..records import Record, read_records

KINDS = ("retrospection", "continuation", "conjunction")


@dataclass(frozen=True, slots=True)
class Topic:
    """`turns` are pairs of a user's text and a bot's answer, which may be empty."""

    name: str  # "stem-143"
    turns: tuple[tuple[str, str], ...]
    n_needed: int  # number of mandatory turns, the first ones
    retrospection: str
    continuation: str


def dialogues(topics: Sequence[Topic], n: int, seed: int = 0) -> Iterator[dict[str, object]]:
    """`n` records in MTBench+'s form, the three kinds of last question in turn.

    Three to six topics, a block of turns each; 12 to 17 turns with the question, as in MTBench+, if there are enough
    topics. The last question is about any of them.
    """
    draw = random.Random(f"dialogues {seed}")
    for number in range(n):
        kind = KINDS[number % len(KINDS)]
        blocks = _blocks(draw, topics)
        turns = [
            part
            for topic, n_turns in blocks
            for place, (user, bot) in enumerate(topic.turns[:n_turns])
            for part in _round(user, bot, f"{topic.name}-{place}")
        ]
        about = draw.sample([topic for topic, _ in blocks], min(len(blocks), 2 if kind == "conjunction" else 1))
        question = " ".join(
            [topic.continuation if kind == "continuation" else topic.retrospection for topic in about[:1]]
            + [f"And then: {topic.continuation}" for topic in about[1:]]
        )
        turns += _round(question, "", f"{'-'.join(topic.name for topic in about)}-Q")
        yield {"id": f"generated-{number}", "type": kind, "conversations": turns}


def read_topics(path: Path) -> list[Topic]:
    """Seed questions in MemoChat's form (`mandatory_turns`, `optional_turns`, `retro_q`, `conti_q`). Raises BadData."""
    return [_topic(record) for record in read_records(path)]


def _blocks(draw: random.Random, topics: Sequence[Topic]) -> list[tuple[Topic, int]]:
    """Topics and the number of their turns; drawn again while the total is out of range."""
    for _ in range(100):
        chosen = draw.sample(topics, min(len(topics), draw.randint(3, 6)))
        blocks = [(topic, draw.randint(topic.n_needed, len(topic.turns))) for topic in chosen]
        if 11 <= sum(n_turns for _, n_turns in blocks) <= 16:
            break
    return blocks


def _topic(record: Record) -> Topic:
    needed = record.texts("mandatory_turns")
    more = record.texts("optional_turns") if record.fields.get("optional_turns") else ()
    return Topic(
        f"{record.text('category')}-{record.text('question_id')}",
        tuple((text, "") for text in (*needed, *more)),
        len(needed),
        record.texts("retro_q")[0],
        record.texts("conti_q")[0],
    )


def _round(user: str, bot: str, info: str) -> list[dict[str, str]]:
    return [{"from": "human", "value": user, "turn-info": info}, {"from": "chatbot", "value": bot}]


# A topic begins with "#", its retrospection and its continuation; below, what the user and the bot say in each turn.
_OWN = """
# How long should the dough rest, as you told me? | What else could I bake with the same starter?
How do I bake a sourdough loaf? | Mix starter, flour, water and salt, let it rest for nine hours, bake hot.
My crust is too soft. Why? | The oven lost its steam too late; leave the lid off for the last 20 minutes.
Can I use rye flour? | Yes, up to a third; it needs more water.
# Which pass did you say is closed in winter? | Plan one more day for the cyclists.
Plan a bicycle tour across the Alps in five days. | Start in Innsbruck, cross the Brenner, end in Verona.
What about the Stelvio? | It is closed from November to May; take the Reschen instead.
How much should we carry? | No more than eight kilograms each, in two bags.
# What was the mistake in my function? | Write a test for the function as it is now.
My function returns the wrong median for even lists. | You take one middle element; average the two.
Now it fails for an empty list. | Raise a ValueError there, as statistics.median does.
Is sorting too slow? | For a million numbers it takes half a second; a quickselect is faster.
Show me quickselect. | Pick a pivot, split, and go on in the part that holds the middle.
# Who betrayed whom in the play that I outlined? | Write the first lines of the third act.
Outline a play about two sisters and a mine. | Ruth inherits the mine; Edda sells its map to a rival.
Make the ending happier. | The mine floods, the rival flees, and the sisters open a bath house.
# What did the rent come to after the change? | What would I save by moving to a smaller flat?
I earn 2400 a month. Make a budget. | 900 for rent, 500 for food, 300 to save, the rest for what comes up.
The rent goes up by 8 percent. | It is 972 then; take the 72 from what comes up.
I want to save for a piano of 3600. | With 300 a month that takes a year.
# Why does the lake freeze from above, in your words? | How does that help the fish in spring?
Why do lakes freeze from the top? | Water is densest at four degrees, so colder water stays above.
Would salt change that? | Yes, salty water gets denser down to its freezing point and sinks.
How thick must ice be to walk on? | Ten centimetres of clear ice carry a person.
# Which herb did you say the balcony is too dark for? | What can I grow there in autumn?
What grows on a balcony to the north? | Mint, parsley and ferns; basil needs more sun.
Snails eat the mint. | Put copper tape around the pots and water in the morning.
# What was the cousin's job before the letter came? | Write his answer to that letter.
Write a letter from 1890 to a cousin in Boston. | Dear Henry, since you left the railway office, we...
Let her ask for money. | She asks for forty dollars, for the roof, before the rain comes.
Shorten it to five lines. | Five lines remain; the roof and the forty dollars stay.
"""


def _own_topics() -> Iterator[Topic]:
    for number, block in enumerate(_OWN.split("\n# ")[1:], 1):
        (retrospection, continuation), *turns = (line.split(" | ") for line in block.strip().split("\n"))
        yield Topic(f"own-{number}", tuple((user, bot) for user, bot in turns), 2, retrospection, continuation)


OWN_TOPICS = tuple(_own_topics())
