"""Everything that speaks to a question: code, definitions, documents and past turns, in one budget.

Owns how these are fused and ordered. What ranks them is in `retrieval/questions`, what the code graph says by itself in
`findings`, how sure it is in `answerability`. Knows no model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ...memory import Segment
from ...memory.strategy import estimate_tokens
from ...retrieval import RepositoryIndex
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import QuestionResult, SearchOptions, search
from .document_index import index_documents
from .answerability import GRAPH_FINDING_CONFIDENCE, answerability
from .evidence_items import unit_items, deduplicated
from .findings import findings
from .symbol_queries import Step, call_path_to
from .values import EvidenceSet, EvidenceItem

N_CALL_PATHS = 6
"""For so many definitions the calls that lead there are given."""

CARRIES_MEANING = 0.5
"""Words of a question with this weight are what was looked for; lighter ones are around them."""

TURN_SHARE = 0.25
"""History turns take at most this share of the budget."""


@dataclass(frozen=True, slots=True)
class GatherOptions:
    """How much evidence, and what it is searched with."""

    max_tokens: int = 3000
    max_items: int = 12
    search: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class _FolderSearch:
    """What was found in one snapshot, and the folder that items name."""

    folder: str
    index: RepositoryIndex
    found: QuestionResult

    @property
    def scale(self) -> float:
        """Makes scores of several snapshots comparable: a question weighs 1 in each."""
        return 1 / (sum(self.found.idf) or 1.0)


def gather(
    indexes: Mapping[str, RepositoryIndex],
    question: str,
    options: GatherOptions = GatherOptions(),
    turns: Sequence[EvidenceItem] = (),
    documents: Mapping[str, Sequence[Segment]] = MappingProxyType({}),
) -> EvidenceSet:
    """The case of a question, best item first, in at most the tokens of the options.

    `indexes` are the snapshots by workspace folder; with a single one items name no folder. `turns` are past turns
    that may matter, best first. `documents` are segments by folder; those of files that an index holds are found there.
    Raises nothing: a question without words gives an empty evidence.
    """
    started = time.perf_counter()
    shown = {folder: "" if len(indexes) == 1 else folder for folder in indexes}
    code = [_FolderSearch(shown[f], index, search(index, question, options.search)) for f, index in indexes.items()]
    beside = ((f, index_documents(indexes[f], segments)) for f, segments in documents.items() if f in indexes)
    more = [_FolderSearch(shown[f], i, search(i, question, options.search)) for f, i in beside if i.n_files]
    searched = time.perf_counter()
    said = [finding for one in code for finding in findings(one.found, one.index, one.folder)]
    # Of a long list of callers the first are enough: the definition and what else speaks to the question need room.
    first = [item for finding in said for item in finding.items][: options.max_items * 3 // 4]
    ranked = sorted((item for one in (*code, *more) for item in _items(one)), key=lambda e: -e.score)
    # What the graph says comes first and keeps its order; the search goes on below it.
    top = ranked[0].score if ranked else 1.0
    first = [replace(item, score=top * 1.01 ** (len(first) - rank)) for rank, item in enumerate(first)]
    past = _within(turns, int(options.max_tokens * TURN_SHARE), options.max_items // 3)
    room = options.max_tokens - sum(map(_tokens, past))
    chosen = _within(deduplicated([*first, *ranked]), room, options.max_items)
    sure = max((answerability(one.found) for one in (*code, *more)), default=0.0)
    if any(finding.items for finding in said):
        sure = max(sure, GRAPH_FINDING_CONFIDENCE)
    founds = [one.found for one in (*code, *more)]
    search_terms, missing = _words(founds)
    done = time.perf_counter()
    return EvidenceSet(
        question,
        (*_with_call_paths(chosen, {one.folder: one.index for one in code}), *past),
        sure,
        tuple(dict.fromkeys(name for found in founds for name in _names(found))),
        tuple(said),
        search_terms,
        missing,
        timings_ms={"search": 1e3 * (searched - started), "exhibits": 1e3 * (done - searched)},
    )


def _items(searched: _FolderSearch) -> Iterator[EvidenceItem]:
    for weighed in searched.found.units:
        for item in unit_items(searched.found, weighed, searched.index, searched.folder):
            parts = tuple(replace(part, value=part.value * searched.scale) for part in item.parts)
            yield replace(item, score=item.score * searched.scale, parts=parts)


def _with_call_paths(items: Sequence[EvidenceItem], indexes: Mapping[str, RepositoryIndex]) -> list[EvidenceItem]:
    """The best definitions with the calls that lead to them; each definition once."""
    names = [item.symbol for item in items]
    made, done = list(items), set[tuple[str, str, str]]()
    for number, item in enumerate(items):
        key = (item.folder, item.path, item.symbol)
        if item.kind != "definition" or key in done or len(done) == N_CALL_PATHS:
            continue
        done.add(key)
        index = indexes[item.folder]
        definition = index.graph.definition(item.path, item.symbol)
        if definition is not None:
            steps = call_path_to(index, NamedDefinition(item.path, definition), names)
            made[number] = replace(item, way=tuple(_in_words(step) for step in steps))
    return made


def _in_words(step: Step) -> str:
    source, target = step.source, step.target
    call = f"{source.path}:{step.line + 1}: `{source.definition.qualified_name}` calls"
    return f"{call} `{target.definition.qualified_name}`"


def _names(found: QuestionResult) -> Iterator[str]:
    """The names that are surely meant: as written, or of several words. A single plain word is mostly just a word."""
    for name, _ in found.named:
        if name in found.as_written or name not in found.question.words:
            yield name


def _words(founds: Sequence[QuestionResult]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that carry meaning, the rarest first, and those of them that no folder has."""
    if not founds:
        return (), ()
    concepts = founds[0].question.concepts
    df = [sum(found.df[number] for found in founds) for number in range(len(concepts))]
    order = sorted(
        (number for number in range(len(concepts)) if concepts[number].weight >= CARRIES_MEANING), key=lambda n: df[n]
    )
    return tuple(concepts[n].word for n in order), tuple(concepts[n].word for n in order if not df[n])


def _within(items: Sequence[EvidenceItem], tokens: int, n: int) -> list[EvidenceItem]:
    kept: list[EvidenceItem] = []
    for item in items:
        cost = _tokens(item)
        if len(kept) == n:
            break
        if cost <= tokens:
            tokens -= cost
            kept.append(item)
    return kept


def _tokens(item: EvidenceItem) -> int:
    return estimate_tokens(f"{item.place}\n{item.text}")
