"""Whether to ask at all: what an editor's unasked request is refused for, with the reason a person reads.

Owns these rules. Knows no model; files that are never completed (secrets, excluded ones) are the workspace's matter.
"""

from __future__ import annotations

from ..config import CompletionOptions
from .surroundings import Surroundings
from .values import Cursor, Trigger


def why_not(cursor: Cursor, surroundings: Surroundings, trigger: Trigger, options: CompletionOptions) -> str:
    """The reason not to complete here, "" when there is none."""
    if trigger == "automatic" and not only_closes(cursor.rest_of_line):
        return "code follows the cursor on its line; invoke it to complete here"
    return ""


def wants_several_lines(surroundings: Surroundings, options: CompletionOptions) -> bool:
    """Whether a completion here may have several lines."""
    return options.multi_line == "always" or (options.multi_line == "auto" and surroundings.multi_line)


def only_closes(rest: str) -> bool:
    """Whether nothing but closing punctuation stands right of the cursor."""
    return not rest.strip().strip(")]}>\"'`;:,")
