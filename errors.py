"""The error tree of Weft: one root, and the few kinds that a caller acts on.

Owns the kinds. The rooms define their own errors below them. Every room may import this module; it imports nothing.

The message of an error says what happened, why, and what to do next; its last sentence is the next step. `main` of
the command line and `_failure` of the LSP layer turn an error into a message. `Cancelled` and `ControlFlow` carry no
next step: a caller in Weft handles them.
"""

from __future__ import annotations


class WeftError(Exception):
    """The root. Raised only as one of the kinds below."""


class UserError(WeftError):
    """A command, a setting, a file or the environment does not allow what was asked. The caller corrects that."""


class InvalidArgument(UserError, ValueError):
    """An argument has no valid value. Also a ValueError, for callers of the Python API."""


class ModelError(WeftError):
    """A model is missing, is unreachable or failed. The caller tries the next model, or changes its settings."""


class StoreError(WeftError):
    """Stored data can't be read or written. The caller works without it, or repairs the file."""


class LimitError(WeftError):
    """A limit of tokens, calls or time was reached. The caller asks for less, or raises the limit."""


class Cancelled(WeftError):
    """The caller cancelled the request. Not reported to a person."""


class ControlFlow(WeftError):
    """A condition that a caller in Weft always handles. The message is a reason without a next step, for a log."""
