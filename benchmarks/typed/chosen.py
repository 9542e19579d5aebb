"""Which pinned histories a benchmark reads: the options of its command, and the choice by them.

Owns the options for clones, for fitting or reporting, and for repositories.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from .commits import FOR_FITTING, FOR_REPORTING, TypedHistory


def add_history_options(parser: argparse.ArgumentParser) -> None:
    """Adds `--clones`, `--fit` or `--report` (`purpose`), and `--repository`."""
    parser.add_argument("--clones", type=Path, metavar="DIR", help="folder of the clones of the pinned histories")
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--fit", dest="purpose", action="store_const", const=FOR_FITTING, help="only those for fitting")
    half.add_argument("--report", dest="purpose", action="store_const", const=FOR_REPORTING, help="only the others")
    parser.add_argument("--repository", nargs="+", metavar="REPO", help="parts of repository names; all by default")


def chosen(options: argparse.Namespace, histories: Iterable[TypedHistory]) -> list[TypedHistory]:
    """The histories that the options choose, in order."""
    return [
        history
        for history in histories
        if options.purpose in (None, history.purpose)
        and (not options.repository or any(part in history.name for part in options.repository))
    ]
