"""Continuous batching over the lean Llama decoder: many rows, each with its own place in a fixed KV cache.

A row is one running request. A pass of `decode` appends one token to every row; `prefill` reads the prompts of some
rows while the others keep theirs. On CUDA a pass is a recorded graph, because launching its kernels takes longer than
they run. Knows no text, no queue and no thread.
"""

# torch is not there when types are checked without the extra `local`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from ...llm.local.engines.lean_llama import LeanLayer, LeanLlama

COLUMN_STEP = 512  # attention reads a multiple of so many columns; each multiple is one recorded graph
PREFILL_TOKENS = 32_768  # of one pass over several prompts, padding included


@dataclass(frozen=True, slots=True)
class RowStart:
    """What a row begins with: its prompt, and how its tokens are chosen."""

    prompt: Sequence[int]
    max_new_tokens: int
    temperature: float = 0.0  # 0: greedy
    seed: int = 0  # of the random numbers of a sampled row: they depend on nothing else


class BatchedLlama:
    """`n_rows` rows of at most `n_columns` tokens each. Not thread-safe."""

    def __init__(self, lean: LeanLlama, n_rows: int, n_columns: int) -> None:
        self._lean = lean
        self.n_rows, self.n_columns = n_rows, -(-n_columns // COLUMN_STEP) * COLUMN_STEP
        config, like = lean.config, lean.embedding
        shape = (n_rows, config.n_kv_heads, self.n_columns, config.head_size)
        self._cache = [(like.new_zeros(shape), like.new_zeros(shape)) for _ in lean.layers]
        self._rope = lean.rope.between(0, self.n_columns)[:, :, 0]  # (2, n_columns, head_size)
        self._device = like.device
        self._rows = torch.arange(n_rows, device=self._device)
        self._columns = torch.arange(self.n_columns, device=self._device)
        self._tokens = torch.zeros(n_rows, dtype=torch.long, device=self._device)  # the last token of each row
        self._positions = torch.zeros_like(self._tokens)  # the column of that token
        self._advance = torch.zeros_like(self._tokens)  # 1 in running rows
        self._temperatures = torch.zeros(n_rows, device=self._device)
        self._uniforms = torch.zeros(n_rows, self.n_columns, device=self._device)  # by the column of the token before
        self._graphs: dict[int, Any] = {}
        self._records_graphs = self._device.type == "cuda"

    @torch.inference_mode()
    def prefill(self, rows: Sequence[int], starts: Sequence[RowStart]) -> list[int]:
        """Begin rows that do not run; the first token of each."""
        order = sorted(range(len(rows)), key=lambda at: len(starts[at].prompt))
        first = dict[int, int]()
        while order:
            # The longest first, with as many others as a pass may have tokens.
            n = min(len(order), max(1, PREFILL_TOKENS // len(starts[order[-1]].prompt)))
            taken = order[-n:]
            del order[-n:]
            tokens = self._prefill([rows[at] for at in taken], [starts[at] for at in taken])
            first |= dict(zip(taken, tokens, strict=True))
        return [first[at] for at in range(len(rows))]

    @torch.inference_mode()
    def decode(self, n_steps: int, n_longest: int) -> list[list[int]]:
        """The next `n_steps` tokens of each row, (n_steps, n_rows); those of rows that do not run mean nothing.

        `n_longest` are the tokens of the longest row so far.
        """
        n_columns = min(self.n_columns, -(-(n_longest + n_steps) // COLUMN_STEP) * COLUMN_STEP)
        written = self._tokens.new_empty(n_steps, self.n_rows)
        for step in range(n_steps):
            self._pass(n_columns)
            written[step] = self._tokens
        found: list[list[int]] = written.tolist()
        return found

    @torch.inference_mode()
    def end(self, rows: Sequence[int]) -> None:
        """Stop rows, which can then begin again."""
        at = torch.tensor(rows, device=self._device)
        self._advance[at] = 0
        self._positions[at] = 0

    def _prefill(self, rows: list[int], starts: list[RowStart]) -> list[int]:
        sizes = torch.tensor([len(start.prompt) for start in starts], device=self._device)
        length = int(sizes.max())
        # Padded on the right: the columns behind a prompt are overwritten before a token attends to them.
        padded = [[*start.prompt, *[0] * (length - len(start.prompt))] for start in starts]
        at = torch.tensor(rows, device=self._device)
        config, layers = self._lean.config, self._lean.layers
        cosine, sine = self._rope[:, :length, None]  # (L, 1, head_size)
        x = F.embedding(torch.tensor(padded, device=self._device), self._lean.embedding)  # (R, L, n_embd)
        with _attention_kernels():
            for layer, (keys, values) in zip(layers, self._cache, strict=True):
                qk, v = self._heads(layer, x, cosine, sine)
                q, k, v = (each.transpose(1, 2) for each in (*qk.split([config.n_heads, config.n_kv_heads], 2), v))
                keys[at, :, :length], values[at, :, :length] = k, v
                attended = F.scaled_dot_product_attention(
                    q, k, v, is_causal=True, enable_gqa=config.n_heads != config.n_kv_heads
                )  # (R, n_heads, L, head_size)
                x = self._after_attention(layer, x, attended.transpose(1, 2).flatten(2))
        self._temperatures[at] = torch.tensor([start.temperature for start in starts], device=self._device)
        uniforms = np.zeros((len(rows), self.n_columns), np.float32)
        for row, start in zip(uniforms, starts, strict=True):
            if start.temperature > 0:
                begin = len(start.prompt) - 1
                drawn = np.random.default_rng(start.seed).random(start.max_new_tokens, np.float32)
                row[begin : begin + start.max_new_tokens] = drawn[: self.n_columns - begin]
        self._uniforms[at] = torch.from_numpy(uniforms).to(self._device)
        last = x[torch.arange(len(rows), device=self._device), sizes - 1]  # (R, n_embd)
        tokens = self._chosen(last, self._temperatures[at], self._uniforms[at, sizes - 1])
        self._tokens[at], self._positions[at], self._advance[at] = tokens, sizes, 1
        return [int(token) for token in tokens.tolist()]

    def _pass(self, n_columns: int) -> None:
        if not self._records_graphs:
            self._append_tokens(n_columns)
            return
        if n_columns not in self._graphs:
            try:
                self._graphs[n_columns] = self._recorded(n_columns)
            except RuntimeError as error:
                warnings.warn(f"Passes are not recorded, which makes them slow: {error}", stacklevel=2)
                self._records_graphs = False
                self._append_tokens(n_columns)
                return
        self._graphs[n_columns].replay()

    def _recorded(self, n_columns: int) -> Any:
        """The graph of a pass. Running it first selects kernels; what that writes is written again."""
        before = self._tokens.clone(), self._positions.clone()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                self._append_tokens(n_columns)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                self._append_tokens(n_columns)
        finally:
            self._tokens.copy_(before[0])
            self._positions.copy_(before[1])
        return graph

    def _append_tokens(self, n_columns: int) -> None:
        """One token for each row, from those in the first `n_columns` columns."""
        lean, config, positions = self._lean, self._lean.config, self._positions
        cosine, sine = self._rope[:, positions, None]  # (R, 1, head_size)
        hidden = self._columns[:n_columns] > positions[:, None]  # (R, S)
        mask = torch.zeros_like(hidden, dtype=lean.embedding.dtype).masked_fill(hidden, float("-inf"))[:, None, None]
        x = F.embedding(self._tokens, lean.embedding)  # (R, n_embd)
        n_shared = config.n_heads // config.n_kv_heads
        # Heads that share keys become rows of one query, without repeated keys.
        mask = mask.expand(-1, config.n_kv_heads, n_shared, -1)
        with _attention_kernels():
            for layer, (keys, values) in zip(lean.layers, self._cache, strict=True):
                qk, v = self._heads(layer, x, cosine, sine)
                keys[self._rows, :, positions], values[self._rows, :, positions] = qk[:, config.n_heads :], v
                q = qk[:, : config.n_heads].reshape(-1, config.n_kv_heads, n_shared, config.head_size)
                attended = F.scaled_dot_product_attention(
                    q, keys[:, :, :n_columns], values[:, :, :n_columns], attn_mask=mask
                )
                x = self._after_attention(layer, x, attended.flatten(1))
        uniforms = self._uniforms[self._rows, positions]
        self._tokens.copy_(self._chosen(x, self._temperatures, uniforms))
        positions.add_(self._advance)

    def _heads(self, layer: LeanLayer, x: Any, cosine: Any, sine: Any) -> tuple[Any, Any]:
        """Rotated queries and keys (..., n_heads + n_kv_heads, head_size), and values (..., n_kv_heads, head_size)."""
        config = self._lean.config
        n_rotated = config.n_heads + config.n_kv_heads
        normed = F.rms_norm(x, x.shape[-1:], layer.attention_norm, config.epsilon)
        qkv = layer.qkv(normed).unflatten(-1, (n_rotated + config.n_kv_heads, config.head_size))
        qk, v = qkv.split([n_rotated, config.n_kv_heads], -2)
        if layer.head_norm is not None:
            qk = F.rms_norm(qk, qk.shape[-1:], None, config.epsilon) * layer.head_norm
        return qk * cosine + qk.roll(config.head_size // 2, -1) * sine, v

    def _after_attention(self, layer: LeanLayer, x: Any, attended: Any) -> Any:
        x = x + layer.out(attended)
        normed = F.rms_norm(x, x.shape[-1:], layer.mlp_norm, self._lean.config.epsilon)
        gate, up = layer.gate_up(normed).chunk(2, -1)
        return x + layer.down(F.silu(gate) * up)

    def _chosen(self, x: Any, temperatures: Any, uniforms: Any) -> Any:
        """The next tokens (R,) after x (R, n_embd): the most likely ones, or those that the random numbers select."""
        lean = self._lean
        logits = lean.head(F.rms_norm(x, x.shape[-1:], lean.norm, lean.config.epsilon)).float()
        shares = (logits / temperatures.clamp(min=1e-6)[:, None]).softmax(-1).cumsum(-1)  # (R, n_vocabulary)
        sampled = (shares < uniforms[:, None] * shares[:, -1:]).sum(-1).clamp(max=lean.n_vocabulary - 1)
        return torch.where(temperatures > 0, sampled, logits.argmax(-1))


def _attention_kernels() -> AbstractContextManager[Any]:
    """Without cuDNN's, which are compiled for each shape."""
    kernels = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    chosen: AbstractContextManager[Any] = sdpa_kernel(kernels)
    return chosen
