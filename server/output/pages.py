"""Status, doctor and explanation as lines of text with links, the same in every editor.

Knows no editor: links are URIs, and ranges are whole lines, so that the position encoding does not matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING

from ...retrieval import Location, RankedFragment
from ...version import __version__
from ..models.active import NO_MODEL
from .safe_text import for_editor
from .types import PageLine, Position

if TYPE_CHECKING:
    from ..completion.explanation import Explanation, SourceLine
    from ..models.chain import ModelState
    from ..workspace.status import Status, StatusSummary
    from .doctor import CheckResult

SHOWN_LINES = 6  # lines of a fragment that are shown; the link opens the rest
_STATES = {"opening": "loading", "ready": "ready", "down": "does not answer", "aside": "failed its self-test"}


def status_page(status: Status, said: StatusSummary) -> list[PageLine]:
    return [_line(text) for text in _status_lines(status, said)]


def findings_page(findings: Iterable[CheckResult]) -> list[PageLine]:
    """The findings, then the next steps."""
    findings = list(findings)
    lines = [f"{'!' if finding.next_step else '✓'} {finding.what}: {finding.found}" for finding in findings]
    steps = [f"  - {finding.next_step}" for finding in findings if finding.next_step]
    return [_line(text) for text in (*lines, "", "Next steps:" if steps else "No problems found.", *steps)]


def explanation_page(explanation: Explanation) -> list[PageLine]:
    """The completion and its confidence; its sources, or the fragments of its prompt; then notes."""
    page = [_line(f"Completion at {explanation.path}:{explanation.line + 1}:{explanation.character + 1}"), _line("")]
    page += [_line(f"     | {line}") for line in explanation.text.splitlines()]
    page += [_line(text) for text in explanation.verdict]
    if explanation.of_workspace_model:
        page += source_page(explanation)
    elif explanation.folder:
        page += [_line(""), *_prompt_lines(explanation)]
    notes = [note for note in explanation.notes if note != explanation.why_hidden]
    if notes:
        page += [_line(""), _line("Notes:"), *(_line(f"  {note}") for note in notes)]
    return page


def uri_of(file: Path | None) -> str | None:
    return None if file is None else file.as_uri()


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
    yield f"Memory of the server: {status.memory_mb:,.0f} MB"


def _speed(model: ModelState) -> str:
    prefill, decode = model.speed.prefill, model.speed.decode
    return f", prefill {prefill:,.0f} and decoding {decode:,.0f} tokens/s" if prefill and decode else ""


def source_page(explanation: Explanation) -> list[PageLine]:
    """Where a text of the workspace model comes from, with links, and what it is based on."""
    return list(_source_lines(explanation))


def _source_lines(explanation: Explanation) -> Iterator[PageLine]:
    if explanation.sources:
        yield from (_line(""), _line("Comes from:"))
    for source in explanation.sources:
        yield _linked(f"  {location(source.place)}", explanation, source.place)
        yield from (_line(f"     | {line}") for line in dedent(source.text).splitlines()[:SHOWN_LINES])
        if source.renamed:
            yield _line(f"     adapted: {renamings(source)}")
    if explanation.reasons:
        yield from (_line(""), _line("Based on:"))
        yield from (_line(f"  - {reason}") for reason in explanation.reasons)


def _prompt_lines(explanation: Explanation) -> Iterator[PageLine]:
    """The fragments of a prompt, each with its score and location, then the fragments left out."""
    if explanation.model != NO_MODEL:
        yield _line(f"The prompt of {explanation.model} contains, as far as there is room:")
    if explanation.shown_from_line:
        yield _line(f"The file itself, from line {explanation.shown_from_line + 1} to the cursor")
    if not explanation.fragments:
        yield _line("No fragment of the repository matches this position.")
    for number, ranked in enumerate(explanation.fragments, 1):
        yield from (_line(""), *_fragment_lines(explanation, number, ranked))
    if explanation.left_out:
        yield from (_line(""), _line("Left out:"))
    for place, reason in explanation.left_out:
        yield _linked(f"  {location(place)}  {reason}", explanation, place)


def _fragment_lines(explanation: Explanation, number: int, ranked: RankedFragment) -> Iterator[PageLine]:
    first, *others = ranked.fragment.locations
    yield _linked(f"{number}. {ranked.score:.2f}  {location(first)}", explanation, first)
    relation = "and" if ranked.fragment.is_outline else "also"
    for place in others:
        yield _linked(f"     {relation} {location(place)}", explanation, place)
    if ranked.parts:
        parts = " + ".join(f"{part.name} {part.value:.2f}" for part in ranked.parts)
        yield _line(f"     {ranked.score:.2f} = {parts}")
        yield from (_line(f"     {part.name}: {part.detail}") for part in ranked.parts if part.detail)
    if ranked.path:
        yield _line(f"     path: {'; '.join(ranked.path)}")
    lines = ranked.fragment.text.splitlines()
    yield from (_line(f"     | {line}") for line in lines[:SHOWN_LINES])
    if len(lines) > SHOWN_LINES:
        yield _line(f"     | and {len(lines) - SHOWN_LINES} more lines")


def location(place: Location) -> str:
    """`path:first-last`, or `path:line` for one line."""
    last = f"-{place.end_line}" if place.end_line > place.start_line + 1 else ""
    return f"{place.path}:{place.start_line + 1}{last}"


def renamings(source: SourceLine) -> str:
    return ", ".join(f"`{here}` for `{there}`" for there, here in source.renamed)


def _line(text: str) -> PageLine:
    return {"text": for_editor(text)}


def _linked(text: str, explanation: Explanation, place: Location) -> PageLine:
    uri = uri_of(explanation.file_of(place.path))
    if uri is None:
        return _line(text)
    return {
        "text": for_editor(text),
        "uri": uri,
        "range": {"start": _start_of(place.start_line), "end": _start_of(place.end_line)},
    }


def _start_of(line: int) -> Position:
    return {"line": line, "character": 0}
