"""`textDocument/inlineCompletion` (LSP 3.18): ghost text at the cursor."""

from __future__ import annotations

from lsprotocol import types

from ....llm import Cancel
from ...completion import Completion, Trigger
from ...completion.repair import IndentStyle
from ...completion.values import RequestOptions
from ...workspace.workspace import Workspace
from ..documents import Document
from ..messages import COMMAND_DID_ACCEPT, InlineCompletionParams
from ..registry import handles
from ..session import Session


@handles(types.TEXT_DOCUMENT_INLINE_COMPLETION)
async def handle_inline_completion(session: Session, params: InlineCompletionParams) -> types.InlineCompletionList:
    document = session.document(params.text_document.uri)
    trigger: Trigger = (
        "invoked" if params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked else "automatic"
    )
    completion = await complete(session, document, params.position, RequestOptions(trigger, style=style_of(params)))
    if document is None or completion is None:
        return types.InlineCompletionList([])
    item = types.InlineCompletionItem(
        completion.text, range=replaced_range(document, completion), command=accept_command(completion)
    )
    return types.InlineCompletionList([item])


async def complete(
    session: Session, document: Document | None, position: types.Position, options: RequestOptions
) -> Completion | None:
    """The completion at a position; None if there is nothing to show."""
    if document is None:
        return None
    cursor = document.cursor(position.line, position.character)

    def call(workspace: Workspace, cancel: Cancel) -> Completion:
        service = workspace.completion
        return service.complete(service.request(cursor, cancel, options))

    completion = await session.run_latest("complete", document, call)
    return completion if completion is not None and completion.text else None


def style_of(params: InlineCompletionParams) -> IndentStyle | None:
    """The editor's indentation style; None if the request does not contain it."""
    options = params.formatting_options
    return None if options is None else IndentStyle.of(options.insert_spaces, options.tab_size)


def accept_command(completion: Completion) -> types.Command:
    """The command that the editor runs on acceptance. Its argument also describes the origin of the text."""
    about = {
        "id": completion.id,
        "source": completion.source,
        "model": completion.model,
        "confidence": completion.confidence,
        "timingsMs": {name: round(value, 2) for name, value in completion.timings_ms.items()},
    }
    return types.Command(title="", command=COMMAND_DID_ACCEPT, arguments=[about])


def replaced_range(document: Document, completion: Completion) -> types.Range:
    """The range that the completion replaces, in the client's encoding: within one line."""
    line, _ = completion.start
    start, end = (
        types.Position(*document.to_client(line, column)) for column in (completion.start[1], completion.end[1])
    )
    return types.Range(start, end)
