"""`textDocument/codeAction`: follow-up edits in all files at once, one action for each edit that they follow from."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from ...next_edit.service import Offer
from ..capabilities import FOLLOW_UPS
from ..messages import COMMAND_DID_TAKE_NEXT_EDIT
from ..registry import handles
from ..session import Session
from .next_edit import next_edits, range_of

MAX_EDITS = 500
"""The most edits of one action."""

TO_CONFIRM = "weft.toConfirm"


@handles(types.TEXT_DOCUMENT_CODE_ACTION)
async def handle_code_action(session: Session, params: types.CodeActionParams) -> list[types.CodeAction]:
    """Empty without recent edits that make others necessary, and where the client wants other kinds of actions."""
    document = session.document(params.text_document.uri)
    only = params.context.only
    if document is None or (only and not any(_is_kind(FOLLOW_UPS, str(each)) for each in only)):
        return []
    position, version = params.range.start, document.version
    method = types.TEXT_DOCUMENT_CODE_ACTION
    offers = await next_edits(session, method, document, version, position, MAX_EDITS, thorough=True, rewrite="never")
    groups: dict[str, list[Offer]] = {}
    for offer in offers:
        groups.setdefault(offer.edit.cause, []).append(offer)
    return [_action(session, group) for group in groups.values()]


def _is_kind(kind: str, wanted: str) -> bool:
    return kind == wanted or kind.startswith(f"{wanted}.")


def _action(session: Session, offers: Sequence[Offer]) -> types.CodeAction:
    """Edits of one cause. Marked ones need a confirmation where the client can ask for it, and are left out else."""
    confirms = session.client.confirms_edits
    chosen = offers if confirms else [offer for offer in offers if not offer.edit.is_marked] or offers
    n = len(chosen)
    title = f"Apply {n} follow-up edit{'s' if n > 1 else ''}: {offers[0].edit.reason}"
    ids = [{"id": offer.id} for offer in chosen]
    return types.CodeAction(
        title=title,
        kind=FOLLOW_UPS,
        edit=_workspace_edit(session, chosen, confirms=confirms),
        command=types.Command(title="", command=COMMAND_DID_TAKE_NEXT_EDIT, arguments=ids),
    )


def _workspace_edit(session: Session, offers: Sequence[Offer], *, confirms: bool) -> types.WorkspaceEdit:
    edits: dict[tuple[str, int | None], list[types.TextEdit | types.AnnotatedTextEdit | types.SnippetTextEdit]] = {}
    for offer in offers:
        document = session.documents.at(offer.file)
        where = (offer.file.as_uri(), None) if document is None else (document.uri, document.version)
        shown = range_of(session, offer)
        span = types.Range(types.Position(**shown["start"]), types.Position(**shown["end"]))
        edit = (
            types.AnnotatedTextEdit(TO_CONFIRM, span, offer.edit.new)
            if confirms and offer.edit.is_marked
            else types.TextEdit(span, offer.edit.new)
        )
        edits.setdefault(where, []).append(edit)
    changes = [
        types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), found)
        for (uri, version), found in edits.items()
    ]
    note = types.ChangeAnnotation(
        "May be the same name", needs_confirmation=True, description="The name alone matches."
    )
    return types.WorkspaceEdit(document_changes=changes, change_annotations={TO_CONFIRM: note} if confirms else None)
