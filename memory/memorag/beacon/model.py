"""Beacon memory on a transformers model: each full window of a text is reduced to its memory tokens.

Owns reading, scoring and generation over windows. `attach` has the added parameters, `cache` the memory. Knows no
training loop, no file and no prompt. Source: MemoRAG, section 2.1 and its published code.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-subclassing-any, allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint as recompute
from transformers.cache_utils import Cache

from .attach import MemoryTokenPositions, attach_memory
from .cache import Memory, WindowLayer
from .encoder import IncrementalEncoder
from .ratios import (
    BeaconError,
    Placement,
    RatioOf,
    check_length,
    check_placement,
    memory_places,
    raw_places,
    windows,
)

LayerTensors = tuple[Tensor, ...]  # of each layer, (B, n_kv_heads, n, head_dim)

SummedLoss = Callable[[Tensor, Tensor], Tensor]  # of hidden states (n_labels, n_embd) and their next tokens

NO_LABEL = -100  # label of a token without a loss


@dataclass(frozen=True, slots=True)
class TextLoss:
    """The loss of a text: mean nats over all labels, with gradients if enabled."""

    loss: Tensor
    window_sums: tuple[Tensor, ...]  # nats of all labels that each window predicts
    window_labels: tuple[int, ...]

    @property
    def n_labels(self) -> int:
        return sum(self.window_labels)

    @property
    def window_losses(self) -> tuple[float, ...]:
        """Mean nats of each window; nan without labels. Waits for the device."""
        return tuple(
            float(nats.detach()) / count if count else float("nan")
            for nats, count in zip(self.window_sums, self.window_labels, strict=True)
        )


class BeaconModel(nn.Module):
    """The base model with its beacon memory. All rows of a batch have the same length and ratios."""

    def __init__(self, base: Any, window: int, places: MemoryTokenPositions, placement: Placement) -> None:
        """Use `wrap`."""
        super().__init__()
        self.base = base
        self.window = window
        self.placement = placement
        self._places = places
        self._layouts: dict[tuple[int, int, Placement, torch.device], tuple[Tensor, Tensor]] = {}

    @classmethod
    def wrap(cls, model: Any, window: int = 2048, placement: Placement = "interleaved") -> BeaconModel:
        """Add the beacon parameters as copies of the base parameters, and freeze all others. Modifies the model.

        `placement` of memory tokens is that of the training of the weights. Raises BeaconError for an unsupported
        class, a model that already has a beacon memory, and one whose rotary embedding depends on the text length.
        """
        if window < 1:
            raise BeaconError(f"The window has {window} tokens; it must have at least 1. Set a larger one.")
        check_placement(placement)
        return cls(model, window, attach_memory(model), placement)

    @property
    def max_positions(self) -> int:
        """Of the base model. A sliding window must hold memory and window, or the memory would drop out of it."""
        config = self.base.config
        return int(min(config.max_position_embeddings, getattr(config, "sliding_window", None) or sys.maxsize))

    @property
    def n_layers(self) -> int:
        return int(self.base.config.num_hidden_layers)

    def beacon_parameters(self) -> Iterator[tuple[str, nn.Parameter]]:
        """All trained parameters, by the names of published checkpoints."""
        return ((name, weight) for name, weight in self.base.named_parameters() if "beacon" in name)

    def empty(self, batch: int = 1) -> Memory:
        """The memory of an empty text."""
        config, weight = self.base.config, self.base.get_input_embeddings().weight
        head_dim = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        nothing = (weight.new_empty((batch, config.num_key_value_heads, 0, head_dim)),) * self.n_layers
        tokens = torch.empty((batch, 0), dtype=torch.long, device=weight.device)
        return Memory(0, nothing, nothing, tokens, nothing, nothing)

    def check_length(
        self, n_new: int, ratio_of: RatioOf, memory: Memory | None = None, *, last_stays_open: bool = False
    ) -> None:
        """Raises TextTooLong if `n_new` tokens after a memory exceed the positions of the base model."""
        n_memory, n_read = (0, 0) if memory is None else (memory.n_memory, memory.n_tokens)
        check_length(
            n_memory,
            n_read,
            n_new,
            window=self.window,
            max_positions=self.max_positions,
            ratio_of=ratio_of,
            last_stays_open=last_stays_open,
        )

    @torch.no_grad()
    def read(self, memory: Memory, tokens: Tensor, ratio_of: RatioOf) -> tuple[Tensor, Memory]:
        """Continue reading: returns the logits of the last token (B, vocabulary) and the new memory.

        `tokens` are (B, T), T at least 1. The result does not depend on how a text is split. Raises TextTooLong before
        any computation.
        """
        self._check_read(memory, tokens)
        self.check_length(tokens.shape[1], ratio_of, memory)
        reading = IncrementalEncoder(self, memory, ratio_of)
        logits = self.base.lm_head(reading.feed(tokens))  # (B, 1, vocabulary)
        return logits[:, 0], reading.memory()

    @torch.no_grad()
    def generate(
        self,
        memory: Memory,
        tokens: Tensor,
        max_new_tokens: int,
        ends: Sequence[int],
        ratio_of: RatioOf,
        stop: Callable[[], bool] = lambda: False,
        choose: Callable[[Tensor], int] = lambda logits: int(logits.argmax()),
    ) -> Iterator[int]:
        """Generates tokens after memory and `tokens` (1, T), until one of `ends`, which is not yielded.

        `choose` selects a token by its logits (vocabulary,); the default is greedy. The memory is not changed; a
        rotated copy exists meanwhile. Raises TextTooLong before the first token.
        """
        self._check_read(memory, tokens)
        self.check_length(tokens.shape[1] + max_new_tokens, ratio_of, memory)
        reading = IncrementalEncoder(self, memory, ratio_of, grows=True)
        for _ in range(max_new_tokens):
            if stop():
                return
            token = choose(self.base.lm_head(reading.feed(tokens))[0, 0])
            if token in ends:
                return
            yield token
            tokens = tokens.new_tensor([[token]])

    def score(
        self, tokens: Tensor, ratio_of: RatioOf, labels: Tensor | None = None, checkpoint: bool = False
    ) -> TextLoss:
        """Next-token loss over all windows (MemoRAG, equation 8); the last one gets no memory tokens.

        `labels` (B, T) are aligned with `tokens`, -100 without a loss; by default every token counts. With labels on
        the CPU nothing waits for the device of the model. `checkpoint` enables gradient checkpointing by window;
        without it the logits alone are computed twice. Raises TextTooLong.
        """
        labels = tokens if labels is None else labels
        if labels.shape != tokens.shape:
            raise BeaconError(
                f"Labels {tuple(labels.shape)} must have the shape of the tokens {tuple(tokens.shape)}. "
                "Give one a token."
            )
        n_tokens = tokens.shape[1]
        self.check_length(n_tokens, ratio_of, last_stays_open=True)
        targets = functional.pad(labels[:, 1:], (0, 1), value=NO_LABEL).cpu()
        read: Callable[..., tuple[Tensor, LayerTensors, LayerTensors]]
        if checkpoint:
            read = partial(recompute, self._loss_of_window, use_reentrant=False, summed_loss=self._summed_loss)
        else:
            # Logits have the size of the vocabulary for each token: kept for all windows, they would fill the memory.
            read = partial(self._loss_of_window, summed_loss=_without_logits(self._summed_loss))
        pieces = list[tuple[LayerTensors, LayerTensors]]()
        sums, counts = list[Tensor](), list[int]()
        for number, (start, end) in enumerate(windows(n_tokens, self.window)):
            ratio = ratio_of(number) if end < n_tokens else None
            wanted = targets[:, start:end].flatten()
            at = (wanted != NO_LABEL).nonzero()[:, 0]
            labelled = (at.to(tokens.device, non_blocking=True), wanted[at].to(tokens.device, non_blocking=True))
            loss, keys, values = read(tokens[:, start:end], labelled, tuple(pieces), ratio)
            pieces.append((keys, values))
            sums.append(loss)
            counts.append(len(at))
        n_labels = sum(counts)
        if not n_labels:
            raise BeaconError(
                "No token of this text has a label. The first token cannot have one, because nothing predicts it. "
                "Set a label for another token."
            )
        return TextLoss(torch.stack(sums).sum() / n_labels, tuple(sums), tuple(counts))

    def read_window(
        self, tokens: Tensor, layers: Sequence[WindowLayer], ratio: int | None
    ) -> tuple[Tensor, LayerTensors, LayerTensors]:
        """Run one window after its layers: hidden states of the raw tokens (B, T, n_embd), and the memory.

        With a ratio the tokens are a full window, read with memory tokens after layers that hold memory only; returns
        the memory tokens' keys, before rotary embedding, and values. Without a ratio these are empty, and the layers
        hold the raw tokens.
        """
        embedded = self.base.get_input_embeddings()(tokens)
        if ratio is None:
            return self._run(embedded, layers), (), ()
        raw, places = self._layout(ratio, tokens.device)
        memory_token = self.base.model.beacon_embed_tokens.weight.to(embedded.dtype)
        row = memory_token.expand(tokens.shape[0], len(raw) + len(places), -1).index_copy(1, raw, embedded)
        with self._places.at(places) as keys:
            hidden = self._run(row, layers)
        values = tuple(layer.raw_values.index_select(2, places) for layer in layers)
        return hidden.index_select(1, raw), tuple(keys), values

    def rotate(self, keys: Tensor) -> Tensor:
        """Memory keys (B, n_kv_heads, n, head_dim) with rotary embedding at positions 0 to n."""
        trunk = self.base.model
        module: Any = sys.modules[type(trunk.layers[0].self_attn).__module__]
        positions = torch.arange(keys.shape[2], device=keys.device)[None]
        cos, sin = trunk.rotary_emb(keys, positions)
        rotated: Tensor = module.apply_rotary_pos_emb(keys, keys[:, :0], cos, sin)[0]
        return rotated

    def _layout(self, ratio: int, device: torch.device) -> tuple[Tensor, Tensor]:
        """Positions of raw tokens and of memory tokens in a full window; cached, because the copy waits for a GPU."""
        key = (self.window, ratio, self.placement, device)
        if key not in self._layouts:
            raw, places = (of(self.window, ratio, self.placement) for of in (raw_places, memory_places))
            self._layouts[key] = (torch.tensor(raw, device=device), torch.tensor(places, device=device))
        return self._layouts[key]

    def _run(self, embedded: Tensor, layers: Sequence[WindowLayer]) -> Tensor:
        n_before, n_new = layers[0].get_seq_length(), embedded.shape[1]
        positions = torch.arange(n_before, n_before + n_new, device=embedded.device)[None]
        read = self.base.model(
            inputs_embeds=embedded, position_ids=positions, past_key_values=Cache(layers=list(layers)), use_cache=True
        )
        hidden: Tensor = read.last_hidden_state
        return hidden

    def _loss_of_window(
        self,
        tokens: Tensor,
        labelled: tuple[Tensor, Tensor],
        pieces: Sequence[tuple[LayerTensors, LayerTensors]],
        ratio: int | None,
        summed_loss: SummedLoss,
    ) -> tuple[Tensor, LayerTensors, LayerTensors]:
        """The summed loss and the memory of this window; `pieces` are the memories of earlier windows.

        `labelled` are positions in the flattened window (n_labels,), and the next token of each.
        """
        nothing = self.empty(tokens.shape[0])
        layers = [
            WindowLayer(
                torch.cat([before, *(keys[number] for keys, _ in pieces)], 2),
                torch.cat([before, *(values[number] for _, values in pieces)], 2),
                before,
                before,
                self.rotate,
            )
            for number, before in enumerate(nothing.keys)
        ]
        hidden, keys, values = self.read_window(tokens, layers, ratio)
        at, targets = labelled
        return summed_loss(hidden.flatten(0, 1).index_select(0, at), targets), keys, values

    def _summed_loss(self, hidden: Tensor, targets: Tensor) -> Tensor:
        """Of hidden states (n_labels, n_embd)."""
        logits = self.base.lm_head(hidden)  # (n_labels, vocabulary)
        precise = torch.promote_types(logits.dtype, torch.float32)
        return functional.cross_entropy(logits.to(precise), targets, reduction="sum")

    def _check_read(self, memory: Memory, tokens: Tensor) -> None:
        batch = memory.open_tokens.shape[0]
        if tokens.dim() != 2 or not tokens.shape[1] or tokens.shape[0] != batch:
            raise BeaconError(
                f"Tokens must be ({batch}, at least 1) for this memory, not {tuple(tokens.shape)}. "
                "Give one row a memory."
            )


def _without_logits(summed_loss: SummedLoss) -> SummedLoss:
    """The same loss, computed again for its gradients."""
    return partial(recompute, summed_loss, use_reentrant=False, preserve_rng_state=False)
