"""The interface of a reliability campaign: its settings and its counts.

A campaign is a module of this package with three names: `QUESTION`, one sentence; `MUST_BE_ZERO`, the counts that
fail it when they are not 0; and `run(settings) -> Counts`. `python -m weft.benchmarks.reliability NAME` runs it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

SEED = 20261122

Counts = Mapping[str, "int | float | str"]
"""Actions and violations by name, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How one campaign runs. The same seed gives the same actions; timing still differs between runs."""

    work: Path  # an empty folder of this campaign's own
    is_short: bool = False  # a form of a few seconds, for the tests
    seed: int = SEED


class Campaign(Protocol):
    """The names in the module of a campaign."""

    QUESTION: str
    MUST_BE_ZERO: tuple[str, ...]

    def run(self, settings: Settings) -> Counts: ...


def failures(campaign: Campaign, counts: Counts) -> dict[str, int | float | str]:
    """The counts that must be 0 and are not."""
    return {name: counts[name] for name in campaign.MUST_BE_ZERO if counts[name]}


def strings_of(value: object, without: Collection[str] = ()) -> Iterator[str]:
    """The strings in a JSON value at any depth, but not below the names in `without`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if name not in without:
                yield from strings_of(inner, without)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_of(inner, without)


def write_file(path: Path, text: str) -> None:
    """Write a file, and make its folder when that is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
