"""Fit of the confidence on recorded predictions: logistic regression with hidden units, by Adam.

Owns the sample, the optimiser and the file of weights. Needs numpy alone. A text that stays over several keys counts
with all of them less than several texts; so do the texts at frequent kinds of place. Repositories count alike.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import UserError
from ...server.completion.confidence import WEIGHTS_FILE, ConfidenceModel
from ...server.completion.evidence import FEATURES, SESSION_FEATURES, session_values
from ...server.completion.typed_past import NEW_LINE
from .record import LEAST_PROBABILITY, RecordedText

N_HIDDEN = 12
N_EPOCHS = 12
BATCH = 512
LEARNING_RATE = 3e-3
SHRINKAGE = 1.0
SEEDS = range(3)
"""Fits with several seeds are joined to one model, whose hidden units are those of all."""

FIRST = 0.5
"""Weight of a row as a first request, which most typed keys are not."""

THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
UNREACHED = 0.005
"""Share of the texts that reach a confidence, but whose search may stop before."""

Array = NDArray[np.float64]


def fit_confidence(recorded: Mapping[str, Sequence[RecordedText]], file: Path = WEIGHTS_FILE) -> str:
    """Fit on all records and write the weights; a summary. Raises UserError without records."""
    if not any(text.parts for texts in recorded.values() for text in texts):
        raise UserError(
            "There is nothing to fit on: no commit of the chosen histories has a text. Choose more with --repos."
        )
    rows, right, weights = sample_of(recorded)
    model = fit(*with_first_requests(rows, right, weights))
    shares = model.probabilities(rows)
    total = rows[:, FEATURES.index("text")]
    least = [[0.0, LEAST_PROBABILITY]]
    for threshold in THRESHOLDS[1:]:
        reached = total[shares >= threshold]
        if len(reached) > 1 / UNREACHED:
            least.append([threshold, max(least[-1][1], round(math.exp(float(np.quantile(reached, UNREACHED))), 4))])
    write(model, least, file)
    logits = np.clip(shares, 1e-6, 1 - 1e-6)
    loss = float(np.average(-np.where(right, np.log(logits), np.log(1 - logits)), weights=weights))
    return (
        f"{len(right)} parts of texts in {len(recorded)} repositories, logarithmic loss {loss:.4f}; written to {file}"
    )


def sample_of(recorded: Mapping[str, Sequence[RecordedText]]) -> tuple[Array, NDArray[np.bool_], Array]:
    """Rows of features, whether each is right, and their weights."""
    rows, right, weights = list[list[float]](), list[bool](), list[float]()
    for texts in recorded.values():
        n_keys = Counter((text.commit, text.line, text.becomes) for text in texts)
        n_at = Counter(text.place for text in texts)
        first = len(weights)
        for text in texts:
            weight = 1 / math.sqrt(n_keys[text.commit, text.line, text.becomes] * n_at[text.place])
            for features, is_right in text.parts:
                rows.append(features)
                right.append(is_right)
                weights.append(weight)
        total = sum(weights[first:]) or 1.0
        weights[first:] = [weight / total for weight in weights[first:]]
    scaled = np.array(weights)
    return np.array(rows), np.array(right, np.bool_), scaled * len(scaled) / scaled.sum()


def with_first_requests(
    rows: Array, right: NDArray[np.bool_], weights: Array
) -> tuple[Array, NDArray[np.bool_], Array]:
    """The sample, and each row again as that of a first request on its line, as after a jump into it."""
    first = rows.copy()
    for name, value in zip(SESSION_FEATURES, session_values(NEW_LINE), strict=True):
        first[:, FEATURES.index(name)] = value
    return np.concatenate([rows, first]), np.concatenate([right, right]), np.concatenate([weights, FIRST * weights])


def fit(rows: Array, right: NDArray[np.bool_], weights: Array) -> ConfidenceModel:
    """The mean of the logits of fits with several seeds, as one model."""
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale < 1e-6] = 1.0
    scaled = (rows - mean) / scale
    linear, hidden, bias, output, intercept = np.zeros(rows.shape[1]), [], [], [], 0.0
    for seed in SEEDS:
        found = _fit_once(scaled, right, weights, np.random.default_rng(seed))
        linear += found[0] / len(SEEDS)
        hidden.append(found[1])
        bias.append(found[2])
        output.append(found[3] / len(SEEDS))
        intercept += float(found[4][0]) / len(SEEDS)
    all_hidden = np.concatenate(hidden, axis=1) / scale[:, None]
    return ConfidenceModel(
        linear / scale,
        all_hidden,
        np.concatenate(bias) - mean @ all_hidden,
        np.concatenate(output),
        intercept - float(mean @ (linear / scale)),
        (),
    )


def _fit_once(rows: Array, right: NDArray[np.bool_], weights: Array, rng: np.random.Generator) -> list[Array]:
    """Linear and hidden weights, biases, output weights and intercept, by Adam with decoupled shrinkage."""
    n, width = rows.shape
    parameters = [
        np.zeros(width),
        rng.normal(0, 1 / math.sqrt(width), (width, N_HIDDEN)),
        np.zeros(N_HIDDEN),
        rng.normal(0, 0.1, N_HIDDEN),
        np.zeros(1),
    ]
    means = [np.zeros_like(each) for each in parameters]
    squares = [np.zeros_like(each) for each in parameters]
    wanted = right.astype(np.float64)
    n_steps, step = N_EPOCHS * math.ceil(n / BATCH), 0
    for _ in range(N_EPOCHS):
        order = rng.permutation(n)
        for start in range(0, n, BATCH):
            step += 1
            rate = LEARNING_RATE * 0.5 * (1 + math.cos(math.pi * step / n_steps))
            chosen = order[start : start + BATCH]
            batch = rows[chosen]
            linear, hidden, bias, output, intercept = parameters
            units = np.tanh(batch @ hidden + bias)
            shares = 1 / (1 + np.exp(-(batch @ linear + units @ output + intercept)))
            error = (shares - wanted[chosen]) * weights[chosen] / len(chosen)
            inner = np.outer(error, output) * (1 - units**2)
            gradients = [batch.T @ error, batch.T @ inner, inner.sum(axis=0), units.T @ error, error.sum(keepdims=True)]
            for at, gradient in enumerate(gradients):
                means[at] = 0.9 * means[at] + 0.1 * gradient
                squares[at] = 0.999 * squares[at] + 0.001 * gradient**2
                change = means[at] / (1 - 0.9**step) / (np.sqrt(squares[at] / (1 - 0.999**step)) + 1e-8)
                shrinkage = SHRINKAGE * parameters[at] if at in (0, 1, 3) else 0.0
                parameters[at] = parameters[at] - rate * (change + shrinkage)
    return parameters


def write(model: ConfidenceModel, least: Sequence[Sequence[float]], file: Path) -> None:
    """Write the weights with five digits."""
    table = np.column_stack([model.linear, model.hidden])
    weights = {name: _rounded(row) for name, row in zip(FEATURES, table, strict=True)}
    weights["bias"] = _rounded([model.intercept, *model.bias])
    weights["output"] = _rounded([0.0, *model.output])
    lines = [f"  {json.dumps(name)}: {json.dumps(values)}" for name, values in weights.items()]
    text = "{\n" + f'"least": {json.dumps(least)},\n"weights": {{\n' + ",\n".join(lines) + "\n}\n}\n"
    file.write_text(text, encoding="utf-8", newline="")


def _rounded(values: Sequence[float] | Array) -> list[float]:
    return [float(f"{value:.5g}") for value in values]
