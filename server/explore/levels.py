"""The repository as a map by levels: the folders and files of a folder, or the definitions of a file, with their calls.

Owns the aggregation of calls by level, hot spots, and the list of what is not indexed. Reads snapshots; the only
look at the disk is the listing of one folder, without following links.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from heapq import nsmallest
from pathlib import Path
from typing import Any

from ...codegraph.file_graph import MODULE_SCOPE, FileGraph
from ...codegraph.resolve import SAME_NAME
from ...codegraph.symbol_table import is_class
from ...errors import InvalidArgument
from ..agents.folders import Folder, Folders
from ..workspace.workspace import Workspace
from .call_counts import CallCounts, call_counts

Json = dict[str, Any]

MAX_NODES = 120
"""Boxes of one page of a map; more cannot be told apart on a screen."""

MAX_EDGES = 150
MAX_HOT = 12
MAX_NOT_INDEXED = 100
OUTSIDE = ""
"""The id of everything that is not below the shown folder or file."""

NOTHING_INSIDE = "no file in it is indexed"


@dataclass(slots=True)
class _Box:
    """A folder, a file or a definition. `n_files` and `n_definitions` count what is inside."""

    id: str  # unique on its level
    name: str
    kind: str
    path: str  # relative to the folder
    n_lines: int = 0
    n_files: int = 0
    n_definitions: int = 0
    line: int = 0  # of a definition, 1-based


def map_of(workspace: Workspace, folders: Folders, path: str, start: int) -> Json:
    """The boxes of one level, largest first, from number `start` on, and what is not indexed there.

    Raises InvalidArgument for a path that is not indexed.
    """
    if not path and len(folders.all) > 1:
        level = _level("", [_root_box(folder) for folder in folders], start, "folders")
        return {**level, "notIndexed": [], "nNotIndexed": 0}
    folder, key, is_file = _located(folders, path)
    boxes = _definitions(folder.index.graph.files[key]) if is_file else _children(folder, key)
    missing, n_missing = ([], 0) if is_file else _not_indexed(workspace, folder, key)
    level = _level(folder.shown(key).rstrip("/"), boxes, start, "file" if is_file else "folder", folder)
    return {**level, "notIndexed": missing, "nNotIndexed": n_missing}


def calls_of(folders: Folders, path: str) -> Json:
    """The calls between the boxes of one level, strongest first, and the definitions below it with the most calls.

    An edge has the ids of two boxes; `OUTSIDE` stands for the rest of the workspace. `sums` are the calls to and out of
    each box with any, of all edges.
    """
    edges: Mapping[tuple[str, str], int] = {}
    if not path and len(folders.all) > 1:
        hot = [each for folder in folders for each in _hot(folder, "")][:MAX_HOT]
    else:
        folder, key, is_file = _located(folders, path)
        edges = _calls_in_file(folder, key) if is_file else _calls_in_folder(call_counts(folder.index.graph), key)
        hot = _hot(folder, key)
    strongest = sorted(edges.items(), key=lambda item: (-item[1], item[0]))
    shown = [{"from": source, "to": target, "calls": n} for (source, target), n in strongest[:MAX_EDGES]]
    return {"edges": shown, "nEdges": len(strongest), "sums": _sums(edges), "hot": hot}


def _sums(edges: Mapping[tuple[str, str], int]) -> list[Json]:
    arriving, leaving = Counter[str](), Counter[str]()
    for (source, target), n in edges.items():
        leaving[source] += n
        arriving[target] += n
    ids = sorted((arriving.keys() | leaving.keys()) - {OUTSIDE})
    return [{"id": each, "in": arriving[each], "out": leaving[each]} for each in ids]


def _located(folders: Folders, path: str) -> tuple[Folder, str, bool]:
    """The folder, the key of a file, or that of a directory with its slash, and whether it is a file."""
    if path:
        try:
            return (*folders.locate(path), True)
        except InvalidArgument as unknown:
            try:
                return (*folders.below(path), False)
            except InvalidArgument:
                raise unknown from None
    return folders.all[0], "", False


def _level(path: str, boxes: list[_Box], start: int, kind: str, folder: Folder | None = None) -> Json:
    prefix, root = ("", "") if folder is None else (folder.prefix, folder.root.name)
    boxes.sort(key=lambda box: (-box.n_lines, box.name))
    shown = boxes[start : start + MAX_NODES]
    return {
        "path": path,
        "root": root,
        "kind": kind,
        "nodes": [
            {
                "id": box.id,
                "name": box.name,
                "kind": box.kind,
                "path": f"{prefix}{box.path}".rstrip("/"),
                "lines": box.n_lines,
                "files": box.n_files,
                "definitions": box.n_definitions,
                "line": box.line,
            }
            for box in shown
        ],
        "start": start,
        "nNodes": len(boxes),
        "nLines": sum(box.n_lines for box in boxes),
    }


def _root_box(folder: Folder) -> _Box:
    index = folder.index
    return _Box(folder.prefix, folder.prefix.rstrip("/"), "folder", "", index.n_lines, index.n_files)


def _children(folder: Folder, directory: str) -> list[_Box]:
    """The files and folders of a directory; it ends with a slash, or is empty."""
    boxes: dict[str, _Box] = {}
    for path, file in folder.index.graph.files.items():
        if path.startswith(directory):
            name = _child(path, directory)
            box = boxes.get(name)
            if box is None:
                kind = "folder" if name.endswith("/") else "file"
                box = boxes[name] = _Box(name, name, kind, f"{directory}{name}")
            box.n_lines += file.n_lines
            box.n_files += 1
            box.n_definitions += len(file.definitions) if box.kind == "file" else 0
    return list(boxes.values())


def _child(path: str, directory: str) -> str:
    """The name of the file or folder (with a slash) of a directory that has the path."""
    name, slash, _ = path[len(directory) :].partition("/")
    return name + slash


def _definitions(file: FileGraph) -> list[_Box]:
    """The definitions of a file on the top level, and the members of its classes instead of the classes."""
    all_ = file.definitions
    with_members = {each.parent for each in all_ if each.parent != MODULE_SCOPE and is_class(all_[each.parent])}
    boxes: dict[str, _Box] = {}
    for number, each in enumerate(all_):
        is_shown = each.parent == MODULE_SCOPE or is_class(all_[each.parent])
        if is_shown and number not in with_members and each.qualified_name not in boxes:
            n_lines = max(1, each.end_line - each.start_line)
            name = each.qualified_name
            boxes[name] = _Box(name, name, each.kind, file.path, n_lines, line=each.header_line + 1)
    return list(boxes.values())


def _calls_in_folder(counts: CallCounts, directory: str) -> Mapping[tuple[str, str], int]:
    boxes = _Boxes(directory)
    edges: dict[tuple[str, str], int] = {}
    for source, called in counts.between.items():
        from_ = boxes[source]
        for target, n in called.items():
            to = boxes[target]
            if from_ != to:
                edges[from_, to] = edges.get((from_, to), 0) + n
    return edges


class _Boxes(dict[str, str]):
    """The id of the box of a directory in which a file is."""

    def __init__(self, directory: str) -> None:
        super().__init__()
        self._directory = directory

    def __missing__(self, path: str) -> str:
        box = self[path] = _child(path, self._directory) if path.startswith(self._directory) else OUTSIDE
        return box


def _calls_in_file(folder: Folder, path: str) -> Mapping[tuple[str, str], int]:
    graph = folder.index.graph
    file = graph.files[path]
    shown = {box.id for box in _definitions(file)}
    edges: Counter[tuple[str, str]] = Counter()
    for edge in graph.call_edges(path):
        if edge.how != SAME_NAME:
            from_ = _around(file, file.calls[edge.call].scope, shown)
            to = _named(edge.qualified_name, shown) if edge.path == path else OUTSIDE
            if from_ != to:
                edges[from_, to] += 1
    for box in shown:
        n = sum(1 for each in graph.callers(path, box) if each.path != path and each.how != SAME_NAME)
        if n:
            edges[OUTSIDE, box] += n
    return edges


def _around(file: FileGraph, scope: int, shown: set[str]) -> str:
    return OUTSIDE if scope == MODULE_SCOPE else _named(file.definitions[scope].qualified_name, shown)


def _named(qualified_name: str, shown: set[str]) -> str:
    """The shown definition that is, or contains, the named one; `OUTSIDE` if none does."""
    while qualified_name and qualified_name not in shown:
        qualified_name = qualified_name.rpartition(".")[0]
    return qualified_name


def _hot(folder: Folder, key: str) -> list[Json]:
    """The definitions below a directory, or of a file, with the most calls. A class stands for its constructor."""
    graph = folder.index.graph
    counted = (
        (-n, path, name)
        for path, called in call_counts(graph).of.items()
        if path.startswith(key)
        for name, n in called.items()
    )
    found: list[Json] = []
    for n, path, name in nsmallest(3 * MAX_HOT, counted):
        symbols, definition = graph.symbols(path), graph.definition(path, name)
        if definition is not None and symbols is not None and not symbols.is_constructor(name):
            line = definition.header_line + 1
            found.append({"path": folder.shown(path), "line": line, "symbol": name, "calls": -n})
    return found[:MAX_HOT]


def _not_indexed(workspace: Workspace, folder: Folder, directory: str) -> tuple[list[Json], int]:
    """The first entries of a directory on disk that are not in the index, with the reason, and how many there are."""
    indexed = {_child(path, directory) for path in folder.index.graph.files if path.startswith(directory)}
    missing = [each for each in _entries(folder.root, directory) if not indexed & {each.name, f"{each.name}/"}]
    return [_missing_json(workspace, each) for each in missing[:MAX_NOT_INDEXED]], len(missing)


def _missing_json(workspace: Workspace, entry: os.DirEntry[str]) -> Json:
    is_folder = entry.is_dir(follow_symlinks=False)
    inside = Path(entry.path, "file") if is_folder else Path(entry.path)
    reason = "link" if entry.is_symlink() else workspace.exclusion_reason(inside)
    reason = reason or (NOTHING_INSIDE if is_folder else "not read yet")
    return {"name": entry.name + ("/" if is_folder else ""), "reason": reason}


def _entries(root: Path, directory: str) -> Iterable[os.DirEntry[str]]:
    """The entries of a directory, by name; none where a link leads out of the folder."""
    where = os.path.join(root, directory).rstrip(os.sep)
    if os.path.realpath(where) != where:
        return []
    try:
        with os.scandir(where) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []
