"""FragRel ranking: the BM25 score of a fragment plus the relation-weighted mean score of its environment.

Owns Eq. 10 of FragRel (papers' spec 1.4): s_rel = s_ind + alpha * s_env. Eq. 9 (s_env) is in `codegraph.relations`.
Knows the cursor only by the candidates of the view.
"""

from __future__ import annotations

import numpy as np

from .bm25 import FloatArray
from .explain import location_text, words_part
from .index import CursorView
from .ranking import Ranking
from .values import RetrievalOptions, ScorePart

N_NEIGHBOURS = 3
"""Limit of neighbours in an explanation."""


def fragrel(view: CursorView, options: RetrievalOptions) -> Ranking:
    """BM25 plus `alpha` times the environment score. With alpha 0 it is BM25, bit by bit."""
    terms = view.query_terms(options.query_lines)
    words, parts = view.bm25(terms), view.scores(terms)
    environment = np.zeros(view.n_ids)
    if options.alpha:
        environment = view.relations.environment(
            words,
            include_self=options.include_self,
            exclude=view.excluded,
            alpha=options.alpha,
            cutoff=options.cutoff,
        )

    def explain(fragment: int) -> tuple[ScorePart, ...]:
        around = options.alpha * float(environment[fragment])
        neighbours = _strongest_neighbours(view, words, fragment, options.include_self)
        return words_part(view, parts, fragment), ScorePart("environment", around, neighbours)

    return Ranking(words + options.alpha * environment, explain)


def _strongest_neighbours(view: CursorView, words: FloatArray, fragment: int, include_self: bool) -> str:
    """The fragments with the largest share of an environment score, each with relation and word score."""
    strengths = view.relations.relations_of(fragment)
    if not include_self:
        strengths[fragment] = 0
    given = strengths * words
    least = np.partition(given, -N_NEIGHBOURS)[-N_NEIGHBOURS] if len(given) > N_NEIGHBOURS else 0.0
    some = np.flatnonzero((given >= least) & (given > 0))
    best = some[np.argsort(-given[some], kind="stable")[:N_NEIGHBOURS]].tolist()
    return ", ".join(f"{location_text(view.location(i))} ({strengths[i]:.2g} * {words[i]:.2f})" for i in best)
