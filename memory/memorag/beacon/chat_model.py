"""Chat model with a beacon memory: a prefix cache with compressed keys and values.

Owns the cached texts and their length limit, the choice of the cached text for a conversation, and mutual exclusion.
Implements `CodeModel` for chat and `PrefixCachingModel`, so `backends` uses it as any other model. Knows no prompts and
no files.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from ....errors import ModelError
from ....llm.local.decoding import detokenise
from ....llm.local.engines import Arrays, OutOfMemory
from ....llm.local.kv_cache import Preempted
from ....llm.local.prefix_cache import (
    RESERVED_TOKENS,
    CachedPrefix,
    CacheIdentity,
    PrefixCacheError,
    common_prefix_tokens,
    read_stored_prefix,
    tokenizer_hash,
)
from ....llm.local.sampling import sample_token
from ....llm.local.tokenizer import HfTokenizer
from ....llm.prompting.chat_template import ChatTokens
from ....llm.protocol import Cancel, ChatRequest, CompletionRequest, Message, ModelCancelled, ModelInfo, Piece, Speed
from ....llm.streaming import cut_stream
from ....llm.throughput import ThroughputMeter
from .ratios import AdaptiveRatio, RatioOf, RatioPolicy, TextTooLong, check_length, longest_text, parse_policy

if TYPE_CHECKING:
    from .cache import Memory
    from .model import BeaconModel


class BeaconChatModel:
    """A chat `CodeModel` and a `PrefixCachingModel`. Thread-safe; computes for one thread at a time.

    A conversation that continues a cached text is answered from its memory; any other is read from its beginning,
    compressed if it is longer than a window. The last text stays cached until another one is.
    """

    def __init__(
        self,
        model: BeaconModel,
        tokenizer: HfTokenizer,
        chat_tokens: ChatTokens,
        *,
        name: str,
        ratio: str,
        ratios: Sequence[int],
        weights: Callable[[], str],
    ) -> None:
        """`ratio` is a policy, see `parse_policy`; `ratios` are allowed ratios; `weights` returns a hash.

        Raises BeaconError for an invalid policy.
        """
        self._model: BeaconModel | None = model
        self._tokenizer, self._chat_tokens = tokenizer, chat_tokens
        self._name, self._weights = f"{name} (ratio {ratio})", weights
        window, max_positions = model.window, model.max_positions
        policy = parse_policy(ratio, window=window, max_positions=max_positions, ratios=ratios)
        self._plan = RatioPlan(policy, window, max_positions)
        appended = ", appended" if model.placement == "appended" else ""
        self._form = f"beacon, window {window}, ratio {ratio}, {model.base.dtype}{appended}"
        self._count = lru_cache(maxsize=1024)(lambda text: len(tokenizer.encode(text)))
        self._meter = ThroughputMeter()
        self._generator = np.random.default_rng(0)  # for sampling
        self._turn = threading.Lock()
        self._texts: WeakSet[CachedText] = WeakSet()
        self._last: CachedText | None = None

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            name=self._name,
            backend="beacon",
            context_tokens=self._plan.most_tokens,
            fills_middle=False,
            repository_level=False,
            local=True,
            chats=True,
        )

    @property
    def speed(self) -> Speed:
        return self._meter.speed

    @property
    def identity(self) -> CacheIdentity:
        """What a stored memory depends on besides the text; computes hashes."""
        tokenizer = tokenizer_hash(self._tokenizer.n_vocabulary, self._tokenizer.bytes_of)
        return CacheIdentity(self._name, self._weights(), tokenizer, self._form)

    def prepare(self, cancel: Cancel) -> None:
        """Nothing to prepare."""

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        """Nothing to warm: it does not complete code."""

    def count_tokens(self, text: str) -> int:
        return self._count(text)

    def conversation_tokens(self, messages: Sequence[Message]) -> Sequence[int]:
        """The tokens before the answer. Raises ModelError if the chat template rejects the messages."""
        return self._chat_tokens(messages)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        raise ModelError(
            f"{self._name} answers questions and does not complete code. Configure another model for completions."
        )

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        tokens = self._chat_tokens(request.messages)
        with self._failures():
            written = self._written(tokens, request, cancel)
            yield from cut_stream(detokenise(written, self._tokenizer.bytes_of), request)

    def cache_prefix(self, messages: Sequence[Message], cancel: Cancel | None = None) -> CachedPrefix:
        tokens = common_prefix_tokens(self._chat_tokens, messages)
        return CachedPrefix(self, messages, tokens, self.cache_tokens(tokens, cancel or Cancel()))

    def load_prefix(self, folder: Path, cancel: Cancel | None = None) -> CachedPrefix:
        saved = read_stored_prefix(folder, self.identity)
        tokens = common_prefix_tokens(self._chat_tokens, saved.messages)
        with self._failures(), self._computing(cancel or Cancel()) as model:
            try:
                memory = memory_of(saved.arrays, model)
            except (KeyError, ValueError) as error:
                raise ModelError(f"{folder} is unusable: {error}. Memorize the text again.") from error
            if not len(tokens) == saved.n_tokens == memory.n_tokens:
                raise ModelError(f"{self._name} tokenizes the text in {folder} differently. Memorize the text again.")
            text = self._hold(tokens, memory, self._ratios(tokens, RESERVED_TOKENS))
            return CachedPrefix(self, saved.messages, tokens, text)
        raise ModelCancelled("Loading was cancelled.")

    def cache_tokens(self, tokens: Sequence[int], cancel: Cancel) -> CachedText:
        """Read `tokens` and cache their memory. Raises PrefixCacheError, and ModelError also when cancelled."""
        with self._failures(), self._computing(cancel) as model:
            for text in list(self._texts):
                if text.is_cached and list(text.tokens) == list(tokens):
                    return text
            ratio_of = self._ratios(tokens, RESERVED_TOKENS)
            self._last = None  # frees memory for the next text
            started = time.perf_counter()
            memory = self._read(model, model.empty(), tokens, ratio_of, cancel)
            self._meter.record_prefill(len(tokens), time.perf_counter() - started)
            return self._hold(tokens, memory, ratio_of)
        raise ModelCancelled("Caching the text was cancelled.")

    def close(self) -> None:
        with self._turn:
            self._model = self._last = None

    def _written(
        self, tokens: Sequence[int], request: ChatRequest, cancel: Cancel
    ) -> Iterator[tuple[int, float | None]]:
        """Generates the answer from the longest cached prefix. Acquires the lock for each token."""
        written, seconds = list[int](), 0.0

        def drawn(logits: Any) -> int:
            return sample_token(logits.float().cpu().numpy(), [*tokens, *written], request, self._generator)[0]

        with self._computing(cancel) as model:
            memory, ratio_of = self._memory_before(model, tokens, request.max_new_tokens)
            memory = self._read(model, memory, tokens[:-1], ratio_of, cancel)
            how: dict[str, Any] = {} if request.is_greedy else {"choose": drawn}
            last, ends = _block(model, tokens[-1:]), sorted(self._tokenizer.ends)
            generated = model.generate(memory, last, request.max_new_tokens, ends, ratio_of, **how)
        while True:
            with self._computing(cancel):
                started = time.perf_counter()
                token = next(generated, None)
                seconds += time.perf_counter() - started
            if token is None:
                break
            written.append(token)
            yield token, None
        self._meter.record_decode(len(written), seconds)

    # The methods below require the lock.

    def _memory_before(self, model: BeaconModel, tokens: Sequence[int], n_new: int) -> tuple[Memory, RatioOf]:
        """The memory of the longest cached prefix of `tokens`; an empty one if there is none."""
        fitting = [
            (kept, text.ratio_of)
            for text in list(self._texts)
            if (kept := text.memory) is not None
            and kept.n_tokens < len(tokens)
            and list(tokens[: kept.n_tokens]) == list(text.tokens)
        ]
        if not fitting:
            return model.empty(), self._ratios(tokens, n_new)
        return max(fitting, key=lambda each: each[0].n_tokens)

    def _read(
        self, model: BeaconModel, memory: Memory, tokens: Sequence[int], ratio_of: RatioOf, cancel: Cancel
    ) -> Memory:
        """The memory of all `tokens`, continued from `memory`. Cancelled between windows."""
        while (start := memory.n_tokens) < len(tokens):
            if cancel.cancelled:
                raise Preempted
            end = (start // model.window + 1) * model.window
            _, memory = model.read(memory, _block(model, tokens[start:end]), ratio_of)
        return memory

    def _ratios(self, tokens: Sequence[int], n_room: int) -> RatioOf:
        """Raises PrefixCacheError with the ratio that would suffice."""
        try:
            return self._plan.ratios(len(tokens), n_room)
        except TextTooLong as error:
            raise PrefixCacheError(f"{error} Set `memory.beacon_ratio`.") from error

    def _hold(self, tokens: Sequence[int], memory: Memory, ratio_of: RatioOf) -> CachedText:
        self._last = text = CachedText(tokens, memory, ratio_of)
        self._texts.add(text)
        return text

    @contextmanager
    def _computing(self, cancel: Cancel) -> Iterator[BeaconModel]:
        """The model, for one thread at a time. Raises Preempted when cancelled."""
        from ....llm.local.engines.torch_engine import DEFAULT_THREADS

        while not self._turn.acquire(timeout=0.02):
            if cancel.cancelled:
                raise Preempted
        try:
            if cancel.cancelled:
                raise Preempted
            if self._model is None:
                raise ModelError(f"{self._name} is closed. Open it again.")
            import torch

            torch.set_num_threads(DEFAULT_THREADS)  # another model in this process may have changed it
            yield self._model
        finally:
            self._turn.release()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Maps torch errors to ModelError; cancelled work ends without an error."""
        from ....llm.local.engines.torch_engine import mapped_memory_errors

        try:
            with mapped_memory_errors():
                yield
        except Preempted:
            pass
        except ModelError:
            raise
        except OutOfMemory as error:
            raise ModelError(
                f"{self._name} ran out of memory: {error}. Use a larger ratio (`memory.beacon_ratio`), or less text."
            ) from error
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ModelError(f"{self._name} failed: {reason}. Use a shorter text, or another model.") from error


def _block(model: BeaconModel, tokens: Sequence[int]) -> Any:
    """Tokens as a tensor, (1, T)."""
    import torch

    return torch.tensor([list(tokens)], device=model.base.device)


@dataclass(eq=False)
class CachedText:
    """The memory of a text, until it is released; then the text must be read again."""

    tokens: Sequence[int]
    memory: Memory | None
    ratio_of: RatioOf

    @property
    def is_cached(self) -> bool:
        return self.memory is not None

    def export_arrays(self, use: Callable[[Arrays], None], cancel: Cancel) -> bool:
        """Call `use` with the arrays; False when cancelled or released. See `prefix_cache.CachedTokens`."""
        memory = self.memory
        if memory is None or cancel.cancelled:
            return False
        use(memory.to_arrays())
        return True

    def release(self) -> None:
        self.memory = None


@dataclass(frozen=True, slots=True)
class RatioPlan:
    """The length limit of texts, and their compression ratios."""

    policy: RatioPolicy
    window: int
    max_positions: int

    @property
    def most_tokens(self) -> int:
        """Largest length of a conversation with its answer, for any ratios of the policy."""
        policy, n_free = self.policy, 0
        ratio = min(policy.ratios)
        if isinstance(policy, AdaptiveRatio):
            ratio, n_free = max(policy.ratios), policy.extra_tokens
        return max(1, longest_text(self.max_positions, self.window, ratio) - n_free)

    def ratios(self, n_tokens: int, n_room: int) -> RatioOf:
        """The ratios of a text with room behind it; deterministic. Raises TextTooLong, see `check_length`."""
        n_free = self.policy.extra_tokens if isinstance(self.policy, AdaptiveRatio) else n_room
        ratio_of = self.policy.for_text(n_tokens + max(0, n_room - n_free), Random(0))
        check_length(0, 0, n_tokens + n_room, window=self.window, max_positions=self.max_positions, ratio_of=ratio_of)
        return ratio_of


def memory_of(arrays: Arrays, model: BeaconModel) -> Memory:
    """The memory from its arrays. Raises KeyError and ValueError if they do not fit the model."""
    from .cache import Memory

    def form(tensors: Sequence[Any]) -> list[Any]:
        return [(tensor.dtype, tensor.shape[:2], tensor.shape[3:]) for tensor in tensors]

    memory, wanted = Memory.from_arrays(arrays, model.base.device), form(model.empty().keys)
    if any(form(kept) != wanted for kept in (memory.keys, memory.values, memory.open_keys, memory.open_values)):
        raise ValueError("keys and values have the wrong shape")
    return memory
