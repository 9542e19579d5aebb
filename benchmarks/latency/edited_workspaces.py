"""Test workspaces: the edited repository before its edits, alone or beside large trees.

Owns the pinned commits and the three sizes. The large trees are those of the engine benchmark; the edits are commits of
Weft.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..engine.trees import tree
from ..histories import FileEdit, NoHistory, edits_of, files_at
from ..repoeval.archives import link_files

PINNED = (
    "93061a83c39cf8e1b301048fa83e873324ebe46e",
    "2bd8ec14d689b1b27f7c41d29af4414fdbcd62fa",
    "824fc8803deaca6d84c3453ecddb27444fe1f641",
    "d6fffd9bc97b4202fccda1eec2e5e4ea26307499",
    "30b35da477bea43a7aee88390b6e045073ca03f3",
    "f112908282f69cd6ef20cc9d8f32c038f9afde1b",
    "47ba67d53b1659ce8d541bf6cfbefb201d4c8374",
    "40da4cec96bb5f00212de50c919e55e53a09e24b",
    "4301cea0b3ed6072a561ba103a58b591b88aa414",
)
"""Commits of Weft's own history that change code and its tests in several places and files, oldest first."""

SIZES = {"20k": None, "200k": "networkx", "1M": "million"}
"""Lines of the workspace, and the tree of `benchmarks/engine/trees.py` beside the edited repository."""

EDITED = "edited"
"""The folder of the edited repository in its workspace."""


@dataclass(frozen=True, slots=True)
class EditedWorkspace:
    """A workspace folder and the edits that are made in it; their paths are below the folder."""

    folder: Path
    edits: tuple[FileEdit, ...]


def make_workspace(size: str, work: Path, repository: Path, commits: Sequence[str]) -> EditedWorkspace:
    """The workspace of one of `SIZES`, made when it is not there yet. Raises NoHistory.

    It holds the repository before the first commit, so nothing in it reveals the edits.
    """
    edits = tuple(edits_of(repository, commits))
    if not edits:
        raise NoHistory("These commits change no text file. Name others with --commits.")
    first = edits[0].commit
    folder = work / "latency" / f"{size}-{first[:12]}"
    if not folder.is_dir():
        half = folder.with_name(folder.name + ".part")
        shutil.rmtree(half, ignore_errors=True)
        for path, text in files_at(repository, f"{first}^"):
            target = half / EDITED / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="")
        beside = SIZES[size]
        if beside is not None:
            link_files(tree(beside, work), half / beside)
        half.rename(folder)
    return EditedWorkspace(folder.resolve(), tuple(replace(edit, path=f"{EDITED}/{edit.path}") for edit in edits))
