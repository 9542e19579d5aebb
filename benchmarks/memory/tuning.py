"""`weft bench memory tuning`: recall and refusal on the questions that the search was tuned on.

`tuning.jsonl` holds 142 questions about six repositories, 50 of them without an answer there. The constants of
`retrieval/questions` and the curve of `server/chat/answerability` were chosen on them, so their figures are better than
those of other questions. What may be told to others is measured on the questions of `questions.py`, of which none was
looked at for tuning.

    weft bench memory tuning --work DIR
"""

from __future__ import annotations

import argparse
import io
import json
import statistics
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...server.chat.answerability import FOUND_ABOVE
from ...server.config import Config
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, run_command, say
from ..repoeval.archives import PINNED, checkout
from ..tables import markdown
from .questions import DEPTHS, QuestionScore, RepositoryQuestion, Span, ask

WEFT_COMMIT = "6399b3c"
NO_ANSWER = "none"  # the kind of questions without an answer
THRESHOLDS = (0.3, FOUND_ABOVE, 0.5, 0.7)

_HERE = Path(__file__)


def load() -> dict[str, list[RepositoryQuestion]]:
    """The questions of each repository, in the order of the file. One line of any of its spans answers a question."""
    questions: dict[str, list[RepositoryQuestion]] = {}
    for number, line in enumerate(_HERE.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines()):
        row = json.loads(line)
        spans = tuple(Span(path, first, last, longest=sys.maxsize) for path, first, last in row["gold"])
        question = RepositoryQuestion(f"{number}", row["kind"], row["question"], (spans,) if spans else ())
        questions.setdefault(row["repository"], []).append(question)
    return questions


def run(folder: Path, questions: Sequence[RepositoryQuestion]) -> list[QuestionScore]:
    """The results of questions about one repository."""
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        return [ask(workspace, question, folder) for question in questions]


def summary(results: Sequence[QuestionScore]) -> dict[str, Any]:
    """Recall by depth, what a threshold answers and refuses, and times."""
    answerable = [result for result in results if result.kind != NO_ANSWER]
    others = [result for result in results if result.kind == NO_ANSWER]
    gates = {}
    for threshold in THRESHOLDS:
        answered = [result for result in results if result.confidence >= threshold]
        gates[str(threshold)] = {
            "answered": _share(result.confidence >= threshold for result in answerable),
            "refused": _share(result.confidence < threshold for result in others),
            "precision": _share(result.kind != NO_ANSWER for result in answered),
        }
    return {
        "questions": len(results),
        "unanswerable": len(others),
        **{f"recall@{depth}": _share(0 < result.rank <= depth for result in answerable) for depth in DEPTHS},
        "mean reciprocal rank": round(statistics.fmean(1 / r.rank if r.rank else 0.0 for r in answerable), 3),
        "at a confidence of": gates,
        "ms median": round(statistics.median(result.milliseconds for result in results), 1),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory tuning", __doc__, "work", "machine")
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    results = list[QuestionScore]()
    for repository, questions in load().items():
        folder = folder_of(repository, options.work)
        if folder is None:
            say(f"Skipped {repository}: this checkout lacks commit {WEFT_COMMIT}.")
            continue
        results += run(folder, questions)
    figures = summary(results)
    gates = figures["at a confidence of"]
    plain = {name: str(value) for name, value in figures.items() if value is not gates}
    text = markdown(list(plain), [list(plain.values())])
    lines = [[threshold, *map(str, of.values())] for threshold, of in gates.items()]
    text += f"\n\n{markdown(['at a confidence of', 'answered', 'refused', 'precision'], lines)}"
    return Report("memory tuning", text, {"results": figures})


def folder_of(repository: str, work: Path) -> Path | None:
    if repository != "weft":
        return checkout(PINNED[repository], work)
    folder = work / "trees" / f"weft-{WEFT_COMMIT}"
    if not folder.is_dir():
        command = ["git", "archive", WEFT_COMMIT]
        made = subprocess.run(command, cwd=_HERE.parents[2], capture_output=True, check=False)
        if made.returncode:
            return None
        with tarfile.open(fileobj=io.BytesIO(made.stdout)) as archive:
            archive.extractall(folder, filter="data")
    return folder


def _share(values: Iterator[bool]) -> float:
    found = list(values)
    return round(100 * sum(found) / len(found), 1) if found else 0.0
