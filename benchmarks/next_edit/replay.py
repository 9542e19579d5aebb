"""Replay of a commit hunk by hunk: after each one but the last, next edits are requested and compared with the rest.

Owns the order of edits and requests, and the rows. Knows no suggestion and no table.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from .commits import Order, ReplayedCommit, Step
from .facts import HunkFacts
from .kinds import HunkKind, kinds_of
from .offers import Judged, Texts
from .suggesters import Moment, Suggester


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: the number of the hunk before it, the offers, best first, and its time."""

    number: int
    offers: tuple[Judged, ...]
    ms: float
    cpu_ms: float


@dataclass(frozen=True, slots=True)
class Replayed:
    """A commit and the requests in it. `steps`, `facts` and `kinds` are in the order of the replay."""

    steps: tuple[Step, ...]
    facts: tuple[HunkFacts, ...]
    kinds: tuple[HunkKind, ...]
    asked: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class CommitRow:
    """The figures of one commit, in plain values.

    `kinds` are those of its hunks, `files` numbers of their files. Each request has its offers as [kind, number of the
    hunk that it is at or None, whether the text is exact, number of its file or None, identity, confidence].
    """

    repo: str
    commit: str
    order: str
    system: str
    kinds: list[HunkKind]
    files: list[int]
    ms: list[float]
    cpu_ms: list[float]
    offers: list[list[list[Any]]]


def replay(commit: ReplayedCommit, order: Order, suggester: Suggester, read: Callable[[str], str | None]) -> Replayed:
    """Make the hunks one by one; `read` has the text of a file of the parent's tree."""
    steps, facts = commit.steps(order)
    asked = tuple(_requests(Texts(commit, read), steps, facts, suggester))
    return Replayed(steps, facts, tuple(kinds_of(facts, [step.path for step in steps])), asked)


def row_of(repo: str, commit: str, order: str, system: str, replayed: Replayed) -> CommitRow:
    paths = {path: number for number, path in enumerate(dict.fromkeys(step.path for step in replayed.steps))}
    numbers = {step: number for number, step in enumerate(replayed.steps)}

    def plain(judged: Judged) -> list[Any]:
        offer = judged.offer
        # A document beside the sources has hunks without a number.
        number = None if judged.hunk is None else numbers.get(judged.hunk, -1)
        identity = hash_of(offer.path, judged.removed, judged.written)
        return [offer.kind, number, judged.is_exact, paths.get(offer.path), identity, round(offer.confidence, 3)]

    return CommitRow(
        repo,
        commit,
        order,
        system,
        list(replayed.kinds),
        [paths[step.path] for step in replayed.steps],
        [round(each.ms, 3) for each in replayed.asked],
        [round(each.cpu_ms, 3) for each in replayed.asked],
        [[plain(judged) for judged in each.offers] for each in replayed.asked],
    )


def hash_of(*parts: object) -> str:
    """The same for equal offers."""
    return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _requests(
    texts: Texts, steps: tuple[Step, ...], facts: tuple[HunkFacts, ...], suggester: Suggester
) -> Iterator[Asked]:
    for number, step in enumerate(steps):
        before = texts.text(step.path)
        line, character = texts.apply(step)
        moment = Moment(step, facts[number], before, texts.text(step.path), line, character)
        suggester.edit(moment)
        later = steps[number + 1 :]
        if not later:
            return
        started, cpu_started = time.perf_counter(), time.process_time()
        offers = suggester.offers(moment)
        ms, cpu_ms = 1e3 * (time.perf_counter() - started), 1e3 * (time.process_time() - cpu_started)
        yield Asked(number, tuple(texts.judge(offer, later) for offer in offers), ms, cpu_ms)
