"""Prompts are texts with names in braces; here they are filled."""

from __future__ import annotations

import re

_FIELD = re.compile(r"\{(\w+)\}")


def fill(template: str, **values: object) -> str:
    """The template with its values, all put in at once: braces in a value are text. Other names stay as they are."""
    return _FIELD.sub(lambda match: str(values.get(match[1], match[0])), template)
