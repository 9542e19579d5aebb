"""Small helpers for text: line breaks as in prompts and model output, and suggestions for misspelled names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

_CARRIAGE_RETURN = re.compile(r"\r\n?")


def normalise_line_breaks(text: str) -> str:
    """`text` with every "\\r\\n" and "\\r" as "\\n"."""
    return _CARRIAGE_RETURN.sub("\n", text) if "\r" in text else text


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The sentence " Did you mean …?" with the most similar known name; empty when none is similar."""
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""
