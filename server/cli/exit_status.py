"""The exit statuses of the commands."""

from __future__ import annotations

NOTHING_TO_SHOW, CANNOT_BE_DONE, INTERRUPTED = 1, 2, 130
