"""`textDocument/completion`: the inline completion as a list item, for clients without ghost text."""

from __future__ import annotations

import re

from lsprotocol import types

from ...completion.values import RequestOptions
from ..registry import handles
from ..session import Session
from .inline_completion import accept_command, complete, replaced_range


@handles(types.TEXT_DOCUMENT_COMPLETION)
async def handle_completion(session: Session, params: types.CompletionParams) -> types.CompletionList:
    """One item or none. Always incomplete, so that the client requests again on further typing."""
    document = session.document(params.text_document.uri)
    is_invoked = params.context is None or params.context.trigger_kind == types.CompletionTriggerKind.Invoked
    options = RequestOptions("invoked" if is_invoked else "automatic")
    completions = [] if document is None else await complete(session, document, params.position, options)
    if document is None or not completions:
        return types.CompletionList(is_incomplete=True, items=[])
    (completion,) = completions
    # Clients filter by the word before the cursor, so the item starts with it and replaces it.
    line, column = completion.start
    word = re.findall(r"\w*$", document.line(line)[:column])[0]
    replaced = replaced_range(document, completion)
    replaced.start = types.Position(*document.to_client(line, column - len(word)))
    text = word + completion.text
    sure = "" if completion.confidence is None else f" {completion.confidence:.0%}"
    item = types.CompletionItem(
        label=text.strip().partition("\n")[0],
        kind=types.CompletionItemKind.Snippet if "\n" in text else types.CompletionItemKind.Text,
        detail=f"Weft{sure}",
        filter_text=text,
        insert_text_format=types.InsertTextFormat.PlainText,
        text_edit=types.TextEdit(replaced, text),
        command=accept_command(completion),
    )
    return types.CompletionList(is_incomplete=True, items=[item])
