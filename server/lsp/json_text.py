"""Strict JSON parsing (RFC 8259): rejects NaN, Infinity and numbers beyond a float; checks for lone surrogates.

Owns the decoder and the text check. Knows no message.
"""

from __future__ import annotations

import json
import math
from typing import Any

from ...errors import InvalidArgument


class InvalidText(InvalidArgument):
    """A string with a lone surrogate, which UTF-8 cannot encode."""


def read_json(body: bytes) -> Any:
    """Parse UTF-8 JSON. Raises ValueError, or RecursionError for a value that is nested too deeply."""
    return _DECODER.decode(body.decode("utf-8"))


def check_text(value: Any) -> None:
    """Raise InvalidText for a lone surrogate in a string or key: file systems and databases reject them."""
    if isinstance(value, str):
        if not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InvalidText(
                    f"a string contains a lone surrogate at character {error.start}. Send Unicode text."
                ) from None
    elif isinstance(value, dict):
        for key, each in value.items():
            check_text(key)
            check_text(each)
    elif isinstance(value, list):
        for each in value:
            check_text(each)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid JSON")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite)
