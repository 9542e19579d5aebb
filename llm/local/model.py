"""A model in this process: an engine, a tokenizer, and everything between a request and its text.

Owns the course of a request on local weights: prompt, reuse of what was read, drafts, decoding, the measured budget.
Knows no library that computes: engines are in `engines/`.

Greedy, but for conversations that ask for something else. Neither reuse nor drafts change what is written, as far as
an engine computes the same for one token and for several; only how long it takes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from pathlib import Path

import numpy as np

from ..prompting.conversation import fit_messages
from ..prompting.formats import FimTokens
from ..prompting.infilling_chat import PREFIX_ONLY
from ..prompting.prompts import Prompt, PromptPart, build_prompt
from ..protocol import (
    Cancel,
    ChatRequest,
    CompletionRequest,
    Message,
    ModelError,
    ModelInfo,
    ModelMissing,
    Piece,
    Speed,
)
from ..streaming import LastPrompts, cut_stream
from ..text import plain_line_breaks
from ..throughput import FEWEST_TOKENS, SHORTEST_CONTEXT_TOKENS, PassTimes, SpeedMeter
from .decoding import Report, Spellings, heal_end, read_prompt, write_text, write_tokens
from .engines import Engine, OutOfMemory
from .kv_cache import GaveWay, KeptSlot, Reader, Slots
from .prefix_cache import ROOM_TOKENS, CannotKeep, Identity, KeptPrefix, read_saved, shared_tokens, tokenizer_hash
from .sampling import Sampling, draw
from .speculative import Drafter, DraftWorth, Lookup, continue_text
from .tokenizer import CodeTokenizer

BLOCK_S = 0.1
"""Time for a block of a prompt: so long may a cancelled stream go on."""

SHORTEST_BLOCK_TOKENS, LONGEST_BLOCK_TOKENS = 32, 1024

MEASURING_S = 1.0
"""No further measurement begins after so long. On a slow machine few are enough: there everything takes long."""

SMALLEST_CONTEXT_TOKENS = 64
"""With memory for less than this, nothing useful is written."""


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What a user may set of a model in this process."""

    context_tokens: int = 4096
    prompt_ms: int = 1000
    cache_bytes: int = 512_000_000
    speculate: bool = True
    reuse: bool = True  # off, to measure what it is worth
    draw_seed: int = 0  # of what is drawn, where an answer is not to be the most likely one


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
        """Takes over `engine`, and frees it in `close`. `chat_tokens` is the model's template, up to the answer.
        `weights` gives what stands for them, see `prefix_cache`.

        Raises ModelMissing when the tokenizer lacks a token of `fim`.
        """
        self._engine = engine
        self._tokenizer = tokenizer
        self._name = name
        self._fim = fim
        self._settings = settings
        self._chat_tokens = chat_tokens
        self._weights = weights
        self._slots = Slots(engine, settings.cache_bytes, reuse=settings.reuse)
        self._meter = SpeedMeter()
        self._times = PassTimes()
        self._worth = DraftWorth(self._times)
        self._last_prompts = LastPrompts()
        self._generator = np.random.default_rng(settings.draw_seed)
        self._preparing = threading.Lock()
        self._is_tuned = self._is_prepared = False
        self._report: Report | None = None
        self._static_notes = (*notes, *(() if fim else (PREFIX_ONLY,)))
        self._backend = backend
        self._memory_tokens: int | None = None  # what memory was found to allow, when that is less than was asked for

        found = {text: tokenizer.special(text) for text in (fim.all if fim else ())}
        self._special = {text: token for text, token in found.items() if token is not None}
        self._ends = tokenizer.ends.union(self._special.values())
        in_prompts = (*fim.frame, fim.repository, fim.file) if fim else ()
        if missing := [text for text in in_prompts if text and text not in self._special]:
            raise ModelMissing(
                f'{name} has no token {missing[0]}. Set the tokens that it was trained with, or fim = "none".'
            )
        # Blocks and lines of a prompt are nearly all the same between two keystrokes.
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

    @property
    def last_report(self) -> Report | None:
        """What the last answer took, of those that came to write something."""
        return self._report

    @property
    def tokenizer(self) -> CodeTokenizer:
        return self._tokenizer

    @property
    def end_tokens(self) -> frozenset[int]:
        """Tokens after which nothing is written: those of the model and those of its format."""
        return self._ends

    def prompt_tokens(self, request: CompletionRequest) -> list[int]:
        """What the model reads for `request`, for whoever compares it with another. Raises ModelError."""
        return list(self._read_request(request, self._context_tokens()).tokens)

    def prepare(self, cancel: Cancel) -> None:
        with self._failures():
            self._prepare(cancel)

    def warm(self, request: CompletionRequest, cancel: Cancel) -> None:
        with self._failures():
            self._prepare(cancel)
            reading = self._read_request(request, self._context_tokens())
            if not reading.tokens:
                return
            try:
                with self._slots.take(reading.scored_tokens, reading.n_new, cancel) as reader:
                    read_prompt(reader, reading.scored_tokens, self._block_tokens(), n_left=1)
            except OutOfMemory:
                self._remember_memory(reading)

    def count_tokens(self, text: str) -> int:
        return self._count(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Generator[Piece, None, None]:
        """Yield the most likely text, a token at a time, each with its probability."""
        with self._failures():
            self._prepare(cancel)
            yield from self._answer(request, partial(self._read_request, request), self._context_tokens, cancel)

    def chat(self, request: ChatRequest, cancel: Cancel) -> Iterator[Piece]:
        template = self._template
        with self._failures():
            self._prepare(cancel)
            # A conversation may take longer to read than a keystroke allows.
            read = partial(self._read_conversation, request, template)
            yield from self._answer(request, read, self._most_context_tokens, cancel)

    def keep(self, messages: Sequence[Message], cancel: Cancel | None = None) -> KeptPrefix:
        tokens = shared_tokens(self._template, messages)
        return KeptPrefix(self, messages, tokens, self.hold(tokens, cancel or Cancel()))

    def load_kept(self, folder: Path, cancel: Cancel | None = None) -> KeptPrefix:
        saved = read_saved(folder, self.identity)
        tokens = shared_tokens(self._template, saved.messages)
        if len(tokens) != saved.n_tokens:
            raise ModelError(f"{self._name} reads the text in {folder} as other tokens. Let it read the text again.")
        self._check_room(tokens)
        with self._failures():
            try:
                self._prepare(cancel or Cancel())
                slot = self._slots.restore(tokens, saved.arrays)
            except ValueError as error:
                raise ModelError(f"{folder} can't be used: {error}. Let the model read the text again.") from error
            except OutOfMemory as error:
                raise CannotKeep(self._no_memory_for(tokens)) from error
            return KeptPrefix(self, saved.messages, tokens, slot)
        raise ModelError("Loading was cancelled, or the model closed.")

    def hold(self, tokens: Sequence[int], cancel: Cancel) -> KeptSlot:
        """Read `tokens` and keep them. Raises CannotKeep, and ModelError also when cancelled."""
        with self._failures():
            self._prepare(cancel)
            self._check_room(tokens)
            try:
                with self._slots.take(tokens, ROOM_TOKENS, cancel) as reader:
                    read_prompt(reader, tokens, self._block_tokens(), n_left=1)
                    reader.read(tokens[reader.n_tokens :])
                    # What can't forget a question can't keep what stands before it.
                    reader.crop(len(tokens) - 1)
                    if not self._slots.crops:
                        raise CannotKeep(f"{self._name} can't forget a part of what it read, so it can keep nothing.")
                    reader.read(tokens[-1:])
                    return reader.keep()
            except OutOfMemory as error:
                raise CannotKeep(self._no_memory_for(tokens)) from error
        raise ModelError("Reading was cancelled, or the model closed.")

    def conversation_tokens(self, messages: Sequence[Message]) -> Sequence[int]:
        """What is read of `messages` before the answer, nothing cut. Raises ModelError without a template."""
        return self._template(messages)

    @property
    def identity(self) -> Identity:
        """What keys and values depend on; takes a moment."""
        tokenizer = tokenizer_hash(self._tokenizer.n_vocabulary, self._bytes_of)
        return Identity(self._name, self._weights(), tokenizer, self._slots.cache_kind)

    def close(self) -> None:
        self._slots.close()

    @property
    def _template(self) -> Callable[[Sequence[Message]], list[int]]:
        if self._chat_tokens is None:
            raise ModelError(f"{self._name} has no template for conversations. Choose a model that was made for chat.")
        return self._chat_tokens

    def _check_room(self, tokens: Sequence[int]) -> None:
        if len(tokens) + ROOM_TOKENS > (room := self._most_context_tokens()):
            raise CannotKeep(
                f"The text takes {len(tokens)} tokens, and {self._name} has room for {room} with a question and its "
                "answer. Raise context_tokens and cache_mb where the model and the memory allow it, or keep less."
            )

    def _no_memory_for(self, tokens: Sequence[int]) -> str:
        return (
            f"{self._name} has no memory to keep {len(tokens)} tokens beside anything else. Raise cache_mb, or keep "
            "less."
        )

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Whatever goes wrong in an engine or a tokenizer becomes a ModelError; cancelled work ends quietly."""
        try:
            yield
        except GaveWay:
            pass
        except ModelError:
            raise
        except Exception as error:
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise ModelError(f"{self._name} stopped: {reason}. Try a smaller context, or another model.") from error

    def _prepare(self, cancel: Cancel) -> None:
        """Tune the engine and measure it, once. Raises GaveWay when cancelled; the next call begins anew."""
        if self._is_prepared:
            return
        while not self._preparing.acquire(timeout=0.02):
            if cancel.cancelled:
                raise GaveWay
        try:
            if not self._is_tuned:
                self._slots.tune()
                self._is_tuned = True
            if not self._is_prepared:
                with suppress(OutOfMemory):  # the first request finds out what there is memory for
                    self._measure(cancel)
                if self._fim is None:
                    _ = self._spellings  # takes a moment, so not in the first answer
                self._is_prepared = True
        finally:
            self._preparing.release()

    def _measure(self, cancel: Cancel) -> None:
        """Read and write a little, so that the first prompt has the right length and the first draft as well."""
        limit = self._most_context_tokens()
        lines = self._tokenizer.encode(_SAMPLE)
        sample = (lines * (limit // len(lines) + 1))[: min(limit, 512)]
        with self._slots.take(sample, 0, cancel) as reader:

            def measure(n_tokens: int) -> float:
                reader.best_after(sample[reader.n_tokens : reader.n_tokens + n_tokens])
                return reader.last_s

            # The first pass of a kind also allocates, and chooses kernels. It tells whether an engine can forget.
            measure(16)
            reader.crop(8)
            read_s = 0.0
            for n_tokens in (FEWEST_TOKENS, 4 * FEWEST_TOKENS):
                if n_tokens <= len(sample) - reader.n_tokens and read_s < BLOCK_S:
                    n_read, read_s = n_tokens, measure(n_tokens)
            if read_s:
                self._meter.read(n_read, read_s)
            for n_tokens in (1, 2, 4, 8, 16) if self._slots.crops else (1,):
                if 2 * n_tokens > len(sample) - reader.n_tokens or (n_tokens > 1 and reader.total_s > MEASURING_S):
                    break
                seconds = measure(n_tokens)
                # A first pass of this size may choose kernels as well; where that matters, another costs little.
                self._times.measured(n_tokens, min(seconds, measure(n_tokens)) if seconds < BLOCK_S else seconds)
            if one_s := self._times.seconds(1):
                self._meter.wrote(1, one_s)
        self._slots.free_unused()

    def _answer(
        self,
        request: CompletionRequest | ChatRequest,
        read: Callable[[int], _Reading],
        context_tokens: Callable[[], int],
        cancel: Cancel,
    ) -> Iterator[Piece]:
        """The answer, with less context until there is memory for it. Raises ModelError when there is for none."""
        single_line = isinstance(request, CompletionRequest) and request.single_line
        while True:
            reading = read(context_tokens())
            has_written = False
            try:
                with closing(self._pieces(reading, single_line, cancel)) as pieces:
                    for piece in cut_stream(pieces, request):
                        has_written = True
                        yield piece
                return
            except OutOfMemory:
                self._remember_memory(reading)
                if has_written:
                    return
                if reading.n_reserved <= SMALLEST_CONTEXT_TOKENS:
                    raise ModelError(
                        f"{self._name} finds no memory even for {reading.n_reserved} tokens. Close other programs, or "
                        "choose a smaller or a quantised model."
                    ) from None

    def _pieces(self, reading: _Reading, single_line: bool, cancel: Cancel) -> Generator[Piece, None, None]:
        if reading.n_new < 1 or not reading.tokens:
            return
        with self._slots.take(reading.scored_tokens, reading.n_new, cancel) as reader:
            yield from write_text(
                self._tokens(reader, reading, single_line), self._bytes_of, len(self._taken_back(reading))
            )

    def _tokens(self, reader: Reader, reading: _Reading, single_line: bool) -> Iterator[tuple[int, float]]:
        block_tokens = self._block_tokens()
        prompt, n_new = list(reading.tokens), reading.n_new
        if reading.is_healed:
            del prompt[-1]
            for token, probability in heal_end(reader, reading.tokens, n_new, self._spellings, block_tokens):
                prompt.append(token)
                n_new -= 1
                yield token, probability
        has_drafts = self._settings.speculate and self._slots.crops and reading.sampling is None
        yield from write_tokens(
            reader,
            prompt,
            n_new,
            ends=self._ends,
            drafts=self._drafter(reading, prompt[len(reading.scored_tokens) :], single_line) if has_drafts else None,
            block_tokens=block_tokens,
            times=self._times,
            report=self._learn,
            draw=partial(draw, sampling=sampling, generator=self._generator)
            if (sampling := reading.sampling)
            else None,
        )

    def _drafter(self, reading: _Reading, first_tokens: Sequence[int], single_line: bool) -> Drafter:
        """Drafts of what follows `first_tokens`, which stand behind those of the prompt that are not written anew."""
        written = b"".join(map(self._bytes_of, first_tokens))[len(self._taken_back(reading)) :]
        history = (*reading.history, *first_tokens) if reading.is_healed else reading.history
        return Drafter(
            Lookup(reading.sources, history),
            self._worth,
            # A prompt that ends within a word looks like no other place in tokens, but does in letters.
            opening=continue_text(reading.texts, reading.before),
            guess=reading.guess,
            encode=self._tokenizer.encode,
            bytes_of=self._bytes_of,
            ends=self._ends,
            single_line=single_line,
            written=written,
        )

    def _learn(self, report: Report) -> None:
        self._report = report
        if not report.reused_tokens or report.prefill_s > BLOCK_S:
            # A few tokens behind a long prompt would measure the overhead of a call.
            self._meter.read(report.prompt_tokens - report.reused_tokens, report.prefill_s)
        self._meter.wrote(report.written_tokens - report.first_tokens, report.decode_s)

    def _read_request(self, request: CompletionRequest, context_tokens: int) -> _Reading:
        """The prompt of `request` in tokens. It and what is written fit into `context_tokens`."""
        # A budget for the answer that leaves nothing to read would make it worthless.
        request = replace(request, max_new_tokens=min(request.max_new_tokens, context_tokens // 2))
        start = [] if self._tokenizer.start is None else [self._tokenizer.start]
        previous = self._last_prompts.to_keep(request)
        budget = context_tokens - len(start)
        while True:
            prompt = build_prompt(request, self._fim, self._count, budget, previous)
            parts = [self._tokens_of(part) for part in prompt.parts]
            tokens = [*start, *(token for part in parts for token in part)]
            excess = len(tokens) + request.max_new_tokens - context_tokens
            if excess <= 0:
                break
            # Counted line by line a text may have fewer tokens than as a whole, by a few.
            if budget <= 0:
                raise ModelError(
                    f"{self._name} has a context of {context_tokens} tokens, and a prompt takes more even without "
                    "code. Raise context_tokens."
                )
            budget -= excess
        self._last_prompts.remember(request.path, prompt.fragments)
        at = _prefix_at(prompt, self._fim)
        not_shown = [fragment.text for fragment in request.fragments if fragment not in prompt.fragments]
        texts = [plain_line_breaks(text) for text in not_shown]
        return _Reading(
            tokens=tokens,
            n_new=request.max_new_tokens,
            is_healed=self._fim is None and bool(request.prefix) and len(tokens) > 1,
            sources=(*map(self._encode, texts), *parts[:at], *parts[at + 1 :]),
            history=parts[at],
            texts=(*texts, *(part.text for i, part in enumerate(prompt.parts) if i != at)),
            before=prompt.parts[at].text,
            guess=request.guess,
        )

    def _tokens_of(self, part: PromptPart) -> Sequence[int]:
        return (self._special[part.text],) if part.special else self._encode(part.text)

    def _read_conversation(
        self, request: ChatRequest, chat_tokens: Callable[[Sequence[Message]], list[int]], context_tokens: int
    ) -> _Reading:
        """The conversation in tokens, without the oldest turns where it is too long."""
        n_new = min(request.max_new_tokens, context_tokens // 2)
        messages, room = request.messages, context_tokens - n_new
        while excess := max(0, len(tokens := chat_tokens(messages)) + n_new - context_tokens):
            if n_kept := self._slots.kept_tokens_of(tokens):
                raise ModelError(
                    f"{self._name} has room for {context_tokens} tokens; {n_kept} are kept, and {len(tokens) - n_kept} "
                    f"of the question and {n_new} of its answer are too many behind them. Ask with less."
                )
            if messages is not request.messages:
                room -= excess  # the template takes more than was thought
            shorter = fit_messages(request.messages, self._count, room)
            if shorter == messages and room <= 0:
                raise ModelError(
                    f"{self._name} has a context of {context_tokens} tokens, and what may not be left out of the "
                    "conversation takes more. Raise context_tokens, or shorten the system message."
                )
            messages = shorter
        return _Reading(tokens, n_new, history=tokens, sampling=Sampling.of(request))

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(set(range(self._tokenizer.n_vocabulary)) - self._ends, self._bytes_of)

    def _taken_back(self, reading: _Reading) -> bytes:
        """What the end of the prompt says, and is written once more."""
        return self._bytes_of(reading.tokens[-1]) if reading.is_healed else b""

    def _block_tokens(self) -> int:
        """A power of two, so that an engine meets the same shapes again."""
        expected = int(self._meter.speed.prefill * BLOCK_S)
        return min(max(1 << expected.bit_length() >> 1, SHORTEST_BLOCK_TOKENS), LONGEST_BLOCK_TOKENS)

    def _context_tokens(self) -> int:
        return self._meter.context_tokens(self._most_context_tokens(), self._settings.prompt_ms)

    def _most_context_tokens(self) -> int:
        """As much as the user, the model and the memory allow, however long it takes to read."""
        most = min(self._settings.context_tokens, self._engine.context_tokens, self._kept_tokens())
        return most if self._memory_tokens is None else min(most, self._memory_tokens)

    def _kept_tokens(self) -> int:
        """What fits into the memory for caches: a longer prompt would be read anew with every keystroke."""
        return max(SHORTEST_CONTEXT_TOKENS, self._settings.cache_bytes // max(1, self._engine.cache_bytes_per_token))

    def _remember_memory(self, reading: _Reading) -> None:
        """There was none for `reading`: whatever comes next is at most half as long."""
        self._memory_tokens = max(reading.n_reserved // 2, SMALLEST_CONTEXT_TOKENS)

    def _memory_notes(self) -> Iterator[str]:
        wanted = min(self._settings.context_tokens, self._engine.context_tokens)
        if self._memory_tokens is not None and self._memory_tokens < wanted:
            yield f"the context is {self._memory_tokens} tokens: there was no memory for more"
        elif self._kept_tokens() < wanted:
            yield f"the context is {self._kept_tokens()} tokens: cache_mb has room for no more"


@dataclass(frozen=True, slots=True)
class _Reading:
    """A request as tokens, and where drafts of its answer can come from."""

    tokens: Sequence[int]
    n_new: int
    history: Sequence[int]  # the part of `tokens` that is continued
    sources: Sequence[Sequence[int]] = ()
    texts: Sequence[str] = ()  # the sources as text
    before: str = ""  # what is continued, as text
    guess: Callable[[str], str] | None = None
    is_healed: bool = False  # the last token is taken back and written anew
    sampling: Sampling | None = None  # None takes the most likely token

    @property
    def n_reserved(self) -> int:
        return len(self.tokens) + self.n_new

    @property
    def scored_tokens(self) -> Sequence[int]:
        """Those after which the first token is chosen."""
        return self.tokens[:-1] if self.is_healed else self.tokens


def _prefix_at(prompt: Prompt, fim: FimTokens | None) -> int:
    """Which part is continued: the one behind the prefix token."""
    if fim is None:
        return len(prompt.parts) - 1
    return prompt.parts.index(PromptPart(fim.prefix, special=True)) + 1


# Any code will do: a model takes the same time for all tokens, nearly.
_SAMPLE = """\
def total(items, *, tax=0.2):
    \"\"\"The price of all items, with tax.\"\"\"
    prices = [item.price * item.amount for item in items if item.is_ordered]
    return round(sum(prices) * (1 + tax), 2)


"""
