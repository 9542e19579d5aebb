"""Fixes the line break at the start of the text: on the cursor's line, or on a new line after a block header.

Owns surplus and missing line breaks at the start, and the cut of single-line completions.
"""

from __future__ import annotations

from .draft import Draft
from .style import default_style


def fix_first_line_break(draft: Draft) -> Draft:
    """The text with the necessary line break at its start, without those that the file has already."""
    window = draft.window
    body = draft.text.lstrip(" \t\n")
    lead = draft.text[: len(draft.text) - len(body)]
    if "\n" in lead:
        if window.at_line_start and (window.before or window.language.opens_body(window.line_above)):
            # The cursor is on the new line already.
            lead = lead[lead.rfind("\n") + 1 :]
        elif not window.at_line_start:
            if not _may_break(window.after):
                return draft.refused("the model began a new line, but code follows on this one")
            lead = lead.lstrip(" \t")
    elif body and _misses_line_break(draft, lead, body):
        # github.com/milanglacier/minuet-ai.nvim/issues/68
        unit = (draft.style or window.style or draft.project_style or default_style(window.language)).unit
        lead = "\n" + (lead if len(lead) > len(window.indent) else window.indent + unit)
    if draft.single_line:
        body = body.split("\n", 1)[0]
    return draft.with_text(lead + body)


def _may_break(after: str) -> bool:
    after = after.lstrip(" \t")
    return not after or after[0] in ")]}<"


def _misses_line_break(draft: Draft, lead: str, body: str) -> bool:
    window = draft.window
    if len(lead) == 1 and lead != "\t":  # intended on one line: `if x: return`
        return False
    if window.at_line_start or window.after.strip() or not window.language.opens_body(window.before):
        return False
    if window.language.blocks == "indentation":
        return window.before.endswith(":") and not window.scan.stack
    if window.language.blocks == "end" or not window.before.endswith("{") or window.scan.inside:
        return False
    first_line = body.split("\n", 1)[0]
    return not window.scan_after(first_line).closings
