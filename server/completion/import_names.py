"""Import completion: one name or one module path of the import line at the cursor, with its probability.

Owns the choice between such a name and the text of the workspace model, and the probability of a name. Knows no module:
`codegraph.imports_at` ranks the names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...codegraph import Export, ModulePath, exports_at, module_paths_at
from ...languages.import_lines import ImportLine, import_line_at
from ..workspace.snapshot import FolderSnapshot
from ..workspace.text import Cursor
from .confidence import joint_probability
from .values import IMPORTS, Written

# Share of the offered names and paths that the author of the statement wrote. Measured by
# `python -m weft.benchmarks.completion.import_lines`, see benchmarks/results/completion-languages.md.
MANY_IMPORTERS = 3
FEW_NAMES = 4
NAME_IS_USED = {"many importers": 0.96, "importers": 0.92, "none": 0.5}
NAME_IS_UNUSED = {"only name": 0.92, "few names": 0.5, "many importers": 0.65, "none": 0.4}
PATH_IS_USED = {"only one": 0.96, "one of several": 0.9, "few importers": 0.7}
PATH_IS_UNUSED = {"go": 0.68, "others": 0.15}


@dataclass(frozen=True, slots=True)
class ImportCandidates:
    """The texts that can follow at the cursor of an import line.

    `names` are all exports of the module; empty for a path and for a module from outside of the repository.
    `reasons` say in words what the probability is based on.
    """

    line: ImportLine
    text: str
    probability: float
    names: frozenset[str] = frozenset()
    reasons: tuple[str, ...] = ()


def import_line(cursor: Cursor) -> ImportLine | None:
    """The import statement at the cursor; None elsewhere."""
    patterns = cursor.language.import_lines
    return import_line_at(patterns, cursor.prefix, cursor.suffix) if patterns else None


def import_candidates(snapshot: FolderSnapshot, cursor: Cursor) -> ImportCandidates | None:
    """The likeliest text at the cursor; None outside of import lines and without a candidate."""
    line = import_line(cursor)
    if line is None:
        return None
    if line.is_path:
        paths = _paths(snapshot, cursor, line)
        if not paths:
            return None
        text, probability = (
            _path_text(paths[0], cursor, line),
            _probability_of_path(paths, cursor.language.module_style),
        )
        return ImportCandidates(line, text, probability, reasons=_reasons(paths[0]))
    exports = _exports(snapshot, cursor, line)
    if not exports or exports[0].name == line.typed:
        return None
    names = frozenset(each.name for each in exports)
    text, probability = _name_text(exports[0], cursor, line), _probability_of_name(exports)
    return ImportCandidates(line, text, probability, names, _reasons(exports[0], len(exports)))


def import_texts(snapshot: FolderSnapshot, cursor: Cursor) -> list[str] | None:
    """All texts that can follow at the cursor, likeliest first; None outside of import lines and without any."""
    line = import_line(cursor)
    if line is None:
        return None
    if line.is_path:
        texts = [_path_text(path, cursor, line) for path in _paths(snapshot, cursor, line)]
    else:
        texts = [_name_text(each, cursor, line) for each in _exports(snapshot, cursor, line) if each.name != line.typed]
    return texts or None


def _paths(snapshot: FolderSnapshot, cursor: Cursor, line: ImportLine) -> list[ModulePath]:
    return module_paths_at(snapshot.index.graph, cursor.path, cursor.language, line, cursor.prefix, cursor.suffix)


def _path_text(path: ModulePath, cursor: Cursor, line: ImportLine) -> str:
    text = path.path[len(line.typed) :]
    quote = cursor.start_of_line[: cursor.character - len(line.typed)][-1:]
    return text + quote if quote in ("'", '"') and quote not in cursor.rest_of_line else text


def _exports(snapshot: FolderSnapshot, cursor: Cursor, line: ImportLine) -> list[Export]:
    return exports_at(snapshot.index.graph, cursor.path, cursor.language, line, cursor.prefix, cursor.suffix)


def _name_text(export: Export, cursor: Cursor, line: ImportLine) -> str:
    space = " " if not line.typed and cursor.start_of_line.endswith(",") else ""
    return space + export.name[len(line.typed) :]


def with_import_names(written: Written, candidates: ImportCandidates) -> Written:
    """The text of the workspace model if it imports a name that exists and is as likely, else the likeliest name."""
    first = _FIRST_NAME.match(candidates.line.typed + written.text.lstrip(" "))
    if candidates.line.is_path:
        is_known = bool(written.text.strip())
    else:
        is_known = first is not None and first[0] in candidates.names
    if is_known and (joint_probability(written) or 0.0) >= candidates.probability:
        return written
    return Written(((candidates.text, candidates.probability),), written.model, IMPORTS)


def _reasons(first: Export | ModulePath, n_exports: int = 0) -> tuple[str, ...]:
    """What the choice of a name or path is based on."""
    use = "This file uses it and does not import it yet." if n_exports else "This file uses a name of it."
    return (
        *([use] if first.is_used else []),
        *(["Other files import it."] if first.n_importers else []),  # no number: near files count several times
        *(["The module exports no other name."] if n_exports == 1 else []),
    )


def _probability_of_name(exports: list[Export]) -> float:
    first = exports[0]
    if first.is_used:
        importers = (
            "many importers" if first.n_importers >= MANY_IMPORTERS else "importers" if first.n_importers else ""
        )
        return NAME_IS_USED[importers or "none"]
    if len(exports) == 1:
        return NAME_IS_UNUSED["only name"]
    if len(exports) <= FEW_NAMES:
        return NAME_IS_UNUSED["few names"]
    return NAME_IS_UNUSED["many importers" if first.n_importers >= MANY_IMPORTERS else "none"]


def _probability_of_path(paths: list[ModulePath], style: str) -> float:
    first = paths[0]
    if not first.is_used:
        return PATH_IS_UNUSED["go" if style == "go" else "others"]
    is_only = len(paths) == 1 or not paths[1].is_used
    if first.n_importers >= MANY_IMPORTERS:
        return PATH_IS_USED["only one" if is_only else "one of several"]
    return PATH_IS_USED["few importers"] if is_only else PATH_IS_UNUSED["others"]


_FIRST_NAME = re.compile(r"[\w$]+")
