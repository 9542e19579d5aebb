"""`weft bench completion`: every setting on every task, for each model; a table, a JSON line, a page.

Owns the command line and the course of a run. What an answer is, is in `answering`; what figures mean, in `figures`.

    weft bench completion                                      the workspace model, eight archives, all tasks
    weft bench completion --settings none bm25 weft --limit 20 --model transformers=DIRECTORY
    weft bench completion --ablation --tasks line --jobs 8 --html completion.html

A run that was interrupted goes on where it was when it is started again: rows are kept in the work folder until
something that they depend on changes. `--limit` takes tasks from all over the repositories; tables say how many tasks
they stand on, and hold the same tasks for all settings.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from ...llm import ModelError
from ...server.model_spelling import SPELLINGS
from ...server.outcome import CANNOT_BE_DONE, INTERRUPTED, UserError
from ..repoeval.archives import ArchiveError
from ..repoeval.run import DEFAULT_WORK, limited, trees
from ..repoeval.sources import read_sources
from ..repoeval.tasks import build_tasks
from .answering import Row
from .begun import begun_lines
from .fit import FITTED_KINDS, fit_confidence
from .page import html_page
from .report import KINDS, Results, described, machine, report, shown_name, summary
from .settings import ABLATION, BASIC, SETTINGS
from .store import Store
from .subset import write_subset
from .work import ModelAsked, Way, Work, here, in_processes, on_ray

SAY_EVERY_S = 10.0
"""How often a run says how far it is."""


RESULTS = Path(__file__).parent.parent / "results"


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parse_arguments(arguments)
    try:
        if options.write_subset:
            write_subset(options.write_subset)
            return 0
        results = [_measured(options, ModelAsked(spelling, options.context)) for spelling in options.model]
    except (ArchiveError, ModelError, UserError) as error:
        print(error, file=sys.stderr)
        return CANNOT_BE_DONE
    except KeyboardInterrupt:
        print("Interrupted; the same command goes on from here.", file=sys.stderr)
        return INTERRUPTED
    other = next((result for result in results if result.model.spelling == options.against_model), None)
    text = "\n\n".join(report(result, options.against, other) for result in results)
    measured = {**machine(options.machine), "models": [summary(result, options.against, other) for result in results]}
    line = json.dumps(measured, sort_keys=True)
    print(text)
    print(line)
    if options.html:
        options.html.write_text(html_page(results, options.against, options.machine), encoding="utf-8")
    if options.write_results:
        _write_results(text, line, options)
    if options.fit_confidence:
        for result in results:
            print(fit_confidence([row for kind in FITTED_KINDS for row in result.of(kind).get("weft", ())]))
    return 0


def _parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="weft bench completion", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=DEFAULT_WORK, help="folder for archives, their trees and rows")
    parser.add_argument("--trees", type=Path, help="folder of checkouts to use instead of the archives, by repository")
    parser.add_argument("--repos", nargs="+", metavar="REPO", help="parts of repository names; all by default")
    parser.add_argument("--tasks", nargs="+", choices=KINDS, default=list(KINDS), help="line, begun (in a line), api")
    parser.add_argument("--limit", type=int, help="tasks of each kind per repository, spread over its files")
    parser.add_argument("--model", nargs="+", default=["workspace"], metavar="BACKEND[=WHERE]", help=SPELLINGS)
    parser.add_argument("--context", type=int, default=4096, metavar="TOKENS", help="of prompt and answer (4096)")
    parser.add_argument("--suffix", action="store_true", help="show the code after the target too: fill in the middle")
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, metavar="SETTING", help=", ".join(SETTINGS))
    parser.add_argument("--ablation", action="store_true", help="also weft with each of its terms left out")
    parser.add_argument("--against", choices=SETTINGS, metavar="SETTING", help="that differences are taken to (bm25)")
    parser.add_argument("--against-model", metavar="MODEL", help="differences to this one's rows, not to the own ones")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=int, default=1, metavar="N", help="processes on this machine")
    where.add_argument("--ray", metavar="ADDRESS", help='a Ray cluster instead; "local" starts one here')
    where.add_argument("--kept", action="store_true", help="ask nothing, and report what is kept from earlier runs")
    parser.add_argument("--html", type=Path, metavar="FILE", help="also write a page with plots")
    parser.add_argument("--machine", default="", metavar="WORDS", help="what this machine is, for the results")
    parser.add_argument("--write-results", action="store_true", help="also write benchmarks/results/completion.*")
    parser.add_argument("--fit-confidence", action="store_true", help="also fit and write the calibration curves")
    parser.add_argument("--write-subset", type=Path, metavar="DIR", help="only write the rows of the committed subset")
    options = parser.parse_args(arguments)
    names = options.settings or [setting.name for setting in BASIC]
    names += [setting.name for setting in ABLATION] if options.ablation else []
    if options.fit_confidence and not ("weft" in names and set(FITTED_KINDS) <= set(options.tasks)):
        parser.error(f"--fit-confidence needs the setting weft and the tasks {' '.join(FITTED_KINDS)}")
    options.settings = [SETTINGS[name] for name in dict.fromkeys(names)]
    if options.against is None:
        options.against = "bm25" if "bm25" in names else names[0]
    if options.against not in names:
        parser.error(f"--against {options.against}: not among the settings {', '.join(names)}")
    for spelling in options.model:
        if ModelAsked(spelling, options.context).table is None:
            parser.error(f"--model {spelling} is no model. Give {SPELLINGS}.")
    if options.against_model and options.against_model not in options.model:
        parser.error(f"--against-model {options.against_model}: not among the models {' '.join(options.model)}")
    return options


def _measured(options: argparse.Namespace, model: ModelAsked) -> Results:
    way = _way(options)
    rows: list[Row] = []
    pieces: list[Work] = []
    stores: dict[str, Store] = {}
    for repo, tree in trees(options):
        sources = read_sources(tree)
        drawn = limited(build_tasks(sources, repo), options.limit)
        tasks = [task for task in (*drawn, *begun_lines(drawn)) if task.kind in options.tasks]
        stores[repo] = Store(options.work / "completion", repo, sources, model, suffix=options.suffix)
        wanted = {(task.task_id, setting.name) for task in tasks for setting in options.settings}
        kept = [row for row in stores[repo].rows() if (row.task_id, row.setting) in wanted]
        rows += kept
        there = {(row.task_id, row.setting) for row in kept}
        for task in tasks:
            lacking = tuple(setting for setting in options.settings if (task.task_id, setting.name) not in there)
            if lacking and not options.kept:
                pieces.append(Work(repo, tree.resolve(), task, lacking, model, options.suffix))
        _progress(f"{repo}: {len(sources)} files, {len(tasks)} tasks, {len(kept)} rows kept")
    said_at = time.monotonic()
    for number, done in enumerate(way(pieces), 1):
        stores[done[0].repo].add(done)
        rows += done
        if number == len(pieces) or time.monotonic() - said_at > SAY_EVERY_S:
            said_at = time.monotonic()
            _progress(f"{model.spelling}: {number} of {len(pieces)} tasks")
    return Results(model, options.suffix, [setting.name for setting in options.settings], rows)


def _way(options: argparse.Namespace) -> Way:
    if options.ray:
        return on_ray(options.ray)
    return in_processes(options.jobs) if options.jobs > 1 else here


def _write_results(text: str, line: str, options: argparse.Namespace) -> None:
    settings = " ".join(setting.name for setting in options.settings)
    limit = "" if options.limit is None else f"--limit {options.limit} "
    asked = f"--model {' '.join(map(shown_name, options.model))} --context {options.context} "
    command = f"weft bench completion {asked}{limit}--tasks {' '.join(options.tasks)} --settings {settings}"
    head = f"# Completions on RepoEval's tasks\n\n```\n{command}\n```\n\n{described(machine(options.machine))}\n\n"
    (RESULTS / "completion.md").write_text(f"{head}{text}\n", encoding="utf-8")
    (RESULTS / "completion.jsonl").write_text(f"{line}\n", encoding="utf-8")


def _progress(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
