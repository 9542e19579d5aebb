"""Code that is related to a place, with the reasons, as an answer for agents: what a completion there would be shown.

Owns the wording of the reasons. The ranking is that of `retrieval/`, in the newest snapshot.
"""

from __future__ import annotations

from dataclasses import replace

from ...retrieval import RankedFragment
from ..workspace.workspace import Workspace
from .folders import Folder, Folders
from .targets import check_line
from .values import Answer, Entry

MAX_REASONS = 3
MAX_DETAIL = 60  # characters
REACHABLE = "reachable"
CALL = ": call "  # in the text of a step
MAX_STEPS = 1  # of a path of relations; longer ones say little


def related_to(workspace: Workspace, folders: Folders, path: str, line: int, limit: int, with_code: bool) -> Answer:
    """The fragments that matter at a line, best first."""
    folder, key = folders.locate(path)
    check_line(folder, key, line)
    options = replace(workspace.config.retrieval, k=limit, explain=True)
    found = workspace.retrieve(folder.root / key, line - 1, 10**6, options=options)
    entries = tuple(_entry(folder, each, with_code) for each in found.fragments)
    notes = () if entries else ("Nothing is related. Try `search` with words.",)
    return Answer(f"Related to {folder.shown(key)}:{line}", entries, notes)


def _entry(folder: Folder, ranked: RankedFragment, with_code: bool) -> Entry:
    fragment = ranked.fragment
    location = fragment.locations[0]
    is_here = location.path in folder.index.graph.files
    symbol = folder.enclosing(location.path, location.start_line) if is_here else ""
    path = folder.shown(location.path) if is_here else location.path
    return Entry(
        path,
        (location.start_line + 1,),
        location.end_line,
        symbol,
        reason_of(ranked),
        code=fragment.text.rstrip() if with_code else "",
    )


def reason_of(ranked: RankedFragment) -> str:
    """The largest part of the score with its detail, other parts by name, and a path of relations along one call."""
    parts = sorted(ranked.parts, key=lambda part: -part.value)[:MAX_REASONS]
    named = [f"{part.name} {_cut(part.detail)}" if not at else part.name for at, part in enumerate(parts)]
    is_reached = any(part.name == REACHABLE for part in parts)  # which says how
    is_told = len(ranked.path) <= MAX_STEPS and not is_reached
    steps = [step for step in ranked.path if is_told and CALL in step]  # one along directories says what the paths say
    return "; ".join(filter(None, (*(each.strip(" ,") for each in named), *steps)))


def _cut(detail: str) -> str:
    """The first whole items of a detail: "old 0.21, URL 0.15"."""
    return detail if len(detail) <= MAX_DETAIL else detail[: MAX_DETAIL + 1].rpartition(", ")[0] or detail[:MAX_DETAIL]
