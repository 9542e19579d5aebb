"""`weft bench functions`: pass@1 and edit similarity of function bodies, with the repositories' own tests in a sandbox.

Owns the command and its report. Tasks are drawn in `tasks`, bodies are written in `answering`.

    weft bench functions --run-tests --python ENVIRONMENT/bin/python
    weft bench functions --run-tests --python … --model workspace transformers=DIRECTORY --context 2048 --limit 3
    weft bench functions --run-tests --python … --write-tasks DIR

Nothing runs without `--run-tests`. Tests run on pinned releases alone, which are unpacked anew, and in a sandbox
without network: bubblewrap, or Linux namespaces. The environment needs `benchmarks/functions/requirements.txt`; it is
read-only in the sandbox. Drawn tasks and rows are cached in the work folder.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ...errors import UserError
from ...server.models.model_argument import MODEL_SYNTAX
from ..bootstrap import Range, bootstrap_interval, differences, grouped, mean
from ..command import Report, command_parser, run_command, say
from ..models import ModelSpec, model_option, open_spec, shown_name
from ..rows import RowCache, code_digest
from ..tables import markdown, or_none, percent, signed, with_interval
from .answering import SETTINGS, Answering, FunctionRow
from .repositories import Repository, chosen, unpacked
from .sandbox import Sandbox, find_sandbox
from .tasks import Drawn, FunctionTask, code_of, draw_functions, tasks_of, write_tasks

N_TASKS = 25
"""Tasks of a repository."""

_DRAWING = tuple(f"benchmarks/functions/{name}.py" for name in ("bodies", "inside_tests", "tasks", "testing"))
_ANSWERING = (
    *("codegraph", "retrieval", "llm", "server/completion", "server/workspace/analysis.py"),
    *("server/config/settings.py", "benchmarks/functions/answering.py", "benchmarks/functions/bodies.py"),
    *("benchmarks/completion/answering.py", "benchmarks/similarity.py", "benchmarks/repoeval/metrics.py"),
)


@dataclass(frozen=True, slots=True)
class DrawnRow:
    """A drawn function in the cache."""

    function: Mapping[str, Any]
    tests: Sequence[str]


@dataclass(frozen=True, slots=True)
class ModelRows:
    """The rows of one model, by setting; every setting has the same tasks in the same order."""

    model: ModelSpec
    rows: Mapping[str, Sequence[FunctionRow]]


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"nargs": "+", "type": model_option(), "default": ["workspace"], "help": MODEL_SYNTAX}
    common = ("work", "repos", "limit", "model", "context", "machine", "write-results")
    parser = command_parser("weft bench functions", __doc__, *common, model=model)
    parser.add_argument("--run-tests", action="store_true", help="run tests of the pinned releases, in a sandbox")
    parser.add_argument(
        "--python",
        type=Path,
        default=Path(sys.executable),
        metavar="PATH",
        help="interpreter with pytest for the tests",
    )
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--tasks", type=int, default=N_TASKS, metavar="N", help=f"of a repository ({N_TASKS})")
    parser.add_argument("--new-tokens", type=int, default=500, metavar="N", help="the longest text of a model (500)")
    parser.add_argument("--write-tasks", type=Path, metavar="DIR", help="only write the tasks as JSON lines")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if not options.run_tests:
        raise UserError(
            "This benchmark runs the tests of pinned releases, in a sandbox without network. Nothing was run. "
            "Add --run-tests to allow it."
        )
    repositories = chosen(options.repos)
    sandbox = find_sandbox(options.python)
    say(f"The sandbox ({sandbox.method}) holds: no network, no files of this user, nothing of its environment.")
    specs = [ModelSpec(spelling, options.context) for spelling in options.model]
    rows: dict[ModelSpec, list[FunctionRow]] = {spec: [] for spec in specs}
    n_tasks: dict[str, int] = {}
    for repository in repositories:
        with unpacked(repository, options.work) as tree:
            sources = code_of(repository, tree)
            drawn = _drawn(options, sandbox, repository, tree)
            tasks = list(tasks_of(repository, sources, drawn))
            say(f"{repository.name}: {len(tasks)} tasks")
            if options.write_tasks:
                say(str(write_tasks(options.write_tasks, repository, tasks)))
                continue
            tasks = _some(tasks, options.limit)
            n_tasks[repository.name] = len(tasks)
            answering = Answering(sandbox, repository, tree, sources, options.new_tokens)
            for spec in specs:
                rows[spec] += _answered(options, answering, repository, tasks, spec)
    if options.write_tasks:
        return 0
    results = [ModelRows(spec, _by_setting(rows[spec], options.settings)) for spec in specs]
    figures = {
        "sandbox": sandbox.method,
        "tasks": n_tasks,
        "releases": [each.archive.requirement for each in repositories],
        "models": [summary(each) for each in results],
    }
    text = "\n\n".join([_tasks_sentence(n_tasks), *map(report, results)])
    return Report(
        "functions", text, figures, "Function bodies, by the repositories' own tests", command=_repeated(options)
    )


def _drawn(options: argparse.Namespace, sandbox: Sandbox, repository: Repository, tree: Path) -> list[Drawn]:
    """The drawn functions of a repository, from the cache when nothing that they depend on has changed."""
    depends_on = (code_digest(_DRAWING), repository, options.tasks, sys.version_info[:2])
    cache = RowCache(options.work / "functions", f"{repository.name}-tasks", depends_on, DrawnRow)
    drawn = [Drawn.of_record(row.function, row.tests) for row in cache.rows()]
    if not drawn:
        drawn = draw_functions(sandbox, repository, tree, code_of(repository, tree), options.tasks)
        cache.add(DrawnRow(asdict(each.function), each.tests) for each in drawn)
    return drawn


def _answered(
    options: argparse.Namespace,
    answering: Answering,
    repository: Repository,
    tasks: Sequence[FunctionTask],
    spec: ModelSpec,
) -> Iterator[FunctionRow]:
    depends_on = (code_digest(_DRAWING), code_digest(_ANSWERING), repository, options.tasks, options.new_tokens, spec)
    cache = RowCache(options.work / "functions", f"{repository.name}-rows", depends_on, FunctionRow)
    there = {(row.task_id, row.setting): row for row in cache.rows()}
    for each in tasks:
        for name in options.settings:
            row = there.get((each.task.task_id, name))
            if row is None:
                row = answering.answer(each, SETTINGS[name], open_spec(spec))
                cache.add([row])
            yield row
    say(f"  {shown_name(spec.spelling)}: done")


def _some(tasks: list[FunctionTask], limit: int | None) -> list[FunctionTask]:
    """At most `limit` tasks, evenly from their order."""
    return tasks if limit is None else tasks[:: max(1, math.ceil(len(tasks) / max(limit, 1)))]


def _by_setting(rows: Sequence[FunctionRow], settings: Sequence[str]) -> dict[str, list[FunctionRow]]:
    return {name: [row for row in rows if row.setting == name] for name in settings}


def passed(rows: Sequence[FunctionRow]) -> dict[str, list[float]]:
    """Per repository, whether each body passed."""
    return grouped(rows, lambda row: row.repo, lambda row: row.passed)


def similarity(rows: Sequence[FunctionRow]) -> dict[str, list[float]]:
    """Per repository, the edit similarity of each body."""
    return grouped(rows, lambda row: row.repo, lambda row: row.edit_similarity)


def over_tasks(values: Mapping[str, Sequence[float]]) -> Range:
    """The mean over all tasks with its interval, tasks drawn within their repositories."""
    low, high = bootstrap_interval(values, equal_strata=False)
    return low, mean(value for of in values.values() for value in of), high


def report(results: ModelRows) -> str:
    """Markdown: a table of settings, and one of repositories."""
    first = next(iter(results.rows))
    against = results.rows[first]
    table = []
    for name, rows in results.rows.items():
        change = signed(over_tasks(differences(passed(rows), passed(against)))) if name != first else "-"
        cells = [with_interval(over_tasks(passed(rows))), change, with_interval(over_tasks(similarity(rows)))]
        table.append(
            [name, *cells, f"{mean(row.ms for row in rows):.0f}", f"{mean(row.new_tokens for row in rows):.0f}"]
        )
    head = ["setting", "pass@1 %", f"difference to {first}", "ES %", "ms", "new tokens"]
    by_repository = [
        [repo, str(len(of)), *(percent(mean(passed(rows)[repo])) for rows in results.rows.values())]
        for repo, of in passed(against).items()
    ]
    return "\n\n".join(
        [
            f"## {shown_name(results.model.spelling)}",
            markdown(head, table),
            *_when_none_passed(results),
            "pass@1 by repository.",
            markdown(["repository", "tasks", *results.rows], by_repository),
        ]
    )


def _when_none_passed(results: ModelRows) -> Iterator[str]:
    """A sentence where no body passes: a bootstrap interval of zeros says nothing."""
    n_tasks = max(map(len, results.rows.values()))
    if n_tasks and not any(row.passed for rows in results.rows.values() for row in rows):
        yield (
            f"No body passes. With {n_tasks} tasks the true share is below {300 / n_tasks:.1f} % with a confidence of "
            "95 % (rule of three)."
        )


def summary(results: ModelRows) -> dict[str, object]:
    """The same figures for machines, in percent."""
    found: dict[str, object] = {"model": shown_name(results.model.spelling), "context": results.model.context_tokens}
    for name, rows in results.rows.items():
        found[name] = {
            "n": len(rows),
            "pass_at_1": _percents(over_tasks(passed(rows))),
            "edit_similarity": _percents(over_tasks(similarity(rows))),
            "ms": or_none(mean(row.ms for row in rows)),
            "repositories": {repo: or_none(100 * mean(of)) for repo, of in passed(rows).items()},
        }
    return found


def _percents(values: Range) -> list[float | None]:
    return [or_none(100 * value) for value in values]


def _tasks_sentence(n_tasks: Mapping[str, int]) -> str:
    return (
        f"{sum(n_tasks.values())} functions of {len(n_tasks)} pinned releases. pass@1: the share of bodies with which "
        "all tests of the task pass; brackets: 95 % bootstrap intervals. ES: edit similarity to the true body."
    )


def _repeated(options: argparse.Namespace) -> str:
    """The command without the folders of one machine."""
    limit = "" if options.limit is None else f" --limit {options.limit}"
    repos = f" --repos {' '.join(options.repos)}" if options.repos else ""
    models = " ".join(map(shown_name, options.model))
    return (
        f"weft bench functions --run-tests --python ENVIRONMENT/bin/python --model {models} --context {options.context}"
        f"{repos} --tasks {options.tasks} --new-tokens {options.new_tokens}{limit}"
        f" --settings {' '.join(options.settings)}"
    )
