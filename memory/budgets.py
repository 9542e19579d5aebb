"""Evidence selection within a budget, prompt order of evidence, and truncation by token count.

Owns which pieces are dropped, where a text is truncated, and how much the context window leaves beside a prompt. Knows
no scoring formula. `metered_model` raises an error if a call is still too long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

from ..llm.prompting.conversation import FRAME_TOKENS
from .metered_model import MeteredModel
from .splitters import count_words
from .values import Budget, Evidence, Order

Count = Callable[[str], int]
KeepSide = Literal["middle", "left", "right"]
"""The part of a text that truncation keeps: both ends (LongBench), the beginning, or the end."""


def fit_evidence(
    evidence: Iterable[Evidence], budget: Budget, count_tokens: Count, order: Order = "rank"
) -> tuple[Evidence, ...]:
    """Returns the evidence that fits the budget, each piece once, in prompt order.

    Higher scores are selected first; ties keep the given order. A piece that does not fit is skipped, and smaller ones
    may still be selected. If no piece fits whole, the best one is truncated at its end. Separators between pieces are
    not counted.
    """
    if 0 in (budget.n, budget.tokens, budget.words, budget.characters_each):
        return ()
    once: dict[tuple[str, int, str], Evidence] = {}
    for each in sorted(evidence, key=lambda each: -each.score):
        once.setdefault((each.segment.source, each.segment.start, each.segment.text), each)
    ranked = list(once.values())
    if budget.characters_each is not None:
        ranked = [truncate_evidence(each, each.segment.text[: budget.characters_each]) for each in ranked]
    limits = [(limit, count) for limit, count in ((budget.tokens, count_tokens), (budget.words, count_words)) if limit]
    room, chosen = [limit for limit, _ in limits], list[Evidence]()
    for each in ranked:
        if len(chosen) == budget.n:
            break
        left = [free - count(each.segment.text) for free, (_, count) in zip(room, limits, strict=True)]
        if min(left, default=0) >= 0:
            room, chosen = left, [*chosen, each]
    if ranked and not chosen:
        text = ranked[0].segment.text
        for limit, count in limits:
            text = truncate(text, limit, count, "left")
        chosen = [truncate_evidence(ranked[0], text)] if text else []
    return order_evidence(chosen, order)


def order_evidence(evidence: Iterable[Evidence], order: Order) -> tuple[Evidence, ...]:
    """Evidence in prompt order.

    In document order, the source of the best piece comes first. In time order, pieces without a time come first.
    """
    ranked = sorted(evidence, key=lambda each: -each.score)
    if order == "rank":
        return tuple(ranked)
    if order == "reverse_rank":
        return tuple(reversed(ranked))
    sources = {source: i for i, source in enumerate(dict.fromkeys(each.segment.source for each in ranked))}

    def position(each: Evidence) -> tuple[float, int, int, int]:
        segment = each.segment
        at = segment.said_at if order == "time" and segment.said_at is not None else float("-inf")
        return at, sources[segment.source], segment.start, segment.number

    return tuple(sorted(ranked, key=position))


def truncate_evidence(evidence: Evidence, text: str) -> Evidence:
    """The evidence with its segment shortened to `text`, a prefix, and the quotes that remain in it."""
    if text == evidence.segment.text:
        return evidence
    quotes = tuple(quote for quote in evidence.quotes if quote in text)
    return replace(evidence, segment=replace(evidence.segment, text=text), quotes=quotes)


def truncate(text: str, limit: int, count: Count, keep: KeepSide = "middle") -> str:
    """At most `limit` tokens of the text; the whole text if it fits.

    `keep` selects the beginning ("left"), the end ("right") or both ends with the middle removed ("middle", half of the
    limit each; papers' spec 1.1). The result is maximal: one more character would exceed the limit, as far as token
    counts are monotonic.
    """
    n_first, n_last = kept_lengths(text, limit, count, keep)
    return text[:n_first] + text[len(text) - n_last :]


def kept_lengths(text: str, limit: int, count: Count, keep: KeepSide) -> tuple[int, int]:
    """How many characters `truncate` keeps at the beginning and at the end; all and none if the text fits."""
    if limit <= 0:
        return 0, 0
    if has_at_most(text, limit, count):
        return len(text), 0
    n_first = 0
    if keep != "right":
        half = limit if keep == "left" else (limit + 1) // 2
        n_first = _longest(len(text), lambda n: count(text[:n]) <= half, half)
    if keep == "left":
        return n_first, 0
    n_left = len(text) - n_first
    first = text[:n_first]
    return n_first, _longest(n_left, lambda n: count(first + text[len(text) - n :]) <= limit, limit)


def has_at_most(text: str, limit: int, count: Count) -> bool:
    """Whether a text has at most `limit` tokens. Only the beginning of a much longer text is counted."""
    beginning = text[: 64 * max(0, limit)]
    return count(beginning) <= limit and (len(beginning) == len(text) or count(text) <= limit)


def _longest(most: int, fits: Callable[[int], bool], guess: int) -> int:
    """The largest number up to `most` that fits, by galloping and binary search from `guess`. `fits` is monotonic."""
    low, high = 0, max(1, guess)
    while high < most and fits(high):
        low, high = high, 2 * high
    high = min(high, most)
    if high == most and fits(most):
        return most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def window_of(model: MeteredModel | None, most: int) -> int:
    """Context window in tokens: `most`, or the model's if that is smaller."""
    return most if model is None else min(most, model.window_tokens)


def room_beside(window_tokens: int, prompt_tokens: int, answer_tokens: int) -> int:
    """Tokens that can be added to a prompt of `prompt_tokens`; at least 0.

    Reserves one message frame more than needed: concatenated texts can have more tokens than the sum of both.
    """
    return max(0, window_tokens - prompt_tokens - answer_tokens - 2 * FRAME_TOKENS)
