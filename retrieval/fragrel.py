"""FragRel's ranking: a fragment's own words, and the words of the fragments around it in the code graph.

Owns Eq. 10 of FragRel (papers' spec 1.4): s_rel = s_ind + alpha * s_env. Eq. 9, which makes s_env, is the
relations' own. Knows nothing of the cursor but what the view leaves out.
"""

from __future__ import annotations

import numpy as np

from .bm25 import FloatArray
from .explain import place_name, words_part
from .index import CursorView
from .ranking import Ranking
from .values import RetrievalOptions, ScorePart

N_NEIGHBOURS = 3
"""How many neighbours an explanation names."""


def fragrel(view: CursorView, options: RetrievalOptions) -> Ranking:
    """BM25 plus `alpha` times the environment score. With alpha 0 it is BM25, bit by bit."""
    terms = view.query_terms(options.query_lines)
    words = view.bm25(terms)
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
        return words_part(view, terms, fragment), ScorePart("environment", around, neighbours)

    return Ranking(words + options.alpha * environment, explain)


def _strongest_neighbours(view: CursorView, words: FloatArray, fragment: int, include_self: bool) -> str:
    """The fragments that give most to a fragment's environment score, each with relation and words."""
    strengths = view.relations.relations_of(fragment)
    if not include_self:
        strengths[fragment] = 0
    given = strengths * words
    best = [i for i in np.argsort(-given, kind="stable")[:N_NEIGHBOURS].tolist() if given[i] > 0]
    return ", ".join(f"{place_name(view.place(i))} ({strengths[i]:.2g} * {words[i]:.2f})" for i in best)
