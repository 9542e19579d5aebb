"""JSON with comments and TOML, as people and tools write them in manifests and settings.

Owns both readers and the reason why a text cannot be read. Knows no manifest and no file.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any

from ...errors import ControlFlow

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# An unclosed string or comment matches too: a pattern that failed there would take quadratic time.
_STRING = r'("(?:[^"\\\n]|\\.)*"?)'
_COMMENT = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_TRAILING_COMMA = re.compile(_STRING + r"|,(?=\s*[}\]])", re.DOTALL)


class Invalid(ControlFlow):
    """Why a text is not valid, as a clause without its subject."""


def read_json(text: str) -> dict[str, Any]:
    """The object of a JSON text with comments and trailing commas. Raises Invalid."""
    value = read_json_value(text)
    if not isinstance(value, dict):
        raise Invalid("contains no JSON object")
    return value


def read_json_value(text: str) -> Any:
    """The same for any value."""
    try:
        return _loads(text)
    except ValueError:
        # Line breaks of comments stay, for the line of an error.
        without = _COMMENT.sub(lambda found: found[1] or "\n" * found[0].count("\n"), text)
        without = _TRAILING_COMMA.sub(lambda found: found[1] or "", without)
        try:
            return _loads(without)
        except json.JSONDecodeError as error:
            raise Invalid(f"is not valid JSON on line {error.lineno}") from None
        except ValueError:
            raise Invalid("is not valid JSON") from None


def _loads(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError:
        raise Invalid("is nested too deeply") from None


def read_toml(text: str) -> dict[str, Any]:
    """The table of a TOML text. Raises Invalid."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"line (\d+)", str(error))
        raise Invalid(f"is not valid TOML{f' on line {line[1]}' if line else ''}") from None
    except RecursionError:
        raise Invalid("is nested too deeply") from None
