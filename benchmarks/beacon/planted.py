"""Facts planted in real long texts by rule, with questions, the sentences that lead to the answer, and answers.

A person has two facts in a text, each stated once in a comment line of its own. A direct question names the person; a
bridged one names the person's role, so that a second sentence says who that is. Training and evaluation share no
relation, sentence, name, role, project or value, see `TRAINING` and `EVALUATION`. Everything follows from the seed.

Owns the sentences, the names and the places of facts. Knows no model and no tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Literal

from ...errors import InvalidArgument
from ...llm.training.sources import Document
from ...memory.memorag.sft_data import Sample

ValueKind = Literal["number", "place", "pair", "town"]


@dataclass(frozen=True, slots=True)
class Relation:
    """`{name}` is a person or, in a bridged question, the role of one."""

    value: ValueKind
    statements: tuple[str, ...]  # {name} {value}
    questions: tuple[str, ...]  # {name}
    lead: str  # {name}; the beginning of an answer, before its value


@dataclass(frozen=True, slots=True)
class Lexicon:
    """The language of planted facts: all that training and evaluation may not share."""

    relations: tuple[Relation, ...]
    bridges: tuple[str, ...]  # {name} {role}; statements of who has a role
    roles: tuple[str, ...]
    projects: tuple[str, ...]
    first_names: tuple[str, ...]
    last_names: tuple[str, ...]
    towns: tuple[str, ...]
    places: tuple[str, ...]
    pairs: tuple[str, ...]
    numbers: tuple[str, ...]

    def value(self, kind: ValueKind, draw: Random) -> str:
        of = {"number": self.numbers, "place": self.places, "pair": self.pairs, "town": self.towns}
        return draw.choice(of[kind])


@dataclass(frozen=True, slots=True)
class PlantedQuestion:
    question: str
    lead: str  # how the answer begins
    value: str  # the rest of it
    clues: tuple[str, ...]  # the planted sentences that lead to the value; the last one states it
    bridged: bool


@dataclass(frozen=True, slots=True)
class PlantedText:
    text: str
    questions: tuple[PlantedQuestion, ...]


@dataclass(frozen=True, slots=True)
class Density:
    """Facts in a text: two for each person; one of a person with a role is asked by it."""

    n_people: int = 8
    n_roles: int = 4


def plant(draw: Random, host: str, lexicon: Lexicon, density: Density = Density()) -> PlantedText:
    """The host text with facts between its lines, at random, and its questions in random order.

    Raises InvalidArgument for more roles than people.
    """
    if density.n_roles > density.n_people:
        raise InvalidArgument(f"{density.n_roles} roles need as many people, not {density.n_people}. Ask for fewer.")
    names = _names(draw, lexicon, density.n_people)
    titles = [f"the {role} of {project}" for role, project in product(lexicon.roles, lexicon.projects)]
    titles = draw.sample(titles, density.n_roles)
    sentences, questions = list[str](), list[PlantedQuestion]()
    for number, name in enumerate(names):
        title = titles[number] if number < density.n_roles else ""
        bridge = draw.choice(lexicon.bridges).format(name=name, role=title)
        sentences += [bridge] if title else []
        for fact, relation in enumerate(draw.sample(lexicon.relations, 2)):
            value = lexicon.value(relation.value, draw)
            stated = draw.choice(relation.statements).format(name=name, value=value)
            is_bridged = bool(title) and not fact
            asked_of = title if is_bridged else name
            questions.append(
                PlantedQuestion(
                    question=_capitalised(draw.choice(relation.questions).format(name=asked_of)),
                    lead=_capitalised(relation.lead.format(name=asked_of)),
                    value=value,
                    clues=(bridge, stated) if is_bridged else (stated,),
                    bridged=is_bridged,
                )
            )
            sentences.append(stated)
    draw.shuffle(questions)
    return PlantedText(_with_lines(draw, host, sentences), tuple(questions))


def samples_of(planted: PlantedText) -> Iterator[Sample]:
    """Training samples in the form of `sft_data`, all with the same text."""
    for asked in planted.questions:
        yield Sample(planted.text, asked.question, f"{asked.lead} {asked.value}.", asked.clues)


def host_texts(documents: Sequence[Document], draw: Random) -> Iterator[Sequence[Document]]:
    """Endless: the documents from a random one on, by package and path, so that neighbours are read together."""
    ordered = sorted(documents, key=lambda document: (document.package, document.path))
    while True:
        start = draw.randrange(len(ordered))
        yield [*ordered[start:], *ordered[:start]]


def joined(documents: Sequence[Document], n_characters: int) -> str:
    """The first characters of the documents, each after its path, up to a whole line."""
    parts, n_left = list[str](), n_characters
    for document in documents:
        part = f"# {document.package}/{document.path}\n{document.text.rstrip()}\n\n"
        parts.append(part[:n_left])
        n_left -= len(part)
        if n_left <= 0:
            break
    return "".join(parts).rpartition("\n")[0] + "\n"


def _with_lines(draw: Random, host: str, sentences: Sequence[str]) -> str:
    lines = host.splitlines()
    draw_places = sorted(draw.randint(0, len(lines)) for _ in sentences)
    mixed = draw.sample(sentences, len(sentences))
    for place, sentence in reversed(list(zip(draw_places, mixed, strict=True))):
        lines.insert(place, f"# {sentence}")
    return "\n".join(lines) + "\n"


def _names(draw: Random, lexicon: Lexicon, n: int) -> list[str]:
    """Distinct in both parts."""
    firsts, lasts = draw.sample(lexicon.first_names, n), draw.sample(lexicon.last_names, n)
    return [f"{first} {last}" for first, last in zip(firsts, lasts, strict=True)]


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def _mixed(*parts: str, between: str = "") -> tuple[str, ...]:
    """Every word of the first list with every word of the others."""
    return tuple(between.join(found) for found in product(*map(_words, parts)))


def _numbers(for_evaluation: bool) -> tuple[str, ...]:
    """Numbers of four digits; those of the evaluation have a sum of digits that 5 divides."""
    return tuple(str(n) for n in range(1000, 10_000) if (sum(map(int, str(n))) % 5 == 0) == for_evaluation)


TRAINING = Lexicon(
    relations=(
        Relation(
            "number",
            (
                "{name}'s access code is {value}.",
                "The access code of {name} is {value}.",
                "{name} enters with {value}.",
            ),
            ("What is the access code of {name}?", "Which code does {name} enter with?"),
            "the access code of {name} is",
        ),
        Relation(
            "place",
            ("{name} keeps the spare key in the {value}.", "The spare key of {name} is in the {value}."),
            ("Where does {name} keep the spare key?", "In which place is the spare key of {name}?"),
            "{name} keeps the spare key in the",
        ),
        Relation(
            "pair",
            ("{name} works under the code name {value}.", "The code name of {name} is {value}."),
            ("What is the code name of {name}?", "Under which code name does {name} work?"),
            "the code name of {name} is",
        ),
        Relation(
            "number",
            ("{name} was paid {value} crowns for the report.", "For the report {name} got {value} crowns."),
            ("How many crowns was {name} paid for the report?", "What did {name} get for the report?"),
            "for the report {name} was paid",
        ),
        Relation(
            "town",
            ("{name} grew up in {value}.", "The childhood of {name} was spent in {value}."),
            ("Where did {name} grow up?", "In which town did {name} grow up?"),
            "{name} grew up in",
        ),
        Relation(
            "pair",
            ("The boat of {name} is called {value}.", "{name} sails a boat with the name {value}."),
            ("What is the boat of {name} called?", "Which name has the boat of {name}?"),
            "the boat of {name} is called",
        ),
        Relation(
            "town",
            ("{name} took the night train to {value}.", "The night train brought {name} to {value}."),
            ("Where did {name} go by night train?", "To which town did the night train bring {name}?"),
            "the night train brought {name} to",
        ),
        Relation(
            "place",
            ("{name} meets the others at the {value}.", "The meetings of {name} are held at the {value}."),
            ("Where does {name} meet the others?", "Where are the meetings of {name} held?"),
            "{name} meets the others at the",
        ),
    ),
    bridges=("{name} is {role}.", "The work of {role} is done by {name}.", "{name} was hired as {role}."),
    roles=_words("surveyor cook archivist locksmith pilot tailor"),
    projects=tuple(
        f"the {name} {what}"
        for name, what in product(_words("Halden Norwick Quillon Tarrow Ostrel Veldt"), _words("bridge museum canal"))
    ),
    first_names=_mixed("Al Be Cor Da El Fi Gil Ha Ir Jo", "ba dro fin ka lan mo na ra sol ven"),
    last_names=_mixed("Ash Brad Cald Dun Esk Farn Gor Hal Kings Lang", "by combe ford ham ley more ridge stead"),
    towns=_mixed("Ald Bran Crow Dray Elm Fenn Grim Hart Ivy Kel", "bourne cliff dale gate holt mere port wick"),
    places=_mixed(
        "green copper narrow upper quiet round dusty painted",
        "cellar barn chapel workshop attic stable library kitchen",
        between=" ",
    ),
    pairs=_mixed(
        "amber silver crimson hollow frozen golden rapid silent",
        "falcon otter badger heron lynx beetle salmon raven",
        between=" ",
    ),
    numbers=_numbers(for_evaluation=False),
)

EVALUATION = Lexicon(
    relations=(
        Relation(
            "number",
            ("{name} rents locker {value}.", "Locker {value} belongs to {name}."),
            ("Which locker does {name} rent?", "What is the number of the locker of {name}?"),
            "{name} rents locker",
        ),
        Relation(
            "place",
            ("{name} left the ledger in the {value}.", "The ledger that {name} wrote lies in the {value}."),
            ("Where did {name} leave the ledger?", "Where is the ledger that {name} wrote?"),
            "{name} left the ledger in the",
        ),
        Relation(
            "pair",
            ("{name} answers the radio as {value}.", "The call sign of {name} is {value}."),
            ("What is the call sign of {name}?", "How does {name} answer the radio?"),
            "the call sign of {name} is",
        ),
        Relation(
            "town",
            ("{name} sends all parcels to {value}.", "All parcels from {name} go to {value}."),
            ("Where does {name} send all parcels?", "To which town do the parcels from {name} go?"),
            "{name} sends all parcels to",
        ),
    ),
    bridges=("{name} serves as {role}.", "For years {name} has been {role}."),
    roles=_words("treasurer gardener translator blacksmith"),
    projects=tuple(
        f"the {name} {what}" for name, what in product(_words("Zorn Wexley Ubrin Pallas"), _words("theatre harbour"))
    ),
    first_names=_mixed("Ma Ne Os Pe Ru Sa Ti Ul Vi Ze", "bel chi dor gus lia mar pik rin tes vo"),
    last_names=_mixed("Mar Nor Oak Pem Quar Red Sax Thorn West Yar", "borough den field hurst low ton well worth"),
    towns=_mixed("Lav Mid Nett Oster Pol Rush Stan Tor Ulls Wyn", "beck church fleet garth minster pool stone thorpe"),
    places=_mixed(
        "yellow iron crooked lower noisy square damp tiled",
        "pantry shed tower garage laundry greenhouse office tunnel",
        between=" ",
    ),
    pairs=_mixed(
        "violet bronze scarlet broken burning wooden gentle restless",
        "tiger turtle weasel pelican wolf cricket herring magpie",
        between=" ",
    ),
    numbers=_numbers(for_evaluation=True),
)
