"""Every strategy by its name, as the configuration, the command line and tables spell it.

Owns the names. Knows no way to work of its own: each name is a strategy with settings of the papers.
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
from .scoring import WAYS, Indexer, indexer
from .segment_plus import SegmentPlus
from .strategy import Kit, Strategy

Make = Callable[[Kit, "Indexer | None"], Strategy]
"""A strategy that searches by the given scores, or by its own where there are none."""


def strategy_named(name: str, kit: Kit, *, score: str = "") -> Strategy:
    """A new strategy that remembers nothing yet.

    `score` is how it searches: one of `WAYS`, or `fragrel`, by which segments have FragRel's scores inside any other
    strategy (papers' spec, row 72); empty leaves it to the strategy. Those that search for nothing take no notice.
    Raises InvalidArgument for an unknown name; its message names the nearest one.
    """
    if name not in STRATEGIES:
        near = difflib.get_close_matches(name, STRATEGIES, 1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument(f"no strategy is called {name!r}.{guess} Choose one of: {', '.join(STRATEGIES)}.")
    return STRATEGIES[name](kit, score_named(score, kit) if score else None)


def score_named(name: str, kit: Kit) -> Indexer:
    """A way to score by name. Raises InvalidArgument for an unknown name."""
    if name == "fragrel":
        return related(indexer("auto", kit), ContextRelation())
    if name not in WAYS:
        raise InvalidArgument(f"no way to score is called {name!r}; choose one of {', '.join((*WAYS, 'fragrel'))}.")
    return indexer(name, kit)


def _auto(kit: Kit, score: Indexer | None) -> Strategy:
    from .auto import Auto  # which picks among these

    return Auto(kit, score=score)


READERS = ("auto", "memorag")
"""Strategies that use the kit's reader, where there is one."""

STRATEGIES: dict[str, Make] = {
    "auto": _auto,
    "fragrel": lambda kit, score: FragRel(kit, FragRelOptions(), score),
    "fragrel A": lambda kit, score: FragRel(kit, FragRelOptions(SemanticRelation(kit.embedder)), score, "fragrel A"),
    "fragrel none": lambda kit, score: FragRel(kit, FragRelOptions(NoRelation()), score, "fragrel none"),
    "chat fragrel": lambda kit, score: chat_memory(kit, score=score),
    "chat returning": lambda kit, score: returning_chat(kit, score=score),
    "chat retrieval": lambda kit, score: mem_retrieval(kit, score=score),
    "chat truncated": lambda kit, score: truncated_history(kit),
    "chat memo": lambda kit, score: memo_chat(kit),
    "qrmem": lambda kit, score: QRMeM(kit, None, score or indexer()),
    "qrmem expansion": lambda kit, score: QRMeM(kit, QRMeMSettings(navigation="expansion"), score or indexer()),
    "qrmem trial": lambda kit, score: QRMeM(kit, QRMeMSettings(navigation="trial"), score or indexer()),
    "memorag": lambda kit, score: MemoRAG(kit, score=score),
    "segment_plus": lambda kit, score: SegmentPlus(kit, None, score or indexer()),
    "full_middle": lambda kit, score: FullContext(kit),
    "full_left": lambda kit, score: FullContext(kit, "left"),
    "full_right": lambda kit, score: FullContext(kit, "right"),
    "top_1": lambda kit, score: TopK(kit, 1, score),
    "top_2": lambda kit, score: TopK(kit, 2, score),
    "top_3": lambda kit, score: TopK(kit, 3, score),
    "top_max": lambda kit, score: TopK(kit, None, score),
    "hyde": lambda kit, score: Hyde(kit, score=score),
    "rewriting": lambda kit, score: Rewriting(kit, score=score),
    "decomposition": lambda kit, score: Decomposition(kit, score=score),
    "summary": lambda kit, score: Summary(kit),
}
