"""From what a model wrote to what is shown: repaired, and only when sure enough.

Owns the last steps of every completion, whether just written or kept from before. Knows no model and no thread.
"""

from __future__ import annotations

from ...retrieval import RankedFragment
from .confidence import confidence_of
from .repair import Draft, repair
from .values import Completion, Cursor, Source, Written


def show(
    written: Written,
    cursor: Cursor,
    *,
    single_line: bool,
    fragments: tuple[RankedFragment, ...] = (),
    timings_ms: dict[str, float] | None = None,
    source: Source = "model",
    least_confidence: float = 0.0,
    reason: str = "the model had nothing to say",
) -> Completion:
    """The completion to show for `written` at `cursor`; with less than `least_confidence` it is empty, and says so.

    `reason` is why there is nothing when the model wrote nothing.
    """
    here = (cursor.line, cursor.character)
    confidence = confidence_of(written)
    draft = repair(Draft(written.text, cursor, single_line, cut_by_limit=written.cut_by_limit))
    text, why_empty = draft.text, draft.why_empty
    if not text.strip():
        text, why_empty = "", why_empty or reason
    elif confidence is not None and confidence < least_confidence:
        text, why_empty = "", f"not sure enough: {confidence:.0%}, and {least_confidence:.0%} is asked for"
    return Completion(
        text.replace("\n", cursor.lines.line_break),
        here,
        (cursor.line, cursor.character + draft.n_replaced),
        confidence,
        written.model,
        fragments,
        timings_ms or {},
        why_empty,
        source=source,
        repairs=draft.rules,
    )
