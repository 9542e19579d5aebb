"""Tables of typed commits.

Owns the choice of the columns. Knows no replay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..bootstrap import mean
from ..tables import markdown, number, percent
from .causes import CAUSES

_HEAD = (
    "repository",
    "saved, whole",
    "saved, by word",
    "shown / 100 keys",
    "wrong / 100 keys",
    "right of shown",
    "distinct texts",
    "right of distinct",
    "harmful",
    "calibration error",
    "first right, s",
    "p50, ms",
    "p95, ms",
)


def tables(results: Sequence[Mapping[str, Any]]) -> str:
    """The main table, a mean for each purpose, and the causes of wrong texts."""
    parts = []
    for purpose in dict.fromkeys(result["purpose"] for result in results):
        chosen = [result for result in results if result["purpose"] == purpose]
        rows = [_row(result["repo"], result["modes"]) for result in chosen]
        if len(chosen) > 1:
            rows.append(_row("mean", _means([result["modes"] for result in chosen])))
        causes = [_causes(result["repo"], result["modes"]) for result in chosen]
        parts += [
            f"Repositories for {purpose}; shares in percent:",
            markdown(_HEAD, rows),
            "Causes of wrong distinct texts, in percent:",
            markdown(("repository", *CAUSES), causes),
        ]
    return "\n\n".join(parts)


def _row(name: str, modes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    words = modes.get("words", {})
    whole = modes.get("whole") or words
    return [
        name,
        percent(modes.get("whole", {}).get("saved")),
        percent(words.get("saved")),
        number(whole["shown_per_100"]),
        number(whole["wrong_per_100"]),
        percent(whole["shown_right"]),
        number(whole["distinct"], "{:.0f}"),
        percent(whole["distinct_right"]),
        percent(whole["distinct_harmful"]),
        percent(whole["calibration_error"]),
        number(whole["first_right_s"]),
        number(whole["p50_ms"]),
        number(whole["p95_ms"]),
    ]


def _causes(name: str, modes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    causes = (modes.get("whole") or modes["words"])["causes"]
    return [name, *(percent(causes[cause]) for cause in CAUSES)]


def _means(all_modes: Sequence[Mapping[str, Mapping[str, Any]]]) -> dict[str, dict[str, float]]:
    """The mean of each figure over repositories."""
    return {
        mode: {
            name: mean(modes[mode][name] for modes in all_modes if mode in modes)
            for name in all_modes[0][mode]
            if name != "causes"
        }
        for mode in all_modes[0]
    }
