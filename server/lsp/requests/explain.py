"""`weft/explain`: a completion, its origin, and why it is shown or hidden (docs/protocol.md)."""

from __future__ import annotations

from ....llm import Cancel
from ...completion.explanation import Explanation
from ...output.as_json import explanation_json
from ...output.types import ExplainResult
from ...workspace.workspace import Workspace
from ..messages import WEFT_EXPLAIN, ExplainParams
from ..registry import handles
from ..session import Session


@handles(WEFT_EXPLAIN)
async def handle_explain(session: Session, params: ExplainParams) -> ExplainResult | None:
    """Null if the document is not open."""
    document = session.document(params.text_document.uri)
    if document is None:
        return None
    cursor = session.cursor(document, params.position)

    def call(workspace: Workspace, cancel: Cancel) -> Explanation:
        service = workspace.completion
        return service.explain(service.request(cursor, cancel))

    explanation = await session.run_latest("explain", document, call)
    return None if explanation is None else explanation_json(explanation)
