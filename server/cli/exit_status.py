"""Exit status of a command, and the error that the user can act on."""

from __future__ import annotations

NOTHING_TO_SHOW, CANNOT_BE_DONE, INTERRUPTED = 1, 2, 130


class UserError(Exception):
    """The command can't run as given. The message says why, and what to do."""
