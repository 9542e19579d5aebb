"""Batched reading: texts of one length become memories, and many questions are put to each.

An answer is checked by its probabilities instead of generation: greedy decoding writes exactly these tokens if each is
the likeliest after those before it. Clues are generated. Without a ratio the whole text stays in the open window, which
is full attention of the base model. Owns batches and padding. Knows no prompt.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from random import Random

import torch
from torch import Tensor
from torch.nn import functional
from transformers.cache_utils import Cache

from ...memory.memorag.beacon.cache import Memory, PreallocatedLayer, WindowLayer
from ...memory.memorag.beacon.model import BeaconModel
from ...memory.memorag.beacon.ratios import BeaconError, RatioSequence


@dataclass(frozen=True, slots=True)
class AskedRow:
    """A question about the text of one row, and the answer that is checked."""

    row: int
    prompt: tuple[int, ...]  # with the beginning of the answer
    answer: tuple[int, ...]  # the tokens that are checked


@dataclass(frozen=True, slots=True)
class CheckedAnswer:
    is_right: bool  # greedy decoding writes exactly these tokens
    nats: float  # of the answer, mean of its tokens


@torch.no_grad()
def read_texts(model: BeaconModel, tokens: Tensor, ratio: int | None) -> Memory:
    """The memories of texts (B, T); without a ratio full attention."""
    with _window(model, tokens.shape[1] + 1 if ratio is None else model.window):
        ratio_of = RatioSequence((ratio or 1,)).for_text(tokens.shape[1], Random())
        memory: Memory = model.read(model.empty(tokens.shape[0]), tokens, ratio_of)[1]
        return memory


@torch.no_grad()
def check_answers(
    model: BeaconModel, memory: Memory, asked: Sequence[AskedRow], *, rows_at_once: int = 32
) -> list[CheckedAnswer]:
    """Each question is put right after its text. Raises BeaconError if it does not fit the open window."""
    found = list[CheckedAnswer]()
    for start in range(0, len(asked), rows_at_once):
        some = asked[start : start + rows_at_once]
        whole = [(*of.prompt, *of.answer) for of in some]
        hidden = _continue(model, _rows_of(memory, some), _padded(whole, memory.open_tokens))
        rows = [row for row, of in enumerate(some) for _ in of.answer]
        places = [len(of.prompt) - 1 + number for of in some for number in range(len(of.answer))]
        targets = torch.tensor([token for of in some for token in of.answer], device=hidden.device)
        logits = model.base.lm_head(hidden[rows, places]).float()  # (tokens of all answers, vocabulary)
        right = (logits.argmax(-1) == targets).tolist()
        nats = functional.cross_entropy(logits, targets, reduction="none").tolist()
        for of in some:
            n = len(of.answer)
            found.append(CheckedAnswer(all(right[:n]), sum(nats[:n]) / n))
            right, nats = right[n:], nats[n:]
    return found


@torch.no_grad()
def write_answers(
    model: BeaconModel, memory: Memory, asked: Sequence[AskedRow], n_new: int, end: int, *, rows_at_once: int = 32
) -> list[list[int]]:
    """Greedy responses of at most `n_new` tokens to each prompt, without `end`. `answer` is not used."""
    found = list[list[int]]()
    for start in range(0, len(asked), rows_at_once):
        some = asked[start : start + rows_at_once]
        prompts = _padded([of.prompt for of in some], memory.open_tokens)
        found += _write(model, _rows_of(memory, some), prompts, [len(of.prompt) for of in some], n_new, end)
    return found


def _write(
    model: BeaconModel, memory: Memory, prompts: Tensor, lengths: Sequence[int], n_new: int, end: int
) -> list[list[int]]:
    """The rows of `prompts` (B, T) have different lengths; what fills them up is masked."""
    n_rows, most = prompts.shape
    room = memory.n_open + most + n_new
    layers: list[WindowLayer] = [
        PreallocatedLayer(*of_layer, model.rotate, room)
        for of_layer in zip(memory.keys, memory.values, memory.open_keys, memory.open_values, strict=True)
    ]
    hidden, _, _ = model.read_window(prompts, layers, None)
    length_of = torch.tensor(lengths, device=prompts.device)
    last = hidden[torch.arange(n_rows, device=prompts.device), length_of - 1]  # (B, n_embd)
    before = memory.n_cached
    visible = torch.ones((n_rows, before + most + n_new), dtype=torch.bool, device=prompts.device)
    visible[:, before : before + most] = torch.arange(most, device=prompts.device) < length_of[:, None]
    written, is_done = list[Tensor](), torch.zeros(n_rows, dtype=torch.bool, device=prompts.device)
    for step in range(n_new):
        tokens = model.base.lm_head(last).argmax(-1)  # (B,)
        is_done = is_done | (tokens == end)
        written.append(torch.where(is_done, end, tokens))
        if step % _CHECKED_EVERY == _CHECKED_EVERY - 1 and bool(is_done.all()):
            break
        read = model.base.model(
            inputs_embeds=model.base.get_input_embeddings()(tokens[:, None]),
            position_ids=(before + length_of + step)[:, None],
            attention_mask=visible[:, None, None, : before + most + step + 1],
            past_key_values=Cache(layers=list(layers)),
            use_cache=True,
        )
        last = read.last_hidden_state[:, 0]
    rows = torch.stack(written, 1).tolist()
    return [row[: row.index(end)] if end in row else row for row in rows]


_CHECKED_EVERY = 8  # steps; checking waits for the device


def _continue(model: BeaconModel, memory: Memory, tokens: Tensor) -> Tensor:
    """Hidden states of tokens (B, T) after a memory, in its open window."""
    if memory.n_memory and memory.n_open + tokens.shape[1] > model.window:
        raise BeaconError(
            f"{tokens.shape[1]} tokens of a question do not fit the open window of {model.window} tokens, which has "
            f"{memory.n_open} of the text. Use texts of another length."
        )
    layers = [
        WindowLayer(*of_layer, model.rotate)
        for of_layer in zip(memory.keys, memory.values, memory.open_keys, memory.open_values, strict=True)
    ]
    return model.read_window(tokens, layers, None)[0]


def _rows_of(memory: Memory, asked: Sequence[AskedRow]) -> Memory:
    """One memory for each question."""
    rows = torch.tensor([of.row for of in asked], device=memory.open_tokens.device)

    def chosen(tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        return tuple(tensor.index_select(0, rows) for tensor in tensors)

    return replace(
        memory,
        keys=chosen(memory.keys),
        values=chosen(memory.values),
        open_tokens=memory.open_tokens.index_select(0, rows),
        open_keys=chosen(memory.open_keys),
        open_values=chosen(memory.open_values),
    )


def _padded(rows: Sequence[Sequence[int]], like: Tensor) -> Tensor:
    """Rows of tokens (B, T), filled up at their ends: no token sees what follows it."""
    most = max(map(len, rows))
    return like.new_tensor([[*row, *[0] * (most - len(row))] for row in rows])


@contextmanager
def _window(model: BeaconModel, window: int) -> Iterator[None]:
    before, model.window = model.window, window
    try:
        yield
    finally:
        model.window = before
