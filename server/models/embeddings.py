"""The embedding model of the settings, with its vectors cached in the memory of a workspace.

A model is loaded once in a process, with the first text.
"""

from __future__ import annotations

from functools import lru_cache

from ...llm.protocol import Cancel, ModelMissing
from ...memory.embedding import Embedder, EmbedderSettings, HashingEmbedder, knows_meaning, open_embedder
from ...memory.embedding_cache import CachingEmbedder
from ...memory.storage import MemoryStore
from ..config import MemoryOptions
from .redacting import RedactingEmbedder


def embedder_of(
    options: MemoryOptions, store: MemoryStore, cancel: Cancel | None = None, *, redact: str = "auto"
) -> tuple[Embedder, str]:
    """The embedder of the settings and a sentence that names it; hashing, with the reason, if it can't be opened.

    Many texts take minutes: `cancel` stops between two batches. `redact` is the setting of this name.
    """
    settings = EmbedderSettings(
        options.embeddings,
        options.embeddings_path,
        options.embeddings_url,
        options.embeddings_model,
        options.embeddings_key_variable,
        options.embeddings_query_prefix,
        options.embeddings_passage_prefix,
        options.embeddings_lower_case,
    )
    try:
        embedder, why = _opened(settings)
    except ModelMissing as error:
        return HashingEmbedder(), f"{error} Until then texts are compared by hashed character n-grams."
    if redact == "always" or (redact == "auto" and settings.kind == "api"):
        embedder = RedactingEmbedder(embedder)
    # Hashing is faster than reading a cached vector from disk.
    return CachingEmbedder(embedder, store.vectors, cancel) if knows_meaning(embedder) else embedder, why


@lru_cache(maxsize=2)
def _opened(settings: EmbedderSettings) -> tuple[Embedder, str]:
    return open_embedder(settings)
