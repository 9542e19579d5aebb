"""Weights of the evidence for next edits: a logistic regression on the offers of replayed commits.

Owns the fit and its cross-validation by repository. Knows no feature: they come by name.

An offer counts as made when it is at a later hunk. The offers of one cause at one request are nearly copies of each
other, and so are those of one commit: of n offers of a cause each counts 1/√n, and a commit counts MOST_OF_COMMIT at
most.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ...server.next_edit.repeated import repeated_with_evidence
from ...server.next_edit.repeated_confidence import features
from .logistic import Floats, logistic, probabilities
from .offers import Offer
from .replay import Asked
from .suggesters import Moment, Opening, Suggester, WeftSuggester, weft

MOST_OF_COMMIT = 30.0

REPEATED = "repeated edits"


@dataclass(frozen=True, slots=True)
class Rated:
    """One offer with its features, whether it was made, and what it belongs to."""

    features: Mapping[str, float]
    is_made: bool
    repo: str
    commit: str
    cause: str  # equal for the offers of one cause at one request


@dataclass(frozen=True, slots=True)
class Fitted:
    """Weights by feature, and the mean log loss of each offer under weights of the other repositories."""

    weights: dict[str, float]
    log_loss: float
    n: int


@dataclass(frozen=True, slots=True)
class FeaturedOffer(Offer):
    """An offer with its cause and features."""

    cause: str = ""
    features: tuple[tuple[str, float], ...] = ()


class RepeatedSuggester:
    """Weft's repeated edits, whatever their confidence."""

    def __init__(self, suggester: WeftSuggester) -> None:
        self._weft = suggester

    def edit(self, moment: Moment) -> None:
        self._weft.edit(moment)

    def offers(self, moment: Moment) -> Sequence[Offer]:
        situation = self._weft.situation(moment)
        return [
            FeaturedOffer(
                each.kind,
                each.path,
                each.start,
                each.end,
                each.new,
                each.reason,
                each.confidence,
                each.cause,
                tuple(features(evidence).items()),
            )
            for each, evidence in (() if situation is None else repeated_with_evidence(situation, 0.0))
        ]


@contextmanager
def repeated_edits(opening: Opening) -> Iterator[Suggester]:
    with weft(opening) as suggester:
        yield RepeatedSuggester(suggester)


def rated(repo: str, commit: str, asked: Asked) -> Iterator[Rated]:
    """The offers of one request for the fit."""
    for judged in asked.offers:
        if isinstance(judged.offer, FeaturedOffer):
            cause = f"{commit} {asked.number} {judged.offer.cause}"
            yield Rated(dict(judged.offer.features), judged.hunk is not None, repo, commit, cause)


def as_text(result: Fitted) -> str:
    """The weights as they stand in the source, and the loss."""
    lines = [f'    "{name}": {weight:.2f},' for name, weight in result.weights.items()]
    return "\n".join(["{", *lines, "}", f"{result.n} offers, log loss {result.log_loss:.4f} by repository"])


def fitted(offers: Sequence[Rated]) -> Fitted:
    """The weights for some offers, of which there must be one at least."""
    names = list(offers[0].features)
    values = np.array([[each.features[name] for name in names] for each in offers])  # (n, features)
    made = np.array([each.is_made for each in offers], dtype=float)
    counts, repos = _counts(offers), np.array([each.repo for each in offers])
    weights = logistic(values, made, counts)
    loss = 0.0
    for repo in sorted(set(repos.tolist())):
        held_out = repos == repo
        others = logistic(values[~held_out], made[~held_out], counts[~held_out])
        p = np.clip(probabilities(values[held_out], others), 1e-9, 1 - 1e-9)
        is_made = made[held_out]
        loss -= float(counts[held_out] @ (is_made * np.log(p) + (1 - is_made) * np.log(1 - p)))
    return Fitted(dict(zip(names, weights.tolist(), strict=True)), loss / float(counts.sum()), len(offers))


def _counts(offers: Sequence[Rated]) -> Floats:
    """How much each offer counts."""
    n_alike: dict[str, int] = {}
    for each in offers:
        n_alike[each.cause] = n_alike.get(each.cause, 0) + 1
    counts = np.array([n_alike[each.cause] ** -0.5 for each in offers])
    commits = np.array([each.commit for each in offers])
    for commit in set(commits.tolist()):
        own = commits == commit
        counts[own] *= min(1.0, MOST_OF_COMMIT / counts[own].sum())
    return counts
