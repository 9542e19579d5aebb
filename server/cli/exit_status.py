"""How a command ends: its exit status, and the error that is the user's to act on."""

from __future__ import annotations

NOTHING_TO_SHOW, CANNOT_BE_DONE, INTERRUPTED = 1, 2, 130


class UserError(Exception):
    """The command can't be done as it was given. The message names the thing and the next step."""
