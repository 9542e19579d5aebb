"""`weft bench next-edit`: what is offered after each hunk of real commits, and what their authors changed next.

Owns the command and the run. Commits and their order are in `commits`, kinds of hunks in `kinds`, when an offer is
right in `offers`, baselines in `suggesters`, figures in `figures`.

    weft bench next-edit --clones DIR --fit            the repositories for fitting, whose clones are in DIR
    weft bench next-edit --clones DIR --report --order both --write-results
    weft bench next-edit --clones DIR --repository flask --examples 20

An interrupted run continues when it is started again: the rows of a commit are cached in the work folder until the code
changes.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice

from ...retrieval.fragments import normalise
from ..command import Report, command_parser, rounded, run_command, say
from ..histories import files_at
from ..rows import RowCache, code_digest
from ..typed.chosen import add_history_options, chosen
from ..typed.commits import FOR_FITTING, FOR_REPORTING, TypedHistory, clone_of
from ..typed.replay import Tree
from . import examples
from .commits import HISTORIES, Order, ReplayedCommit, is_edited_by_hand, replayed_commits
from .figures import figures_of
from .fitting import REPEATED, Rated, as_text, fitted, rated, repeated_edits
from .kinds import KINDS, KNOWABLE
from .replay import CommitRow, Replayed, replay, row_of
from .report import by_repository, tables
from .suggesters import SYSTEMS, WITH_MODEL, WITHOUT_MODEL, Opening, config_with_models

N_COMMITS = 20
OF_REPLAY = ("benchmarks/histories.py", "benchmarks/next_edit", "benchmarks/typed/commits.py", "codegraph", "languages")
OF_WEFT = (*OF_REPLAY, "retrieval", "server")
CODE_OF = {"weft": OF_WEFT, WITH_MODEL: (*OF_WEFT, "llm")}
NOT_OF_ROWS = frozenset({"__main__.py", "figures.py", "report.py", "examples.py"})

NOTES = """\
Each commit is replayed hunk by hunk over its parent's tree, with unsaved buffers; after each hunk but the last, next
edits are requested at its end. The order of the hunks is assumed (`commits.py`): code before tests, definitions before
uses, each file from the top, imports last; "reverse" is the opposite. A hunk is found among the first 1 or 3 when an
offer at any request before it was made is within two lines of it ("place") or writes its lines ("exact").
Kinds of hunks are defined by their tokens, without Weft (`kinds.py`); "knowable" are the first five. An offer is wrong
when it is at no later hunk of the commit; what an author left undone counts as wrong too. "Other file": one of the
first 1 or 3 other files has a later hunk.
"Next occurrence" jumps to the next occurrence of the last edited name, and replaces it where the hunk replaced it.
"Co-changed files" are those that earlier commits changed most often with the edited one; git knows no place in them.
Half of the repositories are for fitting, half for reporting; each commit is chosen by the hash of its name."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench next-edit", __doc__, "work", "machine", "write-results")
    add_history_options(parser)
    parser.add_argument(
        "--max-commits", type=int, default=N_COMMITS, metavar="N", help=f"of each repository ({N_COMMITS})"
    )
    parser.add_argument("--order", choices=("forward", "reverse", "both"), default="forward", help="of the hunks")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=WITHOUT_MODEL, help="default: without a model")
    parser.add_argument("--examples", type=int, metavar="N", help="only print N hunks that were not found")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KNOWABLE), help="of these examples")
    parser.add_argument("--wrong", type=int, metavar="N", help="only print N requests with wrong offers")
    parser.add_argument("--weights", action="store_true", help="only print fitted weights of repeated edits")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report | int:
    if options.weights:
        offers = list(_rated(options))
        print(as_text(fitted(offers)) if offers else "No change fits another place. Take more commits.")
        return 0
    if options.examples or options.wrong:
        for text in islice(_examples(options), options.examples or options.wrong):
            print(f"{text}\n")
        return 0
    parts, plain = [], []
    orders: tuple[Order, ...] = ("forward", "reverse") if options.order == "both" else (options.order,)
    for purpose in (FOR_FITTING, FOR_REPORTING):
        histories = [history for history in chosen(options, HISTORIES) if history.purpose == purpose]
        for order in orders if histories else ():
            rows = {
                name: {history.name: list(_rows(options, history, order, name)) for history in histories}
                for name in options.systems
            }
            by_system = {name: figures_of([row for each in of.values() for row in each]) for name, of in rows.items()}
            first = options.systems[0]
            of_first = {repo: figures_of(each) for repo, each in rows[first].items()}
            parts += [
                f"## For {purpose}, {order}",
                tables(by_system),
                f"{first} by repository",
                by_repository(of_first),
            ]
            plain.append({"purpose": purpose, "order": order, "systems": by_system, "repositories": of_first})
    results = {"measured": rounded(plain)}
    return Report("next-edit", "\n\n".join(parts), results, "Next edits", notes=NOTES, command=_repeated(options))


def _repeated(options: argparse.Namespace) -> str:
    """The command without the folders of one machine."""
    purpose = {None: "", FOR_FITTING: "--fit ", FOR_REPORTING: "--report "}[options.purpose]
    repos = f"--repository {' '.join(options.repository)} " if options.repository else ""
    size = f"--max-commits {options.max_commits} --order {options.order}"
    return f"weft bench next-edit --clones DIR {purpose}{repos}{size}"


def _rows(options: argparse.Namespace, history: TypedHistory, order: Order, system: str) -> Iterator[CommitRow]:
    """The rows of a history: cached ones, and those of commits that are replayed now. Raises NoClone, NoHistory."""
    depends_on: tuple[object, ...] = (code_digest(CODE_OF.get(system, OF_REPLAY), NOT_OF_ROWS), history, order)
    if system == WITH_MODEL:
        depends_on += (config_with_models(),)
    folder = options.work / "next-edit-rows"
    cache = RowCache(folder, f"{history.folder_name}-{order}-{system.replace(' ', '-')}", depends_on, CommitRow)
    cached = {row.commit: row for row in cache.rows()}
    for commit, replayed in _replayed(options, history, order, system, frozenset(cached)):
        if replayed is not None:
            cached[commit.commit] = row_of(history.name, commit.commit, order, system, replayed)
            cache.add([cached[commit.commit]])
        yield cached[commit.commit]
    say(f"{history.name}: {system}, {order}")


def _replayed(
    options: argparse.Namespace, history: TypedHistory, order: Order, system: str, known: frozenset[str] = frozenset()
) -> Iterator[tuple[ReplayedCommit, Replayed | None]]:
    """The commits of a history, each replayed unless it is known."""
    repository = clone_of(history, options.clones)
    folder = options.work / "next-edit" / history.folder_name
    tree: Tree | None = None
    for commit in replayed_commits(repository, history, options.max_commits):
        if commit.commit in known:
            yield commit, None
            continue
        tree = tree or Tree(folder, repository)
        is_source = partial(_is_source, extensions=history.extensions)
        files = {path: normalise(text) for path, text in files_at(repository, f"{commit.commit}^", is_source)}
        opening = Opening(repository, commit, tree, folder, options.work / "next-edit-cache", files)
        with (repeated_edits if system == REPEATED else SYSTEMS[system])(opening) as suggester:
            yield commit, replay(commit, order, suggester, files.get)


def _is_source(path: str, extensions: tuple[str, ...]) -> bool:
    return is_edited_by_hand(path, "", extensions)


def _rated(options: argparse.Namespace) -> Iterator[Rated]:
    """Repeated edits at every request of the commits, whatever their confidence, with their features."""
    order: Order = "forward" if options.order == "both" else options.order
    for history in chosen(options, HISTORIES):
        for commit, replayed in _replayed(options, history, order, REPEATED):
            for asked in () if replayed is None else replayed.asked:
                yield from rated(history.name, commit.commit, asked)
        say(f"{history.name}: {REPEATED}, {order}")


def _examples(options: argparse.Namespace) -> Iterator[str]:
    order: Order = "forward" if options.order == "both" else options.order
    for history in chosen(options, HISTORIES):
        for commit, replayed in _replayed(options, history, order, options.systems[0]):
            if replayed is not None:
                name = f"{history.name} {commit.commit[:10]}"
                if options.wrong:
                    yield from examples.wrong(name, replayed)
                else:
                    yield from examples.missed(name, replayed, options.kinds)


if __name__ == "__main__":
    raise SystemExit(main())
