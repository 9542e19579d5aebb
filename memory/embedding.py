"""Texts as vectors, so that what means the same lies near: one interface, and the default that needs nothing.

Owns `Embedder`, hashing, and which embedder a setting means. Models that embed are in the modules beside it and load
when they are asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..llm.protocol import ModelMissing
from ..retrieval.terms import term_key
from .words import is_cjk, parts_of_run, runs_of

Vectors = NDArray[np.float32]

_HASHING = "hashing letters"

KINDS = ("auto", "hashing", "bundled", "local", "api")


@runtime_checkable
class Embedder(Protocol):
    """Thread-safe."""

    @property
    def name(self) -> str:
        """Stands for everything that changes the vectors: what was embedded is kept under it."""
        ...

    @property
    def n_dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        """(len(texts), n_dimensions), rows of length 1, or 0 for a text without words. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """What a user may set of an embedder. Prefixes are what some models want before a text: "query: " (e5)."""

    kind: str = "auto"  # one of KINDS
    path: str = ""  # of `local`: a directory of sentence-transformers or transformers
    url: str = ""  # of `api`: a server that speaks OpenAI's protocol or Ollama's
    model: str = ""  # its name there
    key_variable: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    lower_case: bool = False  # and plain quotes and dashes, as mContriever was trained


def open_embedder(settings: EmbedderSettings | None = None) -> tuple[Embedder, str]:
    """The embedder that the settings mean, and in words which it is and why. Nothing is loaded or asked yet.

    Raises ModelMissing, which names what is not there and the next step, except for `auto`: that takes hashing then.
    """
    settings = settings or EmbedderSettings()
    if settings.kind == "hashing":
        return HashingEmbedder(), "embeddings by hashing, as set"
    if settings.kind == "api":
        from .embedding_api import ApiEmbedder

        embedder = ApiEmbedder(settings)
        return embedder, f"embeddings of {embedder.name}, as set"
    if settings.kind not in KINDS:
        raise ModelMissing(f"`memory.embeddings` can't be {settings.kind!r}. Choose one of {', '.join(KINDS)}.")
    from .embedding_local import LocalEmbedder, bundled_model

    if settings.kind == "local":
        local = LocalEmbedder(settings.path, settings)
        return local, f"embeddings of {local.name}, as set"
    if settings.kind == "bundled":
        bundled = LocalEmbedder(bundled_model(), settings)
        return bundled, f"embeddings of {bundled.name}, as set"
    try:
        bundled = LocalEmbedder(bundled_model(), settings)
    except ModelMissing as error:
        return HashingEmbedder(), f"embeddings by hashing, which knows letters and no meaning: {error}"
    return bundled, f"embeddings of {bundled.name}, which is installed"


def knows_meaning(embedder: Embedder) -> bool:
    """Whether vectors are more than the letters of a text; kept ones are what they were made by."""
    return not embedder.name.startswith(_HASHING)


def encodable(text: str) -> str:
    """The text without lone surrogates, which half of a pasted emoji leaves behind and no tokenizer takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


def has_words(text: str) -> bool:
    """Whether a text means anything. One of signs alone has no vector, whatever a model makes of its frame."""
    return any(map(str.isalnum, text))


class HashingEmbedder:
    """Letters in threes and fours by their hashes: no model and no meaning, but the same everywhere and at once.

    On the HotpotQA sample it finds 83.5 % of the gold paragraphs among the best 10; whole words in 512 dimensions
    found 61.0, and letters of the words that stand everywhere too 70.0 (benchmarks/results/memory-log.md).
    """

    def __init__(self, n_dimensions: int = 1024) -> None:
        self._n_dimensions = n_dimensions

    @property
    def name(self) -> str:
        return f"{_HASHING} {self._n_dimensions}"

    @property
    def n_dimensions(self) -> int:
        return self._n_dimensions

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        vectors = np.zeros((len(texts), self._n_dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            keys, weights = _weighted(text)
            # The last bit gives the sign, so that features that meet cancel as often as they add up.
            signs = (keys & np.uint64(1)).astype(np.float64) * 2 - 1
            row += np.bincount((keys >> np.uint64(1)) % np.uint64(len(row)), signs * weights, len(row))
        lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


# They stand everywhere and say nothing; a sum of hashes has no idf to tell.
_EVERYWHERE = """
a an the of in on at to is are was were be been by for with as and or that this it its from which what who whom whose
when where how did do does has have had
"""
_STOP_WORDS = frozenset(_EVERYWHERE.split())


def _weighted(text: str) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The keys of a text, each once, and their weights: what occurs four times counts twice."""
    counts = Counter(runs_of(text))
    features = [_features(run) for run in counts]
    if not features:
        return np.zeros(0, np.uint64), np.zeros(0)
    n_keys = [len(keys) for keys, _ in features]
    keys, at = np.unique(np.concatenate([keys for keys, _ in features]), return_inverse=True)
    times = np.repeat(np.array(list(counts.values()), np.float64), n_keys)
    shares = np.repeat([share for _, share in features], n_keys)
    return keys, np.bincount(at, times * shares) / np.sqrt(np.bincount(at, times))


@lru_cache(maxsize=1 << 15)
def _features(run: str) -> tuple[NDArray[np.uint64], float]:
    """The keys of a run of letters, and how much each of them counts: a long word no more than a short one."""
    parts = parts_of_run(run)
    if not is_cjk(run):
        parts = tuple(piece for part in parts if part not in _STOP_WORDS for piece in _pieces(f"<{part}>"))
    keys = np.array([term_key(part) for part in parts], np.uint64)
    return keys, max(1, len(parts)) ** -0.5


def _pieces(text: str) -> list[str]:
    return [text[at : at + n] for n in (3, 4) for at in range(len(text) - n + 1)]
