"""Fit of the candidate scorer: the loss of lines, Adam, and the likelihood of each line under given weights.

Owns the loss and the layout of samples in PyTorch, which this file needs; the fitted weights do not.

The loss of a line is its negative log-likelihood, which calibrates the probability, minus its weighted probability.
The latter is the expected number of exactly right lines, and favours consistent copies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...llm.workspace_model.features import FEATURES
from ...llm.workspace_model.scorer import CandidateScorer, fitted_scorer
from ..command import say
from .groups import mask_of
from .samples import TreeSample

BLOCK_ROWS = 20_000
"""Rows of one batch of whole lines."""

N_LIKELY, N_OTHERS = 14, 8
"""Wrong candidates of one token in a fit."""

WITHOUT_GRAPH = 0.15
"""Share of the batches without features of the code graph, as in a language without a grammar."""

_OTHER = FEATURES.index("any other token")
_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class FitOptions:
    """`whole_lines` weighs the expected number of right lines, `unique` the lines that occur once."""

    n_hidden: int = 64
    whole_lines: float = 1.0
    unique: float = 3.0
    shrinkage: float = 3e-5
    n_epochs: int = 30
    rate: float = 4e-3


class LineScores(NamedTuple):
    """What weights say of lines. The indentation of a line is not counted."""

    loss: NDArray[np.float64]  # (n_lines,): negative log-likelihood, in nats
    n_tokens: NDArray[np.int64]  # (n_lines,)
    is_right: NDArray[np.bool_]  # (n_lines,): the most likely candidate is right at each token


class _Block(NamedTuple):
    """Lines whose rows are scored at once."""

    rows: torch.Tensor  # (n_rows, n_features), in half precision
    log_equal: torch.Tensor  # (n_rows,): logarithm of the number of candidates
    right: torch.Tensor  # (n_rows,): 1 for right rows
    step_of: torch.Tensor  # (n_rows,)
    line_of: torch.Tensor  # (n_steps,)
    counts: torch.Tensor  # (n_steps,): 0 for indentation
    weights: torch.Tensor  # (n_lines,)

    @property
    def n_steps(self) -> int:
        return len(self.line_of)

    @property
    def n_lines(self) -> int:
        return len(self.weights)


Parameters = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Table (n_features, 1 + n_hidden) with the linear weights first, bias (n_hidden,), output (n_hidden,)."""


def fit(
    samples: Sequence[TreeSample],
    options: FitOptions,
    without: Collection[str] = (),
    start: CandidateScorer | None = None,
) -> dict[str, list[float]]:
    """The weights in the format of `CandidateScorer.from_weights`, with three digits.

    The features of the groups `without` have the weight 0. All lines count alike, those that occur once
    `options.unique` times for whole lines. `start`: weights to begin with, to which hidden units are added.
    """
    generator = torch.Generator().manual_seed(0)
    scorer = fitted_scorer() if start is None else start
    blocks = _blocks([thinned(sample, scorer) for sample in samples], options.unique)
    mask = torch.from_numpy(mask_of(without))[:, None]
    without_graph = torch.from_numpy(mask_of(["graph", "scopes"]))
    parameters = _first_parameters(options.n_hidden, start, generator)
    optimiser = torch.optim.Adam(parameters, options.rate, betas=(0.9, 0.99))
    n_steps = options.n_epochs * len(blocks)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, options.rate, total_steps=n_steps, pct_start=0.1)
    for epoch in range(options.n_epochs):
        # The likelihood first: from random weights no whole line is likely.
        whole_lines = options.whole_lines if epoch >= options.n_epochs // 4 or start is not None else 0.0
        total = 0.0
        for at in torch.randperm(len(blocks), generator=generator).tolist():
            block = blocks[at]
            table, bias, output = parameters
            rows = block.rows.float()
            if torch.rand(1, generator=generator).item() < WITHOUT_GRAPH:
                rows = rows * without_graph
            every, whole, can_be_written = _line_logarithms(_scores(rows, (table * mask, bias, output)), block)
            gain = every.sum() / 10.0 + whole_lines * (block.weights * can_be_written * whole.exp()).sum()
            shrunk = options.shrinkage * (((table * mask) ** 2).sum() + (bias**2).sum() + (output**2).sum())
            loss = shrunk - gain / block.n_lines
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]  # torch is an extra
            optimiser.step()
            schedule.step()
            total += float(loss.detach())
        say(f"epoch {epoch + 1}: loss {total / len(blocks):.4f}")
    table, bias, output = (each.detach() for each in parameters)
    weights = dict(zip(FEATURES, (table * mask).tolist(), strict=True))
    weights["bias"], weights["output"] = [0.0, *bias.tolist()], [0.0, *output.tolist()]
    return {name: [round(value, 3) + 0.0 for value in values] for name, values in weights.items()}


def _first_parameters(n_hidden: int, start: CandidateScorer | None, generator: torch.Generator) -> Parameters:
    """Random hidden units, behind those of `start`."""
    table = 0.1 * torch.randn(len(FEATURES), 1 + n_hidden, generator=generator)
    table[:, 0] = 0.0
    bias, output = torch.zeros(n_hidden), 0.1 * torch.randn(n_hidden, generator=generator)
    if start is not None:
        n_known = min(n_hidden, len(start.bias))
        table[:, 0] = torch.from_numpy(start.linear)
        table[:, 1 : n_known + 1] = torch.from_numpy(start.hidden[:, :n_known])
        bias[:n_known], output[:n_known] = (
            torch.from_numpy(start.bias[:n_known]),
            torch.from_numpy(start.output[:n_known]),
        )
    for parameter in (table, bias, output):
        parameter.requires_grad_()
    return table, bias, output


def thinned(sample: TreeSample, scorer: CandidateScorer) -> TreeSample:
    """The sample with few wrong candidates of each token: the likeliest, and some others that stand for the rest."""
    scores = _scores_of(sample.rows, scorer)
    ends = np.cumsum(sample.rows_of_step)
    random = np.random.default_rng(0)
    n_equal = sample.n_equal.astype(np.float32)
    kept, counts = [], np.empty(len(ends), np.int32)
    for step, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
        at = np.arange(start, end)
        is_wrong = ~sample.is_right[start:end]
        is_wrong[-1] = False  # any other token
        wrong = at[is_wrong]
        if len(wrong) > N_LIKELY + N_OTHERS:
            wrong = wrong[np.argsort(-scores[wrong])]
            others = random.choice(wrong[N_LIKELY:], N_OTHERS, replace=False)
            n_equal[others] *= (len(wrong) - N_LIKELY) / N_OTHERS
            at = np.sort(np.concatenate([wrong[:N_LIKELY], others, at[~is_wrong]]))
        kept.append(at)
        counts[step] = len(at)
    chosen = np.concatenate(kept)
    return replace(
        sample,
        rows=sample.rows[chosen],
        n_equal=n_equal[chosen],
        is_right=sample.is_right[chosen],
        rows_of_step=counts,
    )


def _scores_of(rows: NDArray[np.float16], scorer: CandidateScorer) -> NDArray[np.float64]:
    """The scores of many rows, a block at a time."""
    starts = range(0, len(rows), BLOCK_ROWS)
    found = [scorer.scores(rows[start : start + BLOCK_ROWS].astype(np.float32)) for start in starts]
    return np.concatenate([np.zeros(0), *found])


def score_lines(sample: TreeSample, scorer: CandidateScorer) -> LineScores:
    """The scores of the lines of a sample. A token that is no candidate is never right."""
    table = np.column_stack([scorer.linear, scorer.hidden])
    found = []
    with torch.no_grad():
        parameters = tuple(torch.from_numpy(each).float() for each in (table, scorer.bias, scorer.output))
        for block in _blocks([sample], 1.0):
            found.append(_line_scores(block, _scores(block.rows.float(), parameters)))
    return LineScores(*(np.concatenate(each) for each in zip(*found, strict=True)))


def _line_scores(block: _Block, scores: torch.Tensor) -> LineScores:
    _, whole, _ = _line_logarithms(scores, block)
    is_candidate = block.rows[:, _OTHER] == 0
    of_right = torch.where((block.right > 0) & is_candidate, scores, -torch.inf)
    best_right = torch.full((block.n_steps,), -torch.inf).scatter_reduce(0, block.step_of, of_right, "amax")
    # The rest of the tokens is no text that could be written.
    wrong = torch.where((block.right > 0) | ~is_candidate, -torch.inf, scores)
    best_wrong = torch.full((block.n_steps,), -torch.inf).scatter_reduce(0, block.step_of, wrong, "amax")
    failures = ((best_right <= best_wrong) | best_right.isinf()).float() * block.counts
    n_failures = torch.zeros(block.n_lines).index_add(0, block.line_of, failures)
    n_tokens = torch.zeros(block.n_lines).index_add(0, block.line_of, block.counts)
    return LineScores(-whole.double().numpy(), n_tokens.long().numpy(), (n_failures == 0).numpy())


def _scores(rows: torch.Tensor, parameters: Sequence[torch.Tensor]) -> torch.Tensor:
    table, bias, output = parameters
    products = rows @ table
    return products[:, 0] + torch.tanh(products[:, 1:] + bias) @ output


def _line_logarithms(scores: torch.Tensor, block: _Block) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The log-probability of each line, with and without its indentation, and 1 where all its tokens are candidates."""
    most = torch.full((block.n_steps,), -1e9).scatter_reduce(0, block.step_of, scores.detach(), "amax")
    shares = torch.exp(scores - most[block.step_of] + block.log_equal)
    total = torch.zeros(block.n_steps).index_add(0, block.step_of, shares)
    right = torch.zeros(block.n_steps).index_add(0, block.step_of, shares * block.right)
    logarithms = torch.log(right + _TINY) - torch.log(total)
    every = torch.zeros(block.n_lines).index_add(0, block.line_of, logarithms)
    missing = torch.zeros(block.n_steps).index_add(0, block.step_of, block.right * (block.rows[:, _OTHER] > 0))
    n_missing = torch.zeros(block.n_lines).index_add(0, block.line_of, missing * block.counts)
    whole = torch.zeros(block.n_lines).index_add(0, block.line_of, logarithms * block.counts)
    return every, whole, (n_missing == 0).float()


def _blocks(samples: Sequence[TreeSample], unique_weight: float) -> list[_Block]:
    return [block for sample in samples for block in _blocks_of(sample, unique_weight)]


def _blocks_of(sample: TreeSample, unique_weight: float) -> list[_Block]:
    """Whole lines in blocks of about `BLOCK_ROWS` rows."""
    row_ends = np.concatenate([[0], np.cumsum(sample.rows_of_step)])
    step_ends = np.concatenate([[0], np.cumsum(sample.steps_of_line)])
    blocks, first = [], 0
    while first < sample.n_lines:
        limit = row_ends[step_ends[first]] + BLOCK_ROWS
        last = max(first + 1, int(np.searchsorted(row_ends[step_ends], limit, "right")) - 1)
        steps = slice(step_ends[first], step_ends[last])
        rows = slice(row_ends[steps.start], row_ends[steps.stop])
        n_steps, n_lines = steps.stop - steps.start, last - first
        blocks.append(
            _Block(
                torch.from_numpy(sample.rows[rows]),
                torch.from_numpy(np.log(sample.n_equal[rows].astype(np.float32))),
                torch.from_numpy(sample.is_right[rows].astype(np.float32)),
                torch.from_numpy(np.repeat(np.arange(n_steps), sample.rows_of_step[steps])),
                torch.from_numpy(np.repeat(np.arange(n_lines), sample.steps_of_line[first:last])),
                torch.from_numpy((~sample.is_indentation[steps]).astype(np.float32)),
                torch.from_numpy(np.where(sample.is_unique[first:last], unique_weight, 1.0).astype(np.float32)),
            )
        )
        first = last
    return blocks
