"""Calibration of confidence by isotonic regression: the share of right texts for each probability.

Owns the fit over few groups, its training rows, and the file it is written to. Knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...server.completion import curves
from ...server.completion.confidence import Curve
from .answering import CompletionRow
from .figures import calibration_error, reliability
from .mid_line import KIND as MID_LINE

FITTED_ON = ("awslabs_fortuna", "google_vizier", "huggingface_evaluate", "nerfstudio-project_nerfstudio")
"""The other repositories are held out. The retrieval log develops on the same four."""

FITTED_KINDS = ("line", MID_LINE)
"""Tasks of one line, as most automatic completions are."""

MOST_GROUPS, LEAST_IN_GROUP = 20, 20
"""Limits for the knots of a curve: shares of smaller groups are noise."""

LENGTH_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)

Group = tuple[float, float, int]
"""Mean probability, share right, size."""


def fit_confidence(rows: Sequence[CompletionRow], file: Path = Path(curves.__file__)) -> str:
    """Fit the curve of the rows' model on half the repositories and write it; a summary with the held-out error.

    `rows` are those of `FITTED_KINDS`, of one model in one setting.
    """
    rows = [row for row in rows if row.text and row.log_probability is not None]
    fitting = [row for row in rows if row.repo in FITTED_ON]
    held_out = [row for row in rows if row.repo not in FITTED_ON]
    if len(fitting) < 4 * LEAST_IN_GROUP:
        return f"{len(fitting)} answers with a probability in {', '.join(FITTED_ON)}: too few to fit a curve."
    kind = "workspace" if rows[0].backend == "workspace" else "neural"
    # The workspace model writes a line as one piece, above a threshold of its joint probability.
    curve = fitted(fitting, (0.0,) if kind == "workspace" else LENGTH_POWERS)
    where = f"{len(fitting)} lines of {', '.join(sorted({row.repo.split('_')[-1] for row in fitting}))}"
    _write(file, kind, curve, where)
    errors = []
    for name, group in (("fitted", fitting), ("held out", held_out)):
        error = calibration_error(reliability(group, confidence_of=partial(_share, curve)))
        errors += [f"{name}: {100 * error:.1f} % of {len(group)}"] if group else []
    return f"{kind}: {curve}\nexpected calibration error, {'; '.join(errors)}\nwritten to {file}"


def fitted(rows: Sequence[CompletionRow], length_powers: Sequence[float]) -> Curve:
    """The curve of the length power with the least logarithmic loss."""
    return min((_curve(rows, power) for power in length_powers), key=lambda curve: loss(rows, curve))


def loss(rows: Sequence[CompletionRow], curve: Curve) -> float:
    """Mean logarithmic loss of the curve's shares."""
    return -sum(math.log(_of_truth(row, curve)) for row in rows) / len(rows)


def pooled(groups: Sequence[Group]) -> list[Group]:
    """Groups by ascending probability, neighbours joined until every share is above the one before.

    Pool-adjacent-violators: the monotone shares nearest to the given ones by squares (Ayer et al. 1955).
    """
    done: list[Group] = []
    for group in groups:
        done.append(group)
        while len(done) > 1 and (done[-1][1] <= done[-2][1] or done[-1][0] <= done[-2][0]):
            (x1, y1, n1), (x0, y0, n0) = done.pop(), done.pop()
            n = n0 + n1
            done.append(((x0 * n0 + x1 * n1) / n, (y0 * n0 + y1 * n1) / n, n))
    return done


def _curve(rows: Sequence[CompletionRow], length_power: float) -> Curve:
    pairs = sorted((_probability(row, length_power), row.exact_match) for row in rows)
    n_groups = min(MOST_GROUPS, len(pairs) // LEAST_IN_GROUP)
    groups = []
    for number in range(n_groups):
        part = pairs[len(pairs) * number // n_groups : len(pairs) * (number + 1) // n_groups]
        x, y = (sum(values) / len(part) for values in zip(*part, strict=True))
        groups.append((x, y, len(part)))
    knots = {round(x, 4): round(y, 4) for x, y, _ in pooled(groups)}
    # Probability 0 is never right: the curve begins there.
    return Curve(length_power, tuple({0.0: 0.0, **knots}.items()))


def _probability(row: CompletionRow, length_power: float) -> float:
    assert row.log_probability is not None
    return math.exp(row.log_probability / row.n_pieces**length_power)


def _share(curve: Curve, row: CompletionRow) -> float:
    assert row.log_probability is not None
    return curve.share_right(row.log_probability, row.n_pieces)


def _of_truth(row: CompletionRow, curve: Curve) -> float:
    share = min(max(_share(curve, row), 1e-3), 1 - 1e-3)
    return share if row.exact_match else 1 - share


def _write(file: Path, kind: str, curve: Curve, where: str) -> None:
    fitted = {**curves.FITTED, kind: (curve.length_power, tuple(curve.knots))}
    lines = [f'"""{(curves.__doc__ or "").rstrip()}', '"""', "", "from __future__ import annotations", ""]
    lines.append("FITTED: dict[str, tuple[float, tuple[tuple[float, float], ...]]] = {")
    for name, (power, knots) in fitted.items():
        lines += [f'    "{name}": (', f"        {power},", "        ("]
        lines += [f"            ({x}, {y})," for x, y in knots]
        lines += ["        ),", "    ),"]
    lines += ["}", "", "MEASURED_ON: dict[str, str] = {"]
    lines += [f'    "{name}": "{said}",' for name, said in {**curves.MEASURED_ON, kind: where}.items()]
    file.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")
