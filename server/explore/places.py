"""A file, and what retrieval and completion do at a place in it: fragments with their scores in parts, and the rest.

Owns the choice of lines that are shown. Ranking is that of `retrieval/`. Only files of the index are shown.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ...retrieval import Location, RankedFragment, strategy_named
from ..agents.folders import Folder, Folders
from ..agents.targets import check_line
from ..output.as_json import explanation_json, fragments_json, parts_json, place_json, timings_json
from ..secrets import redact
from ..workspace.workspace import Workspace

Json = dict[str, Any]

MAX_LINES = 600
"""Lines of a file that are shown at a time."""

MAX_LEFT_OUT = 40
MAX_CHARACTERS = 2_000
"""Characters of a line that are shown."""

END_OF_LINE = 10**6
"""A column beyond the end of every line."""


def file_at(workspace: Workspace, folders: Folders, path: str, line: int) -> Json:
    """The lines of a file around a line (1-based), and its definitions. Raises InvalidArgument for an unknown file."""
    folder, key = folders.locate(path)
    file = folder.index.graph.files[key]
    n_lines = folder.index.n_lines_of(key)
    start = max(0, min(line - 1 - MAX_LINES // 2, n_lines - MAX_LINES))
    text = folder.index.text(Location(key, start, min(n_lines, start + MAX_LINES)))
    return {
        "path": folder.shown(key),
        "language": file.language,
        "nLines": n_lines,
        "start": start + 1,
        "lines": [_cut(each) for each in _shown_text(workspace, text).split("\n")],
        "definitions": [
            {"symbol": each.qualified_name, "kind": each.kind, "line": each.header_line + 1}
            for each in file.definitions
            if start <= each.header_line < start + MAX_LINES
        ],
        "problems": list(file.problems),
    }


def retrieved_at(
    workspace: Workspace, folders: Folders, path: str, line: int, strategy: str, alpha: float, k: int
) -> Json:
    """The fragments for the end of a line (1-based), best first, and what was left out, with the reasons.

    `strategy` "" is that of the settings. Raises InvalidArgument for an unknown file, line or strategy.
    """
    folder, key = _place(folders, path, line)
    settings = workspace.config.retrieval
    options = replace(settings, strategy=strategy or settings.strategy, alpha=alpha, k=k, explain=True)
    strategy_named(options.strategy)
    found = workspace.retrieve(folder.root / key, line - 1, END_OF_LINE, options=options)
    return {
        "strategy": options.strategy,
        "alpha": alpha,
        "fragments": [_fragment_json(folder, each) for each in found.fragments],
        "leftOut": [
            {**place_json(_shown(folder, location)), "reason": reason}
            for location, reason in found.left_out[:MAX_LEFT_OUT]
        ],
        "nLeftOut": len(found.left_out),
        "timingsMs": timings_json(found.timings_ms),
    }


def completion_at(workspace: Workspace, folders: Folders, path: str, line: int) -> Json:
    """The completion at the end of a line (1-based), why it is shown or hidden, and where it comes from.

    It is not counted in the statistics. Raises InvalidArgument for an unknown file or line.
    """
    folder, key = _place(folders, path, line)
    explanation = workspace.explain(Path(folder.root, key), line - 1, END_OF_LINE)
    return dict(explanation_json(explanation))


def _place(folders: Folders, path: str, line: int) -> tuple[Folder, str]:
    folder, key = folders.locate(path)
    check_line(folder, key, line)
    return folder, key


def _fragment_json(folder: Folder, ranked: RankedFragment) -> Json:
    first = ranked.fragment.locations[0]
    is_here = first.path in folder.index.graph.files
    places = tuple(_shown(folder, location) for location in ranked.fragment.locations)
    shown = replace(ranked, fragment=replace(ranked.fragment, locations=places))
    return {
        **fragments_json([shown])[0],
        "parts": sorted(parts_json(ranked.parts), key=lambda part: -part["value"]),
        "symbol": folder.enclosing(first.path, first.start_line) if is_here else "",
    }


def _shown(folder: Folder, location: Location) -> Location:
    """A location with its path as the page names it; one of another folder stays."""
    is_here = location.path in folder.index.graph.files
    return replace(location, path=folder.shown(location.path)) if is_here else location


def _shown_text(workspace: Workspace, text: str) -> str:
    """Code as the page may show it: the same number of lines, without secrets."""
    return text if workspace.config.redact == "never" else redact(text)


def _cut(line: str) -> str:
    return line if len(line) <= MAX_CHARACTERS else f"{line[:MAX_CHARACTERS]}… {len(line) - MAX_CHARACTERS:,} more"
