"""Prompt templates with fields in braces."""

from __future__ import annotations

import re

_FIELD = re.compile(r"\{(\w+)\}")


def fill(template: str, **values: object) -> str:
    """The template with its fields replaced in one pass: braces in values are literal, unknown fields stay."""
    return _FIELD.sub(lambda match: str(values.get(match[1], match[0])), template)
