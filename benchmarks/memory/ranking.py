"""`weft bench memory ranking`: fits the weights of the search for questions, and the curves of its confidence.

The weights are those of `retrieval/questions/unit_features.py`: a linear score whose softmax over the candidates of a
question is to be on units that answer it. The curves are those of `server/chat/answerability.py`: the probability that
the repository answers the question, and the probability that one of the first three units does. All are fitted on the
questions of the repositories for fitting (`questions.py`) and of `tuning.jsonl`, and cross-validated by repository. The
command prints the values; `weft bench memory questions` measures them on the repositories for reporting.

    weft bench memory ranking --work DIR
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...retrieval.questions import QuestionResult, SearchOptions, Unit, search
from ...retrieval.questions.unit_features import EMBEDDED_WEIGHTS, NAMES, WEIGHTS, as_array
from ...server.chat.answerability import CURVES, Curve, answer_features
from ..command import Report, command_parser, run_command, say
from ..tables import markdown
from . import questions as by_questions
from . import tuning
from .questions import FITTING, GROUPS, REPOSITORIES, RepositoryQuestion, Span

FloatArray = NDArray[np.float64]

N_FOLDS = 4
SHRINKAGE = 0.02
"""Weight of the squared distance to the weights before, for each question."""

GROUP_WEIGHTS = {"tuning": 0.4, "paraphrase": 2.0}
"""Weights of questions: those of `tuning.jsonl` are easier, and the words of the search were chosen on them."""

SUPPORTING = (
    *("words", "name", "inside", "title", "path", "coverage", "best_line", "related_code"),
    *("defines_name", "defines_words", "body", "head", "embedded"),
)
"""More of these is never a reason against a unit: their weights are at least 0."""

N_STEPS, RATE = 200, 0.03
CURVE_SHRINKAGE, N_CURVE_STEPS = 0.3, 1500


@dataclass(frozen=True, slots=True, eq=False)
class AskedQuestion:
    """The candidates of one question."""

    repository: str
    group: str  # of `GROUPS`, "unanswerable" or "tuning"
    features: FloatArray  # (n_candidates, n_features), best first by the weights before
    gold: NDArray[np.bool_]  # (n_candidates, n_spans): what each candidate answers
    found: QuestionResult

    @property
    def is_answerable(self) -> bool:
        return bool(self.gold.shape[1])

    def recall(self, weights: FloatArray, depth: int = 3) -> float:
        order = np.argsort(-(self.features @ weights), kind="stable")[:depth]
        return float(self.gold[order].any(0).mean()) if self.is_answerable else 0.0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = command_parser("weft bench memory ranking", __doc__, "work", "machine")
    parser.add_argument("--curves", action="store_true", help="fit the curves alone, with the weights as they are")
    by_questions.add_embeddings(parser)
    return run_command(parser, _measure, arguments)


def _measure(options: argparse.Namespace) -> Report:
    asked = [each for job in _jobs(options) for each in ask_all(*job, options)]
    start = np.array([getattr(EMBEDDED_WEIGHTS if options.embeddings else WEIGHTS, name) for name in NAMES])
    repositories = sorted({each.repository for each in asked})
    folds = [repositories[at::N_FOLDS] for at in range(N_FOLDS)]
    held_out = dict[int, FloatArray]()
    for fold in folds:
        some = [each for each in asked if each.repository not in fold]
        weights = start if options.curves else fit_weights(some, start)
        held_out |= {id(each): weights for each in asked if each.repository in fold}
    weights = start if options.curves else fit_weights(asked, start)
    rows = []
    for group in ("", "tuning", *GROUPS):
        some = [
            each for each in asked if each.is_answerable and (each.group == group if group else each.group != "tuning")
        ]
        if some:
            triples = [(each.recall(start), each.recall(held_out[id(each)]), each.recall(weights)) for each in some]
            means = (f"{100 * statistics.fmean(column):.1f}" for column in zip(*triples, strict=True))
            rows.append([group or "all", str(len(some)), *means])
    text = markdown(["recall@3 of units", "questions", "before", "cross-validated", "fitted"], rows)
    values = "\n".join(f"    {name}={value:.2f}," for name, value in zip(NAMES, weights, strict=True))
    curves = {name: _fit_curve(asked, name, held_out, folds) for name in CURVES}
    shown = "\n".join(f"{name}: {curve}" for name, (curve, _) in curves.items())
    gates = markdown(
        ["curve", "held out: answered", "refused", "Brier"], [row for _, of in curves.values() for row in of]
    )
    return Report(
        "memory ranking",
        f"{text}\n\n{values}\n\n{shown}\n\n{gates}",
        {"weights": {name: round(float(value), 3) for name, value in zip(NAMES, weights, strict=True)}},
    )


def ask_all(
    repository: str, questions: Sequence[RepositoryQuestion], tree: Path, options: argparse.Namespace
) -> Iterator[AskedQuestion]:
    """The questions about one tree, without follow-ups: those are searched as other questions."""
    with by_questions.opened(tree, options) as workspace:
        (index,) = workspace.indexes().values()
        for question in questions:
            if question.before:
                continue
            found = search(index, question.text, SearchOptions(n=10_000, encoder=workspace.encoder))
            gold = np.array([[_answers(each.unit, spans) for spans in question.gold] for each in found.units], bool)
            gold = gold.reshape(len(found.units), len(question.gold))
            group = next((name for name, kinds in GROUPS.items() if question.kind in kinds), "unanswerable")
            if repository not in REPOSITORIES and question.gold:
                group = "tuning"
            yield AskedQuestion(repository, group, as_array(found.features), gold, found)
    say(f"{repository}: {len(questions)} questions")


def _answers(unit: Unit, spans: Sequence[Span]) -> bool:
    """Whether lines of a unit, without those of nested units, are in one of the spans."""
    return any(
        span.path == unit.path and any(span.first <= line + 1 <= span.last for line in unit.lines()) for span in spans
    )


def _jobs(options: argparse.Namespace) -> Iterator[tuple[str, list[RepositoryQuestion], Path]]:
    for name, of in REPOSITORIES.items():
        if of.purpose == FITTING:
            yield name, by_questions.load(name), by_questions.checkout(name, options.work)
    # The other repositories are large: to embed them takes an hour.
    for name, questions in tuning.load().items() if not options.embeddings else ():
        folder = tuning.folder_of(name, options.work)
        if folder is not None:
            yield name, questions, folder


def fit_weights(asked: Sequence[AskedQuestion], start: FloatArray) -> FloatArray:
    """Weights by gradient descent (Adam) on the log share of the softmax that is on units that answer."""
    useful = [each for each in asked if each.gold.any()]
    shares = np.array([GROUP_WEIGHTS.get(each.group, 1.0) for each in useful])

    def gradient(weights: FloatArray) -> FloatArray:
        total = SHRINKAGE * 2 * (weights - start) * shares.sum()
        for each, share in zip(useful, shares.tolist(), strict=True):
            answers = each.gold.any(1)
            odds = _softmax(each.features @ weights)
            right = odds * answers / max(float(odds[answers].sum()), 1e-12)
            total -= share * ((right - odds) @ each.features)
        mean: FloatArray = total / shares.sum()
        return mean

    return _adam(start.copy(), gradient, np.array([0.0 if name in SUPPORTING else -np.inf for name in NAMES]))


def _adam(
    weights: FloatArray,
    gradient: Callable[[FloatArray], FloatArray],
    least: FloatArray | float = -np.inf,
    n_steps: int = N_STEPS,
) -> FloatArray:
    mean: FloatArray = np.zeros_like(weights)
    square: FloatArray = np.zeros_like(weights)
    for step in range(1, n_steps + 1):
        now = gradient(weights)
        mean, square = 0.9 * mean + 0.1 * now, 0.999 * square + 0.001 * now**2
        step_size: FloatArray = (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.999**step)) + 1e-8)
        weights = np.maximum(np.subtract(weights, RATE * step_size), least)
    return weights


def _softmax(scores: FloatArray) -> FloatArray:
    odds = np.exp(scores - scores.max())
    shares: FloatArray = odds / odds.sum()
    return shares


def _fit_curve(
    asked: Sequence[AskedQuestion], name: str, held_out: dict[int, FloatArray], folds: Sequence[Sequence[str]]
) -> tuple[Curve, list[list[str]]]:
    """A logistic curve over `answer_features`, and how it does on repositories that it was not fitted on."""
    some = [each for each in asked if len(each.found.units)]
    x = np.array([[*answer_features(each.found), 1.0] for each in some])
    is_right = [each.recall(held_out[id(each)]) > 0 for each in some]
    y = np.array(
        [each.is_answerable if name == "answerable" else right for each, right in zip(some, is_right, strict=True)]
    )
    is_balanced = name == "answerable"
    predicted = np.zeros(len(some))
    for fold in folds:
        is_out = np.array([each.repository in fold for each in some])
        predicted[is_out] = _sigmoid(x[is_out] @ _logistic(x[~is_out], y[~is_out], is_balanced))
    rows = []
    for threshold in (0.3, 0.4, 0.5, 0.6, 0.7, 0.8):
        answered = predicted >= threshold
        rows.append(
            [
                f"{name} >= {threshold}",
                f"{100 * answered[y].mean():.1f}",
                f"{100 * (~answered[~y]).mean():.1f}",
                f"{((predicted - y) ** 2).mean():.3f}",
            ]
        )
    values = _logistic(x, y, is_balanced)
    return Curve(*(round(float(value), 3) for value in values)), rows


def _logistic(x: FloatArray, y: NDArray[np.bool_], is_balanced: bool) -> FloatArray:
    """Weights of a logistic curve; balanced as if half of the questions were true."""
    scale = np.ones(x.shape[1])
    scale[-1] = 0.0
    share = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean())) if is_balanced else np.ones(len(y))

    def gradient(weights: FloatArray) -> FloatArray:
        found: FloatArray = np.add((share * (_sigmoid(x @ weights) - y)) @ x, CURVE_SHRINKAGE * scale * weights) / len(
            y
        )
        return found

    return _adam(np.zeros(x.shape[1]), gradient, n_steps=N_CURVE_STEPS)


def _sigmoid(values: FloatArray) -> FloatArray:
    found: FloatArray = 1 / (1 + np.exp(-np.clip(values, -50, 50)))
    return found
