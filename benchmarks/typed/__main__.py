"""`weft bench typed`: what completions save, and what they show meanwhile, while real commits are typed key by key.

Owns the command and the run. Commits are chosen in `commits`, typed in `replay`, figures are defined in `figures`.

    weft bench typed                                   commits of Weft's own history
    weft bench typed --clones DIR                      all pinned histories, whose clones are in DIR
    weft bench typed --clones DIR --purpose reporting --model transformers=DIRECTORY

An interrupted run continues when it is started again: the rows of a commit are cached in the work folder until the code
changes.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from ...llm import CodeModel
from ...server.config import Config
from ...server.models.model_argument import MODEL_SYNTAX
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, rounded, run_command, say
from ..models import ModelSpec, model_option, open_spec, shown_name
from ..rows import RowCache, code_digest
from .calibration import calibration_of, calibration_table
from .commits import FOR_FITTING, FOR_REPORTING, HISTORIES, TypedCommit, TypedHistory, clone_of, typed_commits
from .figures import figures_of
from .fit import fit_confidence
from .record import RecordedText, record_commit
from .replay import KeyRow, Mode, Tree, Typing
from .report import tables
from .subset import write_subset

N_COMMITS, KEYS_PER_COMMIT = 12, 500
MODES: tuple[Mode, ...] = ("whole", "words")
DEPENDS_ON = (
    "codegraph",
    "languages",
    "llm/workspace_model",
    "retrieval",
    "server",
    "benchmarks/histories.py",
    "benchmarks/typed/causes.py",
    "benchmarks/typed/commits.py",
    "benchmarks/typed/record.py",
    "benchmarks/typed/replay.py",
    "benchmarks/typist.py",
)

RATING = (
    *("confidence.py", "confidence.json", "rating.py", "name_check.py", "display.py", "postprocess.py", "engine.py"),
    *("service.py", "stats.py", "cache.py", "candidates.py", "explanation.py"),
)
"""Files that the record does not depend on."""

NOTES = """\
The commits are the last ones of each repository that a person could have typed (8 to 400 added lines, at most 8 files).
Each is typed into a workspace over its parent's tree, file by file and hunk by hunk: removed lines go first, then every
key of the new ones, with unsaved buffers. Indentation and auto-closed brackets are the editor's.
"Saved" are the keys that accepted texts save, of all: "whole" accepts a text when all of it is right, "by word" also
the right words at its beginning. All other columns are those of "whole".
"Shown" and "wrong" count keys at which a text is on the screen: a text that stays for five keys counts five times. A
distinct text counts once. A text is right when all of it is what comes next and it does not end inside of a word.
"Harmful" are distinct texts with a name that is not bound there or a member that does not exist, as far as the name
check knows. The calibration error is that of the distinct texts shown, in ten groups; that of all texts is in
[typed-calibration.md](typed-calibration.md)."""

R = TypeVar("R", KeyRow, RecordedText)


def main(arguments: Sequence[str] | None = None) -> int:
    model = {"type": model_option(), "default": "workspace", "help": MODEL_SYNTAX}
    parser = command_parser(
        "weft bench typed", __doc__, "work", "repos", "model", "context", "machine", "write-results", model=model
    )
    parser.add_argument("--clones", type=Path, metavar="DIR", help="folder of the clones of the pinned histories")
    parser.add_argument("--purpose", choices=(FOR_FITTING, FOR_REPORTING), help="only these histories; default: all")
    parser.add_argument("--commits", type=int, default=N_COMMITS, metavar="N", help=f"of each history ({N_COMMITS})")
    parser.add_argument("--keys", type=int, default=KEYS_PER_COMMIT, metavar="N", help=f"a commit ({KEYS_PER_COMMIT})")
    parser.add_argument(
        "--modes", nargs="+", choices=MODES, default=list(MODES), help="what is accepted; default: both"
    )
    parser.add_argument(
        "--fit-confidence", action="store_true", help="only fit and write the weights of the confidence"
    )
    parser.add_argument("--calibration", action="store_true", help="only measure the calibration of the confidence")
    parser.add_argument("--min-confidence", type=float, metavar="SHARE", help="instead of the default threshold")
    parser.add_argument("--write-subset", type=Path, metavar="DIR", help="only write the rows of the committed subset")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if options.write_subset:
        write_subset(options.write_subset)
        return 0
    if options.fit_confidence:
        say(fit_confidence({history.name: list(_recorded(options, history)) for history in _chosen(options)}))
        return 0
    if options.calibration:
        errors = calibration_of({history.name: list(_recorded(options, history)) for history in _chosen(options)})
        title = "Expected calibration error of the confidence, in percent"
        command = f"{_repeated(options)} --calibration"
        return Report(
            "typed-calibration", calibration_table(errors), {"errors": rounded(errors)}, title, command=command
        )
    results = []
    for history in _chosen(options):
        figures = {}
        for mode in options.modes:
            rows = list(_rows(options, history, mode))
            if rows:
                figures[mode] = figures_of(rows)
        if figures:
            results.append({"repo": history.name, "purpose": history.purpose, "modes": figures})
            saved = ", ".join(f"{mode} {100 * each['saved']:.1f} %" for mode, each in figures.items())
            say(f"{history.name}: saved {saved}")
    model = shown_name(options.model)
    title = f"Typed commits: {model}"
    plain = {"model": model, "repositories": rounded(results)}
    return Report("typed", tables(results), plain, title, notes=NOTES, command=_repeated(options))


def _repeated(options: argparse.Namespace) -> str:
    """The command without the folders of one machine."""
    purpose = f"--purpose {options.purpose} " if options.purpose else ""
    repos = f"--repos {' '.join(options.repos)} " if options.repos else ""
    model = "" if options.model == "workspace" else f"--model {shown_name(options.model)} "
    return f"weft bench typed --clones DIR {purpose}{repos}{model}--commits {options.commits} --keys {options.keys}"


def _chosen(options: argparse.Namespace) -> list[TypedHistory]:
    histories = [each for each in HISTORIES if options.purpose in (None, each.purpose)]
    if options.repos:
        return [each for each in histories if any(part in each.name for part in options.repos)]
    return histories if options.clones else [each for each in HISTORIES if each.name == "weft"]


def _rows(options: argparse.Namespace, history: TypedHistory, mode: Mode) -> Iterator[KeyRow]:
    """The rows of a history: cached ones, and those of commits that are typed now. Raises NoClone, NoHistory."""
    threshold = options.min_confidence
    depends_on = code_digest(DEPENDS_ON), history, mode, options.keys, options.model, options.context, threshold
    cache = RowCache(options.work / "typed-rows", f"{history.folder_name}-{mode}", depends_on, KeyRow)
    model = open_spec(ModelSpec(options.model, options.context))
    config = Config()
    if threshold is not None:
        config = replace(config, completion=replace(config.completion, min_confidence=threshold))

    def type_commit(workspace: Workspace, folder: Path, commit: TypedCommit) -> Iterator[KeyRow]:
        return Typing(workspace, folder, history.name, mode, options.keys).type_commit(commit)

    return _each_commit(options, history, cache, config, model, type_commit)


def _recorded(options: argparse.Namespace, history: TypedHistory) -> Iterator[RecordedText]:
    """The predictions at each key of a history, in the same way."""
    depends_on = code_digest(DEPENDS_ON, RATING), history, options.keys
    cache = RowCache(options.work / "typed-rows", f"{history.folder_name}-record", depends_on, RecordedText)

    def record(workspace: Workspace, folder: Path, commit: TypedCommit) -> Iterator[RecordedText]:
        return record_commit(workspace, folder, history.name, commit, options.keys)

    return _each_commit(options, history, cache, Config(), None, record)


def _each_commit(
    options: argparse.Namespace,
    history: TypedHistory,
    cache: RowCache[R],
    config: Config,
    model: CodeModel | None,
    rows_of: Callable[[Workspace, Path, TypedCommit], Iterator[R]],
) -> Iterator[R]:
    """The rows of the commits of a history, each in a workspace over its parent's tree."""
    cached: dict[str, list[R]] = {}
    for row in cache.rows():
        cached.setdefault(row.commit, []).append(row)
    repository = clone_of(history, options.clones)
    folder = options.work / "typed" / history.folder_name
    config = replace(config, cache_dir=str(options.work / "typed-cache"))
    tree: Tree | None = None
    for commit in typed_commits(repository, history, options.commits):
        if commit.commit not in cached:
            tree = tree or Tree(folder, repository)
            tree.go_to(f"{commit.commit}^")
            with closing(Workspace([folder], config, model=model)) as workspace:
                workspace.index()
                cached[commit.commit] = list(rows_of(workspace, folder, commit))
            cache.add(cached[commit.commit])
        yield from cached[commit.commit]


if __name__ == "__main__":
    raise SystemExit(main())
