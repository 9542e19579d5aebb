"""LSP locations of citations and completions: a URI, and a range in the client's position encoding.

Owns the conversion. Knows no workspace: a callable resolves paths.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lsprotocol import types

from ..output import types as answers
from .documents import Encoding, to_lsp_column

# Resolves a folder and a path in it to a file; None if the folder was removed.
PathOf = Callable[[str, str], "Path | None"]


def with_location(cited: answers.CitedLines, path_of: PathOf, encoding: Encoding) -> answers.Citation:
    last = cited["text"].rpartition("\n")[2]
    end_line = max(cited["startLine"], cited["endLine"] - 1)
    return {
        **cited,
        "uri": uri(path_of(cited["folder"], cited["path"])),
        "range": {
            "start": {"line": cited["startLine"], "character": 0},
            "end": {"line": end_line, "character": to_lsp_column(last, len(last), encoding)},
        },
    }


def uri(path: Path | None) -> str | None:
    return None if path is None else path.as_uri()


def range_json(found: types.Range) -> answers.Range:
    start, end = ({"line": at.line, "character": at.character} for at in (found.start, found.end))
    return {"start": start, "end": end}  # type: ignore[typeddict-item]
