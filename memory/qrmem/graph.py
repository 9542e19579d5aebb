"""The memory graph of QRMeM: entities, their segments, and their relations.

Owns the graph, its JSON form, and lookup by name. The graph only guides retrieval: answers come from segments (papers'
spec 3.1). Knows no model, and segments only by number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Entity:
    """The triple of the paper: an entity, its mentions, and the numbers of its segments."""

    name: str
    mentions: tuple[str, ...]  # includes the name
    segments: tuple[int, ...]  # ascending
    kind: str = ""


@dataclass(frozen=True, slots=True)
class EntityRelation:
    """A relation between two entities, given by index, and its segments. Undirected."""

    first: int
    second: int
    text: str
    segments: tuple[int, ...]

    def other(self, entity: int) -> int:
        return self.second if entity == self.first else self.first


@dataclass(frozen=True)
class MemoryGraph:
    """Entities and relations by index. Two entities can have several relations."""

    entities: tuple[Entity, ...] = ()
    relations: tuple[EntityRelation, ...] = ()

    @cached_property
    def relations_of(self) -> tuple[tuple[EntityRelation, ...], ...]:
        """The relations of each entity, in order."""
        found: list[list[EntityRelation]] = [[] for _ in self.entities]
        for relation in self.relations:
            found[relation.first].append(relation)
            found[relation.second].append(relation)
        return tuple(map(tuple, found))

    @cached_property
    def in_segment(self) -> Mapping[int, tuple[int, ...]]:
        """The entities of each segment, by segment number."""
        found: dict[int, list[int]] = {}
        for number, entity in enumerate(self.entities):
            for segment in entity.segments:
                found.setdefault(segment, []).append(number)
        return {segment: tuple(entities) for segment, entities in found.items()}

    @cached_property
    def _by_mention(self) -> Mapping[str, tuple[int, ...]]:
        found: dict[str, list[int]] = {}
        for number, entity in enumerate(self.entities):
            for mention in dict.fromkeys(map(normalise, entity.mentions)):
                found.setdefault(mention, []).append(number)
        return {mention: tuple(numbers) for mention, numbers in found.items() if mention}

    @cached_property
    def _longest_mention(self) -> int:
        return max((len(mention.split()) for mention in self._by_mention), default=0)

    def named(self, name: str) -> tuple[int, ...]:
        """The entities with this mention, ignoring case and punctuation."""
        return self._by_mention.get(normalise(name), ())

    def named_in(self, text: str) -> tuple[int, ...]:
        """The entities that a text mentions; the longest match at each word."""
        words, found, i = words_of(text), dict[int, None](), 0
        while i < len(words):
            for length in range(min(self._longest_mention, len(words) - i), 0, -1):
                if numbers := self._by_mention.get(" ".join(words[i : i + length])):
                    found.update(dict.fromkeys(numbers))
                    i += length - 1
                    break
            i += 1
        return tuple(found)

    def edge_text(self, entity: int, relation: EntityRelation) -> str:
        """An edge as text, for comparison with a question: from `entity` to the other one."""
        return f"{self.entities[entity].name}: {relation.text} {self.entities[relation.other(entity)].name}"

    def to_json(self) -> dict[str, Any]:
        entities = [[e.name, list(e.mentions), list(e.segments), e.kind] for e in self.entities]
        relations = [[r.first, r.second, r.text, list(r.segments)] for r in self.relations]
        return {"format": FORMAT, "entities": entities, "relations": relations}

    @staticmethod
    def from_json(value: Any) -> MemoryGraph:
        """The graph from its JSON form. Raises ValueError for an invalid value."""
        written = value.get("format") if isinstance(value, dict) else None
        if written != FORMAT:
            raise ValueError(f"the graph has format {written}; this Weft reads format {FORMAT}.")
        try:
            entities = tuple(
                Entity(str(name), tuple(map(str, mentions)), tuple(map(int, segments)), str(kind))
                for name, mentions, segments, kind in value["entities"]
            )
            relations = tuple(
                EntityRelation(int(first), int(second), str(text), tuple(map(int, segments)))
                for first, second, text, segments in value["relations"]
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"not a graph: {error}") from error
        if any(not 0 <= end < len(entities) for relation in relations for end in (relation.first, relation.second)):
            raise ValueError("not a graph: a relation names an entity that is not there.")
        return MemoryGraph(entities, relations)


def words_of(text: str) -> list[str]:
    """Lower-case words without punctuation and possessive; the parts of `a.b` and `a_b` stay together."""
    return _WORD.findall(_POSSESSIVE.sub("", text.lower()))


@lru_cache(maxsize=1 << 14)  # names repeat in many sentences
def normalise(name: str) -> str:
    """The normal form of a name: its words without a leading article."""
    words = words_of(name)
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("the", "a", "an") else words)


def numbers_of(found: Iterable[int]) -> tuple[int, ...]:
    """Distinct numbers, ascending."""
    return tuple(sorted(set(found)))


_WORD = re.compile(r"[^\W_]+(?:[_.][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s\b")
