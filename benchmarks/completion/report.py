"""Tables of completion rows for people, and the same figures for machines.

Owns their layout. Definitions of figures are in `figures`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..bootstrap import mean, percentile
from ..models import ModelSpec, shown_name
from ..tables import bracketed, markdown, number, or_none
from . import figures
from .answering import N_CANDIDATES, THRESHOLD, CompletionRow
from .argument_tasks import KIND as ARGUMENTS
from .figures import Value, edit_similarity, exact_match
from .mid_line import KIND as MID_LINE

KINDS = {
    "line": "Line tasks",
    MID_LINE: "Mid-line tasks",
    ARGUMENTS: "Arguments behind the opening bracket of a call",
    "api": "API tasks",
}


@dataclass(frozen=True, slots=True)
class ModelResults:
    """The rows of one model."""

    model: ModelSpec
    suffix: bool
    settings: Sequence[str]
    rows: Sequence[CompletionRow]
    languages: Mapping[str, str] = field(default_factory=dict)  # by repository

    @property
    def title(self) -> str:
        return f"{shown_name(self.model.spelling)}{', with the code after the target' if self.suffix else ''}"

    def of(self, kind: str) -> dict[str, list[CompletionRow]]:
        """Rows by setting, of tasks that every setting has an answer to."""
        return figures.by_setting((row for row in self.rows if row.kind == kind), self.settings)


def report(results: ModelResults, against: str, other: ModelResults | None = None) -> str:
    """Markdown: for each kind of task a table over all repositories and one by repository, and the calibration.

    Differences are those to the setting `against`, of the model `other` where it is given.
    """
    parts = [f"## {results.title}"]
    whose = f"{against} of {shown_name(other.model.spelling)}" if other else against
    for kind, title in KINDS.items():
        settings, theirs = _compared(results, against, other, kind)
        if settings:
            first = next(iter(settings.values()))
            n_unique = sum(row.unique for row in first)
            parts.append(
                f"### {title}\n\nTasks: {len(first)}, of these {n_unique} with a unique line. Repositories: "
                f"{len(figures.by_repository(first))}. Brackets: the 95 % interval of the difference to {whose}."
            )
            parts.append(markdown(_HEAD, ([name, *_cells(rows, theirs)] for name, rows in settings.items())))
            parts.append(_by_language(settings, results.languages))
            parts.append(f"EM / ES by repository.\n\n{_by_repository(settings)}")
            parts.append(_calibration(settings))
    return "\n\n".join(part for part in parts if part)


def summary(results: ModelResults, against: str, other: ModelResults | None = None) -> dict[str, object]:
    """The same figures for machines."""
    found: dict[str, Any] = {"model": shown_name(results.model.spelling), "suffix": results.suffix}
    if other:
        found["against"] = shown_name(other.model.spelling)
    for kind in KINDS:
        settings, theirs = _compared(results, against, other, kind)
        found[kind] = {name: _figures(rows, theirs) for name, rows in settings.items()}
        for name, rows in settings.items():
            if len(set(results.languages.values())) > 1:
                their_rows = figures.by_language(theirs, results.languages)
                found[kind][name]["languages"] = {
                    language: _figures(of, their_rows[language])
                    for language, of in figures.by_language(rows, results.languages).items()
                }
    return found


def _compared(
    results: ModelResults, against: str, other: ModelResults | None, kind: str
) -> tuple[dict[str, list[CompletionRow]], Sequence[CompletionRow]]:
    """Rows by setting and those that they are compared with, of tasks that all of them have an answer to."""
    settings = results.of(kind)
    if other is None or not settings:
        return settings, settings.get(against, ())
    theirs = {row.task_id: row for row in other.of(kind).get(against, ())}
    common = {name: [row for row in rows if row.task_id in theirs] for name, rows in settings.items()}
    return (common, [theirs[row.task_id] for row in common[against]]) if common[against] else ({}, ())


_SHOWN_HEAD = (f"shown at {THRESHOLD:g}", "right of shown", "whole lines of shown", "right of whole lines")
_HEAD = (
    "setting",
    "EM",
    "ES",
    "EM unique",
    "ES unique",
    "ms p50",
    "ms p95",
    "prompt",
    "new",
    *_SHOWN_HEAD,
    "EM before repair",
    f"EM of {N_CANDIDATES}",
)


def _cells(rows: Sequence[CompletionRow], against: Sequence[CompletionRow]) -> list[str]:
    unique, their_unique = ([row for row in group if row.unique] for group in (rows, against))
    prompts = [row.prompt_tokens for row in rows if row.prompt_tokens is not None]
    return [
        _with_interval(rows, against, exact_match),
        _with_interval(rows, against, edit_similarity),
        _with_interval(unique, their_unique, exact_match),
        _with_interval(unique, their_unique, edit_similarity),
        f"{percentile((row.ms for row in rows), 0.5):.1f}",
        f"{percentile((row.ms for row in rows), 0.95):.1f}",
        f"{mean(prompts):.0f}" if prompts else "-",
        f"{mean(row.new_tokens for row in rows):.1f}",
        *_shown_cells(rows),
        f"{100 * mean(row.raw_exact_match for row in rows):.1f}",
        number(100 * mean(_among(rows)), "{:.1f}"),
    ]


def _among(rows: Sequence[CompletionRow]) -> list[float]:
    return [row.among_candidates for row in rows if row.among_candidates is not None]


def _shown_cells(rows: Sequence[CompletionRow]) -> list[str]:
    shown = figures.shown_texts(rows)
    return [_percent(share) for share in (shown.share, shown.right, shown.whole, shown.whole_right)]


def _with_interval(rows: Sequence[CompletionRow], against: Sequence[CompletionRow], value: Value) -> str:
    if not rows:
        return "-"
    cell = f"{mean(map(value, rows)):.1f}"
    if rows != against:
        cell += bracketed(figures.interval(rows, value, against))
    return cell


def _by_language(settings: Mapping[str, Sequence[CompletionRow]], languages: Mapping[str, str]) -> str:
    """A table of each setting by language; "" for one language."""
    if len(set(languages.values())) < 2:
        return ""
    head = ("language", "setting", "tasks", "EM", "ES", *_SHOWN_HEAD)
    lines = []
    for name, rows in settings.items():
        for language, of in figures.by_language(rows, languages).items():
            means = [f"{mean(map(value, of)):.1f}" for value in (exact_match, edit_similarity)]
            lines.append([language, name, str(len(of)), *means, *_shown_cells(of)])
    return f"By language.\n\n{markdown(head, lines)}"


def _by_repository(settings: Mapping[str, Sequence[CompletionRow]]) -> str:
    parts = {name: figures.by_repository(rows) for name, rows in settings.items()}
    repos = sorted(next(iter(parts.values())))
    return markdown(
        ("repository", "tasks", *parts),
        (
            [repo, str(len(next(iter(parts.values()))[repo]))]
            + [
                f"{mean(map(exact_match, of[repo])):.1f} / {mean(map(edit_similarity, of[repo])):.1f}"
                for of in parts.values()
            ]
            for repo in repos
        ),
    )


def _calibration(settings: Mapping[str, Sequence[CompletionRow]]) -> str:
    setting = "weft" if "weft" in settings else next(iter(settings))
    bins = figures.reliability(settings[setting])
    if not bins:
        return ""
    lines = (
        [str(tenth), str(each.n), _percent(each.confidence), _percent(each.right)] for tenth, each in enumerate(bins, 1)
    )
    of_shown = figures.calibration_error(figures.shown_reliability(settings[setting]))
    return (
        f"Calibration of the confidence of {setting}, for tasks with an answer. Expected calibration error "
        f"{_percent(figures.calibration_error(bins))}; of what is shown {_percent(of_shown)}.\n\n"
        f"{markdown(('tenth', 'n', 'confidence', 'share right'), lines)}"
    )


def _figures(rows: Sequence[CompletionRow], against: Sequence[CompletionRow]) -> dict[str, object]:
    unique = [row for row in rows if row.unique]
    shown = figures.shown_texts(rows)
    repositories = figures.by_repository(rows)
    return {
        "n": len(rows),
        "exact_match": or_none(mean(map(exact_match, rows))),
        "exact_match_difference": list(map(or_none, figures.interval(rows, exact_match, against))),
        "edit_similarity": or_none(mean(map(edit_similarity, rows))),
        "edit_similarity_difference": list(map(or_none, figures.interval(rows, edit_similarity, against))),
        "n_unique": len(unique),
        "exact_match_unique": or_none(mean(map(exact_match, unique))),
        "edit_similarity_unique": or_none(mean(map(edit_similarity, unique))),
        "exact_match_among_candidates": or_none(100 * mean(_among(rows))),
        "exact_match_before_repair": or_none(100 * mean(row.raw_exact_match for row in rows)),
        "ms_p50": or_none(percentile((row.ms for row in rows), 0.5)),
        "ms_p95": or_none(percentile((row.ms for row in rows), 0.95)),
        "prompt_tokens": or_none(mean(row.prompt_tokens for row in rows if row.prompt_tokens is not None)),
        "new_tokens": or_none(mean(row.new_tokens for row in rows)),
        "least_confidence": THRESHOLD,
        "shown": or_none(100 * shown.share),
        "right_of_shown": or_none(100 * shown.right),
        "shown_whole": or_none(100 * shown.whole),
        "right_of_shown_whole": or_none(100 * shown.whole_right),
        "calibration_error": or_none(100 * figures.calibration_error(figures.reliability(rows))),
        "calibration_error_of_shown": or_none(100 * figures.calibration_error(figures.shown_reliability(rows))),
        "repositories": {
            repo: [or_none(mean(map(exact_match, of))), or_none(mean(map(edit_similarity, of)))]
            for repo, of in repositories.items()
        },
    }


def _percent(share: float) -> str:
    return number(100 * share, "{:.1f} %")
