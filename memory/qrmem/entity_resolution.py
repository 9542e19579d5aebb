"""Entity resolution: merges the entities and relations of all segments into one graph.

Owns the candidate pairs (papers' spec 3.1) and the merging. The callbacks `Same` and `Fuse` decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..embedding import Embedder
from .graph import Entity, EntityRelation, MemoryGraph, normalise, numbers_of

SAME_COSINE = 0.85  # of two names, above which they may be the same (papers' spec 3.1)
MAX_CANDIDATES = 40  # in the one call that decides


@dataclass(frozen=True, slots=True)
class EntityName:
    """An entity as one segment names it."""

    name: str
    kind: str = ""
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SegmentExtraction:
    """The extraction from one segment: names, and relations between pairs of them."""

    segment: int
    names: tuple[EntityName, ...] = ()
    relations: tuple[tuple[str, str, str], ...] = ()

    def to_json(self) -> dict[str, Any]:
        names = [[name.name, name.kind, list(name.aliases)] for name in self.names]
        return {"names": names, "relations": [list(relation) for relation in self.relations]}

    @staticmethod
    def from_json(segment: int, value: Any) -> SegmentExtraction:
        names = tuple(EntityName(name, kind, tuple(aliases)) for name, kind, aliases in value["names"])
        return SegmentExtraction(
            segment, names, tuple((first, second, text) for first, second, text in value["relations"])
        )


Pair = tuple[str, str]
Same = Callable[[Sequence[Pair]], Sequence[bool]]  # whether the two names of each pair denote the same entity

Fuse = Callable[[Pair, Sequence[str], Sequence[int]], str | None]
"""One relation of a pair that fuses several, from their texts and segments; None keeps them separate."""


def combine(
    found: Sequence[SegmentExtraction], same: Same, fuse: Fuse, embedder: Embedder | None = None
) -> MemoryGraph:
    """The graph of all segments. With an embedder, similar names are candidates too."""
    names = _NameTable(found)
    groups = _DisjointSets(names.keys)
    pairs = candidates(names.keys, [names.shown(key) for key in names.keys], names.aliases, embedder)
    shown = [(names.shown(first), names.shown(second)) for first, second in pairs]
    for (first, second), is_same in zip(pairs, same(shown) if shown else (), strict=True):
        if is_same:
            groups.join(first, second)
    entities = tuple(names.entity(keys) for keys in groups.all())
    number_of = {key: number for number, keys in enumerate(groups.all()) for key in keys}
    return MemoryGraph(entities, _relations(found, entities, number_of, fuse))


def candidates(
    keys: Sequence[str], shown: Sequence[str], aliases: Iterable[Pair], embedder: Embedder | None = None
) -> list[Pair]:
    """Pairs of normalised names that may denote the same entity, most likely first.

    One name is an alias, an acronym or a part of the other, or their vectors are similar.
    """
    known = dict.fromkeys(keys)
    pairs = dict.fromkeys(_ordered(first, second) for first, second in aliases if first in known and second in known)
    pairs.update(dict.fromkeys(_acronyms(shown)))
    pairs.update(dict.fromkeys(_parts(known)))
    if embedder is not None:
        pairs.update(dict.fromkeys(_near(keys, shown, embedder)))
    return [pair for pair in pairs if pair[0] != pair[1]]


def is_acronym(first: str, second: str) -> bool:
    """Whether one name is an acronym of the other."""
    return any(_is_short(short) and short in _initials(long) for short, long in ((first, second), (second, first)))


class _NameTable:
    """All names by normalised form: spellings, segments, and kind."""

    def __init__(self, found: Sequence[SegmentExtraction]) -> None:
        self._written: dict[str, Counter[str]] = {}
        self._segments: dict[str, list[int]] = {}
        self._kinds: dict[str, str] = {}
        self._said: dict[str, list[str]] = {}  # aliases that are not names themselves
        self.aliases: list[Pair] = []
        for each in found:
            for name in each.names:
                key = normalise(name.name)
                if not key:
                    continue
                self._written.setdefault(key, Counter())[name.name] += 1
                self._segments.setdefault(key, []).append(each.segment)
                if name.kind:
                    self._kinds.setdefault(key, name.kind)
                for alias in name.aliases:
                    self._said.setdefault(key, []).append(alias)
                    self.aliases.append((key, normalise(alias)))
        self.keys = list(self._written)

    def shown(self, key: str) -> str:
        return self._written[key].most_common(1)[0][0]

    def entity(self, keys: Sequence[str]) -> Entity:
        written = sum((self._written[key] for key in keys), Counter[str]())
        # The most complete spelling is the name of the entity.
        name = max(written, key=lambda text: (len(text.split()), written[text]))
        said = [alias for key in keys for alias in self._said.get(key, ()) if normalise(alias) not in self._written]
        mentions = dict.fromkeys([name, *written, *said])
        segments = numbers_of(number for key in keys for number in self._segments[key])
        return Entity(name, tuple(mentions), segments, next((self._kinds[k] for k in keys if k in self._kinds), ""))


class _DisjointSets:
    """Disjoint sets, in the order of their first members."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._group = {key: [key] for key in keys}

    def join(self, first: str, second: str) -> None:
        one, other = self._group[first], self._group[second]
        if one is not other:
            one.extend(other)
            for key in other:
                self._group[key] = one

    def all(self) -> list[list[str]]:
        return list({id(group): group for group in self._group.values()}.values())


def _relations(
    found: Sequence[SegmentExtraction], entities: Sequence[Entity], number_of: dict[str, int], fuse: Fuse
) -> tuple[EntityRelation, ...]:
    by_pair: dict[tuple[int, int], dict[str, list[int]]] = {}
    for each in found:
        for first_name, second_name, text in each.relations:
            first, second = number_of.get(normalise(first_name)), number_of.get(normalise(second_name))
            if first is not None and second is not None and first != second:
                texts = by_pair.setdefault((min(first, second), max(first, second)), {})
                texts.setdefault(text, []).append(each.segment)
    relations = list[EntityRelation]()
    for (first, second), texts in by_pair.items():
        segments = numbers_of(number for numbers in texts.values() for number in numbers)
        pair = entities[first].name, entities[second].name
        fused = fuse(pair, list(texts), segments) if len(texts) > 1 else None
        if fused is not None:
            relations.append(EntityRelation(first, second, fused, segments))
        else:
            relations += [EntityRelation(first, second, text, numbers_of(numbers)) for text, numbers in texts.items()]
    return tuple(relations)


def _acronyms(shown: Sequence[str]) -> list[Pair]:
    long: dict[str, list[str]] = {}
    for name in shown:
        for letters in _initials(name):
            long.setdefault(letters, []).append(normalise(name))
    return [_ordered(normalise(name), other) for name in shown if _is_short(name) for other in long.get(name, ())]


def _is_short(name: str) -> bool:
    return name.isupper() and name.isalpha() and 1 < len(name) < 8


def _initials(name: str) -> set[str]:
    """Possible abbreviations of a name: `NASA`, and `PSP` for PlayStation Portable."""
    words = name.replace("-", " ").split()
    if len(words) < 2:
        return set()
    first = "".join(word[0] for word in words if word[0].isupper())
    inner = "".join(word[0] if word.isupper() else "".join(filter(str.isupper, word)) for word in words)
    return {first, inner}


def _parts(keys: Iterable[str]) -> list[Pair]:
    """Names that are a prefix or suffix of another name: `roosevelt` and `franklin roosevelt`."""
    long: dict[str, list[str]] = {}
    known = list(keys)
    for key in known:
        words = key.split()
        for n in range(1, len(words)):
            for part in {" ".join(words[:n]), " ".join(words[n:])}:
                long.setdefault(part, []).append(key)
    return [_ordered(key, other) for key in known for other in long.get(key, ()) if not key.isdigit()]


def _near(keys: Sequence[str], shown: Sequence[str], embedder: Embedder) -> list[Pair]:
    """Pairs of names with similar vectors, most similar first."""
    if not keys:
        return []
    vectors = embedder.embed(shown)
    pairs = list[tuple[float, int, int]]()
    for start in range(0, len(keys), 1024):
        cosines = vectors[start : start + 1024] @ vectors.T
        for row, column in zip(*np.nonzero(cosines > SAME_COSINE), strict=True):
            if start + row < column:
                pairs.append((-float(cosines[row, column]), int(start + row), int(column)))
    return [_ordered(keys[i], keys[j]) for _, i, j in sorted(pairs)]


def _ordered(first: str, second: str) -> Pair:
    return (first, second) if first <= second else (second, first)
