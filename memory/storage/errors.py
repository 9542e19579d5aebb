"""Errors of the store, below `StoreError`. Each message names the file and the next step."""

from __future__ import annotations

from ...errors import StoreError, UserError


class StoreTooNew(StoreError):
    """A later Weft wrote the file. It stays unchanged."""


class StoreBusy(StoreError):
    """Another process locked the file for too long."""


class NoConversation(StoreError, UserError, LookupError):
    """Unknown conversation or turn; another editor may have deleted it."""


class NotAnExport(StoreError, UserError, ValueError):
    """The file to import is not an export. The message names the line."""
