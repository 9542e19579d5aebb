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
    """One configuration of retrieval. `retrieval.strategy` "none" shows nothing of the repository.

    `mode`: as the server does; the last of RepoCoder's rounds; the best round by the true text; or one round with the
    true text as the query. The last two are upper bounds.
    """

    name: str
    retrieval: RetrievalOptions = field(default_factory=RetrievalOptions)
    mode: Literal["server", "rounds", "best round", "oracle"] = "server"
    n_rounds: int = 1


BASIC: tuple[Setting, ...] = (
    Setting("none", RetrievalOptions(strategy="none")),
    Setting("bm25", RetrievalOptions(strategy="bm25")),
    Setting("fragrel", RetrievalOptions(strategy="fragrel")),
    Setting("weft"),
    Setting("iterative", mode="rounds", n_rounds=2),
    Setting("oracle", mode="oracle"),
)

REPOCODER_ROWS: tuple[Setting, ...] = (
    Setting("repocoder-unshifted", REPOCODER, mode="rounds"),
    Setting("repocoder", replace(REPOCODER, shift=True), mode="rounds"),
    Setting("repocoder-2", replace(REPOCODER, shift=True), mode="rounds", n_rounds=2),
    Setting("repocoder-best-of-2", replace(REPOCODER, shift=True), mode="best round", n_rounds=2),
    Setting("repocoder-oracle", REPOCODER, mode="oracle"),
)
"""Jaccard over windows; a number is that of the rounds."""

ABLATION: tuple[Setting, ...] = tuple(
    Setting(name, RetrievalOptions(without=frozenset({term}))) for name, term in WITHOUT.items()
)
"""The default ranking with one term of it left out."""

SETTINGS: Mapping[str, Setting] = {setting.name: setting for setting in (*BASIC, *REPOCODER_ROWS, *ABLATION)}
