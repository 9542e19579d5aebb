"""`weft bench completion`: exact match, edit similarity, calibration and latency of every setting and model.

Owns the command and the run. Answers are made in `answering`, figures are defined in `figures`.

    weft bench completion                                      the workspace model, eight archives, all tasks
    weft bench completion --settings none bm25 weft --limit 20 --model transformers=DIRECTORY
    weft bench completion --trees DIRECTORY --settings weft    checkouts of other languages
    weft bench completion --graph-lines none line --model transformers=DIRECTORY --context 1024 --limit 50
    weft bench completion --ablation --tasks line --jobs 8 --html completion.html

An interrupted run continues when it is started again: rows are cached in the work folder until something that they
depend on changes. `--limit` takes tasks evenly from the repositories; tables show the number of tasks, which are the
same for all settings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from ...errors import UserError
from ...server.models.model_argument import MODEL_SYNTAX
from ..command import Report, command_parser, run_command, say
from ..models import ModelSpec, model_option, shown_name
from ..repoeval.checkouts import CheckoutFiles, checkouts, tasks_of
from ..repoeval.run import limited
from ..repoeval.task_languages import TASK_LANGUAGES
from ..repoeval.tasks import build_tasks
from ..rows import RowCache
from .answering import CompletionRow
from .argument_tasks import argument_tasks
from .graph_line_forms import FORMS
from .graph_line_run import measure_graph_lines
from .graph_line_tasks import HALVES
from .mid_line import mid_line_tasks
from .page import plots
from .report import KINDS, ModelResults, report, summary
from .settings import ABLATION, BASIC, SETTINGS
from .store import completion_cache
from .subset import write_subset
from .work import WorkItem, in_processes, in_this_process, on_ray

SAY_EVERY_S = 10.0
"""Time between two progress lines."""

_COMMON = ("work", "trees", "repos", "limit", "model", "context", "machine", "html", "write-results")


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"nargs": "+", "type": model_option(), "default": ["workspace"], "help": MODEL_SYNTAX}
    parser = command_parser("weft bench completion", __doc__, *_COMMON, model=model)
    parser.add_argument(
        "--tasks", nargs="+", choices=KINDS, default=list(KINDS), help="line, begun (mid-line), arguments, api"
    )
    parser.add_argument("--language", choices=TASK_LANGUAGES, help="of the tasks")
    parser.add_argument("--suffix", action="store_true", help="fill in the middle: also show the code after the target")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--ablation", action="store_true", help="also weft without each of its terms")
    parser.add_argument("--against", choices=SETTINGS, metavar="SETTING", help="baseline of the differences (bm25)")
    parser.add_argument("--against-model", metavar="MODEL", help="baseline model of the differences; default: itself")
    parser.add_argument(
        "--graph-lines", nargs="+", choices=FORMS, metavar="FORM", help=f"signature help in prompts: {', '.join(FORMS)}"
    )
    parser.add_argument("--half", choices=HALVES, default="reporting", help="the tasks of --graph-lines")
    parser.add_argument("--quantise", choices=("auto", "int8"), default="auto", help="weights of a transformers model")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="N", help="processes on this machine")
    where.add_argument("--ray", metavar="ADDRESS", help='a Ray cluster instead; "local" starts one here')
    where.add_argument("--cached", action="store_true", help="report cached rows only")
    parser.add_argument("--write-subset", type=Path, metavar="DIR", help="only write the rows of the committed subset")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if options.write_subset:
        write_subset(options.write_subset)
        return 0
    if options.graph_lines:
        return measure_graph_lines(options)
    _choose_settings(options)
    results = [_measured(options, ModelSpec(spelling, options.context, options.quantise)) for spelling in options.model]
    other = next((result for result in results if result.model.spelling == options.against_model), None)
    text = "\n\n".join(report(result, options.against, other) for result in results)
    figures = {"models": [summary(result, options.against, other) for result in results]}
    title = "Completions on RepoEval's tasks"
    pictures = plots(results) if options.html else ""
    return Report("completion", text, figures, title, pictures, command=_repeated(options))


def _choose_settings(options: argparse.Namespace) -> None:
    """Names of settings become settings. Raises UserError for options that do not go together."""
    names = options.settings or [setting.name for setting in BASIC]
    names += [setting.name for setting in ABLATION] if options.ablation else []
    options.settings = [SETTINGS[name] for name in dict.fromkeys(names)]
    if options.against is None:
        options.against = "bm25" if "bm25" in names else names[0]
    if options.against not in names:
        raise UserError(f"`--against {options.against}`: choose one of the settings {', '.join(names)}.")
    if options.against_model and options.against_model not in options.model:
        raise UserError(
            f"`--against-model {options.against_model}`: choose one of the models {' '.join(options.model)}."
        )


def _measured(options: argparse.Namespace, model: ModelSpec) -> ModelResults:
    executor = in_processes(options.jobs) if options.jobs > 1 else in_this_process
    executor = on_ray(options.ray) if options.ray else executor
    rows: list[CompletionRow] = []
    pieces: list[WorkItem] = []
    caches: dict[str, RowCache[CompletionRow]] = {}
    languages: dict[str, str] = {}
    for checkout in checkouts(options):
        repo, files = checkout.repo, CheckoutFiles.read(checkout)
        languages[repo] = checkout.language.name
        # Labels take minutes and programs that a machine may lack; only API tasks need them.
        has_labels = "api" in options.tasks
        drawn = tasks_of(checkout, files, options.work) if has_labels else build_tasks(files.sources, repo, calls=())
        drawn = limited(drawn, options.limit)
        tasks = [
            task for task in (*drawn, *mid_line_tasks(drawn), *argument_tasks(drawn)) if task.kind in options.tasks
        ]
        caches[repo] = completion_cache(options.work / "completion", repo, files, model, suffix=options.suffix)
        wanted = {(task.task_id, setting.name) for task in tasks for setting in options.settings}
        cached = [row for row in caches[repo].rows() if (row.task_id, row.setting) in wanted]
        rows += cached
        there = {(row.task_id, row.setting) for row in cached}
        for task in tasks:
            missing = tuple(setting for setting in options.settings if (task.task_id, setting.name) not in there)
            if missing and not options.cached:
                pieces.append(WorkItem(repo, checkout.tree.resolve(), task, missing, model, options.suffix))
        say(f"{repo}: {languages[repo]}, {len(files.sources)} files, {len(tasks)} tasks, {len(cached)} rows cached")
    printed_at_s = time.monotonic()
    for number, done in enumerate(executor(pieces), 1):
        caches[done[0].repo].add(done)
        rows += done
        if number == len(pieces) or time.monotonic() - printed_at_s > SAY_EVERY_S:
            printed_at_s = time.monotonic()
            say(f"{model.spelling}: {number} of {len(pieces)} tasks")
    return ModelResults(model, options.suffix, [setting.name for setting in options.settings], rows, languages)


def _repeated(options: argparse.Namespace) -> str:
    """The command without the folders and addresses of one machine."""
    settings = " ".join(setting.name for setting in options.settings)
    limit = "" if options.limit is None else f"--limit {options.limit} "
    asked = f"--model {' '.join(map(shown_name, options.model))} --context {options.context} "
    language = f"--language {options.language} " if options.language else ""
    return f"weft bench completion {asked}{limit}{language}--tasks {' '.join(options.tasks)} --settings {settings}"
