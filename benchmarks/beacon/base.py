"""A tiny Llama that recalls what stands in its own window: the base model that gets a beacon memory.

Owns its shape and how it is trained, by full attention: two layers on dense short texts until they look names up,
then with a layer between them on longer and sparser texts. Knows no memory.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from .texts import END, FIRST_NAMES, START, VOCABULARY, make_text, to_tokens

_ANSWER_WEIGHT = 100.0
"""Of the loss of an answer, beside 1 of another word: few words are answers, and those teach to look up."""

_TOKENS_PER_FACT = 13
"""Of a fact and its question: the densest texts have nothing else."""

Batch = tuple[Tensor, Tensor]
"""Tokens (B, T), and 1 where an answer stands, else 0."""

Say = Callable[[dict[str, object]], None]


class NotLearnt(Exception):
    """The base model does not recall what it reads."""


@dataclass(frozen=True, slots=True)
class BasePlan:
    """How the base is trained. Tuned on its own recall alone."""

    max_positions: int = 4096
    width: int = 128
    n_heads: int = 4
    learning_rate: float = 3e-3
    batch_tokens: int = 2048
    block_steps: int = 25  # after which it is looked whether texts can be longer
    learnt_nats: float = 0.3  # an answer's loss below which texts become longer; a guess among its names is 1 and more
    most_steps: int = 1500  # of texts below 1,024 tokens
    long_steps: int = 100  # of texts from there on, with few and many facts; the rate goes down
    seed: int = 1


def make_base(plan: BasePlan, n_layers: int) -> Any:
    """With random weights."""
    torch.manual_seed(plan.seed)
    config = LlamaConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=plan.width,
        intermediate_size=2 * plan.width,
        num_hidden_layers=n_layers,
        num_attention_heads=plan.n_heads,
        num_key_value_heads=plan.n_heads,
        head_dim=plan.width // plan.n_heads,
        # Slow enough that names far apart are still found by what they are, with heads this small.
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        max_position_embeddings=plan.max_positions,
        tie_word_embeddings=False,
        bos_token_id=VOCABULARY.index(START),
        eos_token_id=VOCABULARY.index(END),
    )
    base: Any = LlamaForCausalLM(config)
    # With the usual 0.02 and this rate, words change faster than attention learns to tell them apart.
    nn.init.normal_(base.model.embed_tokens.weight, std=0.3)
    return base


def train_base(plan: BasePlan, say: Say) -> Any:
    """The trained model. Raises NotLearnt when it does not come to recall names within the plan's steps."""
    base, draw = make_base(plan, 2), Random(f"base {plan.seed}")
    optimisers = _optimisers(base, plan.learning_rate)
    length, step, losses = 64, 0, list[float]()
    while length < 1024:
        if step >= plan.most_steps:
            raise NotLearnt(f"The base model does not recall names after {step} steps. Try another seed.")
        _set_rate(optimisers, plan.learning_rate * min(1.0, (step + 1) / 30))
        losses.append(_learn(base, optimisers, _batch(draw, length, plan.batch_tokens)))
        step += 1
        if step % plan.block_steps == 0:
            answer_loss = sum(losses) / len(losses)
            say({"what": "base", "step": step, "length": length, "answer_loss": round(answer_loss, 4)})
            losses.clear()
            if answer_loss < plan.learnt_nats:
                length *= 2
    base = _with_a_layer_between(plan, base)
    optimisers = _optimisers(base, plan.learning_rate)
    lengths = [length for length in (1024, 2048, 4096) if length <= plan.max_positions]
    for number in range(plan.long_steps):
        length = lengths[number % len(lengths)]
        share = min(1.0, (number + 1) / 10) * (1 - number / plan.long_steps)
        _set_rate(optimisers, plan.learning_rate / 2 * share)
        batch = _batch(draw, length, max(plan.batch_tokens, length), sparse=True)
        # Memory tokens will stand between words: a surname has to find its first name two positions before it as well.
        losses.append(_learn(base, optimisers, batch, _gaps(batch[0]) if number % 2 else None))
    ten = losses[-10:]
    say({"what": "base", "step": step + plan.long_steps, "answer_loss": round(sum(ten) / len(ten), 4)})
    return base


def _with_a_layer_between(plan: BasePlan, base: Any) -> Any:
    """Three layers, of which the middle one is new.

    With two, the first brings a name to its surname and the second looks it up. A memory token has to bring both to
    where they are looked up; with a layer between it finds them in one place, the surname's. Trained as three layers
    at once, the model put the first step into the middle one, and its memory took 700 steps for what now took 150.
    """
    grown = make_base(plan, 3)
    weights = grown.state_dict()
    for name, weight in weights.items():
        if ".layers.1." not in name:
            weight.copy_(base.state_dict()[name.replace(".layers.2.", ".layers.1.")])
        elif "v_proj" in name or "o_proj" in name:
            weight.mul_(3)  # so that what it brings is not small beside what is there
    return grown


def _batch(draw: Random, length: int, n_tokens: int, *, sparse: bool = False) -> Batch:
    tokens, is_answer = list[list[int]](), torch.zeros(n_tokens // length, length)
    for row in range(n_tokens // length):
        most = min(length // _TOKENS_PER_FACT, len(FIRST_NAMES))
        n_facts = draw.randint(most // 4, most) if sparse else most
        text = make_text(draw, length, n_facts, n_facts)
        tokens.append(to_tokens(text.words))
        is_answer[row, list(text.answers)] = 1
    return torch.tensor(tokens), is_answer


def _gaps(tokens: Tensor) -> Tensor:
    """Positions (B, T) of which up to half are left out, as where memory tokens will stand between words."""
    share = torch.rand(len(tokens), 1) / 2
    return torch.cumsum(1 + (torch.rand(tokens.shape) < share).long(), 1) - 1


def _learn(base: Any, optimisers: Sequence[Any], batch: Batch, positions: Tensor | None = None) -> float:
    """One step; the mean nats of an answer before it."""
    tokens, is_answer = batch[0], batch[1][:, 1:]
    logits = base(tokens, position_ids=positions).logits[:, :-1]
    nats = functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    weights = 1 + _ANSWER_WEIGHT * is_answer
    ((nats * weights).sum() / weights.sum()).backward()
    nn.utils.clip_grad_norm_(base.parameters(), 1.0)
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return float((nats.detach() * is_answer).sum() / is_answer.sum())


def _optimisers(base: Any, rate: float) -> list[Any]:
    """Muon for the matrices between embeddings, AdamW for all else."""
    weights = dict(base.named_parameters())
    outer = [weight for name, weight in weights.items() if weight.dim() != 2 or "embed" in name or "lm_head" in name]
    inner = [weight for weight in weights.values() if all(weight is not other for other in outer)]
    return [
        torch.optim.Muon(inner, lr=rate, weight_decay=0.0, momentum=0.95, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(outer, lr=rate, betas=(0.9, 0.95), weight_decay=0.0, fused=True),
    ]


def _set_rate(optimisers: Sequence[Any], rate: float) -> None:
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = rate
