"""Alternative completions for one cursor: other models, other lengths.

Owns the order of the requests after the first completion: all other models, then all models with the other length,
one line or several. Knows no cache.

Each alternative costs a full generation, so they are made for explicit requests only. A model contributes only its
greedy text for each length.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...llm import CodeModel
from .values import Completion, Request


def further_requests(request: Request, models: Sequence[CodeModel], first: str) -> Iterator[tuple[Request, CodeModel]]:
    """Requests and models for alternatives, after a completion by the model named `first`; most useful first."""
    for further in (request, replace(request, multi_line=request.single_line)):
        for model in models:
            if further is not request or model.info.name != first:
                yield replace(further, timings_ms={}), model


def distinct(completions: Iterable[Completion], n: int) -> list[Completion]:
    """The first `n` non-empty completions that result in different texts, in their order."""
    found: dict[tuple[str, tuple[int, int]], Completion] = {}
    for completion in completions:
        if completion.text:
            found.setdefault((completion.text.rstrip(), completion.end), completion)
        if len(found) >= n:
            break
    return list(found.values())
