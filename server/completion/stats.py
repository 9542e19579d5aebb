"""Statistics: requests, displayed, accepted and rejected completions, calls of agents, latency. Local to this machine.

Owns the counters, their file for each process, and the sum over all files (`weft stats`). Counters contain no text and
no path, only counts by day, language, model and reason.

Each process replaces a file of its own atomically, so no two processes write the same file.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import threading
import time
import uuid
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

from ...llm.disk import read_text, remove_abandoned, replace_file
from ...llm.private_files import private_folder
from ..output.types import Latency, StatsResult
from ..workspace.store import cache_folder
from . import Completion, Trigger

log = logging.getLogger("weft")

VERSION = 1
"""1: days of counters, latency in buckets."""

MAX_ITEMS = 256
"""Number of recent completions to remember, for messages that refer to them."""

BUCKET_GROWTH = 1.1
"""Growth factor of the latency buckets; a percentile is off by at most 5 %."""


@dataclass
class Day:
    """The counters of one day."""

    n_asked: Counter[str] = field(default_factory=Counter)  # by trigger
    n_offered: Counter[str] = field(default_factory=Counter)  # completions with a text, by source
    n_empty: Counter[str] = field(default_factory=Counter)  # completions without a text, by reason
    n_shown: Counter[str] = field(default_factory=Counter)  # displayed, by language
    n_accepted: Counter[str] = field(default_factory=Counter)
    n_partly: Counter[str] = field(default_factory=Counter)
    n_rejected: Counter[str] = field(default_factory=Counter)
    n_characters: Counter[str] = field(default_factory=Counter)  # accepted, by model
    n_next_shown: Counter[str] = field(default_factory=Counter)  # next edits, by kind
    n_next_taken: Counter[str] = field(default_factory=Counter)
    n_next_refused: Counter[str] = field(default_factory=Counter)
    n_agent_calls: Counter[str] = field(default_factory=Counter)  # of tools for agents, by tool
    n_agent_failed: Counter[str] = field(default_factory=Counter)  # of these, answered with an error
    agent_latency: dict[str, Counter[int]] = field(default_factory=dict)  # by tool: bucket -> calls
    latency: dict[str, Counter[int]] = field(default_factory=dict)  # by source: bucket -> completions

    def add(self, other: Day) -> None:
        for name in _COUNTERS:
            getattr(self, name).update(getattr(other, name))
        for name in _LATENCIES:
            for source, buckets in getattr(other, name).items():
                getattr(self, name).setdefault(source, Counter()).update(buckets)


_COUNTERS = (
    *("n_asked", "n_offered", "n_empty", "n_shown", "n_accepted", "n_partly", "n_rejected", "n_characters"),
    *("n_next_shown", "n_next_taken", "n_next_refused", "n_agent_calls", "n_agent_failed"),
)
_LATENCIES = ("latency", "agent_latency")

NextEditEvent = Literal["shown", "taken", "refused"]


@dataclass
class _Item:
    text: str
    language: str
    model: str
    shown: bool = False
    n_taken: int = 0
    ended: bool = False


class Stats:
    """The counters of one process. Thread-safe. `folder` None stores nothing on disk."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / f"{os.getpid()}-{uuid.uuid4().hex[:8]}.json" if folder is not None else None
        if folder is not None:
            remove_abandoned(folder)
        self._lock = threading.Lock()
        self._days: dict[str, Day] = {}
        self._items: OrderedDict[str, _Item] = OrderedDict()

    def answered(self, completion: Completion, trigger: Trigger, language: str) -> None:
        """A request was answered, with a text or without."""
        with self._lock:
            day = self._today()
            day.n_asked[trigger] += 1
            if not completion.text:
                day.n_empty[reason_kind(completion.why_empty)] += 1
                return
            day.n_offered[completion.source] += 1
            total_ms = completion.timings_ms.get("total")
            if total_ms is not None:
                day.latency.setdefault(completion.source, Counter())[_bucket(total_ms)] += 1
            self._add_item(completion, language)

    def offered_alternative(self, completion: Completion, language: str) -> None:
        """A further completion for a request, which counts once."""
        with self._lock:
            self._add_item(completion, language)

    def text(self, item_id: str) -> str | None:
        """The text of a recent completion, None for an unknown id."""
        item = self._items.get(item_id)
        return None if item is None else item.text

    def shown(self, item_id: str) -> None:
        with self._lock:
            item = self._items.get(item_id)
            if item is not None:
                self._count_shown(item)

    def accepted(self, item_id: str) -> None:
        """The user accepted the whole text, or its remainder."""
        with self._lock:
            item = self._items.get(item_id)
            if item is not None and not item.ended:
                self._count_shown(item)
                item.ended = True
                day = self._today()
                day.n_accepted[item.language] += 1
                if item.n_taken:  # counted once, as accepted
                    day.n_partly[item.language] -= 1
                day.n_characters[item.model] += len(item.text) - item.n_taken

    def partially_accepted(self, item_id: str, n_characters: int) -> None:
        """The user accepted `n_characters` so far, in total."""
        with self._lock:
            item = self._items.get(item_id)
            if item is None or item.ended or n_characters <= item.n_taken:
                return
            self._count_shown(item)
            day = self._today()
            if not item.n_taken:
                day.n_partly[item.language] += 1
            n_characters = min(n_characters, len(item.text))
            day.n_characters[item.model] += n_characters - item.n_taken
            item.n_taken = n_characters

    def rejected(self, item_id: str) -> None:
        with self._lock:
            item = self._items.get(item_id)
            if item is not None and not item.ended:
                self._count_shown(item)
                item.ended = True
                if not item.n_taken:
                    self._today().n_rejected[item.language] += 1

    def next_edit(self, event: NextEditEvent, kind: str) -> None:
        """A next edit of a kind was shown, taken or refused."""
        with self._lock:
            getattr(self._today(), f"n_next_{event}")[kind] += 1

    def agent_call(self, tool: str, milliseconds: float | None) -> None:
        """An agent called a tool; None for a call that was answered with an error."""
        with self._lock:
            day = self._today()
            day.n_agent_calls[tool] += 1
            if milliseconds is None:
                day.n_agent_failed[tool] += 1
            else:
                day.agent_latency.setdefault(tool, Counter())[_bucket(milliseconds)] += 1

    def summary(self) -> Summary:
        """The counters of this process."""
        with self._lock:
            return summarise(self._days.values())

    def save(self) -> None:
        """Store the counters on disk; an error is logged and not raised."""
        if self._file is None:
            return
        with self._lock:
            if not self._days:
                return
            text = json.dumps({"version": VERSION, "days": {name: _day_json(day) for name, day in self._days.items()}})
        try:
            private_folder(self._file.parent, is_ours=True)
            replace_file(self._file, text.encode())
        except OSError as error:
            log.info("Could not store the statistics: %s", error)

    def _add_item(self, completion: Completion, language: str) -> None:
        self._items[completion.id] = _Item(completion.text, language, completion.model)
        while len(self._items) > MAX_ITEMS:
            self._items.popitem(last=False)

    def _count_shown(self, item: _Item) -> None:
        """Count an item as shown once; an accepted or rejected one was shown, even without a message."""
        if not item.shown:
            item.shown = True
            self._today().n_shown[item.language] += 1

    def _today(self) -> Day:
        return self._days.setdefault(date.today().isoformat(), Day())


@dataclass(frozen=True, slots=True)
class Summary:
    """The sum of several days. Latency in milliseconds by source: (median, 95th percentile, completions).

    That of agents is by tool, and counts calls.
    """

    day: Day
    latency_ms: Mapping[str, tuple[float, float, int]]
    agent_latency_ms: Mapping[str, tuple[float, float, int]] = field(default_factory=dict)

    @property
    def accepted_share(self) -> float | None:
        """The share of displayed completions that were accepted, in whole or in part; None without any."""
        n_shown = self.day.n_shown.total()
        return (self.day.n_accepted.total() + self.day.n_partly.total()) / n_shown if n_shown else None


EMPTY_SUMMARY = Summary(Day(), {})


def summarise(days: Iterable[Day]) -> Summary:
    total = Day()
    for day in days:
        total.add(day)
    return Summary(total, _percentiles(total.latency), _percentiles(total.agent_latency))


def _percentiles(latency: Mapping[str, Counter[int]]) -> dict[str, tuple[float, float, int]]:
    return {
        source: (_percentile(buckets, 0.5), _percentile(buckets, 0.95), buckets.total())
        for source, buckets in sorted(latency.items())
    }


def summary_json(summary: Summary) -> StatsResult:
    """A summary in the form of `weft stats --json` and `weft/stats`."""
    day = summary.day
    return {
        "asked": dict(day.n_asked),
        "offered": dict(day.n_offered),
        "empty": dict(day.n_empty.most_common()),
        "shown": dict(day.n_shown),
        "accepted": dict(day.n_accepted),
        "partlyAccepted": dict(day.n_partly),
        "rejected": dict(day.n_rejected),
        "charactersTaken": dict(day.n_characters),
        "nextEditsShown": dict(day.n_next_shown),
        "nextEditsTaken": dict(day.n_next_taken),
        "nextEditsRefused": dict(day.n_next_refused),
        "acceptedShare": summary.accepted_share,
        "latencyMs": _latency_json(summary.latency_ms),
        "agentCalls": dict(day.n_agent_calls.most_common()),
        "agentCallsFailed": dict(day.n_agent_failed),
        "agentLatencyMs": _latency_json(summary.agent_latency_ms),
    }


def _latency_json(latency: Mapping[str, tuple[float, float, int]]) -> dict[str, Latency]:
    return {name: {"p50": round(p50, 2), "p95": round(p95, 2), "n": n} for name, (p50, p95, n) in latency.items()}


def stats_folder(cache_dir: str = "") -> Path:
    """The folder of this user's statistics."""
    return (Path(cache_dir).expanduser() if cache_dir else cache_folder()) / "stats"


def read_stats(folder: Path, n_days: int) -> Summary:
    """The sum of the last `n_days` over all processes. Unreadable files are skipped."""
    return summarise(day for days in _read_days(folder, n_days).values() for day in days)


def read_stats_by_day(folder: Path, n_days: int) -> dict[str, Summary]:
    """The same for each day with counters: ISO dates in order."""
    return {name: summarise(days) for name, days in sorted(_read_days(folder, n_days).items())}


def _read_days(folder: Path, n_days: int) -> dict[str, list[Day]]:
    """The counters of the last `n_days` by ISO date, one of each process."""
    first = (date.today() - timedelta(days=n_days - 1)).isoformat()
    found: dict[str, list[Day]] = {}
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        for name, day in _read(path).items():
            if name >= first:
                found.setdefault(name, []).append(day)
    return found


def forget_stats(folder: Path, older_than_days: int = 0) -> int:
    """Remove the files not written for `older_than_days`; returns the number of removed files."""
    n_removed = 0
    for path in folder.glob("*.json") if folder.is_dir() else ():
        with suppress(OSError):
            if time.time() - path.stat().st_mtime >= older_than_days * 86_400:
                path.unlink()
                n_removed += 1
    return n_removed


def reason_kind(why_empty: str) -> str:
    """A reason reduced to its first clause, with `N` for numbers, as a key to count by."""
    head = re.split(r"[:;.]", why_empty, maxsplit=1)[0]
    return re.sub(r"\d+([.,]\d+)?", "N", head).strip() or "no reason given"


def _bucket(milliseconds: float) -> int:
    return math.ceil(math.log(max(milliseconds, 0.01)) / math.log(BUCKET_GROWTH))


def _percentile(buckets: Counter[int], share: float) -> float:
    rank, n_seen = share * buckets.total(), 0
    for bucket in sorted(buckets):
        n_seen += buckets[bucket]
        if n_seen >= rank:
            return float(BUCKET_GROWTH ** (bucket - 0.5))
    return math.nan


def _day_json(day: Day) -> dict[str, Any]:
    return {
        **{name: dict(getattr(day, name)) for name in _COUNTERS},
        **{name: {source: dict(buckets) for source, buckets in getattr(day, name).items()} for name in _LATENCIES},
    }


def _read(path: Path) -> dict[str, Day]:
    try:
        stored = json.loads(read_text(path))
        if stored["version"] != VERSION:
            return {}
        return {str(name): _day_of(values) for name, values in stored["days"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        log.info("Skipped the unreadable statistics file %s: %s", path.name, error)
        return {}


def _day_of(values: Mapping[str, Any]) -> Day:
    day = Day()
    for name in _COUNTERS:
        for key, count in values.get(name, {}).items():
            getattr(day, name)[str(key)] += int(count)
    for name in _LATENCIES:
        for source, buckets in values.get(name, {}).items():
            counts = Counter({int(bucket): int(count) for bucket, count in buckets.items()})
            getattr(day, name)[str(source)] = counts
    return day
