"""Rating of a text: which part of it is sure enough to show, and whether its names fit at the cursor.

Owns the order of both checks and what follows from a name that does not fit. The confidence is in `confidence.py`, the
check of names in `name_check.py`.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

from .confidence import cut_to, rated_parts, sure_part
from .name_check import check_names
from .typed_past import NEW_LINE, LineRecord
from .values import Request, Written

PROBLEM_FACTOR = 0.25
"""A requested text with a name that does not fit has this share of its confidence."""

SENTENCES = MappingProxyType(
    {
        "not bound": "`{name}` is not bound here",
        "no such member": "there is no member `{name}`",
        "no such keyword": "the called function takes no argument `{name}`",
        "wrong arguments": "`{name}` takes another number of arguments",
        "already defined": "`{name}` is defined already",
        "not exported": "the module does not export `{name}`",
    }
)


def rate(request: Request, written: Written, record: LineRecord = NEW_LINE) -> Written:
    """The part of a text to show, with its confidence, names that are clearly meant otherwise replaced.

    An automatic request gets the longest part that is sure enough and has no name that does not fit; without one, the
    most likely part. An invoked request gets the whole text. `problem` says what does not fit.
    """
    least, _ = request.least_confidence(written.backend)
    parts = rated_parts(written, request.cursor, single_line=request.single_line, record=record)
    sure = sure_part(parts, least)
    if parts and sure is None:
        return cut_to(written, max(parts, key=lambda part: part.confidence))  # hidden: its names do not matter
    chosen = cut_to(written, sure) if sure is not None else written
    if not request.config.completion.check_names or not chosen.text.strip():
        return chosen
    checked = check_names(request.snapshot, request.cursor, chosen.text)
    fixed, shift, shift_before = chosen, 0, 0
    first = checked.problems[0] if checked.problems else None
    for name in checked.replaced:
        fixed = fixed.replaced(name.start + shift, name.end + shift, name.replacement)
        shift += len(name.replacement) - (name.end - name.start)
        if first is not None and name.start + shift < first.start:
            shift_before = shift
    if first is None:
        return fixed
    problem = SENTENCES[first.kind].format(name=first.name)
    if request.is_invoked:
        confidence = None if chosen.confidence is None else PROBLEM_FACTOR * chosen.confidence
        return replace(fixed, confidence=confidence, problem=problem)
    shorter = sure_part(parts, least, first.start - shift_before)
    if shorter is None:
        return replace(fixed, problem=problem)
    return replace(fixed.cut(shorter.end + shift_before), confidence=shorter.confidence, cut_by_limit=False)
