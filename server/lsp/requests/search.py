"""`weft/search`: definitions, code and documents of the workspace by name and words (docs/protocol.md)."""

from __future__ import annotations

from ....llm import Cancel
from ...output.safe_text import for_editor
from ...output.types import Position, SearchHit, SearchResult
from ...search.as_json import hit_json
from ...search.values import SearchHit as Hit
from ...workspace.workspace import Workspace
from ..links import PathOf, uri
from ..messages import WEFT_SEARCH, SearchParams
from ..registry import handles
from ..session import Session

PAGE = "#page="
"""Begins the page of a document in a path: paper.pdf#page=3."""


@handles(WEFT_SEARCH)
async def handle_search(session: Session, params: SearchParams) -> SearchResult | None:
    """Null if the server stops. Reads the newest snapshot; does not wait for notebooks and PDF files."""

    def call(workspace: Workspace, cancel: Cancel) -> SearchResult:
        found = workspace.search(
            params.query,
            params.limit,
            languages=params.languages,
            paths=params.paths,
            kinds=params.kinds,
            documents_wait_s=0.0,
            cancel=cancel,
        )
        return {
            "hits": [_with_link(hit, workspace.path_of) for hit in found.hits],
            "notes": list(map(for_editor, found.notes)),
        }

    return await session.run_short(call)


def _with_link(hit: Hit, path_of: PathOf) -> SearchHit:
    start: Position = {"line": hit.line, "character": 0}
    file = hit.path.partition(PAGE)[0]
    return {**hit_json(hit), "uri": uri(path_of(hit.folder, file)), "range": {"start": start, "end": start}}
