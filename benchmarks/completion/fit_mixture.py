"""Fits the rule that mixes a neural model and the workspace model: what both say of a line, and which line is right.

Owns the sample of lines, the fit and the form of the weights' file; what the rule knows of a line is in
`llm/mixture.py`. Each folder in `--trees` is a repository of its own, and none may be in the benchmark or among the
sources of the neural model. Lines are asked for as the benchmark asks. Needs PyTorch; the fitted file does not.

    python -m weft.benchmarks.completion.fit_mixture --trees DIR --model onnx=DIRECTORY --limit 100 --work FILE

What the models say is kept in `--work`, so that a run that was interrupted goes on, and a fit can be made again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...llm.local_model import LocalModel
from ...llm.mixture import FEATURES, WEIGHTS_FILE, MixedModel, Rule, Surroundings, Way, features_of
from ...llm.protocol import Cancel
from ...llm.scoring import LineScore
from ...llm.workspace_model import Candidate
from ..repoeval.metrics import score_completion
from ..repoeval.run import limited
from ..repoeval.sources import read_sources
from ..repoeval.tasks import Task, build_tasks
from ..rows import add_rows, read_rows
from .answering import Repository, asked_at
from .begun import begun_lines
from .work import ModelAsked, open_asked

SHRINKAGE = 1e-2
N_FOLDS = 4

NEURAL = frozenset(name for name in FEATURES if "neural" in name or name == "written by both")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: the ways to go on that were for choice, and which of them are right."""

    repo: str
    task_id: str
    unique: bool
    ways: tuple[Way, ...]
    right: tuple[bool, ...]

    @classmethod
    def of(cls, task: Task, ways: Sequence[Way]) -> Sample:
        right = (bool(score_completion(task.ground_truth, way.text).exact_match) for way in ways)
        return cls(task.repo, task.task_id, task.unique_in_repo, tuple(ways), tuple(right))

    @classmethod
    def from_row(cls, row: dict[str, Any]) -> Sample:
        ways = (
            Way(
                **{
                    **way,
                    "candidate": way["candidate"] and Candidate(**way["candidate"]),
                    "score": LineScore(**way["score"]),
                    "surroundings": Surroundings(**way["surroundings"]),
                }
            )
            for way in row["ways"]
        )
        return cls(row["repo"], row["task_id"], row["unique"], tuple(ways), tuple(row["right"]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m weft.benchmarks.completion.fit_mixture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--trees", type=Path, required=True, help="folder of checkouts, a repository each")
    parser.add_argument("--model", required=True, metavar="BACKEND=WHERE", help="the neural model, in this process")
    parser.add_argument("--context", type=int, default=1024, metavar="TOKENS", help="of prompt and line (1024)")
    parser.add_argument("--limit", type=int, default=100, help="lines of each repository")
    parser.add_argument("--begun", action="store_true", help="the same lines also begun")
    parser.add_argument("--work", type=Path, required=True, help="file for what the models said")
    parser.add_argument("--output", type=Path, default=WEIGHTS_FILE)
    options = parser.parse_args(arguments)
    samples = sampled(options)
    print(held_out_report(samples))
    options.output.write_text(json.dumps(fit(samples), indent=0) + "\n", encoding="utf-8")
    return 0


def sampled(options: argparse.Namespace) -> list[Sample]:
    """The samples that the options ask for; those that are kept are not asked for again."""
    kept = {row["task_id"]: Sample.from_row(row) for row in read_rows(options.work)}
    samples: list[Sample] = []
    neural = open_asked(ModelAsked(options.model, options.context))
    assert isinstance(neural, LocalModel), f"{options.model} is not in this process"
    for tree in sorted(folder for folder in options.trees.iterdir() if folder.is_dir()):
        sources = read_sources(tree)
        lines = [task for task in limited(build_tasks(sources, tree.name), options.limit) if task.kind == "line"]
        tasks = [*lines, *(begun_lines(lines) if options.begun else ())]
        if any(task.task_id not in kept for task in tasks):
            repository = Repository.of(tree.name, sources)
            model = MixedModel(repository.snapshot.model, neural)
            for task in tasks:
                if task.task_id not in kept:
                    ways = model.ways(asked_at(repository, task, model), Cancel())
                    kept[task.task_id] = Sample.of(task, ways)
                    add_rows(options.work, [json.dumps(asdict(kept[task.task_id]))])
        samples += (kept[task.task_id] for task in tasks)
        print(f"{tree.name}: {len(samples)} lines so far", file=sys.stderr, flush=True)
    return [sample for sample in samples if sample.ways]


def held_out_report(samples: Sequence[Sample]) -> str:
    """Exact match on repositories that the rule was not fitted on, of that choice and of others, as a table."""
    choices = {
        "the workspace model's first": [_any(sample, lambda way: way.is_first) for sample in samples],
        "a rule that asks no neural model": _held_out([_without_neural(sample) for sample in samples], NEURAL),
        "the neural model's own": [_any(sample, lambda way: way.is_written) for sample in samples],
        "the neural model's likeliest": [sample.right[_likeliest(sample)] for sample in samples],
        "the rule": _held_out(samples),
        "the right one, where it is there": [any(sample.right) for sample in samples],
    }
    lines = ["| choice | EM | EM unique |", "|---|---|---|"]
    for name, right in choices.items():
        unique = [each for each, sample in zip(right, samples, strict=True) if sample.unique]
        lines.append(f"| {name} | {100 * np.mean(right):.1f} | {100 * np.mean(unique):.1f} |")
    n_repos = len({sample.repo for sample in samples})
    return "\n".join([f"{len(samples)} lines of {n_repos} repositories", "", *lines])


def _held_out(samples: Sequence[Sample], ignored: Collection[str] = ()) -> list[bool]:
    """Whether the choice is right, of rules that were fitted on other repositories."""
    repos = sorted({sample.repo for sample in samples})
    rule_of: dict[str, Rule] = {}
    for fold in range(N_FOLDS):
        held_out = repos[fold::N_FOLDS]
        rule = Rule.of(fit([sample for sample in samples if sample.repo not in held_out], ignored))
        rule_of |= dict.fromkeys(held_out, rule)
    return [
        bool(sample.ways) and sample.right[int(rule_of[sample.repo].probabilities(features_of(sample.ways)).argmax())]
        for sample in samples
    ]


def _without_neural(sample: Sample) -> Sample:
    kept = [(way, right) for way, right in zip(sample.ways, sample.right, strict=True) if way.candidate]
    return replace(sample, ways=tuple(way for way, _ in kept), right=tuple(right for _, right in kept))


def fit(samples: Sequence[Sample], ignored: Collection[str] = ()) -> dict[str, float]:
    """The weights in the form that `Rule.of` reads; those of `ignored` features are 0."""
    torch: Any = import_module("torch")
    samples = [sample for sample in samples if sample.ways]
    rows = np.concatenate([features_of(sample.ways) for sample in samples])
    scale = rows.std(axis=0)
    scale[scale < 1e-9] = 1.0  # what is the same everywhere in the sample says nothing yet
    counted = np.array([name not in ignored for name in FEATURES])
    features = torch.from_numpy(rows / scale * counted)
    right = torch.tensor([right for sample in samples for right in sample.right])
    line_of = torch.from_numpy(np.repeat(np.arange(len(samples)), [len(sample.ways) for sample in samples]))
    weights = torch.zeros(len(FEATURES), dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS([weights], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimiser.zero_grad()
        scores = features @ weights
        # The way "none" has the score 0.
        most = torch.zeros(len(samples), dtype=torch.float64).scatter_reduce(0, line_of, scores.detach(), "amax")
        shares = torch.exp(scores - most[line_of])
        none = torch.exp(-most)
        total = none.index_add(0, line_of, shares)
        of_right = torch.zeros(len(samples), dtype=torch.float64).index_add(0, line_of, shares * right)
        loss = -torch.log(torch.where(of_right > 0, of_right, none) / total).mean()
        loss = loss + SHRINKAGE * (weights**2).sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    fitted = weights.detach().numpy() * counted / scale
    return {name: round(float(weight), 5) for name, weight in zip(FEATURES, fitted, strict=True)}


def _any(sample: Sample, wanted: Any) -> bool:
    return any(right for way, right in zip(sample.ways, sample.right, strict=True) if wanted(way))


def _likeliest(sample: Sample) -> int:
    return int(np.argmax([way.score.log_probability for way in sample.ways]))


if __name__ == "__main__":
    raise SystemExit(main())
