"""What does a person type in a terminal? The command line, one file for each group of commands."""

from .commands import main

__all__ = ["main"]
