"""Inference engine over PyTorch: forward passes, KV caches, scores, threads, out-of-memory errors.

Runs any `AutoModelForCausalLM`, or a leaner `Decoder`. Knows no text and no files: `transformers_model` opens them.
Imported when such a model is opened, since torch takes seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from inspect import signature
from typing import Any, Protocol

import torch

from . import Arrays, FloatArray, OutOfMemory
from .threads import Step, fastest_threads

DEFAULT_THREADS: int = torch.get_num_threads()  # the default of torch: the cores of the processor, or OMP_NUM_THREADS
BLOCK_TOKENS = 64  # from this many tokens on a pass is bound by arithmetic, which threads share, and not by memory
SLOW_TOKEN_S = 0.2  # a token this slow with all threads is not slowed down by threads: no measurement
# A sliding-window cache can't be cropped once the window is full. A model with at least this window never gets more
# tokens, so that its cache can be reused; below that, length is worth more than reuse.
SMALLEST_WINDOW_TOKENS = 2048
UNKNOWN_CONTEXT_TOKENS = 1_000_000  # for a model without a last position


class Decoder(Protocol):
    """An implementation of a model. Its caches count their tokens in `n_tokens`."""

    n_vocabulary: int
    context_tokens: int
    cache_bytes_per_token: int
    cache_kind: str

    def new_cache(self) -> Any: ...

    def forward(self, cache: Any, tokens: Any, n_scored: int) -> Any:
        """Logits (n_scored, n_vocabulary) of the last of tokens (T,), on the device of the model."""
        ...

    def crop(self, cache: Any, n_tokens: int) -> bool: ...

    def tensors_of(self, cache: Any) -> dict[str, Any]:
        """Views of the keys and values, cut to the tokens of the cache."""
        ...

    def import_cache(self, tensors: dict[str, Any], n_tokens: int) -> Any:
        """A cache with copies of such tensors. Raises ValueError when they don't fit."""
        ...


class TorchEngine:
    """An `Engine` over a decoder on one device.

    The number of threads belongs to the whole process, so every call sets its own.

    Rounding depends on the number of tokens in a pass. In float32 that never changed the best token (0 of 1,600 with
    eight tokens at once and one by one, with the tiny trained model); in bfloat16 it did for 3 to 8 of 1,000.
    """

    def __init__(self, decoder: Decoder, device: Any, threads: int = 0) -> None:
        """With `threads` 0 `tune` chooses the number."""
        self._decoder = decoder
        self._device = device
        self._threads_are_set = threads > 0
        self._token_threads = self._block_threads = threads or DEFAULT_THREADS
        self.n_vocabulary = decoder.n_vocabulary
        self.context_tokens = decoder.context_tokens
        self.cache_bytes_per_token = decoder.cache_bytes_per_token
        self.cache_kind = decoder.cache_kind

    def new_cache(self) -> Any:
        with mapped_memory_errors():
            return self._decoder.new_cache()

    def forward(self, cache: Any, tokens: Sequence[int], n_scored: int = 1) -> TorchScores:
        if cache.n_tokens + len(tokens) > self.context_tokens:
            raise OutOfMemory(f"A cache holds {self.context_tokens} tokens.")
        torch.set_num_threads(self._token_threads if len(tokens) < BLOCK_TOKENS else self._block_threads)
        with mapped_memory_errors(), torch.inference_mode():
            block = torch.tensor(tokens, device=self._device)  # (T,)
            return TorchScores(self._decoder.forward(cache, block, n_scored))

    def crop(self, cache: Any, n_tokens: int) -> bool:
        return self._decoder.crop(cache, n_tokens)

    def free(self, cache: Any) -> None:
        """Nothing to do: the last reference frees the tensors."""

    def export_cache(self, cache: Any) -> Arrays:
        with torch.inference_mode():
            return {name: _to_array(tensor) for name, tensor in self._decoder.tensors_of(cache).items()}

    def import_cache(self, arrays: Arrays, n_tokens: int) -> Any:
        with mapped_memory_errors(), torch.inference_mode():
            tensors = {name: _to_tensor(array).to(self._device) for name, array in arrays.items()}
            return self._decoder.import_cache(tensors, n_tokens)

    def tune(self) -> None:
        """Choose the fastest numbers of threads for a token and for a block of a prompt; on a CPU only."""
        if self._threads_are_set or self._device.type != "cpu":
            return
        start = time.perf_counter()
        self._forward_zeros(1)
        if time.perf_counter() - start > SLOW_TOKEN_S:
            return

        def use_for_token(n_threads: int) -> Step:
            self._token_threads = n_threads
            return partial(self._forward_zeros, 1)

        def use_for_block(n_threads: int) -> Step:
            self._block_threads = n_threads
            return partial(self._forward_zeros, min(BLOCK_TOKENS, self.context_tokens))

        self._token_threads = fastest_threads(use_for_token, cores=DEFAULT_THREADS)
        self._block_threads = fastest_threads(use_for_block, cores=DEFAULT_THREADS)

    def _forward_zeros(self, n_tokens: int) -> None:
        """A pass into a new cache, until its scores are known."""
        self.forward(self.new_cache(), [0] * n_tokens).best()

    def close(self) -> None:
        """Nothing to do: the last reference frees the weights."""


class TorchScores:
    """`Scores` over logits (rows, n_vocabulary) on the device."""

    def __init__(self, logits: Any) -> None:
        self._logits = logits

    def best(self) -> tuple[list[int], list[float]]:
        with torch.inference_mode():
            logits = self._logits.float()
            tokens = logits.argmax(-1)  # the first of equal ones; rounded probabilities would have more ties
            probabilities = (logits.gather(-1, tokens[:, None])[:, 0] - logits.logsumexp(-1)).exp()
            return tokens.tolist(), probabilities.tolist()

    def best_of(self, row: int, tokens: Sequence[int]) -> tuple[int, float]:
        with torch.inference_mode():
            logits = self._logits[row].float()
            allowed = sorted(tokens)  # so that the lowest wins a tie
            among = logits[torch.tensor(allowed, device=logits.device)]
            best = int(among.argmax())
            return allowed[best], float((among[best] - logits.logsumexp(-1)).exp())

    def logits(self) -> FloatArray:
        array: FloatArray = self._logits.float().cpu().numpy()
        return array


class HfDecoder:
    """Any `AutoModelForCausalLM`, through its own `forward`. Two tokens show the capabilities of its cache."""

    def __init__(self, model: Any) -> None:
        """Raises ValueError when the model has no KV cache, OutOfMemory."""
        self._model = model
        self.cache_kind = f"transformers {model.dtype}"
        # Without it the logits of a whole block are computed, and all but the last rows discarded.
        self._has_logits_to_keep = "logits_to_keep" in signature(model.forward).parameters
        cache = HfCache()
        with mapped_memory_errors(), torch.inference_mode():
            logits = self.forward(cache, torch.zeros(2, dtype=torch.long, device=model.device), 1)
        self.n_vocabulary = int(logits.shape[-1])
        self.cache_bytes_per_token = _bytes_of(cache.past) // cache.n_tokens
        config = model.config.get_text_config(decoder=True)
        positions = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
        window = _smallest_window(cache.past)
        self._crops = _has_only_keys_and_values(cache.past) and (window is None or window >= SMALLEST_WINDOW_TOKENS)
        # The token that fills a window evicts the first one.
        limits = (positions, window - 1 if window and self._crops else None)
        self.context_tokens = min((int(limit) for limit in limits if limit), default=UNKNOWN_CONTEXT_TOKENS)

    def new_cache(self) -> HfCache:
        return HfCache()

    def forward(self, cache: HfCache, tokens: Any, n_scored: int) -> Any:
        options = {"logits_to_keep": n_scored} if self._has_logits_to_keep else {}
        result = self._model(input_ids=tokens[None], past_key_values=cache.past, use_cache=True, **options)
        cache.past = getattr(result, "past_key_values", None)
        if cache.past is None:
            raise ValueError("it has no KV cache")
        cache.n_tokens += len(tokens)
        return result.logits[0, -n_scored:]

    def crop(self, cache: HfCache, n_tokens: int) -> bool:
        if n_tokens == 0:
            cache.past, cache.n_tokens = None, 0
        elif n_tokens < cache.n_tokens:
            if not self._crops:
                return False
            cache.past.crop(n_tokens - cache.n_tokens)  # a negative number of tokens to remove
            cache.n_tokens = n_tokens
        return True

    def tensors_of(self, cache: HfCache) -> dict[str, Any]:
        layers = enumerate(getattr(cache.past, "layers", ()))
        return {
            f"{i}.{name}": tensor
            for i, layer in layers
            for name in ("keys", "values")
            if isinstance(tensor := getattr(layer, name, None), torch.Tensor) and tensor.numel()
        }

    def import_cache(self, tensors: dict[str, Any], n_tokens: int) -> HfCache:
        cache = HfCache()
        self.forward(cache, torch.zeros(1, dtype=torch.long, device=self._model.device), 1)  # creates the layers
        own = self.tensors_of(cache)
        if not self._crops or {name: _one_token(tensor) for name, tensor in tensors.items()} != {
            name: _one_token(tensor) for name, tensor in own.items()
        }:
            raise ValueError("keys and values have another shape")
        for i, layer in enumerate(cache.past.layers):
            if f"{i}.keys" in own:
                layer.reset()
                layer.update(tensors[f"{i}.keys"], tensors[f"{i}.values"])
        cache.n_tokens = n_tokens
        return cache


@dataclass(slots=True)
class HfCache:
    """The cache object of transformers; None before the first token."""

    n_tokens: int = 0
    past: Any = field(default=None, repr=False)


def _to_array(tensor: Any) -> Any:
    """The tensor as a numpy array; for bfloat16, which numpy lacks, its bits as int16."""
    tensor = tensor.cpu()
    return tensor.view(torch.int16).numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def _to_tensor(array: Any) -> Any:
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if tensor.dtype == torch.int16 else tensor


def _one_token(tensor: Any) -> tuple[Any, ...]:
    """Type and shape without the number of tokens."""
    return tensor.dtype, tensor.shape[:-2], tensor.shape[-1]


def _has_only_keys_and_values(past: Any) -> bool:
    """Whether the cache has keys and values only, without a recurrent state."""
    kinds = import_module("transformers.cache_utils")
    layers = getattr(past, "layers", ())
    return type(past) is kinds.DynamicCache and all(
        isinstance(layer, (kinds.DynamicLayer, kinds.DummyLayer))
        and not isinstance(layer, kinds.LinearAttentionCacheLayerMixin)
        for layer in layers
    )


def _smallest_window(past: Any) -> int | None:
    """The smallest sliding window of a layer; None without one."""
    layers = getattr(past, "layers", ())
    windows = [layer.sliding_window for layer in layers if getattr(layer, "is_sliding", False)]
    return min(windows, default=None)


def _bytes_of(past: Any) -> int:
    layers = getattr(past, "layers", ())
    tensors = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors if isinstance(tensor, torch.Tensor))


@contextmanager
def mapped_memory_errors() -> Iterator[None]:
    """Maps every out-of-memory error of torch to OutOfMemory."""
    try:
        yield
    except torch.cuda.OutOfMemoryError as error:
        raise OutOfMemory(str(error)) from error
    except RuntimeError as error:
        text = str(error).lower()
        if "out of memory" in text or "defaultcpuallocator" in text or "can't allocate" in text:
            raise OutOfMemory(str(error)) from error
        raise
