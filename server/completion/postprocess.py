"""From what a model wrote to what is shown: repaired, and only when sure enough.

Owns the last steps of every completion, whether just written or kept from before. Knows no model and no thread.
"""

from __future__ import annotations

from dataclasses import replace

from ...retrieval import RankedFragment
from ..output.safe_text import hidden_character
from ..workspace.text import Cursor
from .confidence import confidence_of, sure_part
from .repair import Draft, IndentStyle, repair
from .values import Completion, Source, Written


def show(
    written: Written,
    cursor: Cursor,
    *,
    single_line: bool,
    fragments: tuple[RankedFragment, ...] = (),
    timings_ms: dict[str, float] | None = None,
    source: Source = "model",
    least_confidence: float = 0.0,
    invoked: bool = False,
    style: IndentStyle | None = None,
    project_style: IndentStyle | None = None,
    reason: str = "the model had nothing to say",
) -> Completion:
    """The completion to show for `written` at `cursor`; with less than `least_confidence` it is empty, and says so.

    Of several lines those are shown that are sure enough. `reason` is why there is nothing when the model wrote
    nothing; `invoked` shows what is worth little, too. `style` is how the editor indents, `project_style`
    how the project's settings say.
    """
    here = (cursor.line, cursor.character)
    confidence = confidence_of(written)
    is_sure = confidence is None or confidence >= least_confidence
    if not is_sure and (part := sure_part(written, least_confidence)).text.strip():
        written, confidence, is_sure = replace(part, cut_by_limit=False), confidence_of(part), True
    draft = repair(
        Draft(
            written.text,
            cursor,
            single_line,
            cut_by_limit=written.cut_by_limit,
            invoked=invoked,
            style=style,
            project_style=project_style,
        )
    )
    text, why_empty = draft.text, draft.why_empty
    if not text.strip():
        text, why_empty = "", why_empty or reason
    elif not _is_plain(text) and (hidden := hidden_character(text)):
        # Nobody sees it in ghost text, and in source code it may hide what the code does (CVE-2021-42574).
        text, why_empty = "", f"the text holds a control or invisible character ({hidden})"
    elif not is_sure:
        text, why_empty = "", f"not sure enough: {confidence:.0%}, and {least_confidence:.0%} is asked for"
    return Completion(
        text.replace("\n", cursor.lines.line_break),
        here,
        (cursor.line, cursor.character + draft.n_replaced),
        confidence,
        written.model,
        fragments,
        {} if timings_ms is None else timings_ms,
        why_empty,
        source=source,
        repairs=draft.rules,
    )


def _is_plain(text: str) -> bool:
    """Whether a text is ASCII without control characters: nothing is hidden in most code."""
    return text.isascii() and text.translate(_WHITE_SPACE).isprintable()


_WHITE_SPACE = str.maketrans("", "", "\n\t")
