"""Examples for reading: a hunk that follows from an earlier one, what it follows from, and what was offered.

Owns the choice of the examples and their text. Knows no figure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .commits import Step
from .kinds import KNOWABLE, cause_of
from .offers import Judged
from .replay import Replayed

SHOWN_LINES, SHOWN_OFFERS = 12, 6


def missed(commit: str, replayed: Replayed, kinds: Sequence[str] = KNOWABLE) -> Iterator[str]:
    """One text for each hunk of these kinds that was among no first three offers."""
    paths = [step.path for step in replayed.steps]
    found = {judged.hunk for asked in replayed.asked for judged in asked.offers[:3] if judged.hunk is not None}
    for number, (step, kind) in enumerate(zip(replayed.steps, replayed.kinds, strict=True)):
        if number and kind in kinds and step not in found:
            cause = cause_of(replayed.facts, paths, number)
            after = replayed.asked[number - 1 if cause is None else cause]
            made = replayed.steps[after.number]
            parts = [f"== {kind}, {commit}, hunk {number + 1} of {len(replayed.steps)}", "made:", *_as_diff(made)]
            parts += ["offers then:", *map(_line_of, after.offers[:SHOWN_OFFERS])]
            yield "\n".join([*parts, "came later:", *_as_diff(step)])


def wrong(commit: str, replayed: Replayed) -> Iterator[str]:
    """One text for each request with offers that are at no later hunk."""
    for asked in replayed.asked:
        offers = [judged for judged in asked.offers if judged.hunk is None]
        if offers:
            made = replayed.steps[asked.number]
            parts = [f"== wrong, {commit}, hunk {asked.number + 1} of {len(replayed.steps)}", *_as_diff(made)]
            yield "\n".join([*parts, "offers:", *map(_line_of, offers[:SHOWN_OFFERS])])


def _as_diff(step: Step) -> list[str]:
    lines = [f"  -{line}" for line in step.removed[:SHOWN_LINES]] + [f"  +{line}" for line in step.added[:SHOWN_LINES]]
    return [f"  {step.path}:{step.old_start + 1}", *lines]


def _line_of(judged: Judged) -> str:
    offer = judged.offer
    where = "" if offer.start is None else f":{offer.start[0] + 1}:{offer.start[1] + 1}"
    verdict = "wrong" if judged.hunk is None else "exact" if judged.is_exact else "place"
    return (
        f"  {verdict} {offer.kind} {offer.path}{where} {list(judged.removed)} -> {list(judged.written)} {offer.reason}"
    )
