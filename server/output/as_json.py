"""Completions, explanations and reports as JSON values, for the protocol and for `--json`.

The types of the values are in `types.py`. Knows no message and no terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...retrieval import Location, RankedFragment, ScorePart
from ..completion import Completion, Round
from ..completion.explanation import Explanation
from ..completion.values import Trace
from ..workspace.folder import IndexReport
from ..workspace.status import TITLES, Status, summarize_status
from . import types as answers
from .pages import explanation_page, status_page, uri_of
from .safe_text import for_editor

Json = dict[str, Any]


def completion_json(completion: Completion) -> answers.CompletionAnswer:
    return {
        "text": completion.text,
        "start": list(completion.start),
        "end": list(completion.end),
        "confidence": completion.confidence,
        "model": for_editor(completion.model),
        "id": completion.id,
        "source": completion.source,
        "repairs": list(completion.repairs),
        "whyEmpty": for_editor(completion.why_empty),
        "minConfidence": completion.min_confidence,
        "heldBack": completion.held_back,
        "note": completion.note,
        "fragments": fragments_json(completion.fragments),
        "timingsMs": timings_json(completion.timings_ms),
    }


def round_json(finished: Round) -> Json:
    """One round of RepoCoder's loop: query, fragments and completion."""
    return {
        "query": [] if finished.query is None else [*finished.query.before, *finished.query.after],
        "text": finished.written.text,
        "model": finished.written.model,
        "fragments": fragments_json(finished.fragments),
        "timingsMs": timings_json(finished.timings_ms),
    }


def explanation_json(explanation: Explanation) -> answers.ExplainResult:
    return {
        "path": explanation.path,
        "shownFromLine": explanation.shown_from_line,
        "model": explanation.model,
        "notes": list(map(for_editor, explanation.notes)),
        **explained_text_json(explanation),
        "fragments": [_explained(explanation, ranked) for ranked in explanation.fragments],
        "leftOut": [
            {
                "place": f"{place.path}:{place.start_line + 1}-{place.end_line}",
                "reason": reason,
                "uri": uri_of(explanation.file_of(place.path)),
                "startLine": place.start_line,
                "endLine": place.end_line,
            }
            for place, reason in explanation.left_out
        ],
        "timingsMs": timings_json(explanation.timings_ms),
        "page": explanation_page(explanation),
    }


def explained_text_json(explanation: Explanation) -> answers.ExplainedText:
    """The completion, why it is shown or hidden, and where it comes from."""
    return {
        "text": explanation.text,
        "writer": for_editor(explanation.writer),
        "confidence": explanation.confidence,
        "minConfidence": explanation.min_confidence,
        "whyHidden": for_editor(explanation.why_hidden),
        "sources": [
            {
                **place_json(source.place),
                "uri": uri_of(explanation.file_of(source.place.path)),
                "text": source.text,
                "renamed": [{"there": there, "here": here} for there, here in source.renamed],
            }
            for source in explanation.sources
        ],
        "reasons": list(map(for_editor, explanation.reasons)),
    }


def fragments_json(fragments: Iterable[RankedFragment]) -> list[answers.Fragment]:
    """Best first. Lines are 0-based and half-open; the parts add up to the score."""
    return [
        {
            "score": ranked.score,
            "parts": parts_json(ranked.parts),
            "way": list(ranked.path),
            "places": [place_json(place) for place in ranked.fragment.locations],
            "text": ranked.fragment.text,
            "isOutline": ranked.fragment.is_outline,
        }
        for ranked in fragments
    ]


def parts_json(parts: Iterable[ScorePart]) -> list[answers.Part]:
    """The parts that add up to a score."""
    return [{"name": part.name, "value": part.value, "detail": part.detail} for part in parts]


def trace_json(trace: Trace) -> list[Json]:
    return [{"atMs": round(step.at_ms, 3), "name": step.name, "detail": step.detail} for step in trace.steps]


def timings_json(timings_ms: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in timings_ms.items()}


def place_json(place: Location) -> answers.Place:
    return {"path": place.path, "startLine": place.start_line, "endLine": place.end_line}


def status_json(status: Status, *, with_page: bool = True) -> answers.StatusResult:
    words = summarize_status(status)
    return {
        "kind": words.kind,
        "text": for_editor(words.text),
        "percent": status.percent,
        "actions": [{"title": TITLES[action], "action": action} for action in words.actions],
        "page": status_page(status, words) if with_page else None,
        "state": status.state,
        "folders": list(status.folders),
        "files": status.n_files,
        "lines": status.n_lines,
        "fragments": status.n_fragments,
        "model": for_editor(status.model),
        "modelReason": for_editor(status.model_reason),
        "models": [
            {
                "name": for_editor(model.name),
                "backend": model.backend,
                "state": model.state,
                "note": for_editor(model.note),
                "readsTokensPerSecond": round(model.speed.prefill, 1),
                "writesTokensPerSecond": round(model.speed.decode, 1),
            }
            for model in status.models
        ],
        "notes": list(map(for_editor, status.all_notes)),
        "reconciling": status.is_reconciling,
        "memoryMb": round(status.memory_mb, 1),
    }


def report_json(report: IndexReport) -> Json:
    return {
        "files": report.n_files,
        "lines": report.n_lines,
        "fragments": report.n_fragments,
        "reused": report.n_reused,
        "skipped": dict(report.skipped),
        "seconds": round(report.seconds, 3),
        "warm": report.warm,
        "cancelled": report.cancelled,
    }


def _explained(explanation: Explanation, ranked: RankedFragment) -> answers.ExplainedFragment:
    (fragment,) = fragments_json([ranked])
    places = fragment["places"]
    return {**fragment, "places": [{**place, "uri": uri_of(explanation.file_of(place["path"]))} for place in places]}
