"""Small helpers for text: line breaks as in prompts and model output, numbers of tokens, misspelled names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

BYTES_PER_TOKEN = 2.5
"""Tokenizers for code have 3 to 4; an overestimate of tokens is safer than an underestimate."""

_CARRIAGE_RETURN = re.compile(r"\r\n?")


def normalise_line_breaks(text: str) -> str:
    """`text` with every "\\r\\n" and "\\r" as "\\n"."""
    return _CARRIAGE_RETURN.sub("\n", text) if "\r" in text else text


def estimated_tokens(text: str) -> int:
    """An upper estimate of the tokens of `text`, without a tokenizer."""
    return int(-(-len(text.encode("utf-8", "replace")) // BYTES_PER_TOKEN))


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The sentence " Did you mean …?" with the most similar known name; empty when none is similar."""
    near = get_close_matches(name, list(known), n=1)
    return f" Did you mean {near[0]}?" if near else ""
