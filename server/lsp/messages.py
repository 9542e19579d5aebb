"""Weft's own messages, and those with fields that the protocol's library does not know (docs/protocol.md).

Owns what the protocol library does not know. Knows no handler.
"""

from __future__ import annotations

from typing import Any

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override
from lsprotocol import types
from pygls.protocol import default_converter

WEFT_ASK = "weft/ask"
WEFT_COMPLETE = "weft/complete"
WEFT_CONVERSATIONS = "weft/conversations"
WEFT_EXPLAIN = "weft/explain"
WEFT_STATUS = "weft/status"
WEFT_STATS = "weft/stats"
WEFT_DID_SHOW = "weft/didShow"
WEFT_DID_ACCEPT = "weft/didAccept"
WEFT_DID_PARTIALLY_ACCEPT = "weft/didPartiallyAccept"
WEFT_DID_REJECT = "weft/didReject"

COMMAND_DID_ACCEPT = "weft.didAccept"
"""What an editor runs that takes an item; so acceptance is known without any plugin."""


@attrs.define
class AskParams:
    """Of `weft/ask`: a question or a command, where it goes on, and what is selected."""

    question: str
    conversation_id: str = ""
    text_document: types.TextDocumentIdentifier | None = None
    selection: types.Range | None = None
    position: types.Position | None = None
    strategy: str = ""
    remember: bool = True
    partial_result_token: types.ProgressToken | None = None
    work_done_token: types.ProgressToken | None = None


@attrs.define
class ConversationsParams:
    """Of `weft/conversations`."""

    action: str = "list"
    id: str = ""
    text: str = ""
    file: str = ""
    all: bool = False
    limit: int = 100


@attrs.define
class CompleteParams:
    """Of `weft/complete`: an invoked completion with everything that can be asked for."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    multi_line: bool | None = None
    candidates: int = 1
    iterations: int = 1


@attrs.define
class InlineCompletionParams:
    """Of `textDocument/inlineCompletion`, with what some editors send beyond the standard."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    context: types.InlineCompletionContext
    formatting_options: types.FormattingOptions | None = None


@attrs.define
class ItemParams:
    """Of `weft/didShow`, `didAccept` and `didReject`: the completion's id."""

    id: str


@attrs.define
class PartlyAcceptedParams:
    """Of `weft/didPartiallyAccept`: how much of the text was taken in all, in UTF-16 units."""

    id: str
    accepted_length: int


@attrs.define
class AskRequest:
    id: int | str
    params: AskParams
    method: str = WEFT_ASK
    jsonrpc: str = "2.0"


@attrs.define
class ConversationsRequest:
    id: int | str
    params: ConversationsParams
    method: str = WEFT_CONVERSATIONS
    jsonrpc: str = "2.0"


@attrs.define
class ExplainRequest:
    id: int | str
    params: types.TextDocumentPositionParams
    method: str = WEFT_EXPLAIN
    jsonrpc: str = "2.0"


@attrs.define
class CompleteRequest:
    id: int | str
    params: CompleteParams
    method: str = WEFT_COMPLETE
    jsonrpc: str = "2.0"


@attrs.define
class InlineCompletionRequest:
    id: int | str
    params: InlineCompletionParams
    method: str = types.TEXT_DOCUMENT_INLINE_COMPLETION
    jsonrpc: str = "2.0"


@attrs.define
class ItemNotification:
    params: ItemParams
    method: str
    jsonrpc: str = "2.0"


@attrs.define
class PartlyAcceptedNotification:
    params: PartlyAcceptedParams
    method: str = WEFT_DID_PARTIALLY_ACCEPT
    jsonrpc: str = "2.0"


OWN_MESSAGES: dict[str, type[Any]] = {
    types.TEXT_DOCUMENT_INLINE_COMPLETION: InlineCompletionRequest,
    WEFT_ASK: AskRequest,
    WEFT_CONVERSATIONS: ConversationsRequest,
    WEFT_EXPLAIN: ExplainRequest,
    WEFT_COMPLETE: CompleteRequest,
    WEFT_DID_SHOW: ItemNotification,
    WEFT_DID_ACCEPT: ItemNotification,
    WEFT_DID_REJECT: ItemNotification,
    WEFT_DID_PARTIALLY_ACCEPT: PartlyAcceptedNotification,
}


def converter() -> Converter:
    """The library's converter, which also reads our parameters."""
    made: Converter = default_converter()  # type: ignore[no-untyped-call]
    ask = make_dict_structure_fn(
        AskParams,
        made,
        conversation_id=override(rename="conversationId"),
        text_document=override(rename="textDocument"),
        partial_result_token=override(rename="partialResultToken"),
        work_done_token=override(rename="workDoneToken"),
    )
    complete = make_dict_structure_fn(
        CompleteParams, made, text_document=override(rename="textDocument"), multi_line=override(rename="multiLine")
    )
    inline = make_dict_structure_fn(
        InlineCompletionParams,
        made,
        text_document=override(rename="textDocument"),
        formatting_options=override(rename="formattingOptions"),
    )
    partly = make_dict_structure_fn(PartlyAcceptedParams, made, accepted_length=override(rename="acceptedLength"))
    made.register_structure_hook(AskParams, ask)
    made.register_structure_hook(CompleteParams, complete)
    made.register_structure_hook(InlineCompletionParams, inline)
    made.register_structure_hook(PartlyAcceptedParams, partly)
    return made
