"""Prompt templates with fields in braces."""

from __future__ import annotations

import re

_FIELD = re.compile(r"\{(\w+)\}")


def fill(template: str, **values: object) -> str:
    """The template with its fields replaced in one pass, so braces in values are literal. Unknown fields stay
    unchanged.
    """
    return _FIELD.sub(lambda match: str(values.get(match[1], match[0])), template)
