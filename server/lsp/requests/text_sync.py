"""`textDocument/didOpen`, `didChange`, `didClose`: update the open documents and the workspace's buffers."""

from __future__ import annotations

import os
from pathlib import Path

from lsprotocol import types

from ...secrets import is_secret_path
from ..documents import Edit
from ..registry import handles
from ..session import Session
from ..uris import to_path, virtual_document_path


@handles(types.TEXT_DOCUMENT_DID_OPEN)
def handle_did_open(session: Session, params: types.DidOpenTextDocumentParams) -> None:
    item = params.text_document
    path = to_path(item.uri)
    if path is None:
        path = virtual_document_path(item.uri, item.language_id)
    elif not is_secret_path(path.as_posix()):
        # The index uses real paths; an editor may open a file through a link. A name that marks a secret is preserved.
        path = Path(os.path.realpath(path))
    document = session.documents.open(item.uri, path, item.language_id, item.version, item.text)
    session.supersede_requests(item.uri)
    session.opened(document)


@handles(types.TEXT_DOCUMENT_DID_CHANGE)
def handle_did_change(session: Session, params: types.DidChangeTextDocumentParams) -> None:
    identifier = params.text_document
    edits = [_edit(change) for change in params.content_changes]
    document = session.documents.change(identifier.uri, identifier.version, edits)
    session.supersede_requests(identifier.uri)
    if document is not None and document.in_sync:
        session.changed(document)


@handles(types.TEXT_DOCUMENT_DID_CLOSE)
def handle_did_close(session: Session, params: types.DidCloseTextDocumentParams) -> None:
    document = session.documents.close(params.text_document.uri)
    session.supersede_requests(params.text_document.uri)
    if document is not None:
        session.closed(document)


def _edit(change: types.TextDocumentContentChangeEvent) -> Edit:
    if isinstance(change, types.TextDocumentContentChangePartial):
        start, end = change.range.start, change.range.end
        return Edit(change.text, (start.line, start.character), (end.line, end.character))
    return Edit(change.text)
