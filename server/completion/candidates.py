"""Several completions for one place, for whoever wants to choose.

Owns who is asked after the first answer: every other model of the order, then each of them for several lines instead
of one, or one instead of several. Knows no cache.

Each costs a model's whole answer, so this is done on request only. Second choices for a model's first token are not
among them: a stream is a model's best text and no other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...llm import CodeModel
from .values import Completion, Request


def further_ways(request: Request, models: Sequence[CodeModel], first: str) -> Iterator[tuple[Request, CodeModel]]:
    """Whom to ask, and what, after the model called `first` has answered; the likeliest to be wanted first."""
    for asked in (request, replace(request, multi_line=request.single_line)):
        for model in models:
            if asked is not request or model.info.name != first:
                yield replace(asked, timings_ms={}), model


def different(completions: Iterable[Completion], n: int) -> list[Completion]:
    """The first `n` completions that leave different texts, in their order; none of them empty."""
    found: dict[tuple[str, tuple[int, int]], Completion] = {}
    for completion in completions:
        if completion.text:
            found.setdefault((completion.text.rstrip(), completion.end), completion)
        if len(found) >= n:
            break
    return list(found.values())
