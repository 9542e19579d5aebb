"""Suggestions of the code graph along a line: which of them agree with its tokens so far, and what they continue with.

Owns their tokens and their progress. Knows no graph: a `CandidateSource` makes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ..protocol import SUGGESTION_SOURCES, CandidateSource, SuggestedRange
from .ngram_index import Vocabulary

N_SUGGESTIONS = 60
"""The most at one place; sources list the best first."""

SOURCE_NUMBERS = {source: number for number, source in enumerate(SUGGESTION_SOURCES)}


class ActiveSuggestion(NamedTuple):
    """A suggestion that agrees with the line so far: its source, its tokens that are left, and its weight.

    `n_agreed` counts the tokens of the line that it has suggested. `ends_line`: after its tokens the line ends.
    """

    source: int  # index in SUGGESTION_SOURCES
    tokens: tuple[int, ...]
    weight: float
    ends_line: bool
    n_agreed: int = 0


def suggestions_after(source: CandidateSource, written: str, vocabulary: Vocabulary) -> list[ActiveSuggestion]:
    """What a source suggests after a part of a line."""
    found = []
    for suggestion in source.suggestions(written)[:N_SUGGESTIONS]:
        tokens = tuple(vocabulary.learn_text(suggestion.text.removesuffix("\n")).tolist())
        ends_line = suggestion.text.endswith("\n")
        if tokens or ends_line:
            found.append(ActiveSuggestion(SOURCE_NUMBERS[suggestion.source], tokens, suggestion.weight, ends_line))
    return found


def continued(suggestions: Sequence[ActiveSuggestion], token: int) -> tuple[ActiveSuggestion, ...]:
    """The suggestions that agree with one more token and say what follows it."""
    return tuple(
        each._replace(tokens=each.tokens[1:], n_agreed=each.n_agreed + 1)
        for each in suggestions
        if each.tokens and each.tokens[0] == token and (len(each.tokens) > 1 or each.ends_line)
    )


def suggested_ranges(
    suggested_after: Callable[[str], Sequence[ActiveSuggestion]],
    before: str,
    tokens: Sequence[int],
    vocabulary: Vocabulary,
) -> Iterator[SuggestedRange]:
    """The tokens of a line that are suggested, each after the tokens before it; offsets from the first token on.

    `before` is the line break and the line up to the first token.
    """
    active: tuple[ActiveSuggestion, ...] = ()
    text = ""
    for token in tokens:
        written = before + text
        if written.startswith("\n"):
            active = (*active, *suggested_after(written[1:]))
        agreeing = [each for each in active if each.tokens and each.tokens[0] == token]
        start, text = len(text), text + vocabulary.text(token)
        if agreeing:
            best = max(agreeing, key=lambda each: (each.n_agreed, each.weight))
            yield SuggestedRange(start, len(text), SUGGESTION_SOURCES[best.source])
        active = continued(active, token)


def suggested_parts(ranges: Iterable[SuggestedRange], text: str) -> tuple[tuple[str, str], ...]:
    """The suggested parts of a text, each with its source: adjacent ranges of one source together."""
    joined: list[SuggestedRange] = []
    for each in ranges:
        last = joined[-1] if joined else None
        if last is not None and last.end == each.start and last.source == each.source:
            joined[-1] = last._replace(end=each.end)
        else:
            joined.append(each)
    return tuple((each.source, text[each.start : each.end]) for each in joined)
