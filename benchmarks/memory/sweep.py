"""`weft bench memory sweep`: FragRel under many settings, as the paper's Tables 4 and 5 show it.

Owns the command, the tables and what is measured: the share of the supporting facts in the evidence, or F1 with a
model. The settings and the loop are `weft.memory.fragrel.sweep`'s; the plots are in `sweep_page`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path

from ...llm.choose import BACKENDS, ModelConfig, open_model
from ...memory import Accountant, Budget, Kit
from ...memory.embedding import KINDS as EMBEDDERS
from ...memory.embedding import EmbedderSettings, open_embedder
from ...memory.fragrel.strategy import FragRel
from ...memory.fragrel.sweep import KINDS, TABLE_5_VALUES, Row, Setting, grid, sweep, table_4, table_5
from ...memory.scoring import WAYS, indexer
from ..machine import processor
from .adapters import ADAPTERS, BadData, read_samples
from .generators.stories import LENGTHS, stories
from .generators.story_tasks import TASKS
from .metrics import score
from .sweep_page import html_page
from .systems import RememberingEmbedder
from .values import Sample, recall_of

Measure = Callable[[FragRel, Sample, Budget], float]


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    settings = _settings(options)
    embedder, why = open_embedder(EmbedderSettings(options.embeddings))
    accountant, measure, metric = None, evidence_recall, "recall of supporting facts"
    if options.model:
        backend, place = options.model
        model = open_model(ModelConfig(backend, **{"path" if Path(place).exists() else "url": place}))
        if model is None:
            print(f"{backend} is no model that answers. Name one of {', '.join(BACKENDS)}.")
            return 2
        accountant, measure, metric = Accountant(model), answer_f1, f"F1 of {model.info.name}"
    try:
        samples = _samples(options)
    except BadData as error:
        print(error)
        return 2
    kit = Kit(accountant, RememberingEmbedder(embedder))
    rows = sweep(settings, samples, measure, kit, indexer(options.score, kit))
    title = f"{metric}, {len(samples)} questions of {_data_name(options)}, {options.score}; {why}"
    print(f"{title}\n\n{tables(rows)}")
    if accountant is not None:
        print(f"\n{accountant.ledger.describe()}")
    if options.html:
        options.html.write_text(html_page(title, rows), encoding="utf-8")
    print(json.dumps({"benchmark": "memory sweep", "machine": processor(), "what": title, "rows": _plain(rows)}))
    return 0


def evidence_recall(strategy: FragRel, sample: Sample, budget: Budget) -> float:
    """The share of the facts in the evidence, in percent."""
    return 100 * recall_of(sample.facts, strategy.recall(sample.question, budget).evidence)


def answer_f1(strategy: FragRel, sample: Sample, budget: Budget) -> float:
    """The sample's own metric of the answer, in percent: F1 for stories."""
    figures = score(sample, strategy.answer(sample.question, budget).text)
    return 100 * next(iter(figures.values()))


def tables(rows: Sequence[Row]) -> str:
    """Markdown: Table 4 where budgets or relations differ, Table 5 where alpha or w_rel do."""
    parts = [_table_4(rows)] if len({row.setting.kind for row in rows}) > 1 or len(_budgets(rows)) > 1 else []
    parts += [
        table for size in _sizes(rows) for table in (_table_5(rows, *size, "alpha"), _table_5(rows, *size, "w_rel"))
    ]
    return "\n\n".join(filter(None, parts))


def _table_4(rows: Sequence[Row]) -> str:
    """A row a budget, a column for each size of segments and relation; the first setting of a kind counts."""
    cells: dict[tuple[int, int, str], float] = {}
    for row in rows:
        setting = row.setting
        cells.setdefault((setting.budget_words, setting.segment_words, setting.kind), row.mean)
    columns = list(dict.fromkeys((size, kind) for _, size, kind in cells))
    lines = [["words", *(f"C{size} {kind}" for size, kind in columns)]]
    for budget in _budgets(rows):
        lines.append([f"{budget:,}", *(_cell(cells.get((budget, *column))) for column in columns)])
    return _markdown(lines)


def _table_5(rows: Sequence[Row], budget: int, size: int, swept: str) -> str:
    """One line for each value of the other parameter; empty when nothing is swept."""
    mine = [row for row in rows if (row.setting.budget_words, row.setting.segment_words) == (budget, size)]
    context = [row for row in mine if row.setting.kind == "context"]
    other = "w_rel" if swept == "alpha" else "alpha"
    values = sorted({getattr(row.setting, swept) for row in context})
    lines = [[f"{budget:,} words, C{size}", "none", *(f"{swept} {value:g}" for value in values)]]
    plain = next((row.mean for row in mine if row.setting.kind == "none"), None)
    for fixed in sorted({getattr(row.setting, other) for row in context}):
        found = {getattr(row.setting, swept): row.mean for row in context if getattr(row.setting, other) == fixed}
        if len(found) > 2:
            lines.append([f"{other} {fixed:g}", _cell(plain), *(_cell(found.get(value)) for value in values)])
    return _markdown(lines) if len(lines) > 1 else ""


def _markdown(lines: Sequence[Sequence[str]]) -> str:
    head, *body = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([head, f"|{'|'.join(['---', *['---:'] * (len(lines[0]) - 1)])}|", *body])


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _budgets(rows: Sequence[Row]) -> list[int]:
    return sorted({row.setting.budget_words for row in rows})


def _sizes(rows: Sequence[Row]) -> list[tuple[int, int]]:
    return list(dict.fromkeys((row.setting.budget_words, row.setting.segment_words) for row in rows))


def _plain(rows: Sequence[Row]) -> list[dict[str, object]]:
    return [
        {
            "relation": row.setting.kind,
            "segment_words": row.setting.segment_words,
            "budget_words": row.setting.budget_words,
            "w_rel": row.setting.w_rel,
            "alpha": row.setting.alpha,
            "mean": round(row.mean, 2),
            "n": len(row.values),
        }
        for row in rows
    ]


def _settings(options: argparse.Namespace) -> list[Setting]:
    if options.alphas or options.w_rels:
        swept = grid(options.alphas or [0.5], options.w_rels or [0.3], options.sizes, options.budgets)
        plain = [Setting("none", size, budget) for size in options.sizes for budget in options.budgets]
        return [*plain, *swept]
    if options.table == "5":
        return [
            setting
            for budget in options.budgets
            for size in options.sizes
            for setting in table_5(budget, size, TABLE_5_VALUES)
        ]
    return table_4(options.sizes, options.budgets, KINDS)


def _samples(options: argparse.Namespace) -> list[Sample]:
    if options.data:
        form, path = options.data
        if form not in ADAPTERS:
            raise BadData(f"no form of data is called {form!r}; there are {', '.join(ADAPTERS)}.")
        return list(islice(read_samples(form, Path(path)), options.limit))
    return list(stories(options.task, options.length, options.limit, options.seed))


def _data_name(options: argparse.Namespace) -> str:
    if options.data:
        return f"{options.data[0]} ({Path(options.data[1]).name})"
    return f"synthetic stories, {options.task} at {options.length}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="weft bench memory sweep", description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument(
        "--data",
        nargs=2,
        metavar=("FORM", "FILE"),
        help=f"a data set: {', '.join(ADAPTERS)}; default: synthetic stories",
    )
    parser.add_argument("--task", choices=TASKS, default="qa2", help="of the synthetic stories")
    parser.add_argument("--length", choices=LENGTHS, default="32k", help="of the synthetic stories, in tokens")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=int, default=50, help="questions, at most")
    parser.add_argument("--table", choices=("4", "5"), default="4", help="which of the paper's tables to draw")
    parser.add_argument("--alphas", type=float, nargs="+", help="instead of a table: every combination with --w-rels")
    parser.add_argument("--w-rels", type=float, nargs="+")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500], help="words of a segment")
    parser.add_argument("--budgets", type=int, nargs="+", default=[1000, 2000, 4000, 8000], help="words of evidence")
    parser.add_argument("--score", choices=WAYS, default="bm25", help="the independent score")
    parser.add_argument("--embeddings", choices=EMBEDDERS, default="auto", help="for dense scores and relation A")
    parser.add_argument(
        "--model",
        nargs=2,
        metavar=("BACKEND", "PLACE"),
        help="measure its answers instead: a backend, a path or an URL",
    )
    parser.add_argument("--html", type=Path, help="also write a page with plots")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
