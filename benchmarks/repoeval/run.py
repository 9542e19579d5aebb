"""`weft bench retrieval`: retrieval metrics of every strategy on RepoEval's tasks.

Owns the command and its report. Definitions of tasks and metrics are in `tasks` and `metrics`.

`--strategies bm25 fragrel:alpha=0.1 fragrel:alpha=0.2 ...` is the sweep of FragRel's Table 5 for code.

Tasks are drawn from the languages of `task_languages`. `--trees` takes the language of most files of each folder,
`--language` names another one and, without `--trees`, chooses the pinned commits of that language.

The repository is indexed once. A query of a task holds the text before its cursor only, and each strategy must leave
out of the index the text behind the cursor. The time of a query is everything between the task and its fragments, on
one thread, without the first five queries of a repository.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ...errors import InvalidArgument, UserError
from ...retrieval import RetrievalOptions
from ...retrieval.retrieve import strategy_named
from ..bootstrap import bootstrap_interval, differences, mean, percentile
from ..command import Report, command_parser, run_command, say
from ..tables import bracketed, markdown, number, or_none
from .checkouts import CheckoutFiles, checkouts, resolutions, tasks_of
from .metrics import RetrievalScore, score_retrieval
from .peers import PEERS, MakeRanker, Windows
from .task_languages import TASK_LANGUAGES
from .tasks import Task, typed_to_called_name
from .weft_strategies import WEFT_STRATEGIES, weft_ranker

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
    parser.add_argument("--language", choices=TASK_LANGUAGES, help="of the tasks and, without --trees, the checkouts")
    parser.add_argument("--write-tasks", type=Path, metavar="DIR", help="only write the tasks as JSON lines")
    known = f"of {', '.join(STRATEGIES)}; Weft's own also with settings: fragrel:alpha=0.2"
    default = ["rank_bm25", "bm25s", "bm25", "weft"]
    parser.add_argument("--strategies", nargs="+", type=_spelling, default=default, metavar="NAME", help=known)
    parser.add_argument("--against", help="baseline of the differences; the first strategy by default")
    return run_command(parser, _measure, arguments)


def _spelling(text: str) -> str:
    """The name of a strategy, or one of Weft's with settings. Raises ArgumentTypeError."""
    if text not in STRATEGIES:
        try:
            strategy_named(text)
        except InvalidArgument as error:
            raise argparse.ArgumentTypeError(str(error)) from error
    return text


def ranker(spelling: str) -> MakeRanker:
    """The strategy that `--strategies` names."""
    return STRATEGIES.get(spelling) or weft_ranker(RetrievalOptions(strategy=spelling))


def report(tasks: Mapping[str, Sequence[Task]], results: Mapping[str, StrategyResults], against: str) -> str:
    """Markdown: one table of means with 95 % intervals of the difference to `against`, one per repository."""
    head = ["strategy", *(column.name for column in COLUMNS), "ms p50", "ms p95"]
    by_repository = list[list[str]]()
    for repo in tasks:
        for name, result in results.items():
            cells = [number(mean(column.values(tasks[repo], result.scores[repo]))) for column in COLUMNS]
            by_repository.append([repo, name, *cells, *_times([result.query_ms[repo]])])
    parts = [
        f"Mean over {len(tasks)} repositories; in brackets the 95 % interval of the difference to {against}.",
        markdown(head, _means(tasks, results, against)),
    ]
    languages = repositories_by_language(tasks)
    if len(languages) > 1:
        rows = [
            [language, *row]
            for language, repos in languages.items()
            for row in _means({repo: tasks[repo] for repo in repos}, results, against)
        ]
        parts += ["Per language: mean over its repositories.", markdown(["language", *head], rows)]
    parts += ["Per repository.", markdown(["repository", *head], by_repository)]
    return "\n\n".join(parts)


def repositories_by_language(tasks: Mapping[str, Sequence[Task]]) -> dict[str, list[str]]:
    """Repositories by the language of their tasks; one without tasks is left out."""
    found: dict[str, list[str]] = {}
    for repo, of_repo in tasks.items():
        if of_repo:
            found.setdefault(of_repo[0].language, []).append(repo)
    return found


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
        figures["languages"] = {
            language: {name: or_none(mean(_of(repos, tasks, values))) for name, values in means.items()}
            for language, repos in repositories_by_language(tasks).items()
        }
        figures["query_ms_p50"] = [round(statistics.median(times), 3) for times in result.query_ms.values()]
        figures["build_s"] = [round(seconds, 2) for seconds in result.build_s.values()]
        by_strategy[name] = figures
    return {
        "repositories": list(tasks),
        "n_tasks": [len(of_repo) for of_repo in tasks.values()],
        "strategies": by_strategy,
    }


def _measure(options: argparse.Namespace) -> Report | int:
    if options.write_tasks:
        return _write_tasks(options)
    against = options.against or options.strategies[0]
    if against not in options.strategies:
        raise UserError(f"`--against {against}`: choose one of the strategies {', '.join(options.strategies)}.")
    tasks: dict[str, list[Task]] = {}
    results = {name: StrategyResults() for name in options.strategies}
    by_resolution: dict[str, dict[str, int]] = {}
    for checkout in checkouts(options):
        repo, files = checkout.repo, CheckoutFiles.read(checkout)
        tasks[repo] = limited(tasks_of(checkout, files, options.work), options.limit)
        by_resolution[repo] = resolutions(tasks[repo])
        if options.typed is not None:
            typed = (typed_to_called_name(task, options.typed) for task in tasks[repo])
            tasks[repo] = [task for task in typed if task]
        say(f"{repo}: {checkout.language.name}, {len(files.sources)} files, {len(tasks[repo])} tasks")
        say(f"  labels of API tasks: {shares(by_resolution[repo])}")
        _run_repository(repo, files, tasks[repo], results)
    figures = summary(tasks, results) | {"resolutions": by_resolution}
    return Report("repoeval-retrieval", report(tasks, results, against), figures)


def _write_tasks(options: argparse.Namespace) -> int:
    """Write the tasks of each repository to `<repository>.jsonl`."""
    options.write_tasks.mkdir(parents=True, exist_ok=True)
    for checkout in checkouts(options):
        tasks = limited(tasks_of(checkout, CheckoutFiles.read(checkout), options.work), options.limit)
        lines = (json.dumps(asdict(task), ensure_ascii=False, sort_keys=True) for task in tasks)
        target = options.write_tasks / f"{checkout.repo}.jsonl"
        target.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8", newline="")
        say(f"{checkout.repo}: {checkout.language.name}, {len(tasks)} tasks; labels: {shares(resolutions(tasks))}")
    return 0


def shares(counts: Mapping[str, int]) -> str:
    """Counts as percentages of their sum: "import 75 %, method 25 %"."""
    total = sum(counts.values())
    return ", ".join(f"{name} {100 * count / total:.0f} %" for name, count in counts.items()) or "none"


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
    repo: str, files: CheckoutFiles, tasks: Sequence[Task], results: Mapping[str, StrategyResults]
) -> None:
    windows = Windows.cut(files)
    for name, result in results.items():
        begin = time.perf_counter()
        rank = ranker(name)(windows)
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


def _means(
    tasks: Mapping[str, Sequence[Task]], results: Mapping[str, StrategyResults], against: str
) -> list[list[str]]:
    """One row per strategy: the means over these repositories, with the interval of the difference to `against`."""
    rows = []
    for name, result in results.items():
        cells = []
        for column in COLUMNS:
            ours, theirs = (column.by_repository(tasks, of) for of in (result, results[against]))
            interval = bootstrap_interval(differences(ours, theirs))
            cells.append(number(mean(map(mean, ours.values()))) + (bracketed(interval) if name != against else ""))
        rows.append([name, *cells, *_times([result.query_ms[repo] for repo in tasks])])
    return rows


def _of(repos: Sequence[str], tasks: Mapping[str, Sequence[Task]], values: Sequence[float]) -> list[float]:
    return [value for repo, value in zip(tasks, values, strict=True) if repo in repos]


def _times(query_ms: Sequence[Sequence[float]]) -> list[str]:
    """Median and 95th percentile, each the mean over repositories."""
    return [f"{mean(percentile(times, share) for times in query_ms):.2f}" for share in (0.5, 0.95)]
