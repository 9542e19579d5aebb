"""Embeddings of a server: OpenAI's `/v1/embeddings`, with Ollama's `/api/embed` as the fallback.

Owns the requests and the validation of responses. Texts leave this machine if the address is remote.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..llm.http.endpoint import Endpoint, ErrorResponse
from ..llm.protocol import Cancel, ModelCancelled, ModelMissing, ModelUnreachable, TimeLimit
from .embedding import EmbedderSettings, Vectors, has_words
from .retry_policy import Pause, with_retries
from .values import content_key, encodable

BATCH = 64
MAX_BYTES = 16_000
"""Largest text in bytes: servers reject more than 8,192 tokens, and a token has about four bytes of English, two of
Chinese.
"""

OPENAI, OLLAMA = "/v1/embeddings", "/api/embed"


class ApiEmbedder:
    """An `Embedder` that calls a server."""

    def __init__(self, settings: EmbedderSettings, *, timeout_s: float = 60.0, pause: Pause = Cancel.wait) -> None:
        """Raises ModelMissing if the address, the model name or the key is missing."""
        if not settings.url or not settings.model:
            missing = "memory.embeddings_url" if not settings.url else "memory.embeddings_model"
            raise ModelMissing(f"Embeddings of a server need a URL and a model name. Set `{missing}`.")
        url = settings.url.rstrip("/").removesuffix("/embeddings").removesuffix("/v1").removesuffix(OLLAMA)
        self._endpoint = Endpoint(url, read_timeout_s=timeout_s, api_key_variable=settings.key_variable)
        self._settings = settings
        self._timeout_s = timeout_s
        self._pause = pause
        self._lock = threading.Lock()
        self._path = OPENAI
        self._n_dimensions = 0

    @property
    def name(self) -> str:
        settings = self._settings
        how = content_key(self._endpoint.url, json.dumps([settings.query_prefix, settings.passage_prefix]))[:8]
        return f"{settings.model} {how}"

    @property
    def n_dimensions(self) -> int:
        """Calls the server on first use. Raises ModelError."""
        if not self._n_dimensions:
            self.embed(["a"])
        return self._n_dimensions

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        prefix = self._settings.query_prefix if are_queries else self._settings.passage_prefix
        at = [i for i, text in enumerate(texts) if has_words(text)]
        read = [_cut(prefix + encodable(texts[i])) for i in at]
        batches = [self._ask(read[i : i + BATCH]) for i in range(0, len(read), BATCH)]
        vectors = np.zeros((len(texts), self._n_dimensions if batches or not texts else self.n_dimensions), np.float32)
        if batches:
            vectors[at] = np.concatenate(batches)
        return vectors

    def _ask(self, texts: list[str]) -> Vectors:
        body = {"model": self._settings.model, "input": texts}

        def ask() -> Any:
            try:
                return self._asked(self._path, body)
            except ErrorResponse as error:
                if error.status != 404 or self._path == OLLAMA:
                    raise
                answer = self._asked(OLLAMA, body)
                self._path = OLLAMA
                return answer

        answer = with_retries(ask, Cancel(), self._pause, is_local=self._endpoint.local)
        found = _vectors(answer, len(texts))
        if found is None or not np.isfinite(found).all():
            raise ModelUnreachable(
                f"{self._endpoint.url} did not return {len(texts)} vectors of equal length. Check the address and "
                "`memory.embeddings_model`."
            )
        with self._lock:
            self._n_dimensions = self._n_dimensions or found.shape[1]
        if found.shape[1] != self._n_dimensions:
            raise ModelUnreachable(
                f"{self.name} changed from {self._n_dimensions} to {found.shape[1]} dimensions. Restart Weft."
            )
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        vectors: Vectors = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
        return vectors

    def _asked(self, path: str, body: Mapping[str, object]) -> Any:
        try:
            with TimeLimit(Cancel(), self._timeout_s) as limit:
                return self._endpoint.post(path, body, limit)
        except ModelCancelled as error:
            raise ModelUnreachable(
                f"{self._endpoint.url} returned no vectors within {self._timeout_s:g} s. Use a faster server."
            ) from error


def _vectors(answer: Any, n: int) -> Vectors | None:
    """(n, n_dimensions) from a response of either protocol; None if it is invalid."""
    try:
        if "data" in answer:
            rows = [card["embedding"] for card in sorted(answer["data"], key=lambda card: card["index"])]
        else:
            rows = answer["embeddings"]
        found = np.array(rows, np.float32)
    except (TypeError, ValueError, LookupError):
        return None
    return found if found.ndim == 2 and len(found) == n and found.shape[1] else None


def _cut(text: str) -> str:
    return text.encode("utf-8")[:MAX_BYTES].decode("utf-8", "ignore")
