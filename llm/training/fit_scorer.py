"""Fits the candidate scorer of the workspace model: `python -m weft.llm.training.fit_scorer PACKAGE...`.

Owns the sample of lines, the loss and the format of the weights file. Each package is a repository of its own, and none
may be in the benchmark. A line is predicted from the text above it.
Needs PyTorch; the fitted file does not.

The loss of a line is its negative log-likelihood, which calibrates the probability, minus its weighted probability.
The latter is the expected number of exactly right lines, and favours consistent copies.
"""

from __future__ import annotations

import argparse
import io
import json
import random
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..protocol import CompletionRequest
from ..workspace_model.features import FEATURES
from ..workspace_model.model import WorkspaceModel, tokenise_document
from ..workspace_model.scorer import WEIGHTS_FILE

if TYPE_CHECKING:
    import torch

N_HIDDEN = 16
SHRINKAGE = 3e-5
MIN_PIECES = 5

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\sA-Za-z0-9_]")
_NO_CODE = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT, tokenize.ENDMARKER)


@dataclass(frozen=True, slots=True, eq=False)
class LineSample:
    """The rows of features of many steps, concatenated."""

    rows: NDArray[np.float32]  # (n_rows, n_features)
    right: NDArray[np.float32]  # (n_rows,): 1 for correct rows
    step_of: NDArray[np.int64]  # (n_rows,)
    line_of: NDArray[np.int64]  # (n_steps,)
    is_indentation: NDArray[np.bool_]  # (n_steps,): the line break before the line, not counted in whole lines
    weight_of: NDArray[np.float32]  # (n_lines,)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m weft.llm.training.fit_scorer", description=__doc__)
    parser.add_argument("packages", type=Path, nargs="+", help="folders of Python files, a repository each")
    parser.add_argument("--lines", type=int, default=140, help="of each package")
    parser.add_argument("--whole-lines", type=float, default=2.0, help="weight of the expected number of right lines")
    parser.add_argument("--unique", type=float, default=3.0, help="weight of lines that occur once")
    parser.add_argument("--steps", type=int, default=80, help="of the optimiser")
    parser.add_argument("--output", type=Path, default=WEIGHTS_FILE)
    options = parser.parse_args(arguments)
    sample = sample_packages(options.packages, options.lines, options.unique)
    weights = fit(sample, options.whole_lines, options.steps)
    options.output.write_text(json.dumps(weights, indent=0) + "\n", encoding="utf-8")
    return 0


def sample_packages(packages: Sequence[Path], n_lines: int, unique_weight: float) -> LineSample:
    rows, right, step_of = [], [], []
    line_of: list[int] = []
    is_indentation: list[bool] = []
    weight_of: list[float] = []
    for package in packages:
        texts = {
            file.relative_to(package).as_posix(): file.read_text(encoding="utf-8", errors="replace")
            for file in sorted(package.rglob("*.py"))
        }
        model = WorkspaceModel.build(tokenise_document(path, text) for path, text in texts.items())
        counts = Counter(line.strip() for text in texts.values() for line in text.split("\n"))
        for path, number in _draw(texts, n_lines):
            lines = texts[path].split("\n")
            request = CompletionRequest(path, "python", "".join(f"{line}\n" for line in lines[:number]), "")
            for step, (table, which) in enumerate(model.features_along(request, lines[number])):
                rows.append(table.astype(np.float32))
                marks = np.zeros(len(table), np.float32)
                marks[which] = 1.0
                right.append(marks)
                step_of.append(np.full(len(table), len(line_of)))
                line_of.append(len(weight_of))
                is_indentation.append(step == 0)
            weight_of.append(unique_weight if counts[lines[number].strip()] == 1 else 1.0)
        print(
            f"{package.name}: {len(texts)} files, {len(weight_of)} lines and {len(line_of)} tokens so far", flush=True
        )
    return LineSample(
        np.concatenate(rows),
        np.concatenate(right),
        np.concatenate(step_of),
        np.array(line_of),
        np.array(is_indentation),
        np.array(weight_of, np.float32),
    )


def fit(sample: LineSample, whole_lines: float, n_steps: int) -> dict[str, list[float]]:
    """The weights in the format of `CandidateScorer.from_weights`."""
    import torch

    torch.manual_seed(0)
    rows = torch.from_numpy(sample.rows)
    linear = torch.zeros(len(FEATURES), requires_grad=True)
    hidden = (0.1 * torch.randn(len(FEATURES), N_HIDDEN)).requires_grad_()
    bias = torch.zeros(N_HIDDEN, requires_grad=True)
    output = (0.1 * torch.randn(N_HIDDEN)).requires_grad_()
    parameters = [linear, hidden, bias, output]

    def loss(weight: float) -> torch.Tensor:
        scores = rows @ linear + torch.tanh(rows @ hidden + bias) @ output
        every, whole = _line_logarithms(scores, sample)
        shrunk = SHRINKAGE * sum((parameter**2).sum() for parameter in parameters)
        weights = torch.from_numpy(sample.weight_of)
        return -every.mean() / 10.0 - weight * (weights * whole.exp()).mean() + shrunk

    for weight in (0.0, whole_lines):
        optimiser = torch.optim.LBFGS(parameters, max_iter=n_steps, line_search_fn="strong_wolfe")

        def closure(weight: float = weight, optimiser: torch.optim.LBFGS = optimiser) -> torch.Tensor:
            optimiser.zero_grad()
            value = loss(weight)
            value.backward()  # type: ignore[no-untyped-call, unused-ignore]  # torch is an extra
            return value

        optimiser.step(closure)  # type: ignore[no-untyped-call, unused-ignore]  # torch is an extra
        with torch.no_grad():
            print(f"whole lines weigh {weight}: loss {float(loss(weight)):.4f}", flush=True)
    table = torch.cat([linear[:, None], hidden], dim=1).tolist()
    weights = dict(zip(FEATURES, table, strict=True))
    weights["bias"], weights["output"] = [0.0, *bias.tolist()], [0.0, *output.tolist()]
    return {name: [round(value, 3) for value in values] for name, values in weights.items()}


def _line_logarithms(scores: torch.Tensor, sample: LineSample) -> tuple[torch.Tensor, torch.Tensor]:
    """The log-probability of each line, with and without its indentation."""
    import torch

    step_of, line_of = torch.from_numpy(sample.step_of), torch.from_numpy(sample.line_of)
    n_steps, n_lines = len(line_of), len(sample.weight_of)
    most = torch.full((n_steps,), -1e9).scatter_reduce(0, step_of, scores.detach(), "amax")
    shares = torch.exp(scores - most[step_of])
    total = torch.zeros(n_steps).index_add(0, step_of, shares)
    right = torch.zeros(n_steps).index_add(0, step_of, shares * torch.from_numpy(sample.right))
    logarithms = torch.log(right + 1e-9) - torch.log(total)
    counts = torch.from_numpy(~sample.is_indentation).float()
    every = torch.zeros(n_lines).index_add(0, line_of, logarithms)
    return every, torch.zeros(n_lines).index_add(0, line_of, logarithms * counts)


def _draw(texts: dict[str, str], n_lines: int) -> list[tuple[str, int]]:
    """Random lines of code, 0-based, with distinct texts."""
    found = {texts[path].split("\n")[number].strip(): (path, number) for path in texts for number in _code(texts[path])}
    places = sorted(found.values())
    return sorted(random.Random(20230116).sample(places, min(n_lines, len(places))))


def _code(text: str) -> Iterator[int]:
    """The lines with at least `MIN_PIECES` pieces of code; none when the file does not tokenise."""
    lines = text.split("\n")
    starts: set[int] = set()
    inside: set[int] = set()
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type not in _NO_CODE:
                starts.add(token.start[0] - 1)
                if token.end[0] > token.start[0] or (
                    token.type == tokenize.STRING and token.line.strip() == token.string
                ):
                    inside.update(range(token.start[0] - 1, token.end[0]))
    except (tokenize.TokenError, SyntaxError):
        return
    for number in sorted(starts - inside):
        if 0 < number < len(lines) and len(_PIECE.findall(lines[number])) >= MIN_PIECES:
            yield number


if __name__ == "__main__":
    raise SystemExit(main())
