"""Generated questions about a text, so that its graph covers more than the question asked (papers' spec 3.1).

Owns the summary of the text, the pool of questions and the novelty test. Knows no graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..metered_model import RETRY_TEMPERATURE
from ..splitters import batches
from ..values import Segment
from .calls import QRMeMCalls

MAX_SIMILAR = 0.6  # ROUGE-L at which a question is a duplicate
MAX_QUESTIONS = 8  # generated questions
MAX_REFUSED = 2  # duplicates in a row that end the generation


def rouge_l(first: str, second: str) -> float:
    """F1 of the longest common subsequence of lower-cased words, 0 to 1 (papers' spec 6, novelty)."""
    one, other = first.lower().split(), second.lower().split()
    if not one or not other:
        return 0.0
    row = [0] * (len(other) + 1)
    for word in one:
        above = row[:]
        for i, each in enumerate(other, 1):
            row[i] = above[i - 1] + 1 if word == each else max(above[i], row[i - 1])
    return 2 * row[-1] / (len(one) + len(other))


def is_new(question: str, pool: Sequence[str]) -> bool:
    """Whether a question is no duplicate of one in the pool."""
    return all(rouge_l(question, other) < MAX_SIMILAR for other in pool)


def summarise(
    calls: QRMeMCalls, segments: Sequence[Segment], count_tokens: Callable[[str], int], room_tokens: int
) -> str:
    """The summary of all segments: of each one, then of batches of summaries until one remains.

    Segments with an unparsable summary are left out. Raises ModelError.
    """

    def summary(segment: Segment) -> str:
        return calls.attempt(lambda: calls.summary(segment), f"the summary lacks {segment.place}") or ""

    summaries = list(filter(None, calls.model.ask_all([partial(summary, segment) for segment in segments])))
    while len(summaries) > 1:
        parts = batches(summaries, room_tokens, lambda text: count_tokens(text) + 1)
        if len(parts) == len(summaries):  # one summary a batch would never end
            parts = [summaries[i : i + 2] for i in range(0, len(summaries), 2)]
        summaries = [_together(calls, part) for part in parts]
    return summaries[0] if summaries else ""


def raise_questions(calls: QRMeMCalls, summary: str, asked: Sequence[str], most: int = MAX_QUESTIONS) -> list[str]:
    """At most `most` questions about the text that duplicate neither each other nor those asked. Raises ModelError."""
    pool, refused = list(asked), 0
    while len(pool) - len(asked) < most and refused < MAX_REFUSED:
        # At temperature 0 a model would repeat the duplicate.
        temperature = RETRY_TEMPERATURE if refused else 0.0
        ask = partial(calls.new_question, summary, pool, temperature)
        question = calls.attempt(ask, "no more questions were generated")
        if question is None:
            break
        if is_new(question, pool):
            pool.append(question)
            refused = 0
        else:
            refused += 1
    return pool[len(asked) :]


def _together(calls: QRMeMCalls, summaries: Sequence[str]) -> str:
    if len(summaries) == 1:
        return summaries[0]
    instead = "the first summary of a batch replaced their merged summary"
    return calls.attempt(lambda: calls.summary_of(summaries), instead) or summaries[0]
