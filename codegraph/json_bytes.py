"""JSON without blanks as bytes: how facts and answers are packed.

Owns nothing but the two conversions. Values are nested lists, tuples, dicts with texts as keys, texts (lone surrogates
too), integers of 64 bits, booleans and None.
"""

from __future__ import annotations

import json
from typing import Any

from ..native import compiled


def plain_to_json(value: object) -> bytes:
    """The JSON of a value. Tuples are lists."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")


to_json = plain_to_json if compiled is None else compiled.to_json


def from_json(packed: bytes) -> Any:
    """The value of a JSON text. Raises ValueError."""
    return json.loads(packed.decode("utf-8", "surrogatepass"))
