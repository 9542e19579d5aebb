"""Latency percentiles, cache hits and token counts of a replay.

Owns the split between the time of the server and that of the model, and the percentiles. Knows no process and no table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..bootstrap import percentile
from .fixed_speed import ModelRequest, tokens_of
from .replay import Session, TracedRequest

HITS = ("cache", "typed-through")
"""Answers without a model call."""

KINDS = ("model", "joined", "prefetched", *HITS, "empty")
"""Sources of answers in time; "empty" is an answer without a text."""

Figures = dict[str, Any]


def figures_of(
    session: Session,
    empty: Mapping[str, int],
    *,
    embedded: bool,
    works: Sequence[ModelRequest] = (),
    processor_s: float | None = None,
) -> Figures:
    """The figures of one replay. Times in milliseconds; None where there was nothing to measure.

    `empty` is the server's count of reasons for empty answers. With `embedded` the model is part of the server, and so
    is its time. `works` are the requests at a model of fixed speed. `processor_s` is the time of the server's process.
    """
    in_time = [request for request in session.requests if request.kind in KINDS]
    busy = _merged((work.begin_s, work.end_s) for work in works if not work.warm_up)
    overhead = {
        request: request.reply_ms - (0.0 if embedded else _waited_ms(request, busy))
        for request in in_time
        # An empty answer does not report the time of another model.
        if embedded or request.text
    }
    with_text = [request for request in in_time if request.text]
    kinds = Counter(request.kind for request in session.requests)
    n_hits = sum(kinds[kind] for kind in HITS)
    figures: Figures = {
        "keys": session.n_keys,
        "files": session.n_files,
        "seconds": round(session.end_s - session.begin_s, 1),
        "finished": session.finished,
        "sent": len(session.requests),
        "superseded": kinds["superseded"],
        "unanswered": kinds["unanswered"],
        "errors": sum(bool(request.error) for request in in_time),
        "kinds": {kind: kinds[kind] for kind in KINDS},
        "empty": dict(empty),
        "hit_share": _share(n_hits, len(with_text)),
        "overhead": _percentiles(overhead.values()),
        "hits": _percentiles(overhead[request] for request in in_time if request.kind in HITS),
        "overhead_by_kind": {
            kind: _percentiles(ms for request, ms in overhead.items() if request.kind == kind) for kind in KINDS
        },
        "after_last_key": _percentiles(
            1e3 * (request.replied_s - request.key_s) for request in with_text if request.replied_s
        ),
        "next_edits": _percentiles(session.next_edits_ms),
        "processor_s": processor_s,
        "steps": _steps(in_time),
        "typed": session.n_typed,
        "taken": session.n_accepted_characters,
        "takes": session.n_accepted,
        "saved_share": _share(session.n_accepted_characters, session.n_accepted_characters + session.n_typed),
    }
    if works:
        figures["tokens"] = _tokens(works, with_text)
    return figures


def _waited_ms(request: TracedRequest, busy: Sequence[tuple[float, float]]) -> float:
    """The part of a reply's time that is not overhead: the model computes, or debouncing waits for the next key."""
    if request.kind in HITS or request.replied_s is None:
        return 0.0
    debounce_ms = request.timings_ms.get("debounce", 0.0)
    if not busy:
        return request.timings_ms.get("model", 0.0) + debounce_ms
    # Debouncing follows retrieval; the model may work for another request meanwhile.
    wait_s = request.sent_s + request.timings_ms.get("retrieval", 0.0) / 1e3
    spans = _merged([*busy, (wait_s, wait_s + debounce_ms / 1e3)])
    within = ((max(begin, request.sent_s), min(end, request.replied_s)) for begin, end in spans)
    return 1e3 * sum(max(0.0, end - begin) for begin, end in within)


def _tokens(works: Sequence[ModelRequest], answers: Iterable[TracedRequest]) -> Figures:
    """Tokens of the model, and how many of them were shown."""
    written = sum(work.n_written for work in works)
    used = sum(len(tokens_of(request.text)) for request in answers if request.kind not in HITS)
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


def _steps(in_time: Iterable[TracedRequest]) -> dict[str, dict[str, float] | None]:
    """Times that the server reports, by step."""
    times: dict[str, list[float]] = {}
    for request in in_time:
        for step, ms in request.timings_ms.items():
            times.setdefault(step, []).append(ms)
    return {step: _percentiles(found) for step, found in sorted(times.items())}


def _percentiles(times: Iterable[float]) -> dict[str, float] | None:
    if not (found := list(times)):
        return None
    return {"p50": round(percentile(found, 0.5), 2), "p95": round(percentile(found, 0.95), 2), "n": len(found)}


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
