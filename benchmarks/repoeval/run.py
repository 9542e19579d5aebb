"""`weft bench retrieval`: retrieval metrics of every strategy on RepoEval's tasks.

Owns the command and its report. Definitions of tasks and metrics are in `tasks` and `metrics`.

The repository is indexed once. A query of a task holds the text before its cursor only, and each strategy must leave
out of the index the text behind the cursor. The time of a query is everything between the task and its fragments, on
one thread, without the first five queries of a repository.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import UserError
from ..bootstrap import bootstrap_interval, differences, mean, percentile
from ..command import Report, command_parser, run_command, say
from ..tables import bracketed, markdown, number, or_none
from .archives import ARCHIVES, PINNED, ArchiveError, checkout
from .metrics import RetrievalScore, score_retrieval
from .peers import PEERS, MakeRanker, Windows
from .sources import SourceFile, read_sources
from .tasks import Task, build_tasks, typed_to_called_name
from .weft_strategies import WEFT_STRATEGIES

N_WARM_UP = 5

STRATEGIES: Mapping[str, MakeRanker] = {**PEERS, **WEFT_STRATEGIES}


@dataclass(frozen=True, slots=True)
class Column:
    """One figure of the report: a mean over the tasks of a kind, in percent."""

    name: str
    kind: str
    value: Callable[[RetrievalScore], float]
    unique_only: bool = False

    def values(self, tasks: Sequence[Task], scores: Sequence[RetrievalScore]) -> list[float]:
        """One value per task, in percent; NaN where the column does not apply."""
        return [
            100 * self.value(score) if self._asks(task) else math.nan for task, score in zip(tasks, scores, strict=True)
        ]

    def by_repository(self, tasks: Mapping[str, Sequence[Task]], results: StrategyResults) -> dict[str, list[float]]:
        return {repo: self.values(tasks[repo], results.scores[repo]) for repo in tasks}

    def _asks(self, task: Task) -> bool:
        return task.kind == self.kind and (task.unique_in_repo or not self.unique_only)


COLUMNS = (
    Column("line id", "line", lambda score: score.identifiers),
    Column("line ES", "line", lambda score: score.similarity),
    Column("line ES unique", "line", lambda score: score.similarity, unique_only=True),
    Column("line exact", "line", lambda score: score.exact),
    Column("API id", "api", lambda score: score.identifiers),
    Column("API ES", "api", lambda score: score.similarity),
    Column("API def", "api", lambda score: score.definition),
)


@dataclass(slots=True)
class StrategyResults:
    """Scores and times of one strategy, by repository."""

    scores: dict[str, list[RetrievalScore]] = field(default_factory=dict)
    query_ms: dict[str, list[float]] = field(default_factory=dict)
    build_s: dict[str, float] = field(default_factory=dict)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench retrieval", __doc__, "work", "trees", "repos", "limit", "machine")
    parser.add_argument(
        "--typed", type=int, metavar="N", help="API tasks alone, typed up to the called name and N letters of it"
    )
    parser.add_argument("--strategies", nargs="+", choices=STRATEGIES, default=["rank_bm25", "bm25s", "bm25", "weft"])
    parser.add_argument("--against", help="baseline of the differences; the first strategy by default")
    return run_command(parser, _measure, arguments)


def report(tasks: Mapping[str, Sequence[Task]], results: Mapping[str, StrategyResults], against: str) -> str:
    """Markdown: one table of means with 95 % intervals of the difference to `against`, one per repository."""
    head = ["strategy", *(column.name for column in COLUMNS), "ms p50", "ms p95"]
    means, by_repository = list[list[str]](), list[list[str]]()
    for name, result in results.items():
        cells = []
        for column in COLUMNS:
            ours, theirs = (column.by_repository(tasks, of) for of in (result, results[against]))
            interval = bootstrap_interval(differences(ours, theirs))
            cells.append(number(mean(map(mean, ours.values()))) + (bracketed(interval) if name != against else ""))
        means.append([name, *cells, *_times(list(result.query_ms.values()))])
    for repo in tasks:
        for name, result in results.items():
            cells = [number(mean(column.values(tasks[repo], result.scores[repo]))) for column in COLUMNS]
            by_repository.append([repo, name, *cells, *_times([result.query_ms[repo]])])
    return (
        f"Mean over {len(tasks)} repositories; in brackets the 95 % interval of the difference to {against}.\n\n"
        f"{markdown(head, means)}\n\nPer repository.\n\n{markdown(['repository', *head], by_repository)}"
    )


def summary(tasks: Mapping[str, Sequence[Task]], results: Mapping[str, StrategyResults]) -> dict[str, object]:
    """The same figures for machines."""
    by_strategy = {}
    for name, result in results.items():
        means = {
            column.name: [mean(values) for values in column.by_repository(tasks, result).values()] for column in COLUMNS
        }
        # A repository without a value has null.
        figures: dict[str, object] = {name: [or_none(value) for value in values] for name, values in means.items()}
        figures["mean"] = {name: or_none(mean(values)) for name, values in means.items()}
        figures["query_ms_p50"] = [round(statistics.median(times), 3) for times in result.query_ms.values()]
        figures["build_s"] = [round(seconds, 2) for seconds in result.build_s.values()]
        by_strategy[name] = figures
    return {
        "repositories": list(tasks),
        "n_tasks": [len(of_repo) for of_repo in tasks.values()],
        "strategies": by_strategy,
    }


def _measure(options: argparse.Namespace) -> Report:
    against = options.against or options.strategies[0]
    if against not in options.strategies:
        raise UserError(f"`--against {against}`: choose one of the strategies {', '.join(options.strategies)}.")
    tasks: dict[str, list[Task]] = {}
    results = {name: StrategyResults() for name in options.strategies}
    for repo, tree in trees(options):
        sources = read_sources(tree)
        tasks[repo] = limited(build_tasks(sources, repo), options.limit)
        if options.typed is not None:
            typed = (typed_to_called_name(task, options.typed) for task in tasks[repo])
            tasks[repo] = [task for task in typed if task]
        say(f"{repo}: {len(sources)} files, {len(tasks[repo])} tasks")
        _run_repository(repo, sources, tasks[repo], results)
    return Report("repoeval-retrieval", report(tasks, results, against), summary(tasks, results))


def trees(options: argparse.Namespace) -> Iterable[tuple[str, Path]]:
    """Name and checkout of each repository that `trees`, `work` and `repos` of the options ask for.

    Raises ArchiveError.
    """
    if options.trees:
        found = {folder.name: folder for folder in sorted(options.trees.iterdir()) if folder.is_dir()}
    else:
        found = {archive.repo: None for archive in ARCHIVES}
    wanted = [repo for repo in found if not options.repos or any(part in repo for part in options.repos)]
    if not wanted:
        raise ArchiveError(f"No repository name contains any of {options.repos}. Choose one of {', '.join(found)}.")
    for repo in wanted:
        yield repo, found[repo] or checkout(PINNED[repo], options.work)


def limited(tasks: list[Task], limit: int | None) -> list[Task]:
    """At most `limit` of each kind, evenly from the order of the tasks."""
    if limit is None:
        return tasks
    some = []
    for kind in ("line", "api"):
        of_kind = [task for task in tasks if task.kind == kind]
        step = max(1, math.ceil(len(of_kind) / max(limit, 1)))
        some += of_kind[::step]
    return some


def _run_repository(
    repo: str, sources: Mapping[str, SourceFile], tasks: Sequence[Task], results: Mapping[str, StrategyResults]
) -> None:
    windows = Windows.cut(sources)
    for name, result in results.items():
        begin = time.perf_counter()
        rank = STRATEGIES[name](windows)
        result.build_s[repo] = time.perf_counter() - begin
        for task in tasks[:N_WARM_UP]:
            rank(task)
        result.scores[repo], result.query_ms[repo] = [], []
        for task in tasks:
            begin = time.perf_counter()
            fragments = rank(task)
            result.query_ms[repo].append(1000 * (time.perf_counter() - begin))
            result.scores[repo].append(score_retrieval(task, fragments))
        say(f"  {name}: {sum(result.query_ms[repo]) / 1000:.1f} s")


def _times(query_ms: Sequence[Sequence[float]]) -> list[str]:
    """Median and 95th percentile, each the mean over repositories."""
    return [f"{mean(percentile(times, share) for times in query_ms):.2f}" for share in (0.5, 0.95)]
