"""Latency percentiles, cache hits and token counts of a replay.

Owns what counts as the server's own time and what as the model's, and the percentiles. Knows no process and no table.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .fixed_speed import ModelRequest, tokens_of
from .replay import Asked, Session

HITS = ("cache", "typed-through")
"""Answers that ask no model."""

KINDS = ("model", "joined", "prefetched", *HITS, "empty")
"""Of answers in time: where a text comes from, or that there is none."""

Figures = dict[str, Any]


def figures_of(
    session: Session, empty: Mapping[str, int], *, embedded: bool, works: Sequence[ModelRequest] = ()
) -> Figures:
    """The figures of one replay. Times in milliseconds; None where there was nothing to measure.

    `empty` is the server's own count of why it showed nothing. `embedded`: the model is a part of the server, and so
    is its time. `works` is what a model of fixed speed did meanwhile.
    """
    in_time = [asked for asked in session.asked if asked.kind in KINDS]
    busy = _merged((work.begin_s, work.end_s) for work in works if not work.warm_up)
    overhead = {
        id(asked): asked.reply_ms - (0.0 if embedded else _waited_ms(asked, busy))
        for asked in in_time
        # An empty answer does not say how long another model was waited for.
        if embedded or asked.text
    }
    with_text = [asked for asked in in_time if asked.text]
    kinds = Counter(asked.kind for asked in session.asked)
    n_hits = sum(kinds[kind] for kind in HITS)
    figures: Figures = {
        "keys": session.n_keys,
        "files": session.n_files,
        "seconds": round(session.end_s - session.begin_s, 1),
        "finished": session.finished,
        "sent": len(session.asked),
        "superseded": kinds["superseded"],
        "unanswered": kinds["unanswered"],
        "errors": sum(1 for asked in in_time if asked.error),
        "kinds": {kind: kinds[kind] for kind in KINDS},
        "empty": dict(empty),
        "hit_share": _share(n_hits, len(with_text)),
        "overhead": _percentiles(overhead.values()),
        "hits": _percentiles(overhead[id(asked)] for asked in in_time if asked.kind in HITS),
        "overhead_by_kind": {
            kind: _percentiles(overhead[id(one)] for one in in_time if one.kind == kind and id(one) in overhead)
            for kind in KINDS
        },
        "after_last_key": _percentiles(1e3 * (asked.replied_s - asked.key_s) for asked in with_text if asked.replied_s),
        "steps": _steps(in_time),
        "typed": session.n_typed,
        "taken": session.n_taken,
        "takes": session.n_takes,
        "saved_share": _share(session.n_taken, session.n_taken + session.n_typed),
    }
    if works:
        figures["tokens"] = _tokens(works, with_text)
    return figures


def _waited_ms(asked: Asked, busy: Sequence[tuple[float, float]]) -> float:
    """What of a reply's time is not the server's: the model computed, or the next key was waited for on purpose."""
    if asked.kind in HITS or asked.replied_s is None:
        return 0.0
    debounce_ms = asked.timings_ms.get("debounce", 0.0)
    if not busy:
        return asked.timings_ms.get("model", 0.0) + debounce_ms
    # The next key is waited for after retrieval; the model may be at work for another request meanwhile.
    wait_s = asked.sent_s + asked.timings_ms.get("retrieval", 0.0) / 1e3
    spans = _merged([*busy, (wait_s, wait_s + debounce_ms / 1e3)])
    within = ((max(begin, asked.sent_s), min(end, asked.replied_s)) for begin, end in spans)
    return 1e3 * sum(max(0.0, end - begin) for begin, end in within)


def _tokens(works: Sequence[ModelRequest], answers: Iterable[Asked]) -> Figures:
    """The model's work, and what of it somebody got to see."""
    written = sum(work.n_written for work in works)
    used = sum(len(tokens_of(asked.text)) for asked in answers if asked.kind not in HITS)
    return {
        "requests": sum(1 for work in works if not work.warm_up),
        "warm_ups": sum(1 for work in works if work.warm_up),
        "closed_early": sum(1 for work in works if work.closed_early),
        "read": sum(work.n_read for work in works),
        "from_cache": sum(work.n_cached for work in works),
        "written": written,
        "answered": used,
        "thrown_away_share": _share(max(0, written - used), written),
    }


def _steps(in_time: Iterable[Asked]) -> dict[str, dict[str, float] | None]:
    """What the server says about its own time, by step."""
    times: dict[str, list[float]] = {}
    for asked in in_time:
        for step, ms in asked.timings_ms.items():
            times.setdefault(step, []).append(ms)
    return {step: _percentiles(found) for step, found in sorted(times.items())}


def _percentiles(times: Iterable[float]) -> dict[str, float] | None:
    found = sorted(times)
    if not found:
        return None
    return {"p50": round(_at(found, 0.5), 2), "p95": round(_at(found, 0.95), 2), "n": len(found)}


def _at(found: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all does not exceed."""
    return found[max(0, math.ceil(share * len(found)) - 1)]


def _share(part: float, whole: float) -> float | None:
    return round(part / whole, 3) if whole else None


def _merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans without overlaps."""
    merged: list[tuple[float, float]] = []
    for begin, end in sorted(spans):
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged
