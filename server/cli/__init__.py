"""What does a person type in a terminal? `parser.py` has the arguments; one file for each group of commands."""

from .main import main

__all__ = ["main"]
