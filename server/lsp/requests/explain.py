"""`weft/explain`: which fragments a completion at this position is given, and why (docs/protocol.md)."""

from __future__ import annotations

from ....llm import Cancel
from ...output.as_json import explanation_json
from ...output.types import ExplainResult
from ...workspace.workspace import Explanation, Workspace
from ..messages import ExplainParams
from ..session import Session


async def handle_explain(session: Session, params: ExplainParams) -> ExplainResult | None:
    """Null for a document that is not open."""
    at = session.cursor(params.text_document.uri, params.position)
    if at is None:
        return None

    def call(workspace: Workspace, _: Cancel) -> Explanation:
        return workspace.explain(at.document.path, at.line, at.character, text=at.document.text)

    explanation = await session.ask("explain", at, call)
    return None if explanation is None else explanation_json(explanation)
