"""JSON as models write it: in a fence, with words around it, with a comma too many.

Owns the mending. Knows no model and no schema.
"""

from __future__ import annotations

import json
import re
from typing import Any

_FENCE = re.compile(r"```(?:json)?\s*\n?(.*?)```", re.DOTALL)
_COMMA_TOO_MANY = re.compile(r",(\s*[}\]])")


def read_json(text: str) -> Any:
    """The value that a text holds, after mending it where that is needed. Raises ValueError when there is none."""
    inside = [match.group(1) for match in _FENCE.finditer(text)]
    for candidate in (text, *inside, *_outermost(text)):
        for version in (candidate, _COMMA_TOO_MANY.sub(r"\1", candidate)):
            try:
                return json.loads(version, strict=False)
            except ValueError:
                continue
    raise ValueError(f"no JSON in {text[:80]!r}")


def _outermost(text: str) -> list[str]:
    """From the first opening bracket to the last closing one, of either kind, whichever opens first."""
    spans = [(text.find(opening), text.rfind(closing)) for opening, closing in ("{}", "[]")]
    return [text[start : end + 1] for start, end in sorted(spans) if 0 <= start < end]
