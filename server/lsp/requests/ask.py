"""`weft/ask`: answers a question about the repository, with streaming (docs/protocol.md)."""

from __future__ import annotations

from pathlib import Path

from ....llm import Cancel
from ....retrieval.questions import is_document
from ...chat.as_json import citation_json, reply_json
from ...chat.commands import read_command
from ...chat.conversation import ChatRequest
from ...chat.generation import StreamCallbacks
from ...chat.values import Reply
from ...output.types import AskResult, EvidenceItem, EvidenceLines
from ...workspace.workspace import Workspace
from ..documents import Encoding
from ..links import PathOf, uri, with_location
from ..messages import WEFT_ASK, AskParams
from ..progress import AnswerProgress
from ..registry import handles
from ..session import Session
from ..uris import to_path

Selection = tuple[Path, int, int]


@handles(WEFT_ASK)
async def handle_ask(session: Session, params: AskParams) -> AskResult | None:
    """Null if the server stops. A cancelled request stores the answer's text so far."""
    encoding = session.client.encoding
    selection = _selection(session, params)
    progress = AnswerProgress(session.notify, params.partial_result_token, params.work_done_token)

    def call(workspace: Workspace, cancel: Cancel) -> AskResult:
        request = ChatRequest(
            params.question,
            params.conversation_id,
            selection,
            None,
            params.strategy,
            params.remember,
            params.as_written,
            _documents(params.documents),
        )
        callbacks = StreamCallbacks(
            progress.text,
            progress.restart,
            progress.note,
            progress.conversation,
            lambda citation: progress.citation(with_location(citation_json(citation), workspace.path_of, encoding)),
            progress.asked_as,
        )
        reply = workspace.chat.ask(request, callbacks, cancel)
        progress.finish_text()
        return _answer_json(reply, workspace.path_of, encoding)

    progress.begin()
    try:
        return await session.run_concurrently(call)
    finally:
        progress.end()


def _documents(uris: list[str]) -> tuple[Path, ...]:
    """The documents among attached files: an editor attaches any file."""
    paths = (path for each in uris if (path := to_path(each)) is not None)
    return tuple(path for path in paths if is_document(path.name))


def _selection(session: Session, params: AskParams) -> Selection | None:
    """The selected lines of an open document. Without a selection, `/explain` uses the cursor's line."""
    if params.text_document is None:
        return None
    document = session.documents.get(params.text_document.uri)
    if document is None:
        return None
    session.activate(document)
    if params.selection is not None and params.selection.start != params.selection.end:
        start, end = params.selection.start, params.selection.end
        # A selection that ends at column 0 excludes that line.
        last = end.line if end.character or end.line == start.line else end.line - 1
        return document.path, start.line, last + 1
    if params.position is not None and read_command(params.question).name == "explain":
        return document.path, params.position.line, params.position.line + 1
    return None


def _answer_json(reply: Reply, path_of: PathOf, encoding: Encoding) -> AskResult:
    """The JSON of the command line, with LSP locations."""
    answer = reply_json(reply)
    return {
        **answer,
        "citations": [with_location(cited, path_of, encoding) for cited in answer["citations"]],
        "exhibits": [_item_with_uri(shown, path_of) for shown in answer["exhibits"]],
    }


def _item_with_uri(shown: EvidenceLines, path_of: PathOf) -> EvidenceItem:
    path = None if shown["kind"] == "turn" else path_of(shown["folder"], shown["path"])
    return {**shown, "uri": uri(path)}
