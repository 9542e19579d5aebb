"""Hits of a search as JSON, for the protocol and for `--json`.

The fields are declared in `server/output/types.py`. Lines are 0-based and half-open; `place` is 1-based and inclusive.
"""

from __future__ import annotations

from ..output import types as answers
from ..output.as_json import parts_json
from ..output.safe_text import for_editor
from .values import SearchHit


def hit_json(hit: SearchHit) -> answers.FoundLines:
    return {
        "place": hit.place,
        "path": hit.path,
        "folder": hit.folder,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "kind": hit.kind,
        "symbol": for_editor(hit.symbol),
        "line": hit.line,
        "preview": for_editor(hit.preview),
        "score": hit.score,
        "parts": parts_json(hit.parts),
    }
