"""Calibration of confidence by isotonic regression: the share of right texts for each probability.

Owns the fit over few groups, its training rows, and the file it is written to. Knows no model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from ...server.completion import curves
from ...server.completion.confidence import Curve, backend_kind
from .answering import CompletionRow
from .figures import calibration_error, reliability
from .mid_line import KIND as MID_LINE

FITTED_ON = {
    "python": ("awslabs_fortuna", "google_vizier", "huggingface_evaluate", "nerfstudio-project_nerfstudio"),
    "web": ("hono", "trpc", "vite"),
    "go": ("cli", "gin", "prometheus"),
    "jvm": ("commons-lang", "gson", "koin", "okio", "scopt", "spring-petclinic"),
    "csharp": ("AutoMapper", "serilog"),
    "rust": ("axum", "ripgrep"),
    "native": ("fmt", "jq", "leveldb"),
    "ruby": ("devise", "sinatra"),
}
"""By family of languages, two repositories or more each: one repository says little about others. Those that are not
named are held out. The retrieval log develops on the same ones."""

FITTED_KINDS = ("line", MID_LINE)
"""Tasks of one line, as most automatic completions are."""

MOST_GROUPS, LEAST_IN_GROUP = 20, 20
"""Limits for the knots of a curve: shares of smaller groups are noise."""

LENGTH_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)

Group = tuple[float, float, int]
"""Mean probability, share right, size."""


def fit_confidence(rows: Sequence[CompletionRow], file: Path = Path(curves.__file__)) -> str:
    """Fit a curve for each family of languages in the rows and write them; a summary with the held-out errors.

    `rows` are those of `FITTED_KINDS`, of one model in one setting. Curves of other families stay as they are.
    """
    rows = [row for row in rows if row.text and row.log_probability is not None]
    families = sorted({row.family for row in rows} & FITTED_ON.keys())
    new: dict[str, tuple[Curve, str]] = {}
    said = []
    for family in families:
        fitting = [row for row in rows if row.repo in FITTED_ON[family]]
        held_out = [row for row in rows if row.family == family and row.repo not in FITTED_ON[family]]
        if len(fitting) < 4 * LEAST_IN_GROUP:
            said.append(f"{family}: {len(fitting)} answers in {', '.join(FITTED_ON[family])}: too few to fit a curve.")
            continue
        # The workspace model writes a line as one piece, above a threshold of its joint probability.
        curve = fitted(fitting, (0.0,) if backend_kind(rows[0].backend) == "workspace" else LENGTH_POWERS)
        new[family] = (
            curve,
            f"{len(fitting)} lines of {', '.join(sorted({row.repo.split('_')[-1] for row in fitting}))}",
        )
        errors = []
        for name, group in (("fitted", fitting), ("held out", held_out)):
            error = calibration_error(reliability(group, confidence_of=partial(_share, curve)))
            errors += [f"{name}: {100 * error:.1f} % of {len(group)}"] if group else []
        said.append(f"{family}: {curve}\nexpected calibration error, {'; '.join(errors)}")
    if new:
        _write(file, backend_kind(rows[0].backend), new)
        said.append(f"written to {file}")
    return "\n".join(said) or "No answers with a probability: too few to fit a curve."


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


def _write(file: Path, kind: str, new: Mapping[str, tuple[Curve, str]]) -> None:
    fitted = {name: dict(families) for name, families in curves.FITTED.items()}
    measured = {name: dict(families) for name, families in curves.MEASURED_ON.items()}
    for family, (curve, where) in new.items():
        fitted.setdefault(kind, {})[family] = curve.length_power, tuple(curve.knots)
        measured.setdefault(kind, {})[family] = where
    lines = [f'"""{(curves.__doc__ or "").rstrip()}', '"""', "", "from __future__ import annotations", ""]
    lines.append("FITTED: dict[str, dict[str, tuple[float, tuple[tuple[float, float], ...]]]] = {")
    for name, families in fitted.items():
        lines.append(f'    "{name}": {{' + ("" if families else "},"))
        for family, (power, knots) in families.items():
            lines += [f'        "{family}": (', f"            {power},", "            ("]
            lines += [f"                ({x}, {y})," for x, y in knots]
            lines += ["            ),", "        ),"]
        lines += ["    },"] if families else []
    lines += ["}", "", "MEASURED_ON: dict[str, dict[str, str]] = {"]
    for name, places in measured.items():
        lines.append(f'    "{name}": {{' + ("" if places else "},"))
        lines += [f'        "{family}": "{where}",' for family, where in places.items()]
        lines += ["    },"] if places else []
    file.write_text("\n".join([*lines, "}", ""]), encoding="utf-8")
