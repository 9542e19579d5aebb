"""Fit of the token model in PyTorch: the network over whole sequences, and the likelihood of each next token.

Owns the network's layout over sequences, which `TokenModel` computes for one context, the loss and Adam. The
candidates of a token are all different tokens of its batch, so the network learns to choose among names of many files.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import torch
from torch import nn

from ...llm.workspace_model.token_model import (
    FIRST_WORD,
    LANGUAGES,
    N_LINES,
    N_PART_ROWS,
    N_STARTS,
    N_WINDOW,
    PADDING,
    TokenModel,
    Weights,
)
from ..command import say
from .corpus import Corpus

LENGTH = 256  # tokens of a sequence
N_SEQUENCES = 8  # of a batch
_SAY_EVERY = 500  # batches


class Network(nn.Module):  # type: ignore[misc, unused-ignore]  # torch is an extra
    """The parameters of `Weights`, and the logits of candidates along sequences."""

    def __init__(self, n_words: int, d: int = 64, h: int = 192) -> None:
        super().__init__()
        torch.manual_seed(0)
        n_identities = FIRST_WORD + n_words

        def random(*shape: int, scale: float | None = None) -> nn.Parameter:
            return nn.Parameter(torch.randn(*shape) * (shape[0] ** -0.5 if scale is None else scale))

        self.identity = random(n_identities, d, scale=0.3)
        self.part = random(1 + N_PART_ROWS, d, scale=0.2)
        self.spaced = random(d, scale=0.2)
        self.bias = nn.Parameter(torch.zeros(n_identities))
        self.first = random((N_WINDOW + N_LINES * N_STARTS) * d, h)
        self.language = nn.Parameter(torch.zeros(len(LANGUAGES), h))
        self.second, self.second_bias = random(h, h), nn.Parameter(torch.zeros(h))
        self.output, self.output_bias = random(h, d), nn.Parameter(torch.zeros(d))

    @classmethod
    def of(cls, model: TokenModel) -> Network:
        """The network with the weights of a model."""
        weights = model.weights
        network = cls(len(weights.identity) - FIRST_WORD, len(weights.spaced), len(weights.second))
        with torch.no_grad():
            for each in fields(Weights):
                getattr(network, each.name).copy_(torch.from_numpy(getattr(weights, each.name)))
        return network

    def embedded(self, identity: torch.Tensor, parts: torch.Tensor, is_spaced: torch.Tensor) -> torch.Tensor:
        """(..., d). Padding is 0."""
        found = nn.functional.embedding(identity, self.identity) + is_spaced[..., None] * self.spaced
        n_parts = (parts > 0).sum(-1).clamp(min=1)
        of_parts = nn.functional.embedding(parts, self.part) * (parts > 0)[..., None]
        found = found + of_parts.sum(-2) / n_parts[..., None] ** 0.5
        return found * (identity != PADDING)[..., None]

    def expected(self, x: torch.Tensor, starts: torch.Tensor, language: torch.Tensor) -> torch.Tensor:
        """(b, t, d) embeddings of the next tokens; `starts` (b, t, N_LINES * N_STARTS) are positions, -1 for none."""
        b, t, d = x.shape
        padded = nn.functional.pad(x, (0, 0, N_WINDOW - 1, 0)).reshape(-1, d)
        first_rows = torch.arange(b)[:, None, None] * (t + N_WINDOW - 1)
        window = torch.arange(t)[:, None] + torch.arange(N_WINDOW - 1, -1, -1)
        begins = torch.where(starts >= 0, starts + N_WINDOW - 1, 0)  # the first row is padding
        rows = torch.cat([(window + first_rows), (begins + first_rows)], -1)
        hidden = padded[rows].view(b, t, -1) @ self.first + self.language[language]
        hidden = torch.relu(hidden)
        hidden = hidden + torch.relu(hidden @ self.second + self.second_bias)
        return hidden @ self.output + self.output_bias

    def weights(self) -> Weights:
        return Weights(**{each.name: getattr(self, each.name).detach().numpy().copy() for each in fields(Weights)})


def losses(network: Network, corpus: Corpus, begins: np.ndarray) -> tuple[torch.Tensor, torch.Tensor]:
    """The negative log-likelihood of the tokens of sequences among all tokens of the batch, and which are right."""
    rows = begins[:, None] + np.arange(LENGTH + 1)
    identity = torch.from_numpy(corpus.identity[rows].astype(np.int64))
    parts = torch.from_numpy(corpus.parts[rows].astype(np.int64))
    is_spaced = torch.from_numpy(corpus.is_spaced[rows].astype(np.float32))
    starts = corpus.starts[rows[:, :-1]] - begins[:, None, None]
    starts = torch.from_numpy(np.maximum(starts, -1).astype(np.int64))
    language = torch.from_numpy(corpus.language[rows[:, :-1]].astype(np.int64))
    x = network.embedded(identity[:, :-1], parts[:, :-1], is_spaced[:, :-1])
    expected = network.expected(x, starts, language)
    keys = corpus.identity[rows[:, 1:]].astype(np.int64) * 2 + corpus.is_spaced[rows[:, 1:]]
    for part in range(parts.shape[2]):
        keys = keys * 8209 + corpus.parts[rows[:, 1:], part]
    _, first, which = np.unique(keys.ravel(), return_index=True, return_inverse=True)
    flat = rows[:, 1:].ravel()[first]
    candidates = network.embedded(
        torch.from_numpy(corpus.identity[flat].astype(np.int64)),
        torch.from_numpy(corpus.parts[flat].astype(np.int64)),
        torch.from_numpy(corpus.is_spaced[flat].astype(np.float32)),
    )
    bias = network.bias[torch.from_numpy(corpus.identity[flat].astype(np.int64))]
    is_target = identity[:, 1:].reshape(-1) != PADDING
    logits = expected.reshape(-1, expected.shape[-1])[is_target] @ candidates.T + bias
    targets = torch.from_numpy(which.ravel())[is_target]
    found = nn.functional.cross_entropy(logits, targets, reduction="none")
    return found, logits.detach().argmax(1) == targets


def fit(network: Network, corpus: Corpus, *, n_tokens: int, rate: float) -> None:
    """Fit the network on `n_tokens` tokens of random sequences; the same always."""
    random = np.random.default_rng(0)
    optimiser = torch.optim.Adam(network.parameters(), rate, betas=(0.9, 0.98))
    n_batches = max(1, n_tokens // (LENGTH * N_SEQUENCES))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, rate, total_steps=n_batches, pct_start=0.05)
    started, total = time.perf_counter(), 0.0
    for number, begins in enumerate(_batches(corpus, n_batches, random), 1):
        loss = losses(network, corpus, begins)[0].mean()
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call, unused-ignore]  # torch is an extra
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        total += float(loss.detach())
        if number % _SAY_EVERY == 0:
            seconds = time.perf_counter() - started
            say(f"batch {number} of {n_batches}: loss {total / _SAY_EVERY:.3f}, {seconds:.0f} s")
            total = 0.0


def figures(network: Network, corpus: Corpus) -> dict[str, float]:
    """Mean negative log-likelihood in nats and share of right tokens, among the tokens of fixed batches."""
    random = np.random.default_rng(1)
    found = []
    with torch.no_grad():
        for begins in _batches(corpus, 30, random):
            found.append(losses(network, corpus, begins))
    loss, right = (torch.cat([each[at] for each in found]).float().mean().item() for at in (0, 1))
    return {"loss": loss, "right": right}


def _batches(corpus: Corpus, n_batches: int, random: np.random.Generator) -> Iterator[np.ndarray]:
    for _ in range(n_batches):
        yield random.integers(0, len(corpus) - LENGTH - 1, N_SEQUENCES)
