"""Weft: a language-server backend that knows the whole repository while you type."""

__version__ = "0.1.0"
