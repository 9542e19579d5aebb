"""Postprocessing of generated text: repair, confidence threshold, check for hidden characters.

Owns the last steps of every completion, generated or cached. Knows no model and no thread.
"""

from __future__ import annotations

from ...retrieval import RankedFragment
from ..output.safe_text import hidden_character
from ..workspace.text import Cursor
from .confidence import rated
from .repair import Draft, IndentStyle, repair
from .values import Completion, Source, Written

NO_TEXT = "the model generated no text"
LOW_CONFIDENCE = "low confidence"


def postprocess(
    written: Written,
    cursor: Cursor,
    *,
    single_line: bool,
    fragments: tuple[RankedFragment, ...] = (),
    timings_ms: dict[str, float] | None = None,
    source: Source = "model",
    min_confidence: float = 0.0,
    min_setting: str = "completion.min_confidence",
    invoked: bool = False,
    style: IndentStyle | None = None,
    project_style: IndentStyle | None = None,
    reason: str = NO_TEXT,
) -> Completion:
    """The completion for `written` at `cursor`; empty, with the reason, if its confidence is below `min_confidence`.

    A text is cut to the part that reaches the threshold. `reason` is the reason for an empty text.
    `invoked` also accepts text of little content. `style` is the indentation of the editor, `project_style` that of
    the project's settings.
    """
    here = (cursor.line, cursor.character)
    if written.confidence is None:
        written = rated(written, cursor, min_confidence, single_line=single_line)
    confidence = written.confidence
    is_confident = confidence is None or confidence >= min_confidence
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
    text, why_empty, held_back = draft.text, draft.why_empty, ""
    if not written.text and not is_confident:  # of the workspace model, whose search stops below the threshold
        why_empty = low_confidence(confidence, min_confidence, min_setting, is_bound=True)
    elif not text.strip():
        text, why_empty = "", why_empty or reason
    elif not _is_plain(text) and (hidden := hidden_character(text)):
        # Invisible in ghost text; in source code it can disguise what the code does (CVE-2021-42574).
        text, why_empty = "", f"the text contains a control or invisible character ({hidden})"
    elif not is_confident:
        why_empty, held_back, text = low_confidence(confidence, min_confidence, min_setting), text, ""
    elif written.problem and not invoked:
        why_empty, held_back, text = f"{written.problem}; request a completion by hand to see the text", text, ""
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
        problem=written.problem if text else "",
        min_confidence=min_confidence,
        held_back=held_back.replace("\n", cursor.lines.line_break),
    )


def low_confidence(
    confidence: float | None, minimum: float, setting: str = "completion.min_confidence", *, is_bound: bool = False
) -> str:
    """The reason for a text below the threshold, which `setting` sets. `is_bound`: the confidence is at most this."""
    sure, least = (f"{share or 0.0:.0%}" for share in (confidence, minimum))
    if sure == least:
        sure, least = (f"{share or 0.0:.1%}" for share in (confidence, minimum))
    return f"{LOW_CONFIDENCE}: {'at most ' * is_bound}{sure} sure, shown from {least} ({setting})"


def _is_plain(text: str) -> bool:
    """Whether a text is printable ASCII, which is a fast check that most code passes."""
    return text.isascii() and text.translate(_WHITE_SPACE).isprintable()


_WHITE_SPACE = str.maketrans("", "", "\n\t")
