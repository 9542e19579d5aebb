"""Evidence retrieval: code, definitions, documents and past turns for a question, within one token budget.

Owns fusion and order. The ranking is in `retrieval/questions`, the probability that the evidence answers the question
in `answerability`, and answers of the code graph are in `findings`. Knows no model.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType

from ...codegraph import parse_file
from ...memory import Segment
from ...memory.strategy import estimate_tokens
from ...retrieval import RepositoryIndex, slice_file
from ...retrieval.definition_index import NamedDefinition
from ...retrieval.questions import QuestionResult, ScoredUnit, SearchOptions, search
from .answerability import GRAPH_FINDING_CONFIDENCE, Confidence
from .call_paths import CallStep, call_path_to
from .evidence_items import deduplicated, unit_items
from .findings import findings
from .values import EvidenceItem, EvidenceSet

MIN_MATCH = 0.05  # of the best unit's; a unit with less is not shown beside a finding
N_CALL_PATHS = 6  # the number of definitions that get a call path
CONTENT_WORD_WEIGHT = 0.5  # the least weight of a content word of a question
TURN_SHARE = 0.25  # the largest share of the budget for past turns


@dataclass(frozen=True, slots=True)
class GatherOptions:
    """The size of the evidence, and the search options."""

    max_tokens: int = 3000
    max_items: int = 12
    search: SearchOptions = field(default_factory=SearchOptions)


@dataclass(frozen=True, slots=True)
class _FolderSearch:
    """The search results of one snapshot, and the folder of its items."""

    folder: str
    index: RepositoryIndex
    found: QuestionResult


def gather(
    indexes: Mapping[str, RepositoryIndex],
    question: str,
    options: GatherOptions = GatherOptions(),
    turns: Sequence[EvidenceItem] = (),
    documents: Mapping[str, Sequence[Segment]] = MappingProxyType({}),
) -> EvidenceSet:
    """The evidence for a question, best item first, within the budget of the options.

    `indexes` are the snapshots by workspace folder; with one folder, items have no folder name. `turns` are relevant
    past turns, best first. `documents` are segments by folder; segments of indexed files are ignored. Raises nothing: a
    question without words has no evidence.
    """
    started = time.perf_counter()
    shown = {folder: "" if len(indexes) == 1 else folder for folder in indexes}
    code = [_FolderSearch(shown[f], index, search(index, question, options.search)) for f, index in indexes.items()]
    unindexed = ((f, index_documents(indexes[f], segments)) for f, segments in documents.items() if f in indexes)
    more = [_FolderSearch(shown[f], i, search(i, question, options.search)) for f, i in unindexed if i.n_files]
    searched = time.perf_counter()
    graph_findings = [finding for one in code for finding in findings(one.found, one.index, one.folder)]
    # A long list of callers is cut: the definition and the search results need room.
    first = [item for finding in graph_findings for item in finding.items][: options.max_items * 3 // 4]
    # Beside a finding, code that hardly matches the words of the question adds nothing.
    ranked = sorted(
        (item for one in (*code, *more) for item in _items(one, needs_match=bool(first))), key=lambda e: -e.score
    )
    # Findings come first, in their order; search results follow.
    top = ranked[0].score if ranked else 1.0
    first = [replace(item, score=top * 1.01 ** (len(first) - rank)) for rank, item in enumerate(first)]
    past = _within(turns, int(options.max_tokens * TURN_SHARE), options.max_items // 3)
    room = options.max_tokens - sum(map(_tokens, past))
    chosen = _within(deduplicated([*first, *ranked]), room, options.max_items)
    founds = [one.found for one in (*code, *more)]
    found_confidence = [Confidence.of(found) for found in founds]
    confidence = max((each.answerable for each in found_confidence), default=0.0)
    right = max((each.right for each in found_confidence), default=0.0)
    if any(finding.items for finding in graph_findings):
        confidence, right = max(confidence, GRAPH_FINDING_CONFIDENCE), max(right, GRAPH_FINDING_CONFIDENCE)
    search_terms, missing_terms = _search_terms(founds)
    done = time.perf_counter()
    return EvidenceSet(
        question,
        (*_with_call_paths(chosen, {one.folder: one.index for one in code}), *past),
        confidence,
        tuple(dict.fromkeys(name for found in founds for name in _names(found))),
        tuple(graph_findings),
        search_terms,
        missing_terms,
        probability_right=right,
        corrections=tuple(dict.fromkeys(pair for found in founds for pair in found.corrections)),
        timings_ms={"search": 1e3 * (searched - started), "exhibits": 1e3 * (done - searched)},
    )


def _items(searched: _FolderSearch, *, needs_match: bool = False) -> Iterator[EvidenceItem]:
    for scored in searched.found.units:
        if needs_match and _match(scored) < MIN_MATCH * _match(searched.found.units[0]):
            continue
        yield from unit_items(searched.found, scored, searched.index, searched.folder)


def _match(scored: ScoredUnit) -> float:
    """The score of a unit for its own words and definitions."""
    return sum(part.value for part in scored.parts if part.name in _OWN_PARTS)


_OWN_PARTS = ("words", "name", "inside", "title", "path", "defines")


def _with_call_paths(items: Sequence[EvidenceItem], indexes: Mapping[str, RepositoryIndex]) -> list[EvidenceItem]:
    """The items with call paths for the best definitions; each definition once."""
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
            made[number] = replace(item, call_path=tuple(_step_text(step) for step in steps))
    return made


def _step_text(step: CallStep) -> str:
    source, target = step.source, step.target
    call = f"{source.path}:{step.line + 1}: `{source.definition.qualified_name}` calls"
    return f"{call} `{target.definition.qualified_name}`"


def _names(found: QuestionResult) -> Iterator[str]:
    """The names that are certain: as written in the code, or of several words. A plain word is mostly no name."""
    for name, definitions in found.named:
        if name in found.as_written:
            yield name
        elif name not in found.question.words:
            yield definitions[0].definition.name  # `shortest_path` for "shortest path"


def _search_terms(founds: Sequence[QuestionResult]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The content words, the rarest first, and those of them that occur in no folder."""
    if not founds:
        return (), ()
    concepts = founds[0].question.concepts
    df = [sum(found.df[number] for found in founds) for number in range(len(concepts))]
    order = sorted(
        (number for number in range(len(concepts)) if concepts[number].weight >= CONTENT_WORD_WEIGHT),
        key=lambda n: df[n],
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
    return estimate_tokens(f"{item.location}\n{item.text}")


def index_documents(index: RepositoryIndex, segments: Sequence[Segment]) -> RepositoryIndex:
    """An index of the segments whose sources are not in `index`."""
    return _index_of(tuple(segment for segment in segments if segment.source not in index))


# Consecutive questions search the same documents.
@lru_cache(maxsize=4)
def _index_of(segments: tuple[Segment, ...]) -> RepositoryIndex:
    lines: dict[str, dict[int, str]] = {}
    for segment in segments:
        of_source = lines.setdefault(segment.source, {})
        for number, line in enumerate(segment.text.rstrip("\n").split("\n"), segment.first_line):
            # In some formats several segments share a line.
            of_source[number] = f"{of_source[number]} {line}" if number in of_source else line
    texts = {path: _text(numbered) for path, numbered in lines.items()}
    return RepositoryIndex.build((parse_file(path, text), slice_file(path, text)) for path, text in texts.items())


def _text(numbered: dict[int, str]) -> str:
    return "".join(f"{numbered.get(number, '')}\n" for number in range(max(numbered) + 1))
