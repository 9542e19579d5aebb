"""The compared settings: retrieval strategies, rounds of iterative retrieval, ablations.

Owns their names and what each means. Knows no task and no model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from ...retrieval import RetrievalOptions
from ...retrieval.repocoder import REPOCODER
from ..repoeval.weft_strategies import ABLATION as WITHOUT


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to ask. `retrieval.strategy` "none" shows nothing of the repository.

    `way`: as the server does; in RepoCoder's rounds, of which the last counts; the best of these by the true text; or
    once with the true text as the query. The last two say what could be had, and nobody can have it.
    """

    name: str
    retrieval: RetrievalOptions = field(default_factory=RetrievalOptions)
    way: Literal["server", "rounds", "best round", "oracle"] = "server"
    n_rounds: int = 1


BASIC: tuple[Setting, ...] = (
    Setting("none", RetrievalOptions(strategy="none")),
    Setting("bm25", RetrievalOptions(strategy="bm25")),
    Setting("fragrel", RetrievalOptions(strategy="fragrel")),
    Setting("weft"),
    Setting("iterative", way="rounds", n_rounds=2),
    Setting("oracle", way="oracle"),
)

REPOCODER_ROWS: tuple[Setting, ...] = (
    Setting("repocoder-unshifted", REPOCODER, way="rounds"),
    Setting("repocoder", replace(REPOCODER, shift=True), way="rounds"),
    Setting("repocoder-2", replace(REPOCODER, shift=True), way="rounds", n_rounds=2),
    Setting("repocoder-best-of-2", replace(REPOCODER, shift=True), way="best round", n_rounds=2),
    Setting("repocoder-oracle", REPOCODER, way="oracle"),
)
"""Jaccard over windows; a number is that of the rounds."""

ABLATION: tuple[Setting, ...] = tuple(
    Setting(name, RetrievalOptions(without=frozenset({term}))) for name, term in WITHOUT.items()
)
"""The default ranking with one term of it left out."""

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in (*BASIC, *REPOCODER_ROWS, *ABLATION)}
