"""`weft/complete`: an invoked completion with its reasons; several candidates or several rounds when asked for."""

from __future__ import annotations

from ....llm import Cancel
from ...completion import Completion
from ...output.as_json import completion_json
from ...output.types import CompleteItem, CompleteResult
from ...workspace.workspace import Workspace
from ..links import range_json
from ..messages import CompleteParams
from ..session import Session
from .inline_completion import replaced_range

MOST_CANDIDATES = 10
MOST_ITERATIONS = 4


async def handle_complete(session: Session, params: CompleteParams) -> CompleteResult | None:
    """Null for a document that is not open, and when a newer request or an edit makes the answer useless."""
    at = session.cursor(params.text_document.uri, params.position)
    if at is None:
        return None
    path, line, character, text = at.document.path, at.line, at.character, at.document.text

    def call(workspace: Workspace, cancel: Cancel) -> tuple[Completion, ...]:
        if params.candidates > 1:
            n = min(params.candidates, MOST_CANDIDATES)
            wanted = params.multi_line
            return tuple(
                workspace.complete_several(path, line, character, n, cancel=cancel, multi_line=wanted, text=text)
            )
        iterations = max(1, min(params.iterations, MOST_ITERATIONS))
        return (
            workspace.complete(
                path,
                line,
                character,
                cancel=cancel,
                multi_line=params.multi_line,
                trigger="invoked",
                iterations=iterations,
                text=text,
            ),
        )

    completions = await session.ask("complete", at, call)
    if completions is None:
        return None
    items: list[CompleteItem] = [
        {**completion_json(done), "range": range_json(replaced_range(at.document, done))} for done in completions
    ]
    return {"items": items}
