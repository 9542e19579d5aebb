"""The indentation of a line of code. Knows no language."""

from __future__ import annotations


def indent_of(line: str) -> int:
    """The number of white-space characters that a line begins with."""
    return len(line) - len(line.lstrip())
