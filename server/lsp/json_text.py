"""JSON as RFC 8259 has it: no NaN, no Infinity, no number beyond a float; and text that can be stored.

Owns the reading of bytes. Knows no message.
"""

from __future__ import annotations

import json
import math
from typing import Any

from ...errors import InvalidArgument


class InvalidText(InvalidArgument):
    """A text that is no Unicode text: it holds half a surrogate pair."""


def read_json(body: bytes) -> Any:
    """The value in UTF-8. Raises ValueError, or RecursionError for one that is nested too deeply."""
    return _DECODER.decode(body.decode("utf-8"))


def check_text(value: Any) -> None:
    """Raise InvalidText for a value with a lone surrogate in a text or a key, which neither a file system nor a
    database takes."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidText(
                    f"a text holds half a surrogate pair, at character {error.start}. Send Unicode text."
                ) from None
    elif isinstance(value, dict):
        for key, each in value.items():
            check_text(key)
            check_text(each)
    elif isinstance(value, list):
        for each in value:
            check_text(each)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
