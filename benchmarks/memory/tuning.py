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
import tarfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...server.chat.evidence import FOUND_ABOVE
from ...server.chat.values import EvidenceSet
from ...server.config import Config
from ...server.workspace.workspace import Workspace
from ..command import Report, command_parser, run_command, say
from ..repoeval.archives import PINNED, checkout
from ..tables import markdown

WEFT_COMMIT = "6399b3c"
DEPTHS = (1, 3, 5, 10)
THRESHOLDS = (0.3, FOUND_ABOVE, 0.5, 0.7)

_HERE = Path(__file__)


@dataclass(frozen=True, slots=True)
class TuningQuestion:
    """A question with lines that answer it, any of which will do: path, first and last line, counted from 1."""

    repository: str
    kind: str
    text: str
    gold: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a question. `rank` is that of the first item with a gold line, 0 for none."""

    question: TuningQuestion
    rank: int
    confidence: float
    milliseconds: float


def load() -> list[TuningQuestion]:
    """All questions, in the order of the file."""
    rows = map(json.loads, _HERE.with_suffix(".jsonl").read_text(encoding="utf-8").splitlines())
    return [
        TuningQuestion(row["repository"], row["kind"], row["question"], tuple((p, a, b) for p, a, b in row["gold"]))
        for row in rows
    ]


def run(folder: Path, questions: Sequence[TuningQuestion]) -> Iterator[Result]:
    """The results of questions about one repository."""
    with Workspace([folder], Config(), cache=False) as workspace:
        workspace.index()
        for question in questions:
            started = time.perf_counter()
            evidence = workspace.gather(question.text)
            yield Result(
                question, _rank(evidence, question), evidence.confidence, 1e3 * (time.perf_counter() - started)
            )


def summary(results: Sequence[Result]) -> dict[str, Any]:
    """Recall by depth, what a threshold answers and refuses, and times."""
    answerable = [result for result in results if result.question.gold]
    others = [result for result in results if not result.question.gold]
    gates = {}
    for threshold in THRESHOLDS:
        answered = [result for result in results if result.confidence >= threshold]
        gates[str(threshold)] = {
            "answered": _share(result.confidence >= threshold for result in answerable),
            "refused": _share(result.confidence < threshold for result in others),
            "precision": _share(bool(result.question.gold) for result in answered),
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
    questions, results = load(), list[Result]()
    for repository in dict.fromkeys(question.repository for question in questions):
        folder = _folder(repository, options.work)
        if folder is None:
            say(f"Skipped {repository}: this checkout lacks commit {WEFT_COMMIT}.")
            continue
        results += run(folder, [question for question in questions if question.repository == repository])
    figures = summary(results)
    gates = figures["at a confidence of"]
    plain = {name: str(value) for name, value in figures.items() if value is not gates}
    text = markdown(list(plain), [list(plain.values())])
    lines = [[threshold, *map(str, of.values())] for threshold, of in gates.items()]
    text += f"\n\n{markdown(['at a confidence of', 'answered', 'refused', 'precision'], lines)}"
    return Report("memory tuning", text, {"results": figures})


def _folder(repository: str, work: Path) -> Path | None:
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


def _rank(evidence: EvidenceSet, question: TuningQuestion) -> int:
    hits = (
        any(e.path == path and e.start_line < last and e.end_line >= first for path, first, last in question.gold)
        for e in evidence.items
    )
    return next((rank for rank, is_hit in enumerate(hits, 1) if is_hit), 0)


def _share(values: Iterator[bool]) -> float:
    found = list(values)
    return round(100 * sum(found) / len(found), 1) if found else 0.0
