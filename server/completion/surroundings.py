"""What the syntax says about the place of a cursor: code, comment or string, and whether one line is wanted or more.

Owns that reading of the text up to the cursor. Knows no model and no setting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .values import Cursor

Kind = Literal["code", "comment", "string"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`multi_line`: an empty body or a block is due here, so a completion may have several lines."""

    kind: Kind = "code"
    multi_line: bool = False


def look_around(cursor: Cursor) -> Surroundings:
    """The surroundings of a cursor; never raises, whatever the text."""
    return Surroundings()
