"""Pinned trees of packages: one alone, or several side by side.

Owns the trees and their layout on disk. Knows no archive: `benchmarks/repoeval/archives.py` pins and downloads them.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from ..repoeval.archives import PINNED, checkout, link_files

_ARCHIVES = {"DI-engine": "opendilab_ACE~DI-engine", "networkx": "networkx"}

_MILLION = ("networkx", "django", "pandas", "sqlalchemy")
_FIVE = (
    *_MILLION,
    *("astropy", "cinder", "homeassistant", "keras", "mypy", "nova", "scapy", "scikit-learn"),
)
_TEN = (
    *_FIVE,
    *("breezy", "jax", "manila", "mne", "moto", "neutron", "pennylane", "sglang", "tensorflow-probability"),
    *("transformers", "wagtail"),
)

SIDE_BY_SIDE = {
    "unseen": ("distributed", "pylint", "swift"),
    "million": _MILLION,
    "five": _FIVE,
    "ten": _TEN,
}
"""Packages of the trees with several. Nothing in Weft was measured on those of `unseen` before its first table."""

TREES = (*_ARCHIVES, *SIDE_BY_SIDE)
"""About 73 and 183 thousand lines, then 0.2, 1.2, 5 and 10 million."""


def tree(name: str, work: Path) -> Path:
    """The folder of one of `TREES`, downloaded when it is not there yet. Raises ValueError and ArchiveError."""
    if name in _ARCHIVES:
        return checkout(PINNED[_ARCHIVES[name]], work)
    if name not in SIDE_BY_SIDE:
        raise ValueError(f"Unknown tree `{name}`. Choose from {', '.join(TREES)}.")
    return _side_by_side(work / "trees" / name, SIDE_BY_SIDE[name], work)


def _side_by_side(folder: Path, repos: Sequence[str], work: Path) -> Path:
    """`folder` with a folder for each of these archives."""
    folder.mkdir(parents=True, exist_ok=True)
    for repo in repos:
        target = folder / repo
        if not target.is_dir():
            # Linked under another name and renamed, so an interrupted run leaves no incomplete package.
            half = target.with_name(target.name + ".part")
            shutil.rmtree(half, ignore_errors=True)
            link_files(checkout(PINNED[repo], work), half)
            half.rename(target)
    return folder
