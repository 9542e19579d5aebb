"""Normalisation of line breaks to the form in prompts and model output."""

from __future__ import annotations

import re

_CARRIAGE_RETURN = re.compile(r"\r\n?")


def normalise_line_breaks(text: str) -> str:
    """`text` with every "\\r\\n" and "\\r" as "\\n"."""
    return _CARRIAGE_RETURN.sub("\n", text) if "\r" in text else text
