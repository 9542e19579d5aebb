"""Text embeddings: the `Embedder` interface, the default hashing embedder, and selection by settings.

Embedding models are in the modules beside this one and load on first use.
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
    """Embeds texts as vectors. Thread-safe."""

    @property
    def name(self) -> str:
        """Identifies everything that changes the vectors; embeddings are cached under it."""
        ...

    @property
    def n_dimensions(self) -> int: ...

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        """Returns (len(texts), n_dimensions), rows of length 1, or 0 for a text without words. Raises ModelError."""
        ...


class EmbedderWrapper:
    """An `Embedder` over another one: the base of those that cache, redact or replace it."""

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner

    @property
    def name(self) -> str:
        return self.inner.name

    @property
    def n_dimensions(self) -> int:
        return self.inner.n_dimensions

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        return self.inner.embed(texts, are_queries=are_queries)


@dataclass(frozen=True, slots=True)
class EmbedderSettings:
    """User settings of an embedder. Some models require prefixes before a text: "query: " (e5)."""

    kind: str = "auto"  # one of KINDS
    path: str = ""  # of `local`: a directory of sentence-transformers or transformers
    url: str = ""  # of `api`: a server with OpenAI's or Ollama's protocol
    model: str = ""  # model name on the server
    key_variable: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    lower_case: bool = False  # also normalises quotes and dashes, as in the training of mContriever


def open_embedder(settings: EmbedderSettings | None = None) -> tuple[Embedder, str]:
    """Returns the embedder for the settings, and a message that names it and the reason. Loads nothing yet.

    Raises ModelMissing, which names the missing part and the next step. `auto` falls back to hashing instead.
    """
    settings = settings or EmbedderSettings()
    if settings.kind == "hashing":
        return HashingEmbedder(), "hashing embeddings, as configured"
    if settings.kind == "api":
        from .embedding_api import ApiEmbedder

        return _as_configured(ApiEmbedder(settings))
    if settings.kind not in KINDS:
        raise ModelMissing(f"Unknown embeddings {settings.kind!r}. Use one of {', '.join(KINDS)}.")
    from .embedding_local import LocalEmbedder, bundled_model

    if settings.kind == "local":
        return _as_configured(LocalEmbedder(settings.path, settings))
    if settings.kind == "bundled":
        return _as_configured(LocalEmbedder(bundled_model(), settings))
    try:
        bundled = LocalEmbedder(bundled_model(), settings)
    except ModelMissing as error:
        return HashingEmbedder(), f"hashing embeddings, without semantic similarity: {error}"
    return bundled, f"embeddings of {bundled.name}, because it is installed"


def _as_configured(embedder: Embedder) -> tuple[Embedder, str]:
    return embedder, f"embeddings of {embedder.name}, as configured"


def knows_meaning(embedder: Embedder) -> bool:
    """Whether the vectors carry semantic similarity; hashed vectors do not."""
    return not embedder.name.startswith(_HASHING)


def has_words(text: str) -> bool:
    """Whether a text has a letter or a digit. Other texts get a zero vector: a model would return an arbitrary one."""
    return any(map(str.isalnum, text))


class HashingEmbedder:
    """Feature hashing of character 3-grams and 4-grams: needs no model, deterministic, no semantic similarity.

    Recall@10 of gold paragraphs on the HotpotQA sample is 83.5 %; whole words in 512 dimensions 61.0 %, with the
    n-grams of stop words 70.0 % (benchmarks/results/memory-log.md).
    """

    def __init__(self, n_dimensions: int = 1024) -> None:
        self.n_dimensions = n_dimensions

    @property
    def name(self) -> str:
        return f"{_HASHING} {self.n_dimensions}"

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        vectors = np.zeros((len(texts), self.n_dimensions), np.float32)
        for row, text in zip(vectors, texts, strict=True):
            keys, weights = _weighted(text)
            # The last bit gives the sign, so that hash collisions cancel as often as they add up.
            signs = (keys & np.uint64(1)).astype(np.float64) * 2 - 1
            row += np.bincount((keys >> np.uint64(1)) % np.uint64(len(row)), signs * weights, len(row))
        lengths: Vectors = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors


# Stop words: a sum of hashes has no idf to discount them.
_EVERYWHERE = """
a an the of in on at to is are was were be been by for with as and or that this it its from which what who whom whose
when where how did do does has have had
"""
_STOP_WORDS = frozenset(_EVERYWHERE.split())


def _weighted(text: str) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """The distinct keys of a text and their weights, which grow with the square root of the count."""
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
    """The keys of a run of letters and the weight of each: a long word weighs no more than a short one."""
    parts = parts_of_run(run)
    if not is_cjk(run):
        parts = tuple(piece for part in parts if part not in _STOP_WORDS for piece in _pieces(f"<{part}>"))
    keys = np.array([term_key(part) for part in parts], np.uint64)
    return keys, max(1, len(parts)) ** -0.5


def _pieces(text: str) -> list[str]:
    return [text[at : at + n] for n in (3, 4) for at in range(len(text) - n + 1)]
