"""Registry of strategies by name, as used by the configuration, the command line and tables.

Owns the names; each is a strategy with the settings of its paper.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable

from ..errors import InvalidArgument
from .baselines import Decomposition, FullContext, Hyde, Rewriting, Summary, TopK
from .fragrel import (
    ContextRelation,
    FragRel,
    FragRelOptions,
    NoRelation,
    SemanticRelation,
    chat_memory,
    mem_retrieval,
    memo_chat,
    related,
    returning_chat,
    truncated_history,
)
from .memorag import MemoRAG
from .qrmem import QRMeM, QRMeMSettings
from .scoring import SCORERS, Indexer, indexer
from .segment_plus import SegmentPlus
from .strategy import Strategy, StrategyContext

Make = Callable[[StrategyContext, "Indexer | None"], Strategy]
"""Creates a strategy with the given indexer, or with its default one."""


def strategy_named(name: str, context: StrategyContext, *, score: str = "") -> Strategy:
    """A new, empty strategy.

    `score` is one of `SCORERS`, or `fragrel` for FragRel's scores inside another strategy (papers' spec, row 72); empty
    uses the default of the strategy. Strategies without retrieval ignore it. Raises ValueError for an unknown name,
    with the closest match.
    """
    if name not in STRATEGIES:
        near = difflib.get_close_matches(name, STRATEGIES, 1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument(f"unknown strategy {name!r}.{guess} Use one of: {', '.join(STRATEGIES)}.")
    return STRATEGIES[name](context, score_named(score, context) if score else None)


def score_named(name: str, context: StrategyContext) -> Indexer:
    """The indexer for a name. Raises ValueError if it is unknown."""
    if name == "fragrel":
        return related(indexer("auto", context), ContextRelation())
    if name not in SCORERS:
        raise InvalidArgument(f"unknown scorer {name!r}; use one of {', '.join((*SCORERS, 'fragrel'))}.")
    return indexer(name, context)


def _auto(context: StrategyContext, score: Indexer | None) -> Strategy:
    from .auto import AutoStrategy  # auto imports this module

    return AutoStrategy(context, score=score)


SHARED_GRAPH = QRMeMSettings(query_oriented=False, graph_update=False, fuse_relations=False)
"""QRMeM with one graph for all questions: each segment is read once, with two calls, and stored for later processes."""

_OF_TEXTS = ("entities", "relations", "same", "fused relation", "gist", "key points", "note", "filter", "merge")
READING_PURPOSES = frozenset((*_OF_TEXTS, "summarise", "summary", "whole summary"))
"""Purposes of the calls that read documents. Their responses are worth storing on disk; answers are not."""

MEMORY_MODEL_STRATEGIES = ("auto", "memorag")  # strategies that use the memory model of the context, if there is one

STRATEGIES: dict[str, Make] = {
    "auto": _auto,
    "fragrel": lambda context, score: FragRel(context, FragRelOptions(), score),
    "fragrel A": lambda context, score: FragRel(
        context, FragRelOptions(SemanticRelation(context.embedder)), score, "fragrel A"
    ),
    "fragrel none": lambda context, score: FragRel(context, FragRelOptions(NoRelation()), score, "fragrel none"),
    "chat fragrel": lambda context, score: chat_memory(context, score=score),
    "chat returning": lambda context, score: returning_chat(context, score=score),
    "chat retrieval": lambda context, score: mem_retrieval(context, score=score),
    "chat truncated": lambda context, score: truncated_history(context),
    "chat memo": lambda context, score: memo_chat(context),
    "qrmem": lambda context, score: QRMeM(context, None, score or indexer()),
    "qrmem shared": lambda context, score: QRMeM(context, SHARED_GRAPH, score or indexer()),
    "qrmem expansion": lambda context, score: QRMeM(context, QRMeMSettings(navigation="expansion"), score or indexer()),
    "qrmem trial": lambda context, score: QRMeM(context, QRMeMSettings(navigation="trial"), score or indexer()),
    "memorag": lambda context, score: MemoRAG(context, score=score),
    "segment_plus": lambda context, score: SegmentPlus(context, None, score or indexer()),
    "full_middle": lambda context, score: FullContext(context),
    "full_left": lambda context, score: FullContext(context, "left"),
    "full_right": lambda context, score: FullContext(context, "right"),
    "top_1": lambda context, score: TopK(context, 1, score),
    "top_2": lambda context, score: TopK(context, 2, score),
    "top_3": lambda context, score: TopK(context, 3, score),
    "top_max": lambda context, score: TopK(context, None, score),
    "hyde": lambda context, score: Hyde(context, score=score),
    "rewriting": lambda context, score: Rewriting(context, score=score),
    "decomposition": lambda context, score: Decomposition(context, score=score),
    "summary": lambda context, score: Summary(context),
}
