"""`weft/ask`: a question about the repository, its answer streamed (docs/protocol.md)."""

from __future__ import annotations

from pathlib import Path

from ....llm import Cancel
from ...chat.as_json import citation_json, reply_json
from ...chat.commands import read_command
from ...chat.conversation import ChatRequest
from ...chat.generation import StreamCallbacks
from ...chat.values import Reply
from ...output.types import AskResult, EvidenceItem, EvidenceLines
from ...workspace.workspace import Workspace
from ..documents import Encoding
from ..links import PathOf, linked, uri
from ..messages import AskParams
from ..progress import AnswerProgress
from ..session import Session

Selected = tuple[Path, int, int]


async def handle_ask(session: Session, params: AskParams) -> AskResult | None:
    """Null when the server shuts down meanwhile. Cancelled like any request: the partial answer is stored."""
    encoding = session.client.encoding
    selection = _selection(session, params)
    progress = AnswerProgress(session.notify, params.partial_result_token, params.work_done_token)

    def call(workspace: Workspace, cancel: Cancel) -> AskResult:
        request = ChatRequest(
            params.question, params.conversation_id, selection, None, params.strategy, params.remember
        )
        callbacks = StreamCallbacks(
            progress.text,
            progress.restart,
            progress.note,
            progress.conversation,
            lambda citation: progress.citation(linked(citation_json(citation), workspace.path_of, encoding)),
        )
        reply = workspace.chat.ask(request, callbacks, cancel)
        progress.is_whole()
        return _answer_json(reply, workspace.path_of, encoding)

    progress.begin()
    try:
        return await session.answer(call)
    finally:
        progress.end()


def _selection(session: Session, params: AskParams) -> Selected | None:
    """The selected lines of an open document. Without a selection, /explain uses the line of the cursor."""
    if params.text_document is None:
        return None
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return None
    session.asks_about(document)
    if params.selection is not None and params.selection.start != params.selection.end:
        start, end = params.selection.start, params.selection.end
        # A selection that ends at the start of a line does not include it.
        last = end.line if end.character or end.line == start.line else end.line - 1
        return document.path, start.line, last + 1
    if params.position is not None and read_command(params.question).name == "explain":
        return document.path, params.position.line, params.position.line + 1
    return None


def _answer_json(reply: Reply, path_of: PathOf, encoding: Encoding) -> AskResult:
    """The reply as on the command line, with URIs and ranges."""
    answer = reply_json(reply)
    return {
        **answer,
        "citations": [linked(cited, path_of, encoding) for cited in answer["citations"]],
        "exhibits": [_linked_item(shown, path_of) for shown in answer["exhibits"]],
    }


def _linked_item(shown: EvidenceLines, path_of: PathOf) -> EvidenceItem:
    path = None if shown["kind"] == "turn" else path_of(shown["folder"], shown["path"])
    return {**shown, "uri": uri(path)}
