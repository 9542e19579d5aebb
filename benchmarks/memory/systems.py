"""Retrieval systems by name, and a cache of embeddings.

Owns the names in the tables. The systems are in `memory/scoring` and `memory/fragrel`; `memory/strategies.py` has the
strategies and how their settings are written.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...memory import Embedder, StrategyContext
from ...memory.embedding import EmbedderSettings, EmbedderWrapper, Vectors, open_embedder
from ...memory.fragrel.relations import ContextRelation, Relation, SemanticRelation
from ...memory.fragrel.scores import related
from ...memory.scoring import Indexer, indexer

STORY_W_REL, ALPHA = 0.3, 0.5
"""The paper's (papers' spec, 1.5)."""

SYSTEMS = ("bm25", "bm25 + A", "bm25 + B", "dense", "dense + A", "dense + B", "hybrid", "hybrid + B")
"""A is FragRel by meaning, B by place."""


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
