"""Parser of strategies on the command line: a name, and settings after a colon.

    segment_plus                                    the strategy with its defaults
    segment_plus:filtered=false,segment_tokens=1000 with other settings
    qrmem:score=fragrel                             on the scores of FragRel

Owns the syntax. The names are those of `memory/strategies`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from ...memory import Strategy, StrategyContext
from ...memory.memorag import MemoRAG, MemoRAGSettings
from ...memory.qrmem import QRMeM, QRMeMSettings
from ...memory.segment_plus import SegmentPlus, SegmentPlusSettings
from ...memory.strategies import score_named, strategy_named

_WITH_SETTINGS: dict[str, tuple[Callable[..., Strategy], type[Any]]] = {
    "memorag": (MemoRAG, MemoRAGSettings),
    "qrmem": (QRMeM, QRMeMSettings),
    "segment_plus": (SegmentPlus, SegmentPlusSettings),
}


def spelled_strategy(spelling: str, context: StrategyContext) -> Strategy:
    """Raises ValueError, which says what there is instead."""
    name, _, given = spelling.partition(":")
    values = dict(_setting(part) for part in given.split(",")) if given else {}
    score = str(values.pop("score", ""))
    if not values:
        return strategy_named(name, context, score=score)
    if name not in _WITH_SETTINGS:
        raise ValueError(f"`{name}` has no setting but `score`. Strategies with settings: {', '.join(_WITH_SETTINGS)}.")
    make, settings = _WITH_SETTINGS[name]
    known = [field.name for field in fields(settings)]
    if unknown := [setting for setting in values if setting not in known]:
        raise ValueError(f"`{name}` has no setting `{unknown[0]}`. Settings: score, {', '.join(known)}.")
    return make(context, settings(**values), score_named(score or "bm25", context))


def _setting(part: str) -> tuple[str, Any]:
    name, _, value = (word.strip() for word in part.partition("="))
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value  # a word
