"""Seeded filler prose between facts, from templates and lists of words.

Written for this repository, so that no text of others is distributed. It is easier to tell from facts than a novel; to
compensate, a few sentences name the people and rooms of the stories without a fact.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterator
from itertools import islice

NEAR_MISSES = 0.03
"""The share of sentences with the stories' own names."""

_WORDS = {
    "who": "the miller|the widow|a sailor|old Tobias|the schoolmaster|Agnes|the bishop|two soldiers|the clerk|"
    "Ferdinand|a stranger|the doctor|my uncle|the gardener's wife|Lydia|the pilot|the judge|a beggar|the organist",
    "whom": "the tailor|her brother|a neighbour|the captain|Clara|the innkeeper|his cousin|the notary|the smith",
    "place": "the harbour|the mill|the valley|the old bridge|the market|a village by the sea|the quarry|the orchard|"
    "the monastery|the crossroads|the northern road|the theatre|the library|the vineyard|the lighthouse|the forest",
    "thing": "a letter|a lantern|the account book|a barrel of salt|the silver watch|a broken oar|the map|a violin|"
    "a bundle of linen|the key of the tower|an old coin|a basket of plums|the portrait|a ladder|a sealed box",
    "did": "remembered|described|mistrusted|avoided|admired|pitied|questioned|greeted|followed|envied|misunderstood",
    "handled": "hid|sold|mended|lost|found|examined|wrapped|counted|copied|pawned|painted|inherited|hid away",
    "how": "without a word|with great care|in spite of the cold|for the third time|to everyone's surprise|"
    "as if by chance|before the bells rang|with trembling hands|against all advice|out of habit|with a certain pride",
    "when": "in the spring of that year|on the eve of the feast|long before the war|after the harvest|at dawn|"
    "when the river froze|one evening in November|during the great storm|a week later|towards midnight",
    "weather": "rain|snow|a thin fog|thunder|a warm wind|hail|moonlight|dust|the smell of tar|the noise of carts",
    "quality": "narrow|forgotten|splendid|crooked|silent|crowded|damp|famous|half ruined|whitewashed|haunted|modest",
    "idea": "patience|ambition|the price of wool|the new law|honour|the comet|bad harvests|the art of baking|debts|"
    "the migration of geese|loneliness|the history of the guild|good manners|the tides|forgiveness",
    "thought": "believed|doubted|maintained|had been told|suspected|wrote in a diary|liked to say|dreamt",
    "person": "John|Mary|Sandra|Daniel|Fred|Bill|Jeff",
    "room": "bathroom|bedroom|garden|hallway|kitchen|office",
    "object": "apple|football|milk",
}
_FORMS = (
    "$when $who $handled $thing $how.",
    "$who $did $whom, and nobody in $place knew why.",
    "There was $weather over $place, and $place2 looked $quality.",
    "$who $thought that $idea mattered more than $idea2.",
    "“You will never see $place again,” said $who to $whom $how.",
    "$when, $who came to speak of $idea with $whom.",
    "The way to $place was $quality, for $weather had spoiled it $when.",
    "Of $idea $who $thought nothing, yet $whom $did every word of it.",
    "$who carried $thing to $place and left it with $whom.",
    "Nothing in $place was as $quality as $thing that $who $handled $when.",
    "If $whom had known of $thing, $who would have stayed in $place.",
    "$who, who $did $whom $when, now sat in $place and spoke of $idea.",
    "It is said that $who $handled $thing in $place $how.",
    "$weather came down upon $place while $who and $whom spoke of $idea and of $thing.",
)
_NEAR_FORMS = (
    "$who $did a certain $person, a man of $quality tastes.",
    "Every $room in that $quality house reminded $who of $idea.",
    "$person is a common name in $place, $who $thought.",
    "$who compared $idea to the taste of an $object.",
    "A $room, $who $thought, should be $quality, as $person liked it.",
)


def sentences(seed: int) -> Iterator[str]:
    """Without end."""
    draw = random.Random(f"prose {seed}")
    while True:
        forms = _NEAR_FORMS if draw.random() < NEAR_MISSES else _FORMS
        text = string.Template(draw.choice(forms)).substitute(_filled(draw))
        yield text[0].upper() + text[1:]


def passage(seed: int, n_sentences: int) -> str:
    return " ".join(islice(sentences(seed), n_sentences))


def _filled(draw: random.Random) -> dict[str, str]:
    """A word for each blank; the second of a kind differs from the first."""
    filled: dict[str, str] = {}
    for blank, words in _WORDS.items():
        first, second = draw.sample(words.split("|"), 2)
        filled |= {blank: first, f"{blank}2": second}
    return filled
