"""`textDocument/inlineCompletion` (LSP 3.18): ghost text at the cursor."""

from __future__ import annotations

from lsprotocol import types

from ....llm import Cancel
from ...completion import Completion, Trigger
from ...completion.repair import IndentStyle
from ...completion.values import RequestOptions, SelectedItem
from ...workspace.workspace import Workspace
from ..documents import Document
from ..messages import COMMAND_DID_ACCEPT, InlineCompletionParams
from ..registry import handles
from ..session import AUTOMATIC_TURN_WITHIN_S, TURN_WITHIN_S, Session

N_CANDIDATES = 3
"""Items of an explicit request, for the editor's keys for the next and the previous one. The index gives those after
the first, so that no item waits for a second generation."""


@handles(types.TEXT_DOCUMENT_INLINE_COMPLETION)
async def handle_inline_completion(session: Session, params: InlineCompletionParams) -> types.InlineCompletionList:
    """One item or none for an automatic request, up to `N_CANDIDATES` for an explicit one."""
    document = session.document(params.text_document.uri)
    if document is None:
        return types.InlineCompletionList([])
    invoked = params.context.trigger_kind == types.InlineCompletionTriggerKind.Invoked
    trigger: Trigger = "invoked" if invoked else "automatic"
    options = RequestOptions(
        trigger, style=style_of(params), selected=selected_item(document, params), is_displayed=True
    )
    completions = await complete(session, document, params.position, options, N_CANDIDATES if invoked else 1)
    return types.InlineCompletionList(
        [
            types.InlineCompletionItem(
                completion.text, range=replaced_range(document, completion), command=accept_command(completion)
            )
            for completion in completions
        ]
    )


async def complete(
    session: Session, document: Document, position: types.Position, options: RequestOptions, n: int = 1
) -> list[Completion]:
    """Up to `n` completions at a position; empty if there is nothing to show."""
    cursor = session.cursor(document, position)

    def call(workspace: Workspace, cancel: Cancel) -> list[Completion]:
        service = workspace.completion
        request = service.request(cursor, cancel, options)
        return [service.complete(request)] if n == 1 else service.complete_several(request, n, generate=False)

    turn_within_s = AUTOMATIC_TURN_WITHIN_S if options.trigger == "automatic" else TURN_WITHIN_S
    completions = await session.run_latest("complete", document, call, turn_within_s)
    return [completion for completion in completions or () if completion.text]


def selected_item(document: Document, params: InlineCompletionParams) -> SelectedItem | None:
    """The selected item of the editor's completion list.

    None without one, and for a range that is not on the cursor's line around the cursor, because the editor shows no
    ghost text there.
    """
    info, line = params.context.selected_completion_info, params.position.line
    if info is None or not info.text:
        return None
    ends = [(at.line, at.character) for at in (info.range.start, info.range.end)]
    start, end = (document.from_client(*at) for at in ends)
    # Positions outside of the document are clamped, and differ from the client's.
    if [document.to_client(*at) for at in (start, end)] != ends or not start[0] == end[0] == line:
        return None
    cursor = document.cursor(line, params.position.character)
    return SelectedItem(info.text, line, start[1], end[1]) if start[1] <= cursor.character <= end[1] else None


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
