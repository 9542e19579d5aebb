"""Sampling from logits: temperature, nucleus sampling, repetition penalty.

Knows no engine and no text. Greedy decoding does not use it: an engine finds the best tokens by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..protocol import ChatRequest
from .engines import FloatArray


def sample_token(
    logits: FloatArray, seen: Iterable[int], request: ChatRequest, generator: np.random.Generator
) -> tuple[int, float]:
    """A token sampled from logits (n_vocabulary,), and its probability in the sampled distribution.

    `seen` are the tokens of the prompt and the answer so far; the penalty reduces their logits (Keskar et al. 2019,
    section 4.1). Without a temperature the most likely token follows.
    """
    scores = _penalised(np.asarray(logits, np.float64), seen, request.repetition_penalty)
    if request.temperature <= 0:
        token = int(scores.argmax())
        return token, float(_probabilities(scores)[token])
    with np.errstate(over="ignore"):  # a temperature near 0 leaves only the best
        scores = (scores - scores.max()) / request.temperature
    probabilities = _nucleus(_probabilities(scores), request.top_p)
    token = int(generator.choice(len(probabilities), p=probabilities))
    return token, float(probabilities[token])


def _penalised(scores: NDArray[np.float64], seen: Iterable[int], penalty: float) -> NDArray[np.float64]:
    if penalty == 1 or penalty <= 0:
        return scores
    scores = scores.copy()
    tokens = np.unique(np.fromiter(seen, np.int64))
    had = scores[tokens]
    scores[tokens] = np.where(had > 0, had / penalty, had * penalty)
    return scores


def _probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    shares = np.exp(scores - scores.max())
    result: NDArray[np.float64] = shares / shares.sum()
    return result


def _nucleus(probabilities: NDArray[np.float64], top_p: float) -> NDArray[np.float64]:
    """The most likely tokens that together have `top_p`, at least one; the others 0 (Holtzman et al. 2020)."""
    if top_p >= 1:
        return probabilities
    order = np.argsort(-probabilities, kind="stable")
    before = np.cumsum(probabilities[order]) - probabilities[order]
    kept = order[: max(1, int((before < top_p).sum()))]
    result = np.zeros_like(probabilities)
    result[kept] = probabilities[kept] / probabilities[kept].sum()
    return result
