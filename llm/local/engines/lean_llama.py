"""A minimal Llama decoder with fused weights, without the Python overhead of transformers.

Owns the fused weights, the forward pass and the KV cache. Shares its weights with the transformers model it replaces;
`agrees` checks that both give the same logits. Knows no text, no file and no thread. Imported when a model is opened.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F

ARCHITECTURES = frozenset({"LlamaForCausalLM", "MistralForCausalLM", "Qwen2ForCausalLM", "Qwen3ForCausalLM"})
# Kinds of rotary embeddings whose frequencies do not depend on the length of the text.
STATIC_ROPE = frozenset({"default", "linear", "llama3", "yarn"})
# Relative difference of logits from their mean: allows for rounding, but for no wrong formula.
TOLERANCE = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.05}
CACHE_STEP_TOKENS = 256

Linear = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Config:
    n_heads: int
    n_kv_heads: int
    head_size: int
    epsilon: float
    context_tokens: int


@dataclass(frozen=True, slots=True)
class LeanLayer:
    attention_norm: Any  # (n_embd,)
    qkv: Linear  # n_embd -> (n_heads + 2 n_kv_heads) * head_size
    head_norm: Any  # (n_heads + n_kv_heads, head_size), or None: Qwen 3 norms queries and keys
    out: Linear  # n_heads * head_size -> n_embd
    mlp_norm: Any  # (n_embd,)
    gate_up: Linear  # n_embd -> 2 n_inner
    down: Linear  # n_inner -> n_embd


class LeanCache:
    """Keys and values of one sequence, a pair for each layer, in tensors with spare room."""

    def __init__(self) -> None:
        self.n_tokens = 0
        self.room = 0
        self.layers: list[tuple[Any, Any]] = []  # each (1, n_kv_heads, room, head_size)


class LeanLlama:
    """A `Decoder` (see `torch_engine`)."""

    def __init__(self, config: Config, embedding: Any, layers: list[LeanLayer], norm: Any, head: Linear, rope: Rope):
        self.config = config
        self.embedding = embedding  # (n_vocabulary, n_embd)
        self.layers = layers
        self.norm = norm  # (n_embd,)
        self.head = head  # n_embd -> n_vocabulary
        self.rope = rope
        self.n_vocabulary = int(embedding.shape[0])
        self.context_tokens = config.context_tokens
        self.cache_kind = f"lean llama {embedding.dtype}"
        self.cache_bytes_per_token = len(layers) * 2 * config.n_kv_heads * config.head_size * embedding.element_size()

    def new_cache(self) -> LeanCache:
        return LeanCache()

    def crop(self, cache: LeanCache, n_tokens: int) -> bool:
        cache.n_tokens = min(cache.n_tokens, n_tokens)
        return True

    def tensors_of(self, cache: LeanCache) -> dict[str, Any]:
        return {
            f"{i}.{name}": tensor.narrow(2, 0, cache.n_tokens)
            for i, pair in enumerate(cache.layers)
            for name, tensor in zip(("keys", "values"), pair, strict=True)
        }

    def import_cache(self, tensors: dict[str, Any], n_tokens: int) -> LeanCache:
        cache = LeanCache()
        self._grow(cache, n_tokens)
        cache.n_tokens = n_tokens
        own = self.tensors_of(cache)
        if {name: (tensor.dtype, tensor.shape) for name, tensor in tensors.items()} != {
            name: (tensor.dtype, tensor.shape) for name, tensor in own.items()
        }:
            raise ValueError("keys and values have another shape")
        for name, tensor in own.items():
            tensor.copy_(tensors[name])
        return cache

    def int8(self) -> LeanLlama:
        """This model with 8-bit weights of products, on a CPU: less memory traffic, slightly less exact.

        Activations are rounded over all tokens of a pass, so a text may depend on the split into passes. `self` is
        unusable afterwards: its layers are freed one by one.
        """
        layers: list[LeanLayer] = []
        while self.layers:
            layers.append(_int8_layer(self.layers.pop(0)))
        embedding = self.embedding.float()
        rope = Rope(self.rope.frequencies, self.rope.scale, embedding)
        return LeanLlama(self.config, embedding, layers, self.norm.float(), _int8_linear(self.head), rope)

    def forward(self, cache: LeanCache, tokens: Any, n_scored: int) -> Any:
        """Logits (n_scored, n_vocabulary) of the last of tokens (T,)."""
        n_past, n_total = cache.n_tokens, cache.n_tokens + len(tokens)
        if n_total > cache.room:
            self._grow(cache, n_total)
        epsilon = self.config.epsilon
        span = _Span(n_past, n_total, *self.rope.between(n_past, n_total))
        mask = None if len(tokens) == 1 or not n_past else _causal_mask(n_past, n_total, self.embedding)
        x = F.embedding(tokens, self.embedding)  # (T, n_embd)
        shape = x.shape[-1:]
        for layer, (keys, values) in zip(self.layers, cache.layers, strict=True):
            normed = F.rms_norm(x, shape, layer.attention_norm, epsilon)
            x = x + layer.out(self._attend(layer, normed, keys, values, span, mask))
            gate, up = layer.gate_up(F.rms_norm(x, shape, layer.mlp_norm, epsilon)).chunk(2, -1)  # (T, n_inner)
            x = x + layer.down(F.silu(gate) * up)
        cache.n_tokens = n_total
        return self.head(F.rms_norm(x[-n_scored:], shape, self.norm, epsilon))

    def _attend(self, layer: LeanLayer, x: Any, keys: Any, values: Any, span: _Span, mask: Any) -> Any:
        """Attention of the new rows x (T, n_embd) over everything; (T, n_heads * head_size)."""
        config = self.config
        n_new, n_rotated = span.end - span.first, config.n_heads + config.n_kv_heads
        qkv = layer.qkv(x).view(n_new, n_rotated + config.n_kv_heads, config.head_size)  # (T, heads, head_size)
        qk = qkv[:, :n_rotated]
        if layer.head_norm is not None:
            qk = F.rms_norm(qk, qk.shape[-1:], None, config.epsilon) * layer.head_norm
        qk = qk * span.cosine + qk.roll(config.head_size // 2, -1) * span.sine
        keys.narrow(2, span.first, n_new).copy_(qk[:, config.n_heads :].transpose(0, 1))
        values.narrow(2, span.first, n_new).copy_(qkv[:, n_rotated:].transpose(0, 1))
        keys, values = keys.narrow(2, 0, span.end), values.narrow(2, 0, span.end)
        if n_new == 1:
            # Heads that share keys become rows of one query, without repeated keys.
            q = qk[:, : config.n_heads].view(1, config.n_kv_heads, -1, config.head_size)
            return F.scaled_dot_product_attention(q, keys, values).reshape(1, -1)
        q = qk[:, : config.n_heads].transpose(0, 1)[None]  # (1, n_heads, T, head_size)
        attended = F.scaled_dot_product_attention(
            q, keys, values, mask, is_causal=mask is None, enable_gqa=config.n_heads != config.n_kv_heads
        )
        return attended[0].transpose(0, 1).reshape(n_new, -1)

    def _grow(self, cache: LeanCache, n_tokens: int) -> None:
        """Room for `n_tokens` and a quarter more, so that copies are a small part of the work."""
        config = self.config
        room = -(-(n_tokens + n_tokens // 4) // CACHE_STEP_TOKENS) * CACHE_STEP_TOKENS
        shape = (1, config.n_kv_heads, room, config.head_size)
        cache.layers = cache.layers or [(self.embedding.new_empty(0),) * 2 for _ in self.layers]
        # Layer by layer, so that memory never holds two complete caches.
        for at, pair in enumerate(cache.layers):
            grown = (self.embedding.new_empty(shape), self.embedding.new_empty(shape))
            if cache.n_tokens:
                for new, old in zip(grown, pair, strict=True):
                    new[:, :, : cache.n_tokens] = old[:, :, : cache.n_tokens]
            cache.layers[at] = grown
        cache.room = room


@dataclass(frozen=True, slots=True)
class _Span:
    """The positions of the new rows and their rotary factors."""

    first: int
    end: int
    cosine: Any  # (T, 1, head_size)
    sine: Any


class Rope:
    """Cosines and signed sines of the rotary embedding, computed once for each position."""

    def __init__(self, frequencies: Any, scale: float, like: Any) -> None:
        self.frequencies = frequencies.float()  # (head_size / 2,)
        self.scale = scale
        self._like = like
        self._table = like.new_empty(2, 0, 1, 2 * len(frequencies))

    def between(self, first: int, end: int) -> Any:
        """(2, end - first, 1, head_size): factors of a vector, and of the vector with swapped halves."""
        if end > self._table.shape[1]:
            positions = torch.arange(2 * end, device=self.frequencies.device).float()
            angles = positions[:, None, None] * self.frequencies  # (n, 1, head_size / 2)
            cosine, sine = angles.cos() * self.scale, angles.sin() * self.scale
            table = torch.stack((torch.cat((cosine, cosine), -1), torch.cat((-sine, sine), -1)))
            self._table = table.to(self._like.dtype)
        return self._table[:, first:end]


def lean_llama(model: Any, context_tokens: int) -> LeanLlama | None:
    """A lean decoder that shares the weights of a transformers model; None for another architecture.

    Moves the weights: fused ones become one tensor, and the parts of the model become views of it.
    """
    if type(model).__name__ not in ARCHITECTURES or not _fits(model):
        return None
    decoder, config = model.model, model.config
    embedding = decoder.embed_tokens.weight
    attention = decoder.layers[0].self_attn
    heads = Config(
        n_heads=config.num_attention_heads,
        n_kv_heads=config.num_key_value_heads,
        head_size=attention.head_dim,
        epsilon=config.rms_norm_eps,
        context_tokens=context_tokens,
    )
    rope = Rope(decoder.rotary_emb.inv_freq, decoder.rotary_emb.attention_scaling, embedding)
    layers = [_layer(layer, heads) for layer in decoder.layers]
    return LeanLlama(heads, embedding, layers, decoder.norm.weight, _linear(model.lm_head), rope)


def agrees(lean: LeanLlama, plain: Any, tokens: Any) -> bool:
    """Whether the lean decoder gives the logits of the plain one, for `tokens` at once and in three calls."""
    expected = plain.forward(plain.new_cache(), tokens, len(tokens)).float()
    whole = lean.forward(lean.new_cache(), tokens, len(tokens))
    cache = lean.new_cache()
    middle = len(tokens) // 2
    parts = (tokens[:middle], tokens[middle:-1], tokens[-1:])
    pieces = torch.cat([lean.forward(cache, part, len(part)) for part in parts])
    allowed = TOLERANCE[whole.dtype] * float((expected - expected.mean()).norm())
    return all(float((found.float() - expected).norm()) <= allowed for found in (whole, pieces))


def _causal_mask(n_past: int, n_total: int, like: Any) -> Any:
    """(n_total - n_past, n_total): added to attention scores, so that no token attends to later ones."""
    return like.new_full((n_total - n_past, n_total), float("-inf")).triu(n_past + 1)


_LINEAR = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
_MLP = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
_NORMS = ("input_layernorm", "post_attention_layernorm")
_HEAD_NORMS = ("self_attn.q_norm", "self_attn.k_norm")


def _fits(model: Any) -> bool:
    """Whether the lean decoder uses every weight of the model, and all are plain linear layers."""
    config = model.config
    kinds = getattr(config, "layer_types", None)
    sees_all = set(kinds) == {"full_attention"} if kinds else not getattr(config, "sliding_window", None)
    return (
        sees_all
        and getattr(model.model.rotary_emb, "rope_type", None) in STATIC_ROPE
        and config.hidden_act == "silu"
        and all(_layer_fits(layer) for layer in model.model.layers)
        and _is_plain(model.lm_head)
    )


def _layer_fits(layer: Any) -> bool:
    parts = {name.rpartition(".")[0] for name, _ in layer.named_parameters()}
    wanted = {*_LINEAR, *_MLP, *_NORMS}
    return parts in (wanted, {*wanted, *_HEAD_NORMS}) and all(
        _is_plain(layer.get_submodule(name)) for name in (*_LINEAR, *_MLP)
    )


def _is_plain(linear: Any) -> bool:
    return type(linear) is torch.nn.Linear


def _layer(layer: Any, config: Config) -> LeanLayer:
    attention, mlp = layer.self_attn, layer.mlp
    head_norm = None
    if hasattr(attention, "q_norm"):
        q_norm = attention.q_norm.weight.expand(config.n_heads, -1)
        head_norm = torch.cat((q_norm, attention.k_norm.weight.expand(config.n_kv_heads, -1)))
    return LeanLayer(
        attention_norm=layer.input_layernorm.weight,
        qkv=_fused(attention.q_proj, attention.k_proj, attention.v_proj),
        head_norm=head_norm,
        out=_linear(attention.o_proj),
        mlp_norm=layer.post_attention_layernorm.weight,
        gate_up=_fused(mlp.gate_proj, mlp.up_proj),
        down=_linear(mlp.down_proj),
    )


def _linear(module: Any) -> Linear:
    return partial(F.linear, weight=module.weight, bias=module.bias)


def _fused(*modules: Any) -> Linear:
    """One product for several modules, which keep views of the same memory."""
    sizes = [module.out_features for module in modules]
    weight = torch.cat([module.weight for module in modules])
    bias = torch.cat([module.bias for module in modules]) if modules[0].bias is not None else None
    for module, part in zip(modules, torch.split(weight, sizes), strict=True):
        module.weight.data = part
    return partial(F.linear, weight=weight, bias=bias)


def _int8_layer(layer: LeanLayer) -> LeanLayer:
    return LeanLayer(
        attention_norm=layer.attention_norm.float(),
        qkv=_int8_linear(layer.qkv),
        head_norm=None if layer.head_norm is None else layer.head_norm.float(),
        out=_int8_linear(layer.out),
        mlp_norm=layer.mlp_norm.float(),
        gate_up=_int8_linear(layer.gate_up),
        down=_int8_linear(layer.down),
    )


def _int8_linear(linear: Any) -> Linear:
    """The product with 8-bit weights and a scale for each row."""
    weight, bias = linear.keywords["weight"].float(), linear.keywords["bias"]
    scales = weight.abs().amax(1).clamp(min=1e-12) / 127
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that this kind of tensor is deprecated
        rounded = torch.quantize_per_channel(weight, scales, torch.zeros(len(weight), dtype=torch.long), 0, torch.qint8)
    packed = torch.ops.quantized.linear_prepack(rounded, None if bias is None else bias.float())
    return partial(torch.ops.quantized.linear_dynamic, W_prepack=packed)
