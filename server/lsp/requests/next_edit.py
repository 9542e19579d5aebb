"""`weft/nextEdit`, `textDocument/copilotInlineEdit`, and what was shown, taken and refused (docs/protocol.md)."""

from __future__ import annotations

from typing import Literal

from lsprotocol import types

from ....errors import Cancelled
from ....llm import Cancel
from ...next_edit.rewrite.request import Diagnostic
from ...next_edit.rewrite.service import RewriteOptions
from ...next_edit.service import N_OFFERED, Offer
from ...output.types import (
    Command,
    EditOrigin,
    InlineEdit,
    InlineEditResult,
    NextEditItem,
    NextEditResult,
    Position,
    Range,
)
from ...workspace.workspace import Workspace
from ..documents import Document, to_lsp_column
from ..messages import (
    COMMAND_DID_TAKE_NEXT_EDIT,
    COPILOT_DID_SHOW_INLINE_EDIT,
    COPILOT_INLINE_EDIT,
    WEFT_DID_REFUSE_NEXT_EDIT,
    WEFT_DID_SHOW_NEXT_EDIT,
    WEFT_DID_TAKE_NEXT_EDIT,
    WEFT_NEXT_EDIT,
    DiagnosticParams,
    InlineEditParams,
    ItemParams,
    NextEditParams,
    ShownInlineEditParams,
)
from ..registry import handles
from ..session import Session

_SEVERITIES = {severity.value: severity.name.lower() for severity in types.DiagnosticSeverity}

N_SEARCHED = 100
"""So many edits of all files are searched for one in the requested document."""


@handles(WEFT_NEXT_EDIT)
async def handle_next_edit(session: Session, params: NextEditParams) -> NextEditResult | None:
    """Null if the document is not open; no edits for an older version of it."""
    document = session.document(params.text_document.uri)
    if document is None:
        return None
    diagnostics = tuple(map(_diagnostic, params.diagnostics or ()))
    offers = await next_edits(
        session,
        WEFT_NEXT_EDIT,
        document,
        params.text_document.version,
        params.position,
        params.limit,
        thorough=params.limit > N_OFFERED,
        rewrite=params.rewrite,
        diagnostics=diagnostics,
    )
    return {"version": document.version, "edits": [_item(session, offer) for offer in offers]}


@handles(COPILOT_INLINE_EDIT)
async def handle_inline_edit(session: Session, params: InlineEditParams) -> InlineEditResult:
    """The first edit in the document. Its answer has the document's version, so that the client drops a stale one."""
    document = session.document(params.text_document.uri)
    if document is None:
        return {"edits": []}
    version, position = params.text_document.version, params.position
    offers = await next_edits(
        session, COPILOT_INLINE_EDIT, document, version, position, N_SEARCHED, thorough=False, rewrite="ifNoneHere"
    )
    here = (offer for offer in offers if offer.file == document.path and not offer.edit.is_marked)
    return {"edits": [_inline_edit(session, offer) for offer in here][:1]}


async def next_edits(
    session: Session,
    method: str,
    document: Document,
    version: int,
    position: types.Position,
    limit: int,
    *,
    thorough: bool,
    rewrite: Literal["ifEmpty", "ifNoneHere", "never"] = "ifEmpty",
    diagnostics: tuple[Diagnostic, ...] = (),
) -> list[Offer]:
    """The next edits at a position; none if the document changed meanwhile.

    A newer request of the method for the document supersedes this one; an editor asks for code actions at any time.
    """
    if version != document.version:
        return []
    cursor = session.cursor(document, position)

    def call(workspace: Workspace, cancel: Cancel) -> list[Offer]:
        where = document.path, cursor.line, cursor.character
        options = RewriteOptions(cancel, diagnostics, only_here=rewrite == "ifNoneHere")
        asked = None if rewrite == "never" else options
        try:
            return workspace.next_edits_of.at(
                *where, limit, session=cursor.session, thorough=thorough, cancel=cancel, rewrite=asked
            )
        except Cancelled:
            return []

    offers = await session.run_behind(method, document, call) or []
    now = session.document(document.uri)
    return offers if now is not None and now.version == version else []


@handles(WEFT_DID_SHOW_NEXT_EDIT)
def handle_did_show_next_edit(session: Session, params: ItemParams) -> None:
    session.notify_workspace(lambda workspace: workspace.next_edits_of.shown(params.id))


@handles(WEFT_DID_TAKE_NEXT_EDIT)
def handle_did_take_next_edit(session: Session, params: ItemParams) -> None:
    session.notify_workspace(lambda workspace: workspace.next_edits_of.taken(params.id))


@handles(WEFT_DID_REFUSE_NEXT_EDIT)
def handle_did_refuse_next_edit(session: Session, params: ItemParams) -> None:
    name = session.name_in_workspace
    session.notify_workspace(lambda workspace: workspace.next_edits_of.refused(params.id, session=name))


@handles(COPILOT_DID_SHOW_INLINE_EDIT)
def handle_did_show_inline_edit(session: Session, params: ShownInlineEditParams) -> None:
    command = params.item.get("command")
    for argument in command.get("arguments", ()) if isinstance(command, dict) else ():
        if isinstance(argument, dict) and isinstance(argument.get("id"), str):
            handle_did_show_next_edit(session, ItemParams(argument["id"]))


def _diagnostic(diagnostic: DiagnosticParams) -> Diagnostic:
    severity = _SEVERITIES.get(diagnostic.severity or 1, "error")
    return Diagnostic(diagnostic.range.start.line, severity, diagnostic.message)


def _inline_edit(session: Session, offer: Offer) -> InlineEdit:
    command: Command = {"title": "", "command": COMMAND_DID_TAKE_NEXT_EDIT, "arguments": [{"id": offer.id}]}
    document = session.documents.at(offer.file)
    uri = offer.file.as_uri() if document is None else document.uri
    return {
        "text": offer.edit.new,
        "range": range_of(session, offer),
        "textDocument": {"uri": uri, "version": None if document is None else document.version},
        "command": command,
    }


def _item(session: Session, offer: Offer) -> NextEditItem:
    edit = offer.edit
    return {
        **_inline_edit(session, offer),
        "id": offer.id,
        "oldText": edit.old,
        "path": edit.path,
        "kind": edit.kind,
        "reason": edit.reason,
        "evidence": edit.evidence,
        "origin": _origin(session, offer),
        "group": edit.cause,
        "confidence": round(edit.confidence, 3),
        "isMarked": edit.is_marked,
    }


def _origin(session: Session, offer: Offer) -> EditOrigin | None:
    origin, hunk = offer.edit.origin, offer.origin
    if origin is None or hunk is None:
        return None
    file = offer.folder / hunk.path
    document = session.documents.at(file)
    return {
        "uri": file.as_uri() if document is None else document.uri,
        "path": hunk.path,
        "line": origin.line,
        "before": "\n".join(hunk.before),
        "after": "\n".join(hunk.after),
    }


def range_of(session: Session, offer: Offer) -> Range:
    """The range of an offer in the client's encoding."""

    def position(line: int, character: int) -> Position:
        return {"line": line, "character": to_lsp_column(offer.lines.line(line), character, session.documents.encoding)}

    return {"start": position(*offer.edit.start), "end": position(*offer.edit.end)}
