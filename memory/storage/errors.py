"""Errors of the store. Each message names the file and the next step."""

from __future__ import annotations


class StoreError(Exception):
    """An operation of the store failed."""


class StoreTooNew(StoreError):
    """A later Weft wrote the file. It stays unchanged."""


class StoreBusy(StoreError):
    """Another process locked the file for too long."""


class NoConversation(StoreError, LookupError):
    """Unknown conversation or turn; another editor may have deleted it."""


class NotAnExport(StoreError, ValueError):
    """The file to import is not an export. The message names the line."""
