"""Calibration of import completion: how often the offered name or path of an import line is one that its author wrote.

    python -m weft.benchmarks.completion.import_lines --trees DIRECTORY --repos hono gin --limit 300

Owns the tasks and the table by the stated probability. A task is an import statement of a checkout with the cursor
before one of its names, or in the path of its module; the names from there on are missing. In half of the tasks the
file goes on below the statement as it is, in the other half it ends there.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ...languages import language_of
from ...server.completion import Cursor
from ...server.completion.import_names import import_candidates
from ...server.workspace.text import TextLines
from ..bootstrap import mean
from ..command import Report, command_parser, run_command, say
from ..repoeval.checkouts import CheckoutFiles, checkouts
from ..repoeval.tasks import SEED
from ..tables import markdown
from .answering import Repository

N_TASKS = 300

_NAMES = {
    "python": re.compile(
        r"^[ \t]*from[ \t]+[\w.]+[ \t]+import[ \t]+(?:\((?P<a>[^()#]*)\)|(?P<b>[^()\n#;]+))", re.MULTILINE
    ),
    "web": re.compile(
        r"^[ \t]*(?:import|export)\b(?:[ \t]+type)?(?:[ \t]+[\w$]+[ \t]*,)?\s*\{(?P<a>[^{}/]*)\}"
        r"\s*from\s*[\"'][^\"'\n]+[\"']",
        re.MULTILINE,
    ),
}
_PATHS = {
    "web": re.compile(r"^[ \t]*(?:import|export)\b[^\"';()]*?\bfrom\s*[\"'](?P<path>[^\"'\n]+)[\"']", re.MULTILINE),
    "go": re.compile(r"^[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?\"(?P<path>[\w./-]+)\"[ \t]*$", re.MULTILINE),
}


class ImportTask(NamedTuple):
    """A file cut in an import statement, and the texts that would be right after the typed part of them."""

    path: str
    before: str
    after: str
    typed: str
    truths: frozenset[str]


def import_tasks(path: str, text: str, rng: random.Random) -> Iterator[ImportTask]:
    """The tasks of one file."""
    style = language_of(path).module_style
    for found in _NAMES[style].finditer(text) if style in _NAMES else ():
        group = "a" if found["a"] is not None else "b"
        start, end = found.span(group)
        items = [item for item in re.finditer(r"[^,\s][^,]*", text[start:end]) if item[0].strip() != "*"]
        if items:
            missing = items[rng.randrange(len(items)) :]
            truths = frozenset(re.split(r"\s+as\s+|:", item[0].strip().removeprefix("type "))[0] for item in missing)
            yield _cut(path, text, start + missing[0].start(), end, "", truths, rng)
    for found in _PATHS[style].finditer(text) if style in _PATHS else ():
        truth, start = found["path"], found.start("path")
        parts = truth.split("/")
        n_typed = rng.randrange(1, len(parts)) if len(parts) > 1 else 0
        typed = "/".join([*parts[:n_typed], ""]) if n_typed else ""
        end, truths = found.end("path"), frozenset({truth})
        if style == "go":
            # The imports below are missing, too, and any of them would be right.
            group = text[found.start() : max(end, text.find("\n)", end))]
            if ";" in group or "{" in group:
                continue
            truths = frozenset(re.findall(r"\"([^\"\n]+)\"", group))
            end = found.start() + len(group)
        yield _cut(path, text, start + len(typed), end, typed, truths, rng)


def _cut(
    path: str, text: str, start: int, end: int, typed: str, truths: frozenset[str], rng: random.Random
) -> ImportTask:
    after = text[end:] if rng.random() < 0.5 else text[end:].partition("\n")[0]
    return ImportTask(path, text[:start], after, typed, truths)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser(f"python -m {__spec__.name}", __doc__, "work", "trees", "repos", "limit", "machine")
    parser.set_defaults(language=None)
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    right: dict[tuple[str, float], list[bool]] = defaultdict(list)
    by_repository = []
    for checkout in checkouts(options):
        files = CheckoutFiles.read(checkout)
        repository = Repository.of(checkout.repo, files.sources, files.manifests)
        rng = random.Random(f"{SEED}:{checkout.repo}:import")
        tasks = [task for path, source in files.sources.items() for task in import_tasks(path, source.text, rng)]
        rng.shuffle(tasks)
        tasks = tasks[: options.limit or N_TASKS]
        answers = []
        for task in tasks:
            lines = TextLines(task.before + task.after)
            cursor = Cursor(task.path, lines, *lines.position(len(task.before)))
            found = import_candidates(repository.snapshot, cursor)
            if found is not None:
                kind = "path" if found.line.is_path else "name"
                is_right = task.typed + found.text.strip(" \"'") in task.truths
                right[kind, found.probability].append(is_right)
                answers.append(is_right)
        by_repository.append([checkout.repo, str(len(tasks)), str(len(answers)), f"{100 * mean(answers):.1f} %"])
        say(" ".join(by_repository[-1]))
    rows = [
        [kind, f"{100 * said:.0f} %", str(len(found)), f"{100 * mean(found):.1f} %"]
        for (kind, said), found in sorted(right.items())
    ]
    text = "\n\n".join(
        [
            markdown(("repository", "tasks", "answers", "right"), by_repository),
            markdown(("offered", "confidence", "n", "share right"), rows),
        ]
    )
    figures = {"calibration": rows, "repositories": by_repository}
    return Report("import-lines", text, figures, "Completions of import lines")


if __name__ == "__main__":
    raise SystemExit(main())
