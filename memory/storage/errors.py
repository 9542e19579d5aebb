"""What may go wrong with the store, in one place. Each message names the file and the next step."""

from __future__ import annotations


class StoreError(Exception):
    """The store could not do what was asked."""


class StoreTooNew(StoreError):
    """A later Weft wrote the file. It is left as it is."""


class StoreBusy(StoreError):
    """Another process has been writing for longer than anybody waits."""


class NoConversation(StoreError, LookupError):
    """No conversation, or no turn of it, is known under this name: it was forgotten, perhaps by another editor."""


class NotAnExport(StoreError, ValueError):
    """The file to import is not one that was exported. The message names the line."""
