"""Everything that speaks to a question: code, definitions, documents and past turns, in one budget.

Owns how these are fused and ordered. What ranks them is in `retrieval/questions`, what the code graph says by itself in
`findings`, how sure it is in `certainty`. Knows no model.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...memory.strategy import estimate_tokens
from ...retrieval import RepositoryIndex
from ...retrieval.names import Named
from ...retrieval.questions import Found, SearchOptions, search
from .certainty import SAID_BY_THE_GRAPH, certainty
from .exhibits import exhibits_of, without_repeats
from .findings import findings
from .symbols import Step, way_here
from .values import Case, Exhibit

N_WAYS = 6
"""For so many definitions the calls that lead there are given."""

TURN_SHARE = 0.25
"""Past turns take at most this share of the budget."""


@dataclass(frozen=True, slots=True)
class GatherOptions:
    """How much evidence, and what it is searched with."""

    max_tokens: int = 3000
    max_exhibits: int = 12
    search: SearchOptions = field(default_factory=SearchOptions)


def gather(
    indexes: Mapping[str, RepositoryIndex],
    question: str,
    options: GatherOptions = GatherOptions(),
    turns: Sequence[Exhibit] = (),
) -> Case:
    """The case of a question, best exhibit first, in at most the tokens of the options.

    `indexes` are the snapshots by workspace folder; with a single one exhibits name no folder. `turns` are past turns
    that may matter, best first. Raises nothing: a question without words gives an empty case.
    """
    started = time.perf_counter()
    founds = {folder: search(index, question, options.search) for folder, index in indexes.items()}
    searched = time.perf_counter()
    single = len(indexes) == 1
    ranked: list[Exhibit] = []
    said = []
    for folder, found in founds.items():
        shown = "" if single else folder
        said += findings(found, indexes[folder], shown)
        for weighed in found.units:
            ranked += exhibits_of(found, weighed, indexes[folder], shown)
    ranked.sort(key=lambda exhibit: -exhibit.score)
    first = [exhibit for finding in said for exhibit in finding.exhibits]
    # What the graph says comes first and keeps its order; the search goes on below it.
    top = ranked[0].score if ranked else 1.0
    first = [replace(exhibit, score=top * 1.01 ** (len(first) - rank)) for rank, exhibit in enumerate(first)]
    room = options.max_tokens
    past = _within(turns, int(room * TURN_SHARE), options.max_exhibits // 3)
    room -= sum(_tokens(turn) for turn in past)
    exhibits = _with_ways(_within(without_repeats([*first, *ranked]), room, options.max_exhibits), indexes, single)
    sure = max(map(certainty, founds.values()), default=0.0)
    if first and any(found.as_written for found in founds.values()):
        sure = max(sure, SAID_BY_THE_GRAPH)
    done = time.perf_counter()
    return Case(
        question,
        (*exhibits, *past),
        sure,
        tuple(dict.fromkeys(name for found in founds.values() for name, _ in found.named)),
        tuple(said),
        *_words(list(founds.values())),
        timings_ms={"search": 1e3 * (searched - started), "exhibits": 1e3 * (done - searched)},
    )


def _with_ways(exhibits: list[Exhibit], indexes: Mapping[str, RepositoryIndex], single: bool) -> list[Exhibit]:
    """The best definitions with the calls that lead to them; each definition once."""
    names = [exhibit.symbol for exhibit in exhibits]
    made, done = list(exhibits), set[tuple[str, str, str]]()
    for number, exhibit in enumerate(exhibits):
        key = (exhibit.folder, exhibit.path, exhibit.symbol)
        if exhibit.kind != "definition" or key in done or len(done) == N_WAYS:
            continue
        done.add(key)
        index = next(iter(indexes.values())) if single else indexes[exhibit.folder]
        definition = index.graph.definition(exhibit.path, exhibit.symbol)
        if definition is not None:
            steps = way_here(index, Named(exhibit.path, definition), names)
            made[number] = replace(exhibit, way=tuple(_in_words(step) for step in steps))
    return made


def _in_words(step: Step) -> str:
    source, target = step.source, step.target
    call = f"{source.path}:{step.line + 1}: `{source.definition.qualified_name}` calls"
    return f"{call} `{target.definition.qualified_name}`"


def _words(founds: Sequence[Found]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that carry meaning, the rarest first, and those of them that no folder has."""
    if not founds:
        return (), ()
    concepts = founds[0].wording.concepts
    df = [sum(found.df[number] for found in founds) for number in range(len(concepts))]
    order = sorted((number for number in range(len(concepts)) if concepts[number].weight >= 0.5), key=lambda n: df[n])
    return tuple(concepts[n].word for n in order), tuple(concepts[n].word for n in order if not df[n])


def _within(exhibits: Sequence[Exhibit], tokens: int, n: int) -> list[Exhibit]:
    kept: list[Exhibit] = []
    for exhibit in exhibits:
        cost = _tokens(exhibit)
        if len(kept) == n:
            break
        if cost <= tokens:
            tokens -= cost
            kept.append(exhibit)
    return kept


def _tokens(exhibit: Exhibit) -> int:
    return estimate_tokens(f"{exhibit.place}\n{exhibit.text}")
