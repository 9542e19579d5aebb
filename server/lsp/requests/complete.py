"""`weft/complete`: an invoked completion with its metadata, with several candidates or RepoCoder iterations."""

from __future__ import annotations

from ....llm import Cancel
from ...completion import Completion
from ...completion.values import RequestOptions
from ...output.as_json import completion_json
from ...output.types import CompleteItem, CompleteResult
from ...workspace.workspace import Workspace
from ..links import range_json
from ..messages import WEFT_COMPLETE, CompleteParams
from ..registry import handles
from ..session import Session
from .inline_completion import replaced_range

MAX_CANDIDATES = 10
MAX_ITERATIONS = 4


@handles(WEFT_COMPLETE)
async def handle_complete(session: Session, params: CompleteParams) -> CompleteResult | None:
    """Null if the document is not open, or a newer request or an edit supersedes this one."""
    document = session.document(params.text_document.uri)
    if document is None:
        return None
    cursor = session.cursor(document, params.position)

    def call(workspace: Workspace, cancel: Cancel) -> list[Completion]:
        service = workspace.completion
        request = service.request(cursor, cancel, RequestOptions("invoked", params.multi_line))
        if params.candidates > 1:
            return service.complete_several(request, min(params.candidates, MAX_CANDIDATES))
        if params.iterations > 1:
            return [service.complete_in_rounds(request, min(params.iterations, MAX_ITERATIONS))]
        return [service.complete(request)]

    completions = await session.run_latest("complete", document, call)
    if completions is None:
        return None
    items: list[CompleteItem] = [
        {**completion_json(done), "range": range_json(replaced_range(document, done))} for done in completions
    ]
    return {"items": items}
