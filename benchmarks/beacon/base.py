"""The tiny Llama base model of the example, trained to recall names within its own window.

Owns its shape and how it is trained, by full attention: two layers on dense short texts until they look names up,
then with a layer between them on longer and sparser texts. Knows no memory.
"""

# torch and transformers are not there when types are checked without the extra `local`.
# mypy: allow-untyped-decorators, allow-untyped-calls

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM

from ...errors import UserError
from ...llm.training.loop import Intervals, Metrics, Run, make_optimisers, train_until
from .texts import END, FIRST_NAMES, START, VOCABULARY, make_text, to_tokens

_ANSWER_WEIGHT = 100.0
"""Weight of the loss of an answer, beside 1 of another word: answers are rare, and they teach recall."""

_TOKENS_PER_FACT = 13
"""Tokens of a fact and its question: the densest texts hold nothing else."""

Batch = tuple[Tensor, Tensor]
"""Tokens (B, T), and a mask with 1 at answers."""

Say = Callable[[dict[str, object]], None]


class NotLearnt(UserError):
    """The base model does not learn to recall names."""


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
        # Slow enough that attention with such small heads still finds distant names by content.
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        max_position_embeddings=plan.max_positions,
        tie_word_embeddings=False,
        bos_token_id=VOCABULARY.index(START),
        eos_token_id=VOCABULARY.index(END),
    )
    base: Any = LlamaForCausalLM(config)
    # With the usual 0.02 and this rate, embeddings change faster than attention learns to distinguish words.
    nn.init.normal_(base.model.embed_tokens.weight, std=0.3)
    return base


def train_base(plan: BasePlan, say: Say) -> Any:
    """The trained model. Raises NotLearnt when it does not come to recall names within the plan's steps."""
    base, draw, length = make_base(plan, 2), Random(f"base {plan.seed}"), 64
    run = _run(base, plan.learning_rate)

    def learn_short() -> tuple[float, Metrics]:
        if run.step >= plan.most_steps:
            raise NotLearnt(f"The base model does not recall names after {run.step} steps. Try another seed.")
        run.set_rate(plan.learning_rate * min(1.0, (run.step + 1) / 30))
        return _learn(base, run, _batch(draw, length, plan.batch_tokens)), {}

    def look(line: Metrics) -> None:
        """Texts become longer when names are recalled."""
        nonlocal length
        say({"what": "base", "step": line["step"], "length": length, "answer_loss": round(line["loss"], 4)})
        if line["loss"] < plan.learnt_nats:
            length *= 2

    train_until(run, lambda: length < 1024, learn_short, Intervals(log=plan.block_steps, checkpoint=0), log=look)
    n_short_steps, base = run.step, _with_a_layer_between(plan, base)
    run = _run(base, plan.learning_rate)
    lengths, losses = [length for length in (1024, 2048, 4096) if length <= plan.max_positions], list[float]()

    def learn_long() -> tuple[float, Metrics]:
        long = lengths[run.step % len(lengths)]
        share = min(1.0, (run.step + 1) / 10) * (1 - run.step / plan.long_steps)
        run.set_rate(plan.learning_rate / 2 * share)
        batch = _batch(draw, long, max(plan.batch_tokens, long), sparse=True)
        # Memory tokens come between words: a surname has to find its first name at a distance of two, too.
        losses.append(_learn(base, run, batch, _gaps(batch[0]) if run.step % 2 else None))
        return losses[-1], {}

    train_until(run, lambda: run.step < plan.long_steps, learn_long, Intervals(log=0, checkpoint=0))
    ten = losses[-10:]
    say({"what": "base", "step": n_short_steps + run.step, "answer_loss": round(sum(ten) / len(ten), 4)})
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
            weight.mul_(3)  # so that its output is not small beside the residual stream
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
    """Positions (B, T) with random gaps, as memory tokens will make between words."""
    share = torch.rand(len(tokens), 1) / 2
    return torch.cumsum(1 + (torch.rand(tokens.shape) < share).long(), 1) - 1


def _learn(base: Any, run: Run, batch: Batch, positions: Tensor | None = None) -> float:
    """One step; the mean nats of an answer before it."""
    tokens, is_answer = batch[0], batch[1][:, 1:]
    logits = base(tokens, position_ids=positions).logits[:, :-1]
    nats = functional.cross_entropy(logits.transpose(1, 2), tokens[:, 1:], reduction="none")
    weights = 1 + _ANSWER_WEIGHT * is_answer
    ((nats * weights).sum() / weights.sum()).backward()
    run.update(1.0)
    return float((nats.detach() * is_answer).sum() / is_answer.sum())


def _run(base: Any, rate: float) -> Run:
    weights = dict(base.named_parameters())
    return Run(weights, make_optimisers(weights, "muon", rate, 0.0, betas=(0.9, 0.95), fused=True))
