"""Five question tasks in the manner of bAbI: the facts of a story, a question and the supporting facts.

Owns the state of the world: the rooms of people, the holders of objects. Knows no noise and no length. Made by the
rules of papers' spec section 7, not a copy of the data of bAbI: "BABILong-style".
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from ..metrics import ROOMS

ACTORS = ("John", "Mary", "Sandra", "Daniel")
GIVERS = ("Mary", "Fred", "Bill", "Jeff")
OBJECTS = ("apple", "football", "milk")

_MOVES = ("moved", "went", "journeyed", "travelled", "went back")
_GETS = ("picked up the {} there", "got the {} there", "grabbed the {} there", "took the {} there")
_DROPS = ("dropped the {}", "put down the {}", "discarded the {}", "left the {}")
_GIVES = ("gave", "handed", "passed")
_SIDES = {"north": "south", "south": "north", "east": "west", "west": "east"}

MOST_AFTER = 5
"""Irrelevant facts behind the one that a question of qa5 is about."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    """`supporting` are the numbers of the needed facts, in order."""

    facts: tuple[str, ...]
    question: str
    answer: str
    supporting: tuple[int, ...]


@dataclass
class _World:
    """The state after the facts so far. `visits` of an object are its rooms, each with the facts that establish it."""

    draw: random.Random
    actors: tuple[str, ...] = ACTORS
    facts: list[str] = field(default_factory=list)
    rooms: dict[str, tuple[str, int]] = field(default_factory=dict)  # of an actor, and the fact
    holders: dict[str, tuple[str, int]] = field(default_factory=dict)  # of an object
    dropped: dict[str, tuple[str, int, int]] = field(default_factory=dict)  # its room, the drop, the move before
    visits: dict[str, list[tuple[str, tuple[int, ...]]]] = field(default_factory=dict)

    def say(self, fact: str) -> int:
        self.facts.append(fact)
        return len(self.facts) - 1

    def move(self) -> None:
        actor = self.draw.choice(self.actors)
        was = self.rooms.get(actor, ("", 0))[0]
        room = self.draw.choice([room for room in ROOMS if room != was])
        number = self.say(f"{actor} {self.draw.choice(_MOVES)} to the {room}.")
        self.rooms[actor] = room, number
        for thing, (holder, got) in self.holders.items():
            if holder == actor:
                self.visits[thing].append((room, (got, number)))

    def get(self) -> bool:
        """False when no actor can take an object."""
        free = [thing for thing in OBJECTS if thing not in self.holders]
        pairs = [
            (actor, thing)
            for actor, (room, _) in self.rooms.items()
            for thing in free
            if thing not in self.dropped or self.dropped[thing][0] == room
        ]
        if not pairs:
            return False
        actor, thing = self.draw.choice(pairs)
        number = self.say(f"{actor} {self.draw.choice(_GETS).format(thing)}.")
        room, moved = self.rooms[actor]
        self.holders[thing] = actor, number
        seen = self.visits.setdefault(thing, [])
        if not seen or seen[-1][0] != room:
            seen.append((room, (moved, number)))
        self.dropped.pop(thing, None)
        return True

    def drop(self) -> bool:
        """False when no actor holds an object."""
        if not self.holders:
            return False
        thing = self.draw.choice(sorted(self.holders))
        actor, _ = self.holders.pop(thing)
        room, moved = self.rooms[actor]
        self.dropped[thing] = room, self.say(f"{actor} {self.draw.choice(_DROPS).format(thing)}."), moved
        return True

    def go_on(self) -> None:
        """Half of the facts are moves."""
        happening = self.draw.random()
        done = (happening < 0.3 and self.get()) or (0.3 <= happening < 0.5 and self.drop())
        if not done:
            self.move()

    def puzzle(self, question: str, answer: str, supporting: tuple[int, ...]) -> Puzzle:
        return Puzzle(tuple(self.facts), question, answer, tuple(sorted(set(supporting))))


def _person_location(draw: random.Random) -> Puzzle:
    world = _World(draw)
    for _ in range(draw.randint(2, 12)):
        world.move()
    actor = draw.choice(sorted(world.rooms))
    room, fact = world.rooms[actor]
    return world.puzzle(f"Where is {actor}?", room, (fact,))


def _object_location(draw: random.Random) -> Puzzle:
    world = _World(draw)
    n_facts = draw.randint(4, 24)
    while len(world.facts) < n_facts or not world.visits:
        world.go_on()
    thing = draw.choice(sorted(world.visits))
    if thing in world.holders:
        actor, fact = world.holders[thing]
        room, moved = world.rooms[actor]
    else:
        room, fact, moved = world.dropped[thing]
    return world.puzzle(f"Where is the {thing}?", room, (moved, fact))


def _previous_location(draw: random.Random) -> Puzzle:
    world = _World(draw)
    n_facts = draw.randint(10, 50)
    while len(world.facts) < n_facts or not _earlier_visits(world):
        world.go_on()
    thing, place = draw.choice(_earlier_visits(world))
    (before, first), (room, second) = world.visits[thing][place - 1 : place + 1]
    return world.puzzle(f"Where was the {thing} before the {room}?", before, (*first, *second))


def _earlier_visits(world: _World) -> list[tuple[str, int]]:
    """Objects with the number of a visit that has one before it, in a room that they were in once."""
    return [
        (thing, place)
        for thing, seen in sorted(world.visits.items())
        for place, (room, _) in enumerate(seen)
        if place and [name for name, _ in seen].count(room) == 1
    ]


def _spatial_relation(draw: random.Random) -> Puzzle:
    world = _World(draw)
    first, middle, last = draw.sample(ROOMS, 3)
    side = draw.choice(sorted(_SIDES))
    # `first` lies on that side of `middle`, and `middle` of `last`; either fact may be told the other way round.
    pairs = [(first, middle), (middle, last)]
    draw.shuffle(pairs)
    told = [draw.random() < 0.5 for _ in pairs]
    for (one, other), turned in zip(pairs, told, strict=True):
        here, there, where = (other, one, _SIDES[side]) if turned else (one, other, side)
        world.say(f"The {here} is {where} of the {there}.")
    number = draw.randrange(2)
    one, other = pairs[number]
    if draw.random() < 0.5:
        return world.puzzle(f"What is {side} of the {other}?", one, (number,))
    return world.puzzle(f"What is the {one} {side} of?", other, (number,))


def _transfer(draw: random.Random) -> Puzzle:
    world = _World(draw, GIVERS)
    for _ in range(draw.randint(1, 8)):
        world.go_on()
    giver, receiver = draw.sample(GIVERS, 2)
    thing = draw.choice(OBJECTS)
    number = world.say(f"{giver} {draw.choice(_GIVES)} the {thing} to {receiver}.")
    for _ in range(draw.randint(0, MOST_AFTER)):
        world.move()
    question, answer = draw.choice(
        [
            (f"Who gave the {thing} to {receiver}?", giver),
            (f"Who did {giver} give the {thing} to?", receiver),
            (f"What did {giver} give to {receiver}?", thing),
            (f"Who received the {thing}?", receiver),
            (f"Who gave the {thing}?", giver),
        ]
    )
    return world.puzzle(question, answer, (number,))


TASKS: dict[str, Callable[[random.Random], Puzzle]] = {
    "qa1": _person_location,
    "qa2": _object_location,
    "qa3": _previous_location,
    "qa4": _spatial_relation,
    "qa5": _transfer,
}
