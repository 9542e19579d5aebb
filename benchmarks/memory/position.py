"""`weft bench memory position`: recall by position of the evidence, and by the gap between its pieces.

    weft bench memory position HOTPOTQA.json
    weft bench memory position HOTPOTQA.json --tokens 500 --n-others 80
    weft bench memory position HOTPOTQA.json --write FOLDER       texts for `weft bench memory answers` with a model

QRMeM's study (papers' spec 3.4): the two paragraphs that answer a question are at the head, in the middle or at the
tail of one text, or at its two ends with a growing gap. The figure is the recall of the supporting sentences within a
budget of tokens, without a model.

Owns the arrangement and the table. Further paragraphs come from the same question, then from others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from ...memory import Budget, Evidence, Item, StrategyContext
from ...memory.baselines.full_context import FullContext
from ...memory.budgets import fit_evidence
from ...memory.documents.reading import by_headings
from ...memory.qrmem import QRMeM, QRMeMSettings
from ...memory.scoring import Bm25Index
from ...memory.strategy import Strategy, estimate_tokens
from ..bootstrap import interval
from ..command import Report, command_parser, run_command
from ..tables import markdown, with_interval
from .adapters import generic_record, read_samples
from .records import BadData
from .values import Fact, Sample, recall_of

T = TypeVar("T")

PLACES = ("head", "middle", "tail")
GAPS = (0, 5, 10, 20, 40)
TEXT = "text.md"
SEGMENT_TOKENS = 150  # about one paragraph


def at_position(gold: Sequence[T], others: Sequence[T], where: str) -> list[T]:
    """All gold pieces together at the head, in the middle or at the tail of the others. Raises ValueError."""
    if where not in PLACES:
        raise ValueError(f"evidence can be at the {', '.join(PLACES)}, not at {where!r}.")
    at = PLACES.index(where) * len(others) // 2
    return [*others[:at], *gold, *others[at:]]


def with_gap(gold: Sequence[T], others: Sequence[T], gap: int) -> list[T]:
    """The first half of the gold pieces, `gap` others, and the second half: the text grows with the gap."""
    half = (len(gold) + 1) // 2
    return [*gold[:half], *others[:gap], *gold[half:]]


def arrangements(gold: Sequence[T], others: Sequence[T]) -> dict[str, list[T]]:
    """Every arrangement by its name in the table."""
    by_gap = {f"gap {gap}": with_gap(gold, others, gap) for gap in GAPS if gap <= len(others)}
    return {where: at_position(gold, others, where) for where in PLACES} | by_gap


def as_one_text(sample: Sample, order: Sequence[Item]) -> Sample:
    """The paragraphs as one document, each below its title, with the facts at their new offsets."""
    text, facts = "", list[Fact]()
    for item in order:
        text += f"# {item.source}\n\n"
        for fact in sample.facts:
            if fact.source == item.source:
                facts.append(Fact(TEXT, len(text) + fact.start, len(text) + fact.end))
        text += item.text.strip("\n") + "\n\n"
    return replace(sample, items=(Item(TEXT, text),), facts=tuple(facts))


def gold_and_others(samples: Sequence[Sample], number: int, n_others: int) -> tuple[list[Item], list[Item]]:
    """The paragraphs that hold the facts of one question, and others: its own first, then those of the next ones."""
    sample = samples[number]
    sources = {fact.source for fact in sample.facts}
    others: dict[str, Item] = {}
    for other in (*samples[number:], *samples[:number]):
        for item in other.items:
            if item.source not in sources and len(others) < n_others:
                others.setdefault(item.source, item)
    return [item for item in sample.items if item.source in sources], list(others.values())


System = Callable[[Sample, int], Sequence[Evidence]]
"""The evidence of a sample within a budget of tokens."""


def top_segments(sample: Sample, tokens: int) -> Sequence[Evidence]:
    """The best segments by BM25."""
    segments = [each for item in sample.items for each in by_headings(SEGMENT_TOKENS, estimate_tokens)(item)]
    scores = Bm25Index(segments).scores(sample.question.text)
    found = [Evidence(segment, float(score)) for segment, score in zip(segments, scores, strict=True)]
    return fit_evidence(found, Budget(tokens=tokens), estimate_tokens)


def recalled(make: Callable[..., Strategy], setting: object, sample: Sample, tokens: int) -> Sequence[Evidence]:
    """What a strategy recalls without a model."""
    strategy = make(StrategyContext(), setting)
    strategy.remember(sample.items)
    return strategy.recall(sample.question, Budget(tokens=tokens)).evidence


SYSTEMS: Mapping[str, System] = {
    "cut in the middle": partial(recalled, FullContext, "middle"),
    "the beginning": partial(recalled, FullContext, "left"),
    "the end": partial(recalled, FullContext, "right"),
    "bm25": top_segments,
    "qrmem": partial(recalled, QRMeM, QRMeMSettings(segment_tokens=SEGMENT_TOKENS)),
}


def measure(samples: Sequence[Sample], n_others: int, tokens: int) -> dict[str, dict[str, list[float]]]:
    """For each system and arrangement the recall of each question's facts."""
    recalls: dict[str, dict[str, list[float]]] = {name: {} for name in SYSTEMS}
    for arrangement, text in arranged(samples, n_others):
        for name, system in SYSTEMS.items():
            recalls[name].setdefault(arrangement, []).append(recall_of(text.facts, system(text, tokens)))
    return recalls


def arranged(samples: Sequence[Sample], n_others: int) -> Iterator[tuple[str, Sample]]:
    """Every arrangement of every question, by its name."""
    for number, sample in enumerate(samples):
        for arrangement, order in arrangements(*gold_and_others(samples, number, n_others)).items():
            yield arrangement, as_one_text(sample, order)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory position", __doc__, "machine", "html")
    parser.add_argument("data", type=Path, metavar="FILE", help="questions with their supporting sentences")
    parser.add_argument("--form", default="hotpotqa", choices=("hotpotqa", "generic"), help="its form (hotpotqa)")
    parser.add_argument("--n", type=int, default=None, help="number of questions, from the beginning (all)")
    parser.add_argument("--n-others", type=int, default=40, help="paragraphs around those that answer (40)")
    parser.add_argument("--tokens", type=int, default=1000, help="budget of evidence (1000)")
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the texts and measure nothing")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    samples = [sample for sample in read_samples(options.form, options.data) if sample.facts][: options.n]
    if options.write:
        return _write(samples, options.n_others, options.write)
    if not samples:
        raise BadData(
            f"No question of {options.data} names the sentences that answer it. Give data with supporting facts."
        )
    recalls = measure(samples, options.n_others, options.tokens)
    names = list(next(iter(recalls.values())))
    means = {name: {key: interval({"": of[key]}) for key in names} for name, of in recalls.items()}
    text = markdown(
        ["shown", *names], [[name, *(with_interval(of[key]) for key in names)] for name, of in means.items()]
    )
    title = (
        f"Recall of supporting sentences by position: {len(samples)} questions of {options.data.name}, "
        f"up to {options.n_others} other paragraphs, {options.tokens} tokens shown, no model"
    )
    figures = {name: {key: round(of[key][1], 4) for key in names} for name, of in means.items()}
    return Report("memory position", text, {"what": title, "results": figures}, title)


def _write(samples: Sequence[Sample], n_others: int, folder: Path) -> int:
    """One file for each arrangement, in the form that the adapter `generic` reads."""
    folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, list[str]] = {}
    for arrangement, text in arranged(samples, n_others):
        records.setdefault(arrangement, []).append(json.dumps(generic_record(text), ensure_ascii=False) + "\n")
    for arrangement, lines in records.items():
        path = folder / f"{arrangement.replace(' ', '-')}.jsonl"
        path.write_text("".join(lines), encoding="utf-8")
        print(f"{len(lines)} questions in {path}.")
    return 0
