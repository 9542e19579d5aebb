"""Compared readers of a long text: beacon memory, full attention, sliding window, no memory.

Each gives the same two figures on the same tokens: the loss of the next token, and the first token it would answer.
Owns what each method keeps between text and question. Knows no language and no table.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import DynamicCache

from ...memory.memorag.beacon.model import BeaconModel
from ...memory.memorag.beacon.ratios import RatioSequence, positions_needed

_BLOCK_TOKENS = 512
"""Of a text that full attention reads at once."""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The result of one method on one text."""

    loss: float  # mean nats of all tokens but the first
    answers: tuple[int, ...]  # the likeliest token after each question
    kept_tokens: int  # whose keys and values are held when the text was read
    kept_bytes: int
    positions: int  # of the base model that were needed
    seconds: float  # for reading the text, without a separate computation of the loss


@dataclass(frozen=True, slots=True)
class BeaconMemory:
    """A window at a time; of those before, the memory tokens."""

    name: str
    model: BeaconModel
    ratio: int

    @torch.no_grad()
    def read(self, tokens: Sequence[int], questions: Sequence[Sequence[int]]) -> ReadResult:
        row, ratio_of = torch.tensor([tokens]), RatioSequence((self.ratio,)).for_text(len(tokens), Random())
        loss = float(self.model.score(row, ratio_of).loss)
        started = time.perf_counter()
        _, memory = self.model.read(self.model.empty(), row, ratio_of)
        seconds = time.perf_counter() - started
        answers = tuple(
            int(self.model.read(memory, torch.tensor([question]), ratio_of)[0].argmax()) for question in questions
        )
        n_tokens = len(tokens) + len(questions[0])
        positions = positions_needed(0, 0, n_tokens, window=self.model.window, ratio_of=ratio_of)
        return ReadResult(loss, answers, memory.n_cached, memory.n_bytes, positions, seconds)


@dataclass(frozen=True, slots=True)
class FullAttention:
    """Every token sees every one before it."""

    name: str
    base: Any

    @torch.no_grad()
    def read(self, tokens: Sequence[int], questions: Sequence[Sequence[int]]) -> ReadResult:
        row, cache = torch.tensor([tokens]), DynamicCache(config=self.base.config)
        targets = functional.pad(row[:, 1:], (0, 1), value=-100)
        total, started = 0.0, time.perf_counter()
        for start in range(0, len(tokens), _BLOCK_TOKENS):
            block = slice(start, start + _BLOCK_TOKENS)
            logits = self.base(row[:, block], past_key_values=cache, use_cache=True).logits
            total += float(functional.cross_entropy(logits[0], targets[0, block], reduction="sum"))
        seconds = time.perf_counter() - started
        answers = list[int]()
        for question in questions:
            logits = self.base(torch.tensor([question]), past_key_values=cache, use_cache=True).logits
            answers.append(int(logits[0, -1].argmax()))
            cache.crop(-len(question))
        layers: Any = cache.layers
        kept = sum(part.numel() * part.element_size() for layer in layers for part in (layer.keys, layer.values))
        positions = len(tokens) + len(questions[0])
        return ReadResult(total / (len(tokens) - 1), tuple(answers), len(tokens), kept, positions, seconds)


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """A sliding window over at most the last `window` tokens, moved by `stride` tokens: positions start at 0.

    With stride = window a window sees nothing before it, and a question follows nothing: no memory. With half of it
    each token sees between a half and a whole window.
    """

    name: str
    base: Any
    window: int
    stride: int

    @torch.no_grad()
    def read(self, tokens: Sequence[int], questions: Sequence[Sequence[int]]) -> ReadResult:
        row, overlap = torch.tensor(tokens), self.window - self.stride
        started = time.perf_counter()
        total = self._loss(row[: overlap + 1], 0) if overlap else 0.0
        for start in range(0, len(tokens) - overlap - 1, self.stride):
            total += self._loss(row[start : start + self.window + 1], overlap)
        seconds = time.perf_counter() - started
        kept = self.window - len(questions[0]) if overlap else 0
        before = row[len(tokens) - kept :].expand(len(questions), -1)
        asked = torch.cat([before, torch.tensor(questions)], 1)
        answers = tuple(self.base(asked).logits[:, -1].argmax(-1).tolist())
        config = self.base.config
        token_bytes = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim * 4
        return ReadResult(total / (len(tokens) - 1), answers, kept, kept * token_bytes, asked.shape[1], seconds)

    def _loss(self, piece: Tensor, n_seen: int) -> float:
        """The sum over what follows the first `n_seen` + 1 tokens of it."""
        logits = self.base(piece[None, :-1]).logits[0, n_seen:]
        return float(functional.cross_entropy(logits, piece[n_seen + 1 :], reduction="sum"))


ReadingMethod = BeaconMemory | FullAttention | SlidingWindow
"""`read` takes the tokens of a text, and questions of the same number of tokens each, asked right after the text."""
