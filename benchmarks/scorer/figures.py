"""Figures of scorers on held-out lines: likelihood of a token, and lines whose most likely tokens are all right.

Owns the figures and their tables. Knows no weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from ..tables import markdown, number, percent
from .fit import LineScores
from .lines import KINDS
from .samples import TreeSample

ALL = "all"


@dataclass(frozen=True, slots=True)
class Figures:
    """Means over lines: `loss` is the negative log-likelihood of a token in nats, `right` a share of lines."""

    n_lines: int
    loss: float
    right: float


@dataclass(frozen=True, slots=True)
class Part:
    """The lines of a kind in a family of languages, all and those that occur once in their tree."""

    family: str
    kind: str
    all: Figures
    unique: Figures


def parts_of(scored: Sequence[tuple[TreeSample, LineScores]]) -> list[Part]:
    """The figures for all lines, for each kind, for each family, and for each kind in each family."""
    if not scored:
        return []
    families = np.concatenate([sample.family for sample, _ in scored])
    kinds = np.array(KINDS)[np.concatenate([sample.kind for sample, _ in scored])]
    is_unique = np.concatenate([sample.is_unique for sample, _ in scored])
    joined = LineScores(*(np.concatenate(each) for each in zip(*(scores for _, scores in scored), strict=True)))
    parts = []
    for family in (ALL, *sorted(set(families.tolist()))):
        for kind in (ALL, *KINDS):
            chosen = ((families == family) | (family == ALL)) & ((kinds == kind) | (kind == ALL))
            if chosen.any():
                figures = [_figures(joined, which) for which in (chosen, chosen & is_unique)]
                parts.append(Part(family, kind, *figures))
    return parts


def _figures(scores: LineScores, which: NDArray[np.bool_]) -> Figures:
    n_lines, n_tokens = int(which.sum()), int(scores.n_tokens[which].sum())
    if not n_tokens:
        return Figures(n_lines, float("nan"), float("nan"))
    return Figures(n_lines, float(scores.loss[which].sum()) / n_tokens, float(scores.is_right[which].mean()))


def figures_table(parts: Mapping[str, Sequence[Part]]) -> str:
    """One row for each part and each scorer, by its name."""
    rows = []
    for same in zip(*parts.values(), strict=True):
        for name, part in zip(parts, same, strict=True):
            cells = [cell for figures in (part.all, part.unique) for cell in _cells(figures)]
            rows.append([f"{part.family}, {part.kind}", name, *cells])
    head = ["languages, cursor", "scorer"]
    head += [f"{name}{of}" for of in ("", " (unique)") for name in ("lines", "NLL a token", "% right")]
    return markdown(head, rows)


def added_table(full: Sequence[Part], without: Mapping[str, Sequence[Part]]) -> str:
    """What each group of features adds: the full fit minus the fit without it."""
    rows = []
    for group, parts in without.items():
        for part, smaller in zip(full, parts, strict=True):
            cells = [cell for pair in _pairs(part, smaller) for cell in _difference(*pair)]
            rows.append([group, f"{part.family}, {part.kind}", *cells])
    head = ["group", "languages, cursor", "NLL a token", "points right", "NLL (unique)", "points right (unique)"]
    return markdown(head, rows)


def plain(parts: Sequence[Part]) -> list[dict[str, object]]:
    """The figures in JSON: four digits, no NaN."""

    def rounded(figures: Figures) -> dict[str, object]:
        return {name: None if value != value else round(value, 4) for name, value in asdict(figures).items()}

    return [
        {"family": part.family, "kind": part.kind, "all": rounded(part.all), "unique": rounded(part.unique)}
        for part in parts
    ]


def _pairs(part: Part, smaller: Part) -> Iterator[tuple[Figures, Figures]]:
    yield part.all, smaller.all
    yield part.unique, smaller.unique


def _difference(full: Figures, smaller: Figures) -> list[str]:
    return [number(full.loss - smaller.loss, "{:+.4f}"), number(100 * (full.right - smaller.right), "{:+.1f}")]


def _cells(figures: Figures) -> list[str]:
    return [str(figures.n_lines), number(figures.loss, "{:.3f}"), percent(figures.right)]
