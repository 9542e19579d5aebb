"""Registry of strategies by name, as used by the configuration, the command line and tables.

A name may be followed by settings, a preset and a score:

    qrmem                                           the strategy with its defaults
    qrmem:as_printed                                as the paper prints it
    qrmem:as_printed,navigate=false                 its preset, changed
    segment_plus:filtered=false,segment_tokens=1000 the defaults, changed
    qrmem:score=fragrel                             on the scores of FragRel

Owns the names and this syntax. docs/papers.md lists what each preset differs in.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InvalidArgument
from ..retrieval.strategy_settings import changed_settings, read_settings
from . import fragrel, memorag, qrmem, segment_plus
from .baselines import Decomposition, FullContext, Hyde, Rewriting, Summary, TopK
from .fragrel import (
    ChatSettings,
    ContextRelation,
    FragRel,
    FragRelOptions,
    NoRelation,
    SemanticRelation,
    chat_with,
    mem_retrieval,
    memo_chat,
    related,
    truncated_history,
)
from .memorag import MemoRAG, MemoRAGSettings
from .qrmem import QRMeM, QRMeMSettings
from .scoring import SCORERS, Indexer, indexer
from .segment_plus import SegmentPlus, SegmentPlusSettings
from .strategy import Strategy, StrategyContext

Make = Callable[[StrategyContext, "Indexer | None"], Strategy]
"""Creates a strategy with the given indexer, or with its default one."""


@dataclass(frozen=True, slots=True)
class SystemOfPaper:
    """A system of the papers: how it is made from settings, its default settings, and those that its paper prints."""

    make: Callable[[StrategyContext, Any, Indexer | None], Strategy]
    default: Any  # a frozen dataclass
    as_printed: Any

    def with_defaults(self, context: StrategyContext, score: Indexer | None) -> Strategy:
        return self.make(context, self.default, score)


def strategy_named(spelling: str, context: StrategyContext, *, score: str = "") -> Strategy:
    """A new, empty strategy.

    `spelling` is a name with settings, see above. `score` is one of `SCORERS`, or `fragrel` for FragRel's scores inside
    another strategy (papers' spec, row 72), if the spelling has none; empty uses the default of the strategy.
    Strategies without retrieval ignore it. Raises InvalidArgument for an unknown name or setting, with what there is
    instead.
    """
    name, _, given = spelling.partition(":")
    name = name.strip()
    if name not in STRATEGIES:
        near = difflib.get_close_matches(name, STRATEGIES, 1)
        guess = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidArgument(f"unknown strategy {name!r}.{guess} Use one of: {', '.join(STRATEGIES)}.")
    is_printed, values = read_settings(given)
    score = str(values.pop("score", score))
    index = score_named(score, context) if score else None
    if not is_printed and not values:
        return STRATEGIES[name](context, index)
    system = SYSTEMS.get(name)
    if system is None:
        known = ", ".join(SYSTEMS)
        raise InvalidArgument(f"`{name}` has no setting but `score`. Use one of {known} for others.")
    settings = system.as_printed if is_printed else system.default
    return system.make(context, changed_settings(name, settings, values, not_here=("score",)), index)


def base_name(spelling: str) -> str:
    """The name of a strategy without its settings."""
    return spelling.partition(":")[0].strip()


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


def _fragrel(context: StrategyContext, options: FragRelOptions, score: Indexer | None) -> Strategy:
    return FragRel(context, options, score)


def _fragrel_by_meaning(context: StrategyContext, options: FragRelOptions, score: Indexer | None) -> Strategy:
    return FragRel(context, replace(options, relation=SemanticRelation(context.embedder)), score, "fragrel A")


def _fragrel_without_relation(context: StrategyContext, options: FragRelOptions, score: Indexer | None) -> Strategy:
    return FragRel(context, replace(options, relation=NoRelation()), score, "fragrel none")


def _chat(context: StrategyContext, settings: ChatSettings, score: Indexer | None) -> Strategy:
    return chat_with(context, settings, "chat fragrel", score=score)


def _qrmem(context: StrategyContext, settings: QRMeMSettings, score: Indexer | None) -> Strategy:
    return QRMeM(context, settings, score or indexer())


def _memorag(context: StrategyContext, settings: MemoRAGSettings, score: Indexer | None) -> Strategy:
    return MemoRAG(context, settings, score)


def _segment_plus(context: StrategyContext, settings: SegmentPlusSettings, score: Indexer | None) -> Strategy:
    return SegmentPlus(context, settings, score or indexer())


SYSTEMS: dict[str, SystemOfPaper] = {
    "fragrel": SystemOfPaper(_fragrel, FragRelOptions(), fragrel.AS_PRINTED),
    "fragrel A": SystemOfPaper(_fragrel_by_meaning, FragRelOptions(), fragrel.AS_PRINTED),
    "fragrel none": SystemOfPaper(_fragrel_without_relation, FragRelOptions(), fragrel.AS_PRINTED),
    "chat fragrel": SystemOfPaper(_chat, fragrel.CHAT, fragrel.AS_PRINTED_CHAT),
    "qrmem": SystemOfPaper(_qrmem, QRMeMSettings(), qrmem.AS_PRINTED),
    "qrmem expansion": SystemOfPaper(
        _qrmem, QRMeMSettings(navigation="expansion"), replace(qrmem.AS_PRINTED, navigation="expansion")
    ),
    "qrmem trial": SystemOfPaper(
        _qrmem, QRMeMSettings(navigation="trial"), replace(qrmem.AS_PRINTED, navigation="trial")
    ),
    "memorag": SystemOfPaper(_memorag, MemoRAGSettings(), memorag.AS_PRINTED),
    "segment_plus": SystemOfPaper(_segment_plus, SegmentPlusSettings(), segment_plus.AS_PRINTED),
}

SHARED_GRAPH = QRMeMSettings(query_oriented=False, graph_update=False, fuse_relations=False)
"""QRMeM with one graph for all questions: each segment is read once, with two calls, and stored for later processes."""

_OF_TEXTS = ("entities", "relations", "same", "fused relation", "gist", "key points", "note", "filter", "merge")
READING_PURPOSES = frozenset((*_OF_TEXTS, "summarise", "summary", "whole summary"))
"""Purposes of the calls that read documents. Their responses are worth storing on disk; answers are not."""

MEMORY_MODEL_STRATEGIES = ("auto", "memorag")  # strategies that use the memory model of the context, if there is one

STRATEGIES: dict[str, Make] = {
    "auto": _auto,
    "fragrel": SYSTEMS["fragrel"].with_defaults,
    "fragrel A": SYSTEMS["fragrel A"].with_defaults,
    "fragrel none": SYSTEMS["fragrel none"].with_defaults,
    "chat fragrel": SYSTEMS["chat fragrel"].with_defaults,
    "chat returning": lambda context, score: fragrel.returning_chat(context, score=score),
    "chat retrieval": lambda context, score: mem_retrieval(context, score=score),
    "chat truncated": lambda context, score: truncated_history(context),
    "chat memo": lambda context, score: memo_chat(context),
    "qrmem": SYSTEMS["qrmem"].with_defaults,
    "qrmem shared": lambda context, score: QRMeM(context, SHARED_GRAPH, score or indexer()),
    "qrmem expansion": SYSTEMS["qrmem expansion"].with_defaults,
    "qrmem trial": SYSTEMS["qrmem trial"].with_defaults,
    "memorag": SYSTEMS["memorag"].with_defaults,
    "segment_plus": SYSTEMS["segment_plus"].with_defaults,
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
