"""`weft bench memory hops`: multi-hop recall. Are both paragraphs found when one leads to the other?

    weft bench memory hops HOTPOTQA.json
    weft bench memory hops HOTPOTQA.json --embeddings auto --depths 2 5

Each paragraph is a document below its title. They are searched twice: those of one question alone ("own"), and those
of all questions in one memory ("pooled"). The figures are the share of the paragraphs found, and of the questions that
found all. There is no model: the graph of QRMeM consists of names and sentences.

Owns the measurement. Strategies are in `memory/`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...memory import Budget, Item, Question, StrategyContext
from ...memory.qrmem import AS_PRINTED, QRMeM, QRMeMSettings
from ...memory.scoring import Indexer, best, indexer
from ...memory.splitters import by_tokens
from ..bootstrap import difference, grouped, interval, mean
from ..command import Report, command_parser, run_command
from ..tables import markdown, percent, signed, with_interval
from .adapters import read_samples
from .systems import open_remembering
from .values import Sample

DEPTHS = (2, 3, 5)

Search = Callable[[Question, int], Sequence[str]]
"""The sources of the n best segments for a question."""

System = Callable[[Sequence[Item]], Search]

GRAPHS = {
    "qrmem": QRMeMSettings(),
    "qrmem, as printed": AS_PRINTED,
    "qrmem, no navigation": QRMeMSettings(navigate=False),
    "qrmem, as printed, no navigation": replace(AS_PRINTED, navigate=False),
    "qrmem, expansion": QRMeMSettings(navigation="expansion"),
}
# What each setting adds: the defaults with one value as printed. The other settings change nothing without a model.
ABLATIONS = {
    f"qrmem, {name} as printed": replace(QRMeMSettings(), **{name: getattr(AS_PRINTED, name)})
    for name in (
        "at_headings",
        "first_share",
        "segments_per_update",
        "common_penalty",
        "opening_bonus",
        "fills_window",
        "only_new_segments",
    )
}
# Parts of the paper's algorithm. Without a model, reflection and generated questions change nothing.
AS_PRINTED_PARTS = {
    **{f"qrmem, as printed, {n} of 5 updates": replace(AS_PRINTED, max_updates=n) for n in (1, 2, 3, 4)},
    "qrmem, as printed, expansion": replace(AS_PRINTED, navigation="expansion"),
}
OVER_HYBRID = "qrmem over hybrid"
SCORES = ("bm25", "dense", "hybrid")


@dataclass(frozen=True, slots=True)
class HopRecall:
    """The share of its paragraphs that one question found."""

    system: str
    memory: str  # "own" or "pooled"
    depth: int
    recall: float


def measure(samples: Sequence[Sample], systems: dict[str, System], depths: Sequence[int]) -> Iterator[HopRecall]:
    """A row for each question, system, memory and depth. Raises ModelError."""
    pooled = list({item.source: _titled(item) for sample in samples for item in sample.items}.values())
    for name, system in systems.items():
        search_all = system(pooled)
        for sample in samples:
            wanted = {fact.source for fact in sample.facts}
            for memory, search in (("own", system([_titled(item) for item in sample.items])), ("pooled", search_all)):
                for depth in depths:
                    found = wanted.intersection(search(sample.question, depth))
                    yield HopRecall(name, memory, depth, len(found) / len(wanted))


def by_scores(scorer: Indexer, items: Sequence[Item]) -> Search:
    context = StrategyContext()
    split = by_tokens(QRMeMSettings().segment_tokens, context.count_tokens, hard=True)
    index = scorer([segment for item in items for segment in split(item)])
    return lambda question, n: [segment.source for segment, _ in best(index, question.text, n)]


def by_graph(context: StrategyContext, settings: QRMeMSettings, scorer: Indexer, items: Sequence[Item]) -> Search:
    memory = QRMeM(context, settings, scorer)
    memory.remember(items)
    return lambda question, n: [each.segment.source for each in memory.recall(question, Budget(n=n)).evidence]


def table(rows: Sequence[HopRecall]) -> str:
    """A line for each system and memory: at each depth the mean with its interval, and how many found all.

    At the last depth also the paired difference to the first system.
    """
    depths = list(dict.fromkeys(row.depth for row in rows))
    of = grouped(rows, lambda row: (row.memory, row.system, row.depth), lambda row: row.recall)
    first, last = rows[0].system, depths[-1]
    lines = []
    for memory, system in dict.fromkeys((row.memory, row.system) for row in sorted(rows, key=lambda row: row.memory)):
        cells = [memory, system]
        for depth in depths:
            recalls = of[memory, system, depth]
            cells += [with_interval(interval({"": recalls})), percent(recalls.count(1.0) / len(recalls))]
        apart = difference({"": of[memory, system, last]}, {"": of[memory, first, last]})
        lines.append([*cells, "" if system == first else signed(apart)])
    head = ["memory", "system", *(cell for n in depths for cell in (f"best {n}", f"all in {n}"))]
    return markdown([*head, f"difference, {last}"], lines)


def main(arguments: Sequence[str] | None = None) -> int:
    embeddings = {"default": "hashing", "help": "hashing, auto or bundled (hashing)"}
    parser = command_parser("weft bench memory hops", __doc__, "embeddings", "machine", "html", embeddings=embeddings)
    parser.add_argument("data", type=Path, metavar="FILE", help="questions of HotpotQA with their paragraphs")
    parser.add_argument("--n", type=int, default=None, help="number of questions, from the beginning (all)")
    parser.add_argument("--depths", type=int, nargs="+", default=list(DEPTHS), help="numbers of segments (2 3 5)")
    others = (*ABLATIONS, *AS_PRINTED_PARTS)
    known = f"of {', '.join((*SCORES, *GRAPHS, OVER_HYBRID))} (all of these), or {', '.join(others)}"
    parser.add_argument(
        "--systems", nargs="+", choices=(*SCORES, *GRAPHS, OVER_HYBRID, *others), metavar="NAME", help=known
    )
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    samples = [sample for sample in read_samples("hotpotqa", options.data) if sample.facts][: options.n]
    embedder, why = open_remembering(options.embeddings)
    context = StrategyContext(embedder=embedder)
    scorers = {name: indexer(name, context) for name in SCORES}
    systems: dict[str, System] = {name: partial(by_scores, scorer) for name, scorer in scorers.items()}
    systems |= {name: partial(by_graph, context, settings, scorers["bm25"]) for name, settings in GRAPHS.items()}
    systems[OVER_HYBRID] = partial(by_graph, context, QRMeMSettings(), scorers["hybrid"])
    ablations: dict[str, System] = {
        name: partial(by_graph, context, settings, scorers["bm25"])
        for name, settings in (ABLATIONS | AS_PRINTED_PARTS).items()
    }
    wanted = options.systems or list(systems)
    systems = {name: system for name, system in {**systems, **ablations}.items() if name in wanted}
    rows = list(measure(samples, systems, options.depths))
    title = f"Both paragraphs of {len(samples)} questions of {options.data.name}; {why}; no model"
    recalls: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        recalls.setdefault(f"{row.memory} {row.system}", {}).setdefault(row.depth, []).append(row.recall)
    figures = {key: {depth: round(mean(of), 4) for depth, of in by.items()} for key, by in recalls.items()}
    return Report("memory hops", table(rows), {"what": title, "results": figures}, title)


def _titled(item: Item) -> Item:
    return Item(item.source, f"# {item.source}\n\n{item.text}")
