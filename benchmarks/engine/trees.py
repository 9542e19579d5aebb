"""Pinned source trees that speed is measured on, alone and side by side.

Owns the trees and their layout on disk. Knows no archive: `benchmarks/repoeval/archives.py` pins and downloads them.
"""

from __future__ import annotations

from pathlib import Path

from ..repoeval.archives import PINNED, checkout, link_files

SIDE_BY_SIDE = tuple(PINNED[name] for name in ("networkx", "django", "pandas", "sqlalchemy"))

_ARCHIVES = {"DI-engine": "opendilab_ACE~DI-engine", "networkx": "networkx"}

TREES = ("DI-engine", "networkx", "million")
"""About 73 thousand, 183 thousand and 1.2 million lines."""


def tree(name: str, work: Path) -> Path:
    """The folder of one of `TREES`, downloaded when it is not there yet."""
    if name in _ARCHIVES:
        return checkout(PINNED[_ARCHIVES[name]], work)
    if name != "million":
        raise ValueError(f"Unknown tree `{name}`. Choose from {', '.join(TREES)}.")
    folder = work / "trees" / "million"
    folder.mkdir(parents=True, exist_ok=True)
    for archive in SIDE_BY_SIDE:
        target = folder / archive.repo
        if not target.is_dir():
            half = target.with_name(target.name + ".part")
            link_files(checkout(archive, work), half)
            half.rename(target)
    return folder
