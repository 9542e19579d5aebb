"""`weft bench completion`: exact match, edit similarity, calibration and latency of every setting and model.

Owns the command and the course of a run. What an answer is, is in `answering`; what figures mean, in `figures`.

    weft bench completion                                      the workspace model, eight archives, all tasks
    weft bench completion --settings none bm25 weft --limit 20 --model transformers=DIRECTORY
    weft bench completion --ablation --tasks line --jobs 8 --html completion.html

A run that was interrupted goes on where it was when it is started again: rows are kept in the work folder until
something that they depend on changes. `--limit` takes tasks from all over the repositories; tables say how many tasks
they stand on, and hold the same tasks for all settings.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from ...errors import UserError
from ...server.models.named import SPELLINGS
from ..command import Report, command_parser, run_command, say
from ..models import ModelSpec, model_option, shown_name
from ..repoeval.run import limited, trees
from ..repoeval.sources import read_sources
from ..repoeval.tasks import build_tasks
from .answering import CompletionRow
from .fit import FITTED_KINDS, fit_confidence
from .mid_line import mid_line_tasks
from .page import plots
from .report import KINDS, Results, report, summary
from .settings import ABLATION, BASIC, SETTINGS
from .store import Store
from .subset import write_subset
from .work import Executor, Work, here, in_processes, on_ray

SAY_EVERY_S = 10.0
"""How often a run says how far it is."""

_COMMON = ("work", "trees", "repos", "limit", "model", "context", "machine", "html", "write-results")


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"nargs": "+", "type": model_option(), "default": ["workspace"], "help": SPELLINGS}
    parser = command_parser("weft bench completion", __doc__, *_COMMON, model=model)
    parser.add_argument("--tasks", nargs="+", choices=KINDS, default=list(KINDS), help="line, begun (mid-line), api")
    parser.add_argument("--suffix", action="store_true", help="show the code after the target too: fill in the middle")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--ablation", action="store_true", help="also weft with each of its terms left out")
    parser.add_argument("--against", choices=SETTINGS, metavar="SETTING", help="that differences are taken to (bm25)")
    parser.add_argument("--against-model", metavar="MODEL", help="differences to this one's rows, not to the own ones")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="N", help="processes on this machine")
    where.add_argument("--ray", metavar="ADDRESS", help='a Ray cluster instead; "local" starts one here')
    where.add_argument("--kept", action="store_true", help="ask nothing, and report the rows of earlier runs")
    parser.add_argument("--fit-confidence", action="store_true", help="also fit and write the calibration curves")
    parser.add_argument("--write-subset", type=Path, metavar="DIR", help="only write the rows of the committed subset")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if options.write_subset:
        write_subset(options.write_subset)
        return 0
    _choose_settings(options)
    results = [_measured(options, ModelSpec(spelling, options.context)) for spelling in options.model]
    other = next((result for result in results if result.model.spelling == options.against_model), None)
    text = "\n\n".join(report(result, options.against, other) for result in results)
    figures = {"models": [summary(result, options.against, other) for result in results]}
    if options.fit_confidence:
        for result in results:
            say(fit_confidence([row for kind in FITTED_KINDS for row in result.of(kind).get("weft", ())]))
    title = "Completions on RepoEval's tasks"
    pictures = plots(results) if options.html else ""
    return Report("completion", text, figures, title, pictures, command=_repeated(options))


def _choose_settings(options: argparse.Namespace) -> None:
    """Names of settings become settings. Raises UserError for options that do not go together."""
    names = options.settings or [setting.name for setting in BASIC]
    names += [setting.name for setting in ABLATION] if options.ablation else []
    if options.fit_confidence and not ("weft" in names and set(FITTED_KINDS) <= set(options.tasks)):
        raise UserError(f"--fit-confidence: give the setting weft and the tasks {' '.join(FITTED_KINDS)}")
    options.settings = [SETTINGS[name] for name in dict.fromkeys(names)]
    if options.against is None:
        options.against = "bm25" if "bm25" in names else names[0]
    if options.against not in names:
        raise UserError(f"--against {options.against}: choose among the settings {', '.join(names)}")
    if options.against_model and options.against_model not in options.model:
        raise UserError(f"--against-model {options.against_model}: choose among the models {' '.join(options.model)}")


def _measured(options: argparse.Namespace, model: ModelSpec) -> Results:
    executor = _executor(options)
    rows: list[CompletionRow] = []
    pieces: list[Work] = []
    stores: dict[str, Store] = {}
    for repo, tree in trees(options):
        sources = read_sources(tree)
        drawn = limited(build_tasks(sources, repo), options.limit)
        tasks = [task for task in (*drawn, *mid_line_tasks(drawn)) if task.kind in options.tasks]
        stores[repo] = Store(options.work / "completion", repo, sources, model, suffix=options.suffix)
        wanted = {(task.task_id, setting.name) for task in tasks for setting in options.settings}
        kept = [row for row in stores[repo].rows() if (row.task_id, row.setting) in wanted]
        rows += kept
        there = {(row.task_id, row.setting) for row in kept}
        for task in tasks:
            lacking = tuple(setting for setting in options.settings if (task.task_id, setting.name) not in there)
            if lacking and not options.kept:
                pieces.append(Work(repo, tree.resolve(), task, lacking, model, options.suffix))
        say(f"{repo}: {len(sources)} files, {len(tasks)} tasks, {len(kept)} rows cached")
    said_at = time.monotonic()
    for number, done in enumerate(executor(pieces), 1):
        stores[done[0].repo].add(done)
        rows += done
        if number == len(pieces) or time.monotonic() - said_at > SAY_EVERY_S:
            said_at = time.monotonic()
            say(f"{model.spelling}: {number} of {len(pieces)} tasks")
    return Results(model, options.suffix, [setting.name for setting in options.settings], rows)


def _executor(options: argparse.Namespace) -> Executor:
    if options.ray:
        return on_ray(options.ray)
    return in_processes(options.jobs) if options.jobs > 1 else here


def _repeated(options: argparse.Namespace) -> str:
    """The command without the folders and addresses of one machine."""
    settings = " ".join(setting.name for setting in options.settings)
    limit = "" if options.limit is None else f"--limit {options.limit} "
    asked = f"--model {' '.join(map(shown_name, options.model))} --context {options.context} "
    return f"weft bench completion {asked}{limit}--tasks {' '.join(options.tasks)} --settings {settings}"
