"""The errors of the store, below `StoreError`. Each message names the file and the next step."""

from __future__ import annotations

from ...errors import StoreError, UserError


class StoreTooNew(StoreError):
    """A later Weft wrote the file. It is left as it is."""


class StoreBusy(StoreError):
    """Another process has been writing for longer than anybody waits."""


class NoConversation(StoreError, UserError, LookupError):
    """No conversation, or no turn of it, is known under this name: it was forgotten, perhaps by another editor."""


class NotAnExport(StoreError, UserError, ValueError):
    """The file to import is not one that was exported. The message names the line."""
