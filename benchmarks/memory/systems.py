"""Retrieval systems and strategies by name, and a cache of embeddings.

A strategy has settings after a colon:

    segment_plus                                    the strategy with its defaults
    segment_plus:filtered=false,segment_tokens=1000 with other settings
    qrmem:score=fragrel                             on the scores of FragRel

Owns the names in the tables and the syntax. The systems are in `memory/scoring` and `memory/fragrel`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from ...memory import Embedder, Strategy, StrategyContext
from ...memory.embedding import EmbedderSettings, EmbedderWrapper, Vectors, open_embedder
from ...memory.fragrel.relations import ContextRelation, Relation, SemanticRelation
from ...memory.fragrel.scores import related
from ...memory.memorag import MemoRAG, MemoRAGSettings
from ...memory.qrmem import QRMeM, QRMeMSettings
from ...memory.scoring import Indexer, indexer
from ...memory.segment_plus import SegmentPlus, SegmentPlusSettings
from ...memory.strategies import score_named, strategy_named

STORY_W_REL, ALPHA = 0.3, 0.5
"""The paper's (papers' spec, 1.5)."""

SYSTEMS = ("bm25", "bm25 + A", "bm25 + B", "dense", "dense + A", "dense + B", "hybrid", "hybrid + B")
"""A is FragRel by meaning, B by place."""

_WITH_SETTINGS: dict[str, tuple[Callable[..., Strategy], type[Any]]] = {
    "memorag": (MemoRAG, MemoRAGSettings),
    "qrmem": (QRMeM, QRMeMSettings),
    "segment_plus": (SegmentPlus, SegmentPlusSettings),
}


def system(name: str, embedder: Embedder) -> Indexer:
    way, _, relation = name.partition(" + ")
    score = indexer(way, StrategyContext(embedder=embedder))
    relations: dict[str, Relation] = {"A": SemanticRelation(embedder), "B": ContextRelation(STORY_W_REL)}
    return related(score, relations[relation], ALPHA) if relation else score


class RememberingEmbedder(EmbedderWrapper):
    """Embeds each text once in this process: stories share most of their sentences."""

    def __init__(self, inner: Embedder) -> None:
        super().__init__(inner)
        self._vectors: dict[tuple[str, bool], Vectors] = {}

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        missing = list(dict.fromkeys(text for text in texts if (text, are_queries) not in self._vectors))
        if missing:
            made = super().embed(missing, are_queries=are_queries)
            self._vectors |= {(text, are_queries): row for text, row in zip(missing, made, strict=True)}
        if not texts:
            return np.zeros((0, self.n_dimensions), np.float32)
        return np.stack([self._vectors[text, are_queries] for text in texts])


def open_remembering(name: str) -> tuple[RememberingEmbedder, str]:
    """The embedder that `--embeddings` names, and the sentence that says which it is. Raises ModelError."""
    embedder, why = open_embedder(EmbedderSettings(name))
    return RememberingEmbedder(embedder), why


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
