"""Fill-in-the-middle training samples: documents into packed rows of tokens, in the prompt format of serving.

Owns the mix of samples, their weights in the loss, and the packing into rows. A prompt is made by
`llm/prompting/prompts.py`, as in serving, so that a model never meets a format that it was not trained on.
"""

from __future__ import annotations

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
from .holes import Hole, choose_hole, choose_line, choose_line_end
from .neighbours import LEXICAL, Retrieve, practice_fragment, retrieval_named
from .sources import Document, read_documents
from .tokenizer import FORMAT, TrainingTokenizer


@dataclass(frozen=True, slots=True)
class SampleMix:
    """Shares of all samples. What is neither is files of one package, read from left to right."""

    fill: float = 0.8  # of all
    retrieved: float = 0.35  # of those: with fragments of other files
    practice: float = 0.25  # of those: with a fragment that holds the hole, see `practice_fragment`
    at_end: float = 0.0  # of those: a whole line, or what else is filled, at the end of a file that is being written
    # How much more a token of the middle counts than one of the code around it: there are twenty times fewer.
    middle_weight: int = 4


@dataclass(frozen=True, slots=True)
class Sample:
    """Tokens, and for each how much it counts when it is predicted: 0 is not at all."""

    tokens: list[int]
    weights: list[int]


@dataclass(frozen=True, slots=True)
class HoleTask:
    """A held-out hole: what a model reads, and what it should write."""

    prompt: list[int]
    middle: str


@dataclass(frozen=True, slots=True)
class Rows:
    """Samples side by side: what is fed and, shifted by one, predicted."""

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
    """At least `n_rows` rows in `out` (a folder), made in this process or in those of `pool`; the same with any.

    `retrieval` is a name for `retrieval_named`.
    """
    starts = range(0, n_rows, _SHARD_ROWS)
    shards = [
        (str(documents), str(tokenizer), context_tokens, mix, retrieval, f"{seed} {context_tokens} {start}")
        for start in starts
    ]
    parts = list((pool.map if pool else map)(_make_shard, shards))
    rows = Rows(np.concatenate([part.tokens for part in parts]), np.concatenate([part.weights for part in parts]))
    out.mkdir(parents=True, exist_ok=True)
    np.save(out / "tokens.npy", rows.tokens)
    np.save(out / "weights.npy", rows.weights)
    return rows


def read_rows(folder: Path) -> Rows:
    """Rows on disk; only those that are used come into memory."""
    return Rows(np.load(folder / "tokens.npy", mmap_mode="r"), np.load(folder / "weights.npy", mmap_mode="r"))


def pack_rows(samples: Iterator[Sample], n_rows: int, context_tokens: int, pad: int) -> Rows:
    """Whole samples side by side, each where it leaves the least room; no sample is cut at the end of a row."""
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


class SampleMaker:
    """Endless samples of at most `context_tokens` from `documents`. The same random numbers give the same samples."""

    def __init__(
        self,
        documents: Sequence[Document],
        tokenizer: TrainingTokenizer,
        context_tokens: int,
        mix: SampleMix,
        retrieve: Retrieve | None = None,
    ) -> None:
        """Without `retrieve` fragments are those that share rare words."""
        self._documents = documents
        self._ends = list(accumulate(len(document.text) for document in documents))
        self._packages: dict[str, list[Document]] = {}
        for document in documents:
            self._packages.setdefault(document.package, []).append(document)
        self._tokenizer = tokenizer
        self._context_tokens = context_tokens
        self._mix = mix
        self._retrieve = retrieve or retrieval_named(LEXICAL)(documents)
        # Prompts are counted line by line, and many lines stand in many samples.
        self._count: CountTokens = lru_cache(maxsize=200_000)(tokenizer.count)

    def sample(self, random: Random) -> Sample:
        if random.random() < self._mix.fill:
            return self._filled(random)
        return self._read(random)

    def samples(self, random: Random) -> Iterator[Sample]:
        while True:
            yield self.sample(random)

    def task(self, random: Random, *, practice: bool) -> HoleTask:
        """The end of a line of code to be written; with `practice`, a fragment shows it."""
        document, hole = self._hole(random, choose_line_end)
        fragments = [self._practice(document, hole, random)] if practice else []
        prompt, middle, _ = self._prompt(document, hole, fragments, self._context_tokens)
        return HoleTask(prompt, middle)

    def _filled(self, random: Random) -> Sample:
        at_end = random.random() < self._mix.at_end
        document, hole = self._hole(random, choose_line if at_end and random.random() < 0.7 else choose_hole)
        kind, fragments = random.random(), list[PromptFragment]()
        if kind < self._mix.practice:
            fragments = [self._practice(document, hole, random)]
        elif kind < self._mix.practice + self._mix.retrieved:
            fragments = list(self._retrieve(document, document.text[: hole.start]))
        # Not shorter: half of what is left beside the frame is for fragments, and must hold one.
        context_tokens = random.randrange(self._context_tokens // 2, self._context_tokens + 1)
        prompt, middle, weights = self._prompt(document, hole, fragments, context_tokens, at_end=at_end)
        answer = [*self._tokenizer.encode(middle), self._tokenizer.end]
        weights += [self._mix.middle_weight] * len(answer)
        # A middle may take more tokens than its share; then the sample is too long for its row, and cut there.
        return Sample((prompt + answer)[: self._context_tokens], weights[: self._context_tokens])

    def _prompt(
        self,
        document: Document,
        hole: Hole,
        fragments: Sequence[PromptFragment],
        context_tokens: int,
        *,
        at_end: bool = False,
    ) -> tuple[list[int], str, list[int]]:
        """The prompt's tokens, the middle, and the weight of each of the prompt's tokens."""
        middle = document.text[hole.start : hole.end]
        request = CompletionRequest(
            path=document.path,
            language="python",
            prefix=document.text[: hole.start],
            suffix="" if at_end else document.text[hole.end :],
            fragments=tuple(fragments),
            repository=document.package,
            max_new_tokens=self._count(middle) + 1,
        )
        prompt = build_prompt(request, FORMAT, self._count, context_tokens)
        parts = [(self._tokenizer.encode_part(part), 0 if part.special else 1) for part in prompt.parts]
        tokens = [token for numbers, _ in parts for token in numbers]
        return tokens, middle, [weight for numbers, weight in parts for _ in numbers]

    def _read(self, random: Random) -> Sample:
        """Files of one package, the first from the middle on, until the context is full."""
        document, at = self._place(random)
        start = document.text.rfind("\n", 0, at) + 1
        tokens = [self._tokenizer.special(FORMAT.repository), *self._tokenizer.encode(f"{document.package}\n")]
        weights = [0] * len(tokens)
        text = document.text[start : start + self._context_tokens * _MOST_TOKEN_CHARACTERS]
        while len(tokens) < self._context_tokens:
            block = self._tokenizer.encode(file_block(PromptFragment((document.path,), text, 0, 0.0), "python"))
            tokens += [self._tokenizer.special(FORMAT.file), *block]
            weights += [0, *[1] * len(block)]
            document = self._sibling(document, random)
            text = document.text[: self._context_tokens * _MOST_TOKEN_CHARACTERS]
        return Sample(tokens[: self._context_tokens], weights[: self._context_tokens])

    def _hole(self, random: Random, choose: Callable[[str, Random], Hole | None]) -> tuple[Document, Hole]:
        while True:
            document, _ = self._place(random)
            if hole := choose(document.text, random):
                return document, hole

    def _place(self, random: Random) -> tuple[Document, int]:
        """A character anywhere, all alike: long files are met more often."""
        at = random.randrange(self._ends[-1])
        number = bisect(self._ends, at)
        return self._documents[number], at - (self._ends[number] - len(self._documents[number].text))

    def _sibling(self, document: Document, random: Random) -> Document:
        return random.choice(self._packages[document.package])

    def _practice(self, document: Document, hole: Hole, random: Random) -> PromptFragment:
        return practice_fragment(document, hole, self._sibling(document, random).path, random)


_SHARD_ROWS = 256
_OPEN_ROWS = 24
_MOST_TOKEN_CHARACTERS = 8  # more than a token of code has on average, so that a cut text still fills the context


@lru_cache(maxsize=2)
def _maker(documents: str, tokenizer: str, context_tokens: int, mix: SampleMix, retrieval: str) -> SampleMaker:
    """One for all shards of a process."""
    read, retrieve = _read(documents, retrieval)
    return SampleMaker(read, TrainingTokenizer.load(Path(tokenizer)), context_tokens, mix, retrieve)


@lru_cache(maxsize=2)
def _read(documents: str, retrieval: str) -> tuple[tuple[Document, ...], Retrieve]:
    """One for rows of all lengths: an index of a hundred packages takes minutes."""
    read = read_documents(Path(documents))
    return read, retrieval_named(retrieval)(read)


def _make_shard(arguments: tuple[str, str, int, SampleMix, str, str]) -> Rows:
    documents, tokenizer, context_tokens, mix, retrieval, seed = arguments
    maker = _maker(documents, tokenizer, context_tokens, mix, retrieval)
    pad = TrainingTokenizer.load(Path(tokenizer)).pad
    return pack_rows(maker.samples(Random(seed)), _SHARD_ROWS, context_tokens, pad)
