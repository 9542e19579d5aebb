"""Fill-in-the-middle training samples: documents into packed rows of tokens, in the prompt format of serving.

Owns the mix of samples, their loss weights, and the packing into rows. `llm/prompting/prompts.py` builds the prompts,
as in serving, so that training and serving have the same format.
"""

from __future__ import annotations

import shutil
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from ..prompting.prompts import CountTokens, build_prompt, file_block
from ..protocol import CompletionRequest, PromptFragment
from .lexical_retrieval import LEXICAL, Retrieve, oracle_fragment, retrieval_named
from .sources import Document, read_documents
from .spans import Span, choose_line, choose_line_end, choose_span
from .tokenizer import FORMAT, TrainingTokenizer


@dataclass(frozen=True, slots=True)
class SampleMix:
    """Shares of the kinds of samples. The rest are files of one package, as plain left-to-right text."""

    fill: float = 0.8  # infilling samples, of all
    retrieved: float = 0.35  # of the infilling samples: with retrieved fragments
    oracle: float = 0.25  # of the infilling samples: with an `oracle_fragment`
    at_end: float = 0.0  # of the infilling samples: without a suffix, mostly whole lines
    middle_weight: int = 4  # loss weight of a middle token; there are twenty times fewer than context tokens


@dataclass(frozen=True, slots=True)
class Sample:
    """Tokens, and the loss weight of each as a target; 0 excludes it."""

    tokens: list[int]
    weights: list[int]


@dataclass(frozen=True, slots=True)
class InfillTask:
    """A held-out infilling task: the prompt and the expected middle."""

    prompt: list[int]
    middle: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Packed samples: the inputs and, shifted by one, the targets."""

    tokens: NDArray[np.uint16]  # (rows, context + 1)
    weights: NDArray[np.uint8]  # (rows, context + 1), of the same tokens as targets

    @property
    def context_tokens(self) -> int:
        return len(self.tokens[0]) - 1


def write_rows(
    documents: Path,
    tokenizer: Path,
    out: Path,
    context_tokens: int,
    n_rows: int,
    mix: SampleMix,
    seed: int,
    pool: Executor | None = None,
    retrieval: str = LEXICAL,
) -> Rows:
    """Write at least `n_rows` rows to the folder `out`, in this process or in those of `pool`, with the same result.

    `retrieval` is a name for `retrieval_named`. The folder appears when it is complete.
    """
    starts = range(0, n_rows, _SHARD_ROWS)
    shards = [
        (str(documents), str(tokenizer), context_tokens, mix, retrieval, f"{seed} {context_tokens} {start}")
        for start in starts
    ]
    parts = list((pool.map if pool else map)(_make_shard, shards))
    rows = Rows(np.concatenate([part.tokens for part in parts]), np.concatenate([part.weights for part in parts]))
    part = out.with_name(f"{out.name}.part")
    part.mkdir(parents=True, exist_ok=True)
    np.save(part / "tokens.npy", rows.tokens)
    np.save(part / "weights.npy", rows.weights)
    if out.is_dir():
        shutil.rmtree(out)
    part.rename(out)
    return rows


def read_rows(folder: Path) -> Rows:
    """Memory-mapped rows."""
    return Rows(np.load(folder / "tokens.npy", mmap_mode="r"), np.load(folder / "weights.npy", mmap_mode="r"))


def pack_rows(samples: Iterator[Sample], n_rows: int, context_tokens: int, pad: int) -> Rows:
    """Pack whole samples into rows by best fit; no sample is split."""
    full: list[Sample] = []
    open_rows: list[Sample] = []
    while len(full) < n_rows:
        sample = next(samples)
        room = context_tokens + 1 - len(sample.tokens)
        fitting = [row for row in open_rows if len(row.tokens) <= room]
        if fitting:
            row = max(fitting, key=lambda row: len(row.tokens))
            row.tokens.extend(sample.tokens)
            row.weights.extend(sample.weights)
            continue
        open_rows.append(sample)
        if len(open_rows) > _OPEN_ROWS:
            fullest = max(open_rows, key=lambda row: len(row.tokens))
            open_rows.remove(fullest)
            full.append(fullest)
    tokens = np.full((n_rows, context_tokens + 1), pad, np.uint16)
    weights = np.zeros((n_rows, context_tokens + 1), np.uint8)
    for number, row in enumerate(full):
        tokens[number, : len(row.tokens)] = row.tokens
        weights[number, : len(row.weights)] = row.weights
    return Rows(tokens, weights)


class SampleGenerator:
    """An infinite stream of samples of at most `context_tokens`. The same random numbers give the same samples."""

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: TrainingTokenizer,
        context_tokens: int,
        mix: SampleMix,
        retrieve: Retrieve | None = None,
    ) -> None:
        """`retrieve` is lexical by default."""
        self._documents = documents
        self._ends = list(accumulate(len(document.text) for document in documents))
        self._packages: dict[str, list[Document]] = {}
        for document in documents:
            self._packages.setdefault(document.package, []).append(document)
        self._tokenizer = tokenizer
        self._context_tokens = context_tokens
        self._mix = mix
        self._retrieve = retrieve or retrieval_named(LEXICAL)(documents)
        # Prompts are counted line by line, and many lines occur in many samples.
        self._count: CountTokens = lru_cache(maxsize=200_000)(tokenizer.count)

    def sample(self, random: Random) -> Sample:
        if random.random() < self._mix.fill:
            return self._infilling(random)
        return self._left_to_right(random)

    def samples(self, random: Random) -> Iterator[Sample]:
        while True:
            yield self.sample(random)

    def task(self, random: Random, *, oracle: bool) -> InfillTask:
        """A task with the end of a line of code as the middle; with `oracle`, a fragment contains it."""
        document, span = self._span(random, choose_line_end)
        fragments = [self._oracle(document, span, random)] if oracle else []
        prompt, middle, _ = self._prompt(document, span, fragments, self._context_tokens)
        return InfillTask(prompt, middle)

    def _infilling(self, random: Random) -> Sample:
        at_end = random.random() < self._mix.at_end
        document, span = self._span(random, choose_line if at_end and random.random() < 0.7 else choose_span)
        kind, fragments = random.random(), list[PromptFragment]()
        if kind < self._mix.oracle:
            fragments = [self._oracle(document, span, random)]
        elif kind < self._mix.oracle + self._mix.retrieved:
            fragments = list(self._retrieve(document, document.text[: span.start]))
        # Not shorter: half of the room is for fragments, and at least one must fit.
        context_tokens = random.randrange(self._context_tokens // 2, self._context_tokens + 1)
        prompt, middle, weights = self._prompt(document, span, fragments, context_tokens, at_end=at_end)
        target = [*self._tokenizer.encode(middle), self._tokenizer.end]
        weights += [self._mix.middle_weight] * len(target)
        # A long middle may exceed the row, where it is truncated.
        return Sample((prompt + target)[: self._context_tokens], weights[: self._context_tokens])

    def _prompt(
        self,
        document: Document,
        span: Span,
        fragments: Sequence[PromptFragment],
        context_tokens: int,
        *,
        at_end: bool = False,
    ) -> tuple[list[int], str, list[int]]:
        """The prompt's tokens, the middle, and the weight of each of the prompt's tokens."""
        middle = document.text[span.start : span.end]
        request = CompletionRequest(
            path=document.path,
            language="python",
            prefix=document.text[: span.start],
            suffix="" if at_end else document.text[span.end :],
            fragments=tuple(fragments),
            repository=document.package,
            max_new_tokens=self._count(middle) + 1,
        )
        prompt = build_prompt(request, FORMAT, self._count, context_tokens)
        parts = [(self._tokenizer.encode_part(part), 0 if part.special else 1) for part in prompt.parts]
        tokens = [token for numbers, _ in parts for token in numbers]
        return tokens, middle, [weight for numbers, weight in parts for _ in numbers]

    def _left_to_right(self, random: Random) -> Sample:
        """Files of one package up to the context length, the first from a random line on."""
        document, at = self._position(random)
        start = document.text.rfind("\n", 0, at) + 1
        tokens = [self._tokenizer.special(FORMAT.repository), *self._tokenizer.encode(f"{document.package}\n")]
        weights = [0] * len(tokens)
        text = document.text[start : start + self._context_tokens * _MAX_TOKEN_CHARACTERS]
        while len(tokens) < self._context_tokens:
            block = self._tokenizer.encode(file_block(PromptFragment((document.path,), text, 0, 0.0)))
            tokens += [self._tokenizer.special(FORMAT.file), *block]
            weights += [0, *[1] * len(block)]
            document = self._sibling(document, random)
            text = document.text[: self._context_tokens * _MAX_TOKEN_CHARACTERS]
        return Sample(tokens[: self._context_tokens], weights[: self._context_tokens])

    def _span(self, random: Random, choose: Callable[[str, Random], Span | None]) -> tuple[Document, Span]:
        while True:
            document, _ = self._position(random)
            if span := choose(document.text, random):
                return document, span

    def _position(self, random: Random) -> tuple[Document, int]:
        """A uniformly random character, so that long files are drawn more often."""
        at = random.randrange(self._ends[-1])
        number = bisect(self._ends, at)
        return self._documents[number], at - (self._ends[number] - len(self._documents[number].text))

    def _sibling(self, document: Document, random: Random) -> Document:
        return random.choice(self._packages[document.package])

    def _oracle(self, document: Document, span: Span, random: Random) -> PromptFragment:
        return oracle_fragment(document, span, self._sibling(document, random).path, random)


_SHARD_ROWS = 256
_OPEN_ROWS = 24
_MAX_TOKEN_CHARACTERS = 8  # above the average of code, so that a truncated text still fills the context


@lru_cache(maxsize=2)
def _generator(documents: str, tokenizer: str, context_tokens: int, mix: SampleMix, retrieval: str) -> SampleGenerator:
    """Cached for all shards of a process."""
    read, retrieve = _read(documents, retrieval)
    return SampleGenerator(read, TrainingTokenizer.load(Path(tokenizer)), context_tokens, mix, retrieve)


@lru_cache(maxsize=2)
def _read(documents: str, retrieval: str) -> tuple[tuple[Document, ...], Retrieve]:
    """Cached for rows of all lengths: an index of a hundred packages takes minutes."""
    read = read_documents(Path(documents))
    return read, retrieval_named(retrieval)(read)


def _make_shard(arguments: tuple[str, str, int, SampleMix, str, str]) -> Rows:
    documents, tokenizer, context_tokens, mix, retrieval, seed = arguments
    generator = _generator(documents, tokenizer, context_tokens, mix, retrieval)
    pad = TrainingTokenizer.load(Path(tokenizer)).pad
    return pack_rows(generator.samples(Random(seed)), _SHARD_ROWS, context_tokens, pad)
