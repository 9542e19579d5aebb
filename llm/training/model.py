"""A small Llama in plain PyTorch, with the parameter names of transformers' LlamaForCausalLM.

Owns the shapes and the arithmetic, with and without a cache. Knows no text, no training and no file format.
"""

# torch is not there when types are checked without the extra `train`.
# mypy: allow-subclassing-any, allow-untyped-decorators

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

KeysAndValues = tuple[Tensor, Tensor]  # of one layer, each (B, n_kv_heads, n_past, head_dim)


@dataclass(frozen=True, slots=True)
class ModelShape:
    """The hyperparameters that determine the weights' shapes. Input and output embeddings are tied."""

    n_embd: int
    n_layers: int
    n_heads: int
    n_kv_heads: int
    n_hidden: int
    n_vocabulary: int = 8192
    context_tokens: int = 2048
    rope_theta: float = 10_000.0
    norm_epsilon: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.n_embd // self.n_heads


# Named by their number of parameters; the vocabulary is 8192 unless given.
PRESETS: dict[str, ModelShape] = {
    "micro": ModelShape(32, 2, 2, 1, 64, n_vocabulary=512),  # tests of the pipeline itself
    "tiny": ModelShape(128, 4, 4, 2, 352, n_vocabulary=4096),
    "5m": ModelShape(256, 4, 4, 2, 704),
    "10m": ModelShape(320, 6, 5, 1, 896),
    "15m": ModelShape(384, 7, 6, 2, 1024),
    "30m": ModelShape(512, 9, 8, 2, 1408),
    "60m": ModelShape(640, 12, 10, 2, 1728),
}


class Norm(nn.Module):
    """RMSNorm in basic operations, which every exporter supports."""

    def __init__(self, n_embd: int, epsilon: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n_embd))
        self.epsilon = epsilon

    def forward(self, x: Tensor) -> Tensor:
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + self.epsilon)
        normed = self.weight * wide
        # Cast once here; autocast would repeat it for each projection.
        return (
            normed.to(torch.get_autocast_dtype(x.device.type)) if torch.is_autocast_enabled(x.device.type) else normed
        )


class Attention(nn.Module):
    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        kv_width = shape.n_kv_heads * shape.head_dim
        self.q_proj = nn.Linear(shape.n_embd, shape.n_embd, bias=False)
        self.k_proj = nn.Linear(shape.n_embd, kv_width, bias=False)
        self.v_proj = nn.Linear(shape.n_embd, kv_width, bias=False)
        self.o_proj = nn.Linear(shape.n_embd, shape.n_embd, bias=False)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, past: KeysAndValues | None, mask: Tensor | None
    ) -> tuple[Tensor, KeysAndValues]:
        """`mask` (T, n_past + T) is added to the attention scores; None: causal, without a past."""
        batch, length, _ = x.shape
        dim = self.shape.head_dim
        q = self.q_proj(x).view(batch, length, self.shape.n_heads, dim).transpose(1, 2)  # (B, n_heads, T, dim)
        k = self.k_proj(x).view(batch, length, self.shape.n_kv_heads, dim).transpose(1, 2)
        v = self.v_proj(x).view(batch, length, self.shape.n_kv_heads, dim).transpose(1, 2)
        q, k = rotate(q, cos, sin), rotate(k, cos, sin)
        if past is not None:
            k, v = torch.cat((past[0], k), 2), torch.cat((past[1], v), 2)
        shared = self.shape.n_heads // self.shape.n_kv_heads
        keys, values = k.repeat_interleave(shared, 1), v.repeat_interleave(shared, 1)
        y = functional.scaled_dot_product_attention(q, keys, values, attn_mask=mask, is_causal=mask is None)
        return self.o_proj(y.transpose(1, 2).reshape(batch, length, -1)), (k, v)


class Mlp(nn.Module):
    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(shape.n_embd, shape.n_hidden, bias=False)
        self.up_proj = nn.Linear(shape.n_embd, shape.n_hidden, bias=False)
        self.down_proj = nn.Linear(shape.n_hidden, shape.n_embd, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        down: Tensor = self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))
        return down


class Layer(nn.Module):
    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.input_layernorm = Norm(shape.n_embd, shape.norm_epsilon)
        self.self_attn = Attention(shape)
        self.post_attention_layernorm = Norm(shape.n_embd, shape.norm_epsilon)
        self.mlp = Mlp(shape)

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, past: KeysAndValues | None, mask: Tensor | None
    ) -> tuple[Tensor, KeysAndValues]:
        attended, present = self.self_attn(self.input_layernorm(x), cos, sin, past, mask)
        x = x + attended
        return x + self.mlp(self.post_attention_layernorm(x)), present


class Trunk(nn.Module):
    """The layers, in a module of their own so that parameters are named `model.…`, as in transformers."""

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(shape.n_vocabulary, shape.n_embd)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.n_layers))
        self.norm = Norm(shape.n_embd, shape.norm_epsilon)


class SmallLlama(nn.Module):
    cos: Tensor
    sin: Tensor

    def __init__(self, shape: ModelShape) -> None:
        super().__init__()
        self.shape = shape
        self.model = Trunk(shape)
        cos, sin = rotary_tables(shape)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                # Projections into the residual stream start smaller with more layers, as in GPT-2.
                residual = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=0.02 / (math.sqrt(2 * shape.n_layers) if residual else 1))

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (B, T, vocabulary) of whole sequences (B, T): for training."""
        cos, sin = self.cos[: tokens.shape[1]], self.sin[: tokens.shape[1]]  # (T, dim / 2)
        x = self.model.embed_tokens(tokens)
        for layer in self.model.layers:
            x, _ = layer(x, cos, sin, None, None)
        return self._logits(x)

    def forward_cached(
        self,
        tokens: Tensor,
        positions: Tensor,
        past: list[KeysAndValues],
        attention_mask: Tensor | None = None,
        n_scored: Tensor | None = None,
    ) -> tuple[Tensor, list[KeysAndValues]]:
        """Logits (1, n_scored, vocabulary) of the last of `tokens` (1, T) after the KV cache `past`, and the new cache.

        All tokens are scored without `n_scored`. `positions` (1, T) are those of the tokens in the text;
        `attention_mask` (1, n_past + T) is 0 for masked tokens. Equal to `forward` of the whole text.
        """
        length = tokens.shape[1]
        total = past[0][0].shape[2] + length
        columns = torch.arange(total, device=tokens.device)
        rows = torch.arange(length, device=tokens.device) + (total - length)
        mask = columns <= rows[:, None]  # (T, n_past + T)
        if attention_mask is not None:
            mask = mask & (attention_mask[0] > 0)
        # An additive mask: for a boolean one the exporter adds a check for fully masked rows, a sixth of the time of a
        # long prompt. There are none, since every token attends to itself.
        mask = torch.where(mask, 0.0, -torch.inf)
        cos, sin = self.cos[positions[0]], self.sin[positions[0]]
        x = self.model.embed_tokens(tokens)
        present = []
        for layer, before in zip(self.model.layers, past, strict=True):
            x, now = layer(x, cos, sin, before, mask)
            present.append(now)
        if n_scored is not None:
            x = x[:, length - n_scored :]
        return self._logits(x), present

    def empty_past(self) -> list[KeysAndValues]:
        weight = self.model.embed_tokens.weight
        empty = weight.new_zeros(1, self.shape.n_kv_heads, 0, self.shape.head_dim)
        return [(empty, empty) for _ in range(self.shape.n_layers)]

    @torch.inference_mode()
    def generate(self, tokens: list[int], max_new_tokens: int, ends: frozenset[int]) -> list[int]:
        """The greedy continuation without the end token, for evaluation and checks."""
        device = self.cos.device
        past, written, n_cached = self.empty_past(), list[int](), 0
        new = tokens[-(self.shape.context_tokens - max_new_tokens) :]
        while len(written) < max_new_tokens:
            positions = torch.arange(n_cached, n_cached + len(new), device=device)[None]
            logits, past = self.forward_cached(torch.tensor([new], device=device), positions, past)
            n_cached += len(new)
            best = int(logits[0, -1].argmax())
            if best in ends:
                break
            written.append(best)
            new = [best]
        return written

    def _logits(self, x: Tensor) -> Tensor:
        x = self.model.norm(x)
        return functional.linear(x, self.model.embed_tokens.weight.to(x.dtype))


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position embedding on (B, heads, T, dim), which pairs the two halves of a head."""
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)


def rotary_tables(shape: ModelShape) -> tuple[Tensor, Tensor]:
    """Cosines and sines of every position, (context_tokens, dim / 2)."""
    frequencies = shape.rope_theta ** -(torch.arange(0, shape.head_dim, 2).float() / shape.head_dim)
    angles = torch.outer(torch.arange(shape.context_tokens).float(), frequencies)
    return angles.cos(), angles.sin()


def count_parameters(model: nn.Module) -> int:
    return sum(weight.numel() for weight in model.parameters())
