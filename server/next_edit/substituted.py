"""Next edits after a name was replaced by another one where it is used: its next places.

Unlike a rename, nothing says that all occurrences are meant, so only the next few are offered, directly after the
replacement. Owns the probability that one of them follows, a logistic formula of what the session and the places tell.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from .before import text_before, text_now
from .edited_files import word_of
from .replacements import N_CONTEXT, N_PLACES, Place, Replacement, next_places, replacements
from .values import NextEdit, Origin, Situation

if TYPE_CHECKING:
    from .parsed import Parsed

LONG_NAME = 12
"""Characters; longer names tell no more."""


@dataclass(frozen=True, slots=True)
class Features:
    """What tells whether a replacement goes on at its next places, each from 0 to 1."""

    is_in_file: float  # a place is in a file where the name was replaced
    is_above: float  # all places are above what was replaced
    is_second: float  # the name was replaced in two edits
    is_third: float  # in three or more
    is_alone: float  # nothing else was changed in most of the replaced lines
    context: float  # the most tokens around a place that are those around a replaced one
    is_same_line: float  # a place has the same line as a replaced one
    is_unbound: float  # the old name of a place is not bound any more
    is_gone: float  # an edited file declared or imported the old name, and does not any more
    is_written: float  # the user wrote the old name in a changed line
    is_new: float  # the new name is new in the files where it was written
    length: float  # of the old name
    is_text: float  # it was replaced in strings or comments alone


WEIGHTS = Features(
    is_in_file=1.07,
    is_above=-1.62,
    is_second=0.10,
    is_third=-0.05,
    is_alone=0.65,
    context=0.35,
    is_same_line=0.47,
    is_unbound=1.18,
    is_gone=0.93,
    is_written=-0.18,
    is_new=0.33,
    length=1.37,
    is_text=0.46,
)
BIAS = -1.62
"""Fitted on 278 replaced names of the repositories for fitting, 20 commits each, by
`benchmarks/next_edit/fit_uses.py`. With each repository left out in turn, 38 names of 0.5 to 0.6 were right in 62 of
100 cases, 78 of 0.7 to 0.8 in 86, and 27 of 0.9 to 1 in 91."""

MOST = 0.85
"""The highest probability: so many of the surest tenth were right."""


@dataclass(frozen=True)
class Following:
    """The next places of a replacement."""

    replacement: Replacement
    places: tuple[Place, ...]
    features: Features

    @property
    def probability(self) -> float:
        """The estimated probability that the user changes one of the places."""
        weights = asdict(WEIGHTS)
        score = BIAS + sum(weights[name] * value for name, value in asdict(self.features).items())
        return min(MOST, 1 / (1 + math.exp(-score)))


def substituted(situation: Situation) -> Iterator[NextEdit]:
    """The next places of what the newest edit replaced, the most probable names first."""
    n_left = N_PLACES
    for following in sorted(followings(situation), key=lambda each: -each.probability):
        for place in following.places[:n_left]:
            yield _edit(situation, following, place)
        n_left -= len(following.places[:n_left])


def followings(situation: Situation) -> Iterator[Following]:
    """What the newest edit replaced, with the next places of each name; none without any place."""
    for replacement in replacements(situation):
        places = tuple(next_places(situation, replacement))
        if places:
            yield Following(replacement, places, _features(situation, replacement, places))


def _features(situation: Situation, replacement: Replacement, places: tuple[Place, ...]) -> Features:
    made, old, new = replacement.made, replacement.old, replacement.new
    n_edits = len({(each.site.path, each.at) for each in made})
    paths = {each.site.path for each in made}
    texts = [(file, text_before(situation, file), text_now(situation, file)) for file in situation.edited]
    written = (line for file in situation.edited for hunk in file.hunks for line in set(hunk.after) - set(hunk.before))
    replaced = {each.site.line_text.strip() for each in made}
    return Features(
        is_in_file=float(any(place.path in paths for place in places)),
        is_above=float(all(place.is_above for place in places)),
        is_second=float(n_edits >= 2),
        is_third=float(n_edits >= 3),
        is_alone=float(2 * sum(each.is_alone for each in made) >= len(made)),
        context=max(place.n_alike(each.site) for place in places for each in made) / (2 * N_CONTEXT),
        is_same_line=float(not replaced.isdisjoint(place.line_text.strip() for place in places)),
        is_unbound=float(any(place.is_unbound for place in places)),
        is_gone=float(any(_declares(before, old) and not _declares(now, old) for _, before, now in texts)),
        is_written=float(any(word_of(old).search(line) for line in written)),
        is_new=float(not any(word_of(new).search(file.before.text) for file, _, _ in texts if file.path in paths)),
        length=min(len(old), LONG_NAME) / LONG_NAME,
        is_text=float(replacement.is_text),
    )


def _declares(text: Parsed | None, name: str) -> bool:
    if text is None:
        return False
    graph = text.graph
    return any(each.name == name for each in graph.definitions) or any(
        each.local_name == name for each in graph.imports
    )


def _edit(situation: Situation, following: Following, place: Place) -> NextEdit:
    replacement = following.replacement
    old, new = replacement.old, replacement.new
    latest = max(replacement.made, key=lambda each: (each.at, each.site.line)).site
    n_times = len(replacement.made)
    times = "once" if n_times == 1 else f"{n_times} times"
    written = place.line_text[place.start : place.end]
    return NextEdit(
        "repeated",
        place.path,
        (place.line, place.start),
        (place.line, place.end),
        written,
        word_of(old).sub(lambda _: new, written),
        f"`{old}` was replaced by `{new}` {times}, last in line {latest.line + 1} of {latest.path}.",
        f"replaced {latest.path} {old}",
        following.probability,
        place.is_text,
        Origin(latest.path, latest.line),
        _evidence(latest.path, old, place),
    )


def _evidence(path: str, old: str, place: Place) -> str:
    """How a place was found."""
    if place.is_unbound:
        return f"It is the same name, and `{old}` is not declared or imported here any more."
    where = "in a near file" if place.path != path else "above it" if place.is_above else "below it"
    return f"It is one of the next places of `{old}` {where}."
