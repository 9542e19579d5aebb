"""A `CodeModel` in this process: an engine, a tokenizer, and the steps from a request to its text.

Owns the course of a request on local weights: prompt, prefix cache, speculative decoding, the measured token budget.
Knows no library for computation: the engines are in `engines/`.

Decoding is greedy unless a conversation asks for sampling. Neither the prefix cache nor drafts change the text, as far
as an engine computes the same for one token and for several; they change only the time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np

from ...errors import ModelError
from ..prompting.conversation import fit_messages
from ..prompting.formats import FimTokens
from ..prompting.infilling_chat import PREFIX_ONLY
from ..prompting.prompts import Prompt, build_prompt
from ..protocol import (
    Cancel,
    ChatRequest,
    CompletionRequest,
    Message,
    ModelCancelled,
    ModelInfo,
    ModelMissing,
    Piece,
    PromptPart,
    Speed,
)
from ..streaming import LastPrompts, cut_stream
from ..text import normalise_line_breaks
from ..throughput import FEWEST_TOKENS, SHORTEST_CONTEXT_TOKENS, ForwardPassTimes, ThroughputMeter
from .decoding import DecodingStats, TokenBytesIndex, decode_tokens, detokenise, heal_last_token, prefill
from .engines import Engine, OutOfMemory
from .kv_cache import KVCachePool, PinnedSlot, Preempted, SlotLease
from .prefix_cache import (
    RESERVED_TOKENS,
    CachedPrefix,
    CacheIdentity,
    PrefixCacheError,
    common_prefix_tokens,
    read_stored_prefix,
    tokenizer_hash,
)
from .sampling import sample_token
from .speculative import Drafter, DraftPolicy, PromptLookup, find_text_continuation
from .tokenizer import CodeTokenizer

BLOCK_S = 0.1  # time for a block of the prefill: the longest time until a cancelled stream stops
SHORTEST_BLOCK_TOKENS, LONGEST_BLOCK_TOKENS = 32, 1024
# No further measurement begins after this time. On a slow machine few are enough.
MEASURING_S = 1.0
SMALLEST_CONTEXT_TOKENS = 64  # below this, a prompt is too short for a useful completion


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """Options of a model in this process."""

    context_tokens: int = 4096  # most tokens of prompt and answer
    prompt_ms: int = 1000  # longest prefill of an uncached prompt; longer prompts are shortened
    cache_bytes: int = 512_000_000  # limit of the KV caches between requests
    speculative_decoding: bool = True  # whether drafts are verified; changes the speed, never the text
    reuse_cache: bool = True  # whether prompts reuse a common prefix; off to measure its benefit
    sampling_seed: int = 0  # of sampled answers


class LocalModel:
    """A `CodeModel` over local weights."""

    def __init__(
        self,
        engine: Engine,
        tokenizer: CodeTokenizer,
        *,
        name: str,
        backend: str,
        fim: FimTokens | None,
        settings: LocalSettings,
        chat_tokens: Callable[[Sequence[Message]], list[int]] | None = None,
        notes: tuple[str, ...] = (),
        weights: Callable[[], str] = str,
    ) -> None:
        """Owns `engine`, and frees it in `close`. `chat_tokens` applies the model's chat template, up to the answer.
        `weights` returns their hash, see `prefix_cache`.

        Raises ModelMissing when the tokenizer lacks a token of `fim`.
        """
        self._engine = engine
        self.tokenizer = tokenizer
        self._name = name
        self._fim = fim
        self._settings = settings
        self._chat_tokens = chat_tokens
        self._weights = weights
        self._kv_cache = KVCachePool(engine, settings.cache_bytes, reuse=settings.reuse_cache)
        self._meter = ThroughputMeter()
        self._times = ForwardPassTimes()
        self._draft_policy = DraftPolicy(self._times)
        self._last_prompts = LastPrompts()
        self._generator = np.random.default_rng(settings.sampling_seed)
        self._preparing = threading.Lock()
        self._is_tuned = self._is_prepared = False
        self.last_stats: DecodingStats | None = None  # the work for the last answer that has text
        self._static_notes = (*notes, *(() if fim else (PREFIX_ONLY,)))
        self._backend = backend
        self._memory_tokens: int | None = None  # measured limit, when memory allows less than the settings

        found = {text: tokenizer.special(text) for text in (fim.all if fim else ())}
        self._special = {text: token for text, token in found.items() if token is not None}
        # Tokens that end an answer: those of the model and those of its FIM format.
        self.end_tokens = tokenizer.ends.union(self._special.values())
        in_prompts = (*fim.frame, fim.repository, fim.file) if fim else ()
        if missing := [text for text in in_prompts if text and text not in self._special]:
            raise ModelMissing(
                f'{name} has no token {missing[0]}. Set the tokens that it was trained with, or set fim = "none".'
            )
        # Nearly all blocks and lines of a prompt are the same at the next keystroke.
        self._count = lru_cache(maxsize=16_384)(lambda text: len(tokenizer.encode(text)))
        self._encode = lru_cache(maxsize=512)(lambda text: tuple(tokenizer.encode(text)))
        self._bytes_of = lru_cache(maxsize=65_536)(tokenizer.bytes_of)

    @property
    def info(self) -> ModelInfo:
        return ModelInfo(
            name=self._name,
            backend=self._backend,
            context_tokens=self._context_tokens(),
            fills_middle=self._fim is not None,
            repository_level=self._fim is not None and self._fim.repository_level,
            local=True,
            chats=self._chat_tokens is not None,
            notes=(*self._static_notes, *self._memory_notes()),
            chat_tokens=self._most_context_tokens(),
        )

    @property
    def speed(self) -> Speed:
        return self._meter.speed

    def prompt_tokens(self, request: CompletionRequest) -> list[int]:
        """The prompt for `request`, to compare models. Raises ModelError."""
        return list(self._tokenise_request(request, self._context_tokens()).tokens)

    def prepare(self, cancel: Cancel) -> None:
        with self._mapped_errors():
            self._prepare(cancel)

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        with self._mapped_errors():
            self._prepare(cancel)
            prompt = self._tokenise_request(request, self._context_tokens())
            if not prompt.tokens:
                return
            try:
                with self._kv_cache.acquire(prompt.scored_tokens, prompt.n_new, cancel) as lease:
                    prefill(lease, prompt.scored_tokens, self._block_tokens(), n_left=1)
            except OutOfMemory:
                self._lower_memory_limit(prompt)

    def count_tokens(self, text: str) -> int:
        return self._count(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Generator[Piece, None, None]:
        """Yield the most likely text, a token at a time, each with its probability."""
        with self._mapped_errors():
            self._prepare(cancel)
            yield from self._answer(request, partial(self._tokenise_request, request), self._context_tokens, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        template = self._template
        with self._mapped_errors():
            self._prepare(cancel)
            # A conversation may take more time than a keystroke allows.
            build = partial(self._tokenise_chat, request, template)
            yield from self._answer(request, build, self._most_context_tokens, cancel)

    def cache_prefix(self, messages: Sequence[Message], cancel: Cancel | None = None) -> CachedPrefix:
        tokens = common_prefix_tokens(self._template, messages)
        return CachedPrefix(self, messages, tokens, self.cache_tokens(tokens, cancel or Cancel()))

    def load_prefix(self, folder: Path, cancel: Cancel | None = None) -> CachedPrefix:
        saved = read_stored_prefix(folder, self.identity)
        tokens = common_prefix_tokens(self._template, saved.messages)
        if len(tokens) != saved.n_tokens:
            raise ModelError(f"{self._name} tokenises the text in {folder} differently. Let it read the text again.")
        self._check_room(tokens)
        with self._mapped_errors():
            try:
                self._prepare(cancel or Cancel())
                cached = self._kv_cache.restore(tokens, saved.arrays)
            except ValueError as error:
                raise ModelError(f"{folder} can't be used: {error}. Let the model read the text again.") from error
            except OutOfMemory as error:
                raise PrefixCacheError(self._no_memory_for(tokens)) from error
            return CachedPrefix(self, saved.messages, tokens, cached)
        raise ModelCancelled("Loading the prefix was cancelled, or the model was closed.")

    def cache_tokens(self, tokens: Sequence[int], cancel: Cancel) -> PinnedSlot:
        """Compute and cache `tokens`. Raises PrefixCacheError, and ModelError also when cancelled."""
        with self._mapped_errors():
            self._prepare(cancel)
            self._check_room(tokens)
            try:
                with self._kv_cache.acquire(tokens, RESERVED_TOKENS, cancel) as lease:
                    prefill(lease, tokens, self._block_tokens(), n_left=1)
                    lease.append(tokens[lease.n_tokens :])
                    # The cache must be cropped after each question, so try it once.
                    lease.crop(len(tokens) - 1)
                    if not self._kv_cache.can_crop:
                        raise PrefixCacheError(
                            f"{self._name} can't cache a prefix: the KV cache of its architecture can't be cropped. "
                            "Choose another model."
                        )
                    lease.append(tokens[-1:])
                    return lease.pin()
            except OutOfMemory as error:
                raise PrefixCacheError(self._no_memory_for(tokens)) from error
        raise ModelCancelled("Computing the prefix was cancelled, or the model was closed.")

    def conversation_tokens(self, messages: Sequence[Message]) -> Sequence[int]:
        """All of `messages` as tokens, up to the answer. Raises ModelError without a chat template."""
        return self._template(messages)

    @property
    def identity(self) -> CacheIdentity:
        """What keys and values depend on. Hashes the tokenizer, which takes a moment."""
        tokenizer = tokenizer_hash(self.tokenizer.n_vocabulary, self._bytes_of)
        return CacheIdentity(self._name, self._weights(), tokenizer, self._kv_cache.cache_kind)

    def close(self) -> None:
        self._kv_cache.close()

    @property
    def _template(self) -> Callable[[Sequence[Message]], list[int]]:
        if self._chat_tokens is None:
            raise ModelError(f"{self._name} has no chat template. Choose a model that was trained for chat.")
        return self._chat_tokens

    def _check_room(self, tokens: Sequence[int]) -> None:
        if len(tokens) + RESERVED_TOKENS > (room := self._most_context_tokens()):
            raise PrefixCacheError(
                f"The text takes {len(tokens)} tokens, and {self._name} has room for {room} with a question and its "
                "answer. Raise context_tokens and cache_mb where model and memory allow it, or shorten the text."
            )

    def _no_memory_for(self, tokens: Sequence[int]) -> str:
        return (
            f"{self._name} has no memory to cache {len(tokens)} tokens beside other requests. Raise cache_mb, or "
            "shorten the text."
        )

    @contextmanager
    def _mapped_errors(self) -> Iterator[None]:
        """Maps every failure of an engine or a tokenizer to ModelError; cancelled work ends quietly."""
        try:
            yield
        except Preempted:
            pass
        except ModelError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ModelError(f"{self._name} stopped: {reason}. Try a smaller context, or another model.") from error

    def _prepare(self, cancel: Cancel) -> None:
        """Tune the engine and measure it, once. Raises Preempted when cancelled; the next call starts again."""
        if self._is_prepared:
            return
        while not self._preparing.acquire(timeout=0.02):
            if cancel.cancelled:
                raise Preempted
        try:
            if not self._is_tuned:
                self._kv_cache.tune()
                self._is_tuned = True
            if not self._is_prepared:
                with suppress(OutOfMemory):  # the first request lowers the limit
                    self._measure(cancel)
                if self._fim is None:
                    _ = self._token_bytes  # takes a moment, so not in the first answer
                self._is_prepared = True
        finally:
            self._preparing.release()

    def _measure(self, cancel: Cancel) -> None:
        """Measure prefill and decoding once, for the length of the first prompt and of the first draft."""
        limit = self._most_context_tokens()
        lines = self.tokenizer.encode(_SAMPLE)
        sample = (lines * (limit // len(lines) + 1))[: min(limit, 512)]
        with self._kv_cache.acquire(sample, 0, cancel) as lease:

            def measure(n_tokens: int) -> float:
                lease.best_after(sample[lease.n_tokens : lease.n_tokens + n_tokens])
                return lease.last_s

            # The first pass also allocates and selects kernels. The crop tells whether the engine can do it.
            measure(16)
            lease.crop(8)
            prefill_s = 0.0
            for n_tokens in (FEWEST_TOKENS, 4 * FEWEST_TOKENS):
                if n_tokens <= len(sample) - lease.n_tokens and prefill_s < BLOCK_S:
                    n_prefilled, prefill_s = n_tokens, measure(n_tokens)
            if prefill_s:
                self._meter.record_prefill(n_prefilled, prefill_s)
            for n_tokens in (1, 2, 4, 8, 16) if self._kv_cache.can_crop else (1,):
                if 2 * n_tokens > len(sample) - lease.n_tokens or (n_tokens > 1 and lease.total_s > MEASURING_S):
                    break
                seconds = measure(n_tokens)
                # The first pass of this size may select kernels too; where that matters, a second one costs little.
                self._times.record(n_tokens, min(seconds, measure(n_tokens)) if seconds < BLOCK_S else seconds)
            if one_s := self._times.seconds(1):
                self._meter.record_decode(1, one_s)
        self._kv_cache.evict_idle()

    def _answer(
        self,
        request: CompletionRequest | ChatRequest,
        build: Callable[[int], _PromptTokens],
        context_tokens: Callable[[], int],
        cancel: Cancel,
    ) -> Iterator[Piece]:
        """The answer; halves the context while memory does not suffice. Raises ModelError at the smallest one."""
        single_line = isinstance(request, CompletionRequest) and request.single_line
        while True:
            prompt = build(context_tokens())
            has_written = False
            try:
                with closing(self._pieces(prompt, single_line, cancel)) as pieces:
                    for piece in cut_stream(pieces, request):
                        has_written = True
                        yield piece
                return
            except OutOfMemory:
                self._lower_memory_limit(prompt)
                if has_written:
                    return
                if prompt.n_reserved <= SMALLEST_CONTEXT_TOKENS:
                    raise ModelError(
                        f"{self._name} has no memory even for {prompt.n_reserved} tokens. Close other programs, or "
                        "choose a smaller or a quantised model."
                    ) from None

    def _pieces(self, prompt: _PromptTokens, single_line: bool, cancel: Cancel) -> Generator[Piece, None, None]:
        if prompt.n_new < 1 or not prompt.tokens:
            return
        with self._kv_cache.acquire(prompt.scored_tokens, prompt.n_new, cancel) as lease:
            yield from detokenise(
                self._tokens(lease, prompt, single_line), self._bytes_of, len(self._healed_bytes(prompt))
            )

    def _tokens(self, lease: SlotLease, prompt: _PromptTokens, single_line: bool) -> Iterator[tuple[int, float]]:
        block_tokens = self._block_tokens()
        tokens, n_new = list(prompt.scored_tokens), prompt.n_new
        if prompt.is_healed:
            for token, probability in heal_last_token(lease, prompt.tokens, n_new, self._token_bytes, block_tokens):
                tokens.append(token)
                n_new -= 1
                yield token, probability
        has_drafts = self._settings.speculative_decoding and self._kv_cache.can_crop and prompt.sampled is None
        yield from decode_tokens(
            lease,
            tokens,
            n_new,
            ends=self.end_tokens,
            drafter=self._drafter(prompt, tokens[len(prompt.scored_tokens) :], single_line) if has_drafts else None,
            block_tokens=block_tokens,
            times=self._times,
            report=self._record,
            sample=partial(sample_token, request=prompt.sampled, generator=self._generator) if prompt.sampled else None,
        )

    def _drafter(self, prompt: _PromptTokens, first_tokens: Sequence[int], single_line: bool) -> Drafter:
        """Drafts of what follows `first_tokens`, the tokens that token healing has written."""
        written = b"".join(map(self._bytes_of, first_tokens))[len(self._healed_bytes(prompt)) :]
        history = (*prompt.history, *first_tokens) if prompt.is_healed else prompt.history
        return Drafter(
            PromptLookup(prompt.sources, history),
            self._draft_policy,
            # A prompt that ends within a word has no match in tokens, but may have one in characters.
            text_draft=find_text_continuation(prompt.texts, prompt.before),
            draft_source=prompt.draft_source,
            encode=self.tokenizer.encode,
            bytes_of=self._bytes_of,
            ends=self.end_tokens,
            single_line=single_line,
            written=written,
        )

    def _record(self, stats: DecodingStats) -> None:
        self.last_stats = stats
        if not stats.reused_tokens or stats.prefill_s > BLOCK_S:
            # A few tokens after a long cached prompt would measure the overhead of a call.
            self._meter.record_prefill(stats.prompt_tokens - stats.reused_tokens, stats.prefill_s)
        self._meter.record_decode(stats.written_tokens - stats.first_tokens, stats.decode_s)

    def _tokenise_request(self, request: CompletionRequest, context_tokens: int) -> _PromptTokens:
        """The prompt for `request`. Prompt and answer fit into `context_tokens`."""
        # The answer takes at most half of the context.
        request = replace(request, max_new_tokens=min(request.max_new_tokens, context_tokens // 2))
        start = [] if self.tokenizer.start is None else [self.tokenizer.start]
        previous = self._last_prompts.previous_fragments(request)
        budget = context_tokens - len(start)
        while True:
            prompt = build_prompt(request, self._fim, self._count, budget, previous)
            parts = [self._tokens_of(part) for part in prompt.parts]
            tokens = [*start, *(token for part in parts for token in part)]
            excess = len(tokens) + request.max_new_tokens - context_tokens
            if excess <= 0:
                break
            if request.prompt:
                raise ModelError(
                    f"The prompt has {len(tokens)} tokens, more than {self._name} has room for. Shorten it."
                )
            # A text counted line by line may have a few tokens fewer than as a whole.
            if budget <= 0:
                raise ModelError(
                    f"The prompt does not fit: {self._name} has a context of {context_tokens} tokens, and a prompt "
                    "takes more even without code. Raise context_tokens."
                )
            budget -= excess
        self._last_prompts.remember(request.path, prompt.fragments)
        at = len(parts) - 1 if request.prompt else _prefix_at(prompt, self._fim)
        not_shown = [fragment.text for fragment in request.fragments if fragment not in prompt.fragments]
        texts = [normalise_line_breaks(text) for text in not_shown]
        return _PromptTokens(
            tokens=tokens,
            n_new=request.max_new_tokens,
            is_healed=self._fim is None and not request.prompt and bool(request.prefix) and len(tokens) > 1,
            sources=(*map(self._encode, texts), *parts[:at], *parts[at + 1 :]),
            history=parts[at],
            texts=(*texts, *(part.text for i, part in enumerate(prompt.parts) if i != at)),
            before=prompt.parts[at].text,
            draft_source=request.draft_source,
        )

    def _tokens_of(self, part: PromptPart) -> Sequence[int]:
        token = self.tokenizer.special(part.text) if part.special else None
        return self._encode(part.text) if token is None else (token,)

    def _tokenise_chat(
        self, request: ChatRequest, chat_tokens: Callable[[Sequence[Message]], list[int]], context_tokens: int
    ) -> _PromptTokens:
        """The prompt for a conversation, without its oldest turns where it is too long."""
        n_new = min(request.max_new_tokens, context_tokens // 2)
        messages, room = request.messages, context_tokens - n_new
        while excess := max(0, len(tokens := chat_tokens(messages)) + n_new - context_tokens):
            if n_cached := self._kv_cache.pinned_prefix_tokens(tokens):
                raise ModelError(
                    f"The question is too long: {self._name} has room for {context_tokens} tokens; the cached text "
                    f"takes {n_cached}, the question {len(tokens) - n_cached} and its answer {n_new}. Shorten it."
                )
            if messages is not request.messages:
                room -= excess  # the template takes more than estimated
            shorter = fit_messages(request.messages, self._count, room)
            if shorter == messages and room <= 0:
                raise ModelError(
                    f"The conversation does not fit: {self._name} has a context of {context_tokens} tokens, and its "
                    "system messages take more. Raise context_tokens, or shorten the system message."
                )
            messages = shorter
        return _PromptTokens(tokens, n_new, history=tokens, sampled=None if request.is_greedy else request)

    @cached_property
    def _token_bytes(self) -> TokenBytesIndex:
        return TokenBytesIndex(set(range(self.tokenizer.n_vocabulary)) - self.end_tokens, self._bytes_of)

    def _healed_bytes(self, prompt: _PromptTokens) -> bytes:
        """The bytes of the last token of the prompt, which token healing decodes again."""
        return self._bytes_of(prompt.tokens[-1]) if prompt.is_healed else b""

    def _block_tokens(self) -> int:
        """A power of two, so that an engine meets few shapes."""
        expected = int(self._meter.speed.prefill * BLOCK_S)
        return min(max(1 << expected.bit_length() >> 1, SHORTEST_BLOCK_TOKENS), LONGEST_BLOCK_TOKENS)

    def _context_tokens(self) -> int:
        return self._meter.context_tokens(self._most_context_tokens(), self._settings.prompt_ms)

    def _most_context_tokens(self) -> int:
        """As much as settings, model and memory allow, whatever the time of the prefill."""
        most = min(self._settings.context_tokens, self._engine.context_tokens, self._cacheable_tokens())
        return most if self._memory_tokens is None else min(most, self._memory_tokens)

    def _cacheable_tokens(self) -> int:
        """What fits into the KV cache: a longer prompt would be computed again with every keystroke."""
        return max(SHORTEST_CONTEXT_TOKENS, self._settings.cache_bytes // max(1, self._engine.cache_bytes_per_token))

    def _lower_memory_limit(self, prompt: _PromptTokens) -> None:
        """Halve the context after `prompt` ran out of memory."""
        self._memory_tokens = max(prompt.n_reserved // 2, SMALLEST_CONTEXT_TOKENS)

    def _memory_notes(self) -> Iterator[str]:
        wanted = min(self._settings.context_tokens, self._engine.context_tokens)
        if self._memory_tokens is not None and self._memory_tokens < wanted:
            yield f"the context is {self._memory_tokens} tokens: there is no memory for more"
        elif self._cacheable_tokens() < wanted:
            yield f"the context is {self._cacheable_tokens()} tokens: cache_mb has room for no more"


@dataclass(frozen=True, slots=True)
class _PromptTokens:
    """A request as tokens, and the sources of its drafts."""

    tokens: Sequence[int]
    n_new: int
    history: Sequence[int]  # the part of `tokens` before the answer
    sources: Sequence[Sequence[int]] = ()
    texts: Sequence[str] = ()  # the sources as text
    before: str = ""  # the history as text
    draft_source: Callable[[str], str] | None = None
    is_healed: bool = False  # token healing: the last token is decoded again
    sampled: ChatRequest | None = None  # with the sampling parameters; None takes the most likely token

    @property
    def n_reserved(self) -> int:
        return len(self.tokens) + self.n_new

    @property
    def scored_tokens(self) -> Sequence[int]:
        """The tokens before the first one that is decoded."""
        return self.tokens[:-1] if self.is_healed else self.tokens


def _prefix_at(prompt: Prompt, fim: FimTokens | None) -> int:
    """The index of the part before the cursor: the one after the prefix token."""
    if fim is None:
        return len(prompt.parts) - 1
    return prompt.parts.index(PromptPart(fim.prefix, special=True)) + 1


# Any code: nearly all tokens take the same time.
_SAMPLE = """\
def total(items, *, tax=0.2):
    \"\"\"The price of all items, with tax.\"\"\"
    prices = [item.price * item.amount for item in items if item.is_ordered]
    return round(sum(prices) * (1 + tax), 2)


"""
