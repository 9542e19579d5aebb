"""Names near the cursor: recency, declarations of the enclosing definition, the next name in a list.

Lexical, for any language. Knows no index and no probability.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...languages.indentation import indent_of
from .match_finder import Matches, Numbers, OpenFile, line_hashes
from .ngram_index import MAX_ORDER, Vocabulary
from .tokens import LINE_BREAK, N_KINDS, kind_of, name_parts
from .word_index import NEVER

N_RECENT = 40  # most recent names that are candidates
N_IN_SCOPE = 40  # names in scope that are candidates
HEADER_LINES = 120  # how far up the enclosing definition is searched
NEAR_LINES = 25  # a line this near above the cursor is rarely repeated
_N_FOLLOWED = 3  # matches near the cursor whose next name is searched in earlier lists
_N_OCCURRENCES = 5
_LIST_STEP = 20  # tokens between two names of a list
_DEFINITION = re.compile(r"\s*(?:async |export |public |private |static )*(?:def|function|func|fn|fun)\b")
_WORD = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True, slots=True, eq=False)
class NearbyNames:
    """Names are token numbers without the space before them."""

    vocabulary: Vocabulary
    open_file: OpenFile
    last_seen: NDArray[np.int64]  # by name: tokens between its last occurrence and the cursor; NEVER
    recent: tuple[int, ...]  # most recent first
    declared: dict[int, bool]  # in the lines that enclose the cursor, in their order; True when used since
    near_lines: NDArray[np.int64]  # hashes
    in_scope: tuple[int, ...]  # names that the code at the cursor can use, those mentioned last first
    line_starts: dict[int, int]  # by first token: how many lines above the cursor it last begins a line
    _listed_after: dict[tuple[int, int], frozenset[int]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        open_file: OpenFile,
        before: str,
        line_start: str,
        vocabulary: Vocabulary,
        in_scope: Iterable[str] = (),
    ) -> NearbyNames:
        above, kinds = open_file.above, vocabulary.kinds
        names = vocabulary.bare[above]
        at = np.flatnonzero(is_name(kinds[above]))
        last_seen = np.full(len(kinds), NEVER)
        last_seen[names[at]] = len(above) - at  # the last occurrence counts
        scope = [vocabulary.number(name) for name in in_scope]
        scope.sort(key=lambda name: int(last_seen[name]) if name < len(last_seen) else NEVER)
        recent = tuple(islice(dict.fromkeys(names[at[::-1]].tolist()), N_RECENT))
        starts = np.append(MAX_ORDER, np.flatnonzero(kinds[above] == LINE_BREAK) + MAX_ORDER + 1)
        starts = starts[starts < open_file.cursor][-NEAR_LINES:]
        near_lines = line_hashes(open_file.tokens, starts, kinds)
        line_starts: dict[int, int] = {}
        for distance, token in enumerate(open_file.tokens[starts[::-1]].tolist()):
            line_starts.setdefault(token, distance)
        declared = {vocabulary.number(name): used for name, used in _declared(before, line_start).items()}
        return cls(
            vocabulary,
            open_file,
            last_seen,
            recent,
            declared,
            near_lines[near_lines != 0],
            tuple(scope[:N_IN_SCOPE]),
            line_starts,
        )

    def distance(self, names: Numbers) -> NDArray[np.int64]:
        """Tokens between the last occurrence of each and the cursor; NEVER."""
        known = names < len(self.last_seen)
        return np.where(known, self.last_seen[np.where(known, names, 0)], NEVER)

    def listed_next(self, matches: Matches) -> frozenset[int]:
        """The names that follow, in a list above, the next names of these matches in the open file.

        After `self.left = left` the list `(left, right)` gives `right`.
        """
        found: frozenset[int] = frozenset()
        for position in np.sort(matches.positions[matches.positions < self.open_file.cursor])[-_N_FOLLOWED:].tolist():
            name = int(self.vocabulary.bare[matches.tokens[position]])
            if (name, position) not in self._listed_after:
                self._listed_after[name, position] = frozenset(self._after_in_lists(name, position))
            found |= self._listed_after[name, position]
        return found

    def _after_in_lists(self, name: int, end: int) -> set[int]:
        tokens, kinds, bare = self.open_file.tokens, self.vocabulary.kinds, self.vocabulary.bare
        if not 2 <= kinds[name] < N_KINDS:
            return set()
        comma = self.vocabulary.number(",")
        found = set()
        for at in (np.flatnonzero(bare[tokens[MAX_ORDER:end]] == name) + MAX_ORDER)[-_N_OCCURRENCES:].tolist():
            sign = tokens[at - 1]
            for later in range(at + 1, min(at + _LIST_STEP, self.open_file.cursor)):
                token, previous = tokens[later], tokens[later - 1]
                starts_an_entry = previous in (sign, comma) or kinds[previous] == LINE_BREAK
                if starts_an_entry and 2 <= kinds[token] < N_KINDS and bare[token] != name:
                    found.add(int(bare[token]))
                    break
        return found


def is_name(kinds: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which kinds are names or numbers."""
    return (kinds >= 2) & (kinds < N_KINDS)


@lru_cache(maxsize=65_536)
def parts_of(word: str) -> frozenset[str]:
    """The words of a name, in lower case."""
    return frozenset(name_parts(word))


@lru_cache(maxsize=4_096)
def renamed_part(name: str, there: str, here: str) -> str | None:
    """`name` with the change of the part that differs between `there` and `here`; None without such a part.

    After `train_loss` became `valid_loss`, `train_steps` becomes `valid_steps`.
    """
    most = min(len(there), len(here))
    start = next((at for at in range(most) if there[at] != here[at]), most)
    end = next((back for back in range(most - start) if there[-1 - back] != here[-1 - back]), most - start)
    old, new = there[start : len(there) - end], here[start : len(here) - end]
    if len(old) == 1:  # a single letter is in many names by chance, so its position has to be the same
        same_place = name[: start + 1] == there[: start + 1]
        renamed = name[:start] + new + name[start + 1 :] if same_place else name
        return renamed if renamed != name and kind_of(renamed) >= 2 else None
    for change in (str, str.capitalize, str.upper, str.lower):
        if old and change(old) in name:
            renamed = name.replace(change(old), change(new))
            return renamed if renamed != name and kind_of(renamed) >= 2 and _WORD.fullmatch(renamed) else None
    return None


def _declared(before: str, line_start: str) -> dict[str, bool]:
    """Names in the lines that enclose the cursor, up to the definition, and whether they are used since."""
    lines = before.split("\n")
    *above, last = lines
    indent = indent_of(line_start) if line_start.strip() else None
    if indent is None and last.strip():
        above = lines
    headers: list[str] = []
    used: set[str] = set()
    for line in reversed(above[-HEADER_LINES:]):
        if not line.strip():
            continue
        is_definition = _DEFINITION.match(line) is not None
        if indent is None:
            indent = indent_of(line) + line.rstrip().endswith((":", "{", "("))
        if indent_of(line) < indent or is_definition:
            headers.append(line)
            indent = indent_of(line)
            if is_definition:
                break
        else:
            used.update(_WORD.findall(line))
    names = dict.fromkeys(name for line in reversed(headers) for name in _WORD.findall(line))
    return {name: name in used for name in names if kind_of(name)}
