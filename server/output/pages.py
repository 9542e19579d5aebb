"""Longer answers as lines for a person, the same words in every editor; a line may lead to a place.

Owns the words and the order. Knows no editor: links are URIs, and ranges are whole lines, so that no count of columns
matters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ... import __version__
from ...retrieval import Location, RankedFragment
from ..models.active import NO_MODEL, WORKSPACE_MODEL
from .safe_text import for_editor
from .types import PageLine, Position

if TYPE_CHECKING:
    from ..completion.service import Explanation
    from ..models.chain import ModelState
    from ..workspace.status import Status, StatusSummary
    from .doctor import Finding

SHOWN_LINES = 6
"""Of a fragment; the link leads to the rest."""

_STATES = {"opening": "being loaded", "ready": "ready", "down": "does not answer", "aside": "failed its self-test"}


def status_page(status: Status, said: StatusSummary) -> list[PageLine]:
    return [_line(text) for text in _status_lines(status, said)]


def findings_page(findings: Iterable[Finding]) -> list[PageLine]:
    """What was found, then the next steps."""
    findings = list(findings)
    lines = [f"{'!' if finding.next_step else '✓'} {finding.what}: {finding.found}" for finding in findings]
    steps = [f"  - {finding.next_step}" for finding in findings if finding.next_step]
    return [_line(text) for text in (*lines, "", "What to do next:" if steps else "All is well.", *steps)]


def explanation_page(explanation: Explanation) -> list[PageLine]:
    """Each fragment with its score and its place, then what was left out, then what a person should know."""
    page = [_line(f"What the repository holds for a completion in {explanation.path}")]
    if explanation.model == WORKSPACE_MODEL:
        page.append(_line("The workspace model answers: it reads the whole index. Other models would be shown this:"))
    elif explanation.model != NO_MODEL:
        page.append(_line(f"The model {explanation.model} is shown this, as far as its prompt has room:"))
    if explanation.shown_from_line:
        page.append(_line(f"The file itself from line {explanation.shown_from_line + 1} to the cursor"))
    if not explanation.fragments:
        page.append(_line("No fragment of the repository speaks to this place."))
    for number, ranked in enumerate(explanation.fragments, 1):
        page += [_line(""), *_fragment_lines(explanation.folder, number, ranked)]
    if explanation.left_out:
        page += [_line(""), _line("Left out:")]
    for place, reason in explanation.left_out:
        page.append(_linked(f"  {_words(place)}  {reason}", explanation.folder, place))
    if explanation.notes:
        page += [_line(""), _line("Notes:"), *(_line(f"  {note}") for note in explanation.notes)]
    return page


def uri_of(folder: str, path: str) -> str | None:
    """Of a file of a folder; None outside of all folders."""
    return (Path(folder) / path).as_uri() if folder else None


def _status_lines(status: Status, said: StatusSummary) -> Iterator[str]:
    yield f"Weft {__version__}: {said.text}"
    yield ""
    yield "Index"
    yield f"  {status.n_files:,} files, {status.n_lines:,} lines, {status.n_fragments:,} fragments"
    for folder in status.folders:
        yield f"  {folder}"
    if not status.folders:
        yield "  no folder is open"
    yield ""
    yield "Models"
    yield f"  {status.model} answers now" + (f": {status.model_reason}" if status.model_reason else "")
    for model in status.models:
        yield f"  {model.name} ({model.backend}): {_STATES[model.state]}{_speed(model)}"
    notes = dict.fromkeys((*status.all_notes, *([status.problem] if status.problem else [])))
    if notes:
        yield ""
        yield "Notes"
        yield from (f"  {note}" for note in notes)
    yield ""
    yield f"The server holds {status.memory_mb:,.0f} MB of memory."


def _speed(model: ModelState) -> str:
    reads, writes = model.speed.prefill, model.speed.decode
    return f", reads {reads:,.0f} and writes {writes:,.0f} tokens a second" if reads and writes else ""


def _fragment_lines(folder: str, number: int, ranked: RankedFragment) -> Iterator[PageLine]:
    first, *others = ranked.fragment.locations
    yield _linked(f"{number}. {ranked.score:.2f}  {_words(first)}", folder, first)
    for place in others:
        yield _linked(f"     also {_words(place)}", folder, place)
    if ranked.parts:
        parts = " + ".join(f"{part.name} {part.value:.2f}" for part in ranked.parts)
        yield _line(f"     {ranked.score:.2f} = {parts}")
        yield from (_line(f"     {part.name}: {part.detail}") for part in ranked.parts if part.detail)
    if ranked.path:
        yield _line(f"     way: {'; '.join(ranked.path)}")
    lines = ranked.fragment.text.splitlines()
    yield from (_line(f"     | {line}") for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        yield _line(f"     | and {len(lines) - SHOWN_LINES} more lines")


def _words(place: Location) -> str:
    return f"{place.path}:{place.start_line + 1}-{place.end_line}"


def _line(text: str) -> PageLine:
    return {"text": for_editor(text)}


def _linked(text: str, folder: str, place: Location) -> PageLine:
    uri = uri_of(folder, place.path)
    if uri is None:
        return _line(text)
    return {
        "text": for_editor(text),
        "uri": uri,
        "range": {"start": _start_of(place.start_line), "end": _start_of(place.end_line)},
    }


def _start_of(line: int) -> Position:
    return {"line": line, "character": 0}
