"""What fits: evidence within a budget in the order of the prompt, and a text cut to a number of tokens.

Owns which piece goes when there is too much, and where a text is cut. Knows no score's meaning and no model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Literal

from .splitters import count_words
from .values import Budget, Evidence, Order, Segment

Count = Callable[[str], int]
KeepSide = Literal["middle", "left", "right"]
"""What a cut takes away or leaves: out of the middle (LongBench), or all behind the left or before the right part."""


def fit_evidence(
    evidence: Iterable[Evidence],
    budget: Budget,
    count_tokens: Count,
    order: Order = "rank",
    *,
    skip: bool = True,
) -> tuple[Evidence, ...]:
    """What may be shown, each piece once, in the order of the prompt.

    The best come in first, ties in the order given. A piece that does not fit is left out and smaller ones after it
    may still come in; with `skip` false it ends the search, so that only the lowest-scored are missing. When not even
    one fits whole, the best is cut at its end. What a prompt puts between pieces is not counted.
    """
    if 0 in (budget.n, budget.tokens, budget.words, budget.characters_each):
        return ()
    ranked = _once(sorted(evidence, key=lambda each: -each.score))
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
        elif not skip:
            break
    if ranked and not chosen:
        text = ranked[0].segment.text
        for limit, count in limits:
            text = truncate(text, limit, count, "left")
        chosen = [truncate_evidence(ranked[0], text)] if text else []
    return order_evidence(chosen, order)


def order_evidence(evidence: Iterable[Evidence], order: Order) -> tuple[Evidence, ...]:
    """Evidence as a prompt shows it. In document order the source of the best piece comes first; what has no time
    comes before what has one."""
    ranked = sorted(evidence, key=lambda each: -each.score)
    if order == "rank":
        return tuple(ranked)
    if order == "reverse_rank":
        return tuple(reversed(ranked))
    sources = {source: i for i, source in enumerate(dict.fromkeys(each.segment.source for each in ranked))}

    def place(segment: Segment) -> tuple[int, int, int]:
        return sources[segment.source], segment.start, segment.number

    if order == "document":
        return tuple(sorted(ranked, key=lambda each: place(each.segment)))

    def moment(segment: Segment) -> tuple[float, tuple[int, int, int]]:
        at = segment.said_at
        return float("-inf") if at is None else at, place(segment)

    return tuple(sorted(ranked, key=lambda each: moment(each.segment)))


def truncate_evidence(evidence: Evidence, text: str) -> Evidence:
    """The evidence with the beginning `text` of its segment, and the quotes that are still in it."""
    if text == evidence.segment.text:
        return evidence
    quotes = tuple(quote for quote in evidence.quotes if quote in text)
    return replace(evidence, segment=replace(evidence.segment, text=text), quotes=quotes)


def truncate(text: str, limit: int, count: Count, keep: KeepSide = "middle") -> str:
    """As much of the text as `limit` tokens hold; the whole text where it fits.

    `keep` "left" leaves the beginning, "right" the end, and "middle" takes out the middle: half of the limit is the
    beginning (papers' spec 1.1). Exact by `count`: one more character would be too much, as far as tokens allow that.
    """
    n_first, n_last = kept_lengths(text, limit, count, keep)
    return text[:n_first] + text[len(text) - n_last :]


def kept_lengths(text: str, limit: int, count: Count, keep: KeepSide) -> tuple[int, int]:
    """How many characters of the beginning and of the end `truncate` leaves; all and none where the text fits."""
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
    """Whether a text has at most `limit` tokens. One that is much too long is not counted whole."""
    beginning = text[: 64 * max(0, limit)]
    return count(beginning) <= limit and (len(beginning) == len(text) or count(text) <= limit)


def _longest(most: int, fits: Callable[[int], bool], guess: int) -> int:
    """The largest number up to `most` that fits, where all smaller ones do; found from `guess` upwards."""
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


def _once(ranked: list[Evidence]) -> list[Evidence]:
    first: dict[tuple[str, int, str], Evidence] = {}
    for each in ranked:
        first.setdefault((each.segment.source, each.segment.start, each.segment.text), each)
    return list(first.values())
