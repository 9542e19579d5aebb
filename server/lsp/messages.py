"""Types of Weft's custom LSP messages, and of standard ones with fields that the LSP library lacks.

Owns method names, parameter types with the meaning of each field, and the table of messages. Result types are in
`server/output/types.py`. `docs/protocol.md` and the types of the VS Code extension are generated from both. Knows no
handler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, cast

import attrs
from cattrs import Converter
from cattrs.gen import make_dict_structure_fn, override
from lsprotocol import types
from lsprotocol.converters import get_converter

from ..output import types as answers

WEFT_ASK = "weft/ask"
WEFT_CALL_TOOL = "weft/callTool"
WEFT_COMPLETE = "weft/complete"
WEFT_CONVERSATIONS = "weft/conversations"
WEFT_DOCTOR = "weft/doctor"
WEFT_EXPLAIN = "weft/explain"
WEFT_EXPLORE = "weft/explore"
WEFT_NEXT_EDIT = "weft/nextEdit"
WEFT_PAUSE = "weft/pause"
WEFT_INDEX_FOLDERS = "weft/indexFolders"
WEFT_SEARCH = "weft/search"
WEFT_STATUS = "weft/status"
WEFT_STATS = "weft/stats"
WEFT_DID_CHANGE_STATUS = "weft/didChangeStatus"
WEFT_DID_SHOW = "weft/didShow"
WEFT_DID_ACCEPT = "weft/didAccept"
WEFT_DID_PARTIALLY_ACCEPT = "weft/didPartiallyAccept"
WEFT_DID_REJECT = "weft/didReject"
WEFT_DID_SHOW_NEXT_EDIT = "weft/didShowNextEdit"
WEFT_DID_TAKE_NEXT_EDIT = "weft/didTakeNextEdit"
WEFT_DID_REFUSE_NEXT_EDIT = "weft/didRefuseNextEdit"
# Next edits in the form of Copilot's language server, for the clients that speak it.
COPILOT_INLINE_EDIT = "textDocument/copilotInlineEdit"
COPILOT_DID_SHOW_INLINE_EDIT = "textDocument/didShowInlineEdit"
# The command of a completion item: an editor runs it on acceptance, so that acceptance is known without a plugin.
COMMAND_DID_ACCEPT = "weft.didAccept"
COMMAND_DID_TAKE_NEXT_EDIT = "weft.didTakeNextEdit"


_POSITIVE = attrs.validators.ge(1)


def _token(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | str)):
        raise TypeError(f"{attribute.name} must be a string or an integer")


@attrs.define
class AskParams:
    """A question or a slash command, with its conversation and selection."""

    question: Annotated[str, "The text, at most 100,000 characters."] = attrs.field(
        validator=attrs.validators.max_len(100_000)
    )
    conversation_id: Annotated[str, "The conversation to continue; empty starts a new one."] = ""
    text_document: Annotated[types.TextDocumentIdentifier | None, "An open document that the question is about."] = None
    selection: Annotated[types.Range | None, "The selected range in the document: the subject of the question."] = None
    position: Annotated[types.Position | None, "The cursor in the document, for `/explain` without a selection."] = None
    strategy: Annotated[str, "The memory strategy that answers from the documents."] = ""
    documents: Annotated[
        list[str], "URIs of files that the question is about; those that are no documents are ignored."
    ] = attrs.field(factory=list)
    remember: Annotated[bool, "False stores neither question nor answer."] = True
    as_written: Annotated[
        bool, "True answers without inserting names of earlier turns, and without corrected spelling."
    ] = False
    partial_result_token: Annotated[
        types.ProgressToken | None, "Token of the streamed answer: `AskProgress` in `$/progress`."
    ] = attrs.field(default=None, validator=_token)
    work_done_token: Annotated[
        types.ProgressToken | None,
        "Token of begin, end and reports: that the answer waits for the index, and the estimated cost of an expensive "
        "answer.",
    ] = attrs.field(default=None, validator=_token)


@attrs.define
class SearchParams:
    """A query, with filters. Each filter keeps what matches one of its values; an empty one keeps all."""

    query: Annotated[str, "A name (`evict`, `Shop.pay`) or words, at most 10,000 characters."] = attrs.field(
        validator=attrs.validators.max_len(10_000)
    )
    limit: Annotated[int, "Maximum number of hits, 1 to 1,000."] = attrs.field(
        default=10, validator=[attrs.validators.ge(1), attrs.validators.le(1_000)]
    )
    languages: Annotated[list[str], "Names of languages, such as `python`."] = attrs.field(factory=list)
    paths: Annotated[
        list[str],
        "Globs: `*.py` and `docs` match at any depth, `src/*.py` from the folder's root; `**` is any folders, and "
        "`!tests` excludes.",
    ] = attrs.field(factory=list)
    kinds: Annotated[
        list[str], "Kinds of definitions (`function`, `class`), `code`, `document` (or `section`) and `test`."
    ] = attrs.field(factory=list)


@attrs.define
class CallToolParams:
    """A call of a tool for agents ([agents](agents.md))."""

    name: Annotated[str, "Name of the tool, such as `impact`."]
    arguments: Annotated[dict[str, Any], "Its arguments by name."] = attrs.field(factory=dict)
    agent: Annotated[str, "Name of the agent, stored with its notes; at most 100 characters."] = attrs.field(
        default="", validator=attrs.validators.max_len(100)
    )


@attrs.define
class ExploreParams:
    """A view of the page of `weft explore` ([explore](explore.md))."""

    name: Annotated[str, "Name of the view, such as `map`."]
    arguments: Annotated[dict[str, Any], "Its arguments by name."] = attrs.field(factory=dict)


@attrs.define
class ConversationsParams:
    """An action on the stored conversations of this workspace."""

    action: Annotated[str, "`list`, `get`, `search`, `delete` or `export`."] = "list"
    id: Annotated[str, "`get`, `delete`: the conversation."] = ""
    text: Annotated[str, "`list`, `search`: words that it must contain, at most 10,000 characters."] = attrs.field(
        default="", validator=attrs.validators.max_len(10_000)
    )
    file: Annotated[str, "`export`: the name of the file in Weft's folder of exports; not a path."] = ""
    overwrite: Annotated[bool, "`export`: replace an existing file."] = False
    all: Annotated[bool, "`delete`: all conversations."] = False
    limit: Annotated[int, "`list`, `search`: maximum number of results, 1 to 10,000."] = attrs.field(
        default=100, validator=[attrs.validators.ge(1), attrs.validators.le(10_000)]
    )


@attrs.define
class CompleteParams:
    """An invoked completion with all options."""

    text_document: Annotated[types.TextDocumentIdentifier, "An open document."]
    position: Annotated[types.Position, "The cursor."]
    multi_line: Annotated[bool | None, "Whether the text may have several lines; null uses the settings."] = None
    candidates: Annotated[int, "Number of different texts, up to 10."] = attrs.field(default=1, validator=_POSITIVE)
    iterations: Annotated[int, "Rounds of RepoCoder's loop, up to 4: slower, better."] = attrs.field(
        default=1, validator=_POSITIVE
    )


@attrs.define
class ExplainParams:
    """`TextDocumentPositionParams`."""

    text_document: Annotated[types.TextDocumentIdentifier, "An open document."]
    position: Annotated[types.Position, "The cursor."]


@attrs.define
class DiagnosticParams:
    """The fields of an LSP `Diagnostic` that are read."""

    range: Annotated[types.Range, "Its place in the document."]
    message: Annotated[str, "What it says."]
    severity: Annotated[int | None, "1: error, 2: warning, 3: information, 4: hint; null: error."] = None


@attrs.define
class NextEditParams:
    """A cursor in a version of an open document. For an older version the answer has no edits."""

    text_document: Annotated[types.VersionedTextDocumentIdentifier, "An open document, with its version."]
    position: Annotated[types.Position, "The cursor."]
    limit: Annotated[
        int, "Maximum number of edits, 1 to 1,000. For more than 20, more files are read of a widely used name."
    ] = attrs.field(default=20, validator=[attrs.validators.ge(1), attrs.validators.le(1_000)])
    diagnostics: Annotated[
        list[DiagnosticParams] | None, "What other servers say of the document, for a model that rewrites its lines."
    ] = None
    rewrite: Annotated[
        Literal["ifEmpty", "ifNoneHere", "never"],
        "Where a model may be asked, which takes time: where the answer would be empty, also where it would have no "
        "edit of this document, or nowhere.",
    ] = "ifEmpty"


@attrs.define
class InlineEditParams:
    """A cursor in a version of an open document, as clients of Copilot's language server send it."""

    text_document: Annotated[types.VersionedTextDocumentIdentifier, "An open document, with its version."]
    position: Annotated[types.Position, "The cursor."]


@attrs.define
class ShownInlineEditParams:
    """An edit of `textDocument/copilotInlineEdit` that was shown."""

    item: Annotated[dict[str, Any], "The edit as it was sent; its command identifies it."]


@attrs.define
class InlineCompletionParams:
    """Parameters of `textDocument/inlineCompletion`, with the formatting options that some editors add."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    context: types.InlineCompletionContext
    formatting_options: types.FormattingOptions | None = None


@attrs.define
class ItemParams:
    """Identifies a completion or a next edit."""

    id: Annotated[str, "The id in the argument of an item's command, of a `CompleteItem` or of a `NextEditItem`."]


@attrs.define
class PartlyAcceptedParams:
    """Identifies a completion, and how much of it was accepted."""

    id: Annotated[str, "The id of the completion."]
    accepted_length: Annotated[int, "UTF-16 units accepted so far, counted from its start."] = attrs.field(
        validator=attrs.validators.ge(0)
    )


@attrs.define
class PauseParams:
    """Whether to pause or resume Weft."""

    paused: Annotated[bool, "True pauses, false resumes."]


@dataclass(frozen=True, slots=True)
class OwnMessage:
    """A custom message. `result` is a type of `server/output/types.py`, with None if null is allowed; None for a
    notification.

    A notification of the server has its content as `result`: the type of an unsolicited result.
    """

    method: str
    params: type[Any] | None
    result: Any
    meaning: str
    sender: Literal["client", "server"] = "client"

    @property
    def is_request(self) -> bool:
        return self.sender == "client" and self.result is not None


OWN_MESSAGES = (
    OwnMessage(WEFT_STATUS, None, answers.StatusResult, "Current status, with the reason."),
    OwnMessage(WEFT_DID_CHANGE_STATUS, None, answers.StatusResult, "The status has changed.", "server"),
    OwnMessage(WEFT_PAUSE, PauseParams, answers.StatusResult, "Pause or resume."),
    OwnMessage(
        WEFT_INDEX_FOLDERS,
        None,
        answers.StatusResult,
        "Index the whole workspace folders of which only open files are indexed (`index.broad_folders`). Remembered.",
    ),
    OwnMessage(WEFT_DOCTOR, None, answers.DoctorResult | None, "Diagnose the installation and configuration."),
    OwnMessage(WEFT_EXPLAIN, ExplainParams, answers.ExplainResult | None, "A completion, and why it is shown or not."),
    OwnMessage(WEFT_COMPLETE, CompleteParams, answers.CompleteResult | None, "An invoked completion, with candidates."),
    OwnMessage(WEFT_ASK, AskParams, answers.AskResult | None, "Answer a question about the repository."),
    OwnMessage(WEFT_SEARCH, SearchParams, answers.SearchResult | None, "Search the workspace by name and words."),
    OwnMessage(WEFT_CALL_TOOL, CallToolParams, answers.CallToolResult | None, "Call a tool for agents."),
    OwnMessage(WEFT_EXPLORE, ExploreParams, answers.ExploreResult | None, "A view of the page of `weft explore`."),
    OwnMessage(WEFT_CONVERSATIONS, ConversationsParams, answers.ConversationsResult, "Stored conversations."),
    OwnMessage(WEFT_DID_SHOW, ItemParams, None, "A completion is shown."),
    OwnMessage(WEFT_DID_ACCEPT, ItemParams, None, "It was accepted, or its remaining part was."),
    OwnMessage(WEFT_DID_PARTIALLY_ACCEPT, PartlyAcceptedParams, None, "A part of it was accepted."),
    OwnMessage(WEFT_DID_REJECT, ItemParams, None, "It was rejected."),
    OwnMessage(
        WEFT_NEXT_EDIT, NextEditParams, answers.NextEditResult | None, "What the recent edits make necessary elsewhere."
    ),
    OwnMessage(WEFT_DID_SHOW_NEXT_EDIT, ItemParams, None, "A next edit is shown."),
    OwnMessage(WEFT_DID_TAKE_NEXT_EDIT, ItemParams, None, "It was taken; its command says the same."),
    OwnMessage(WEFT_DID_REFUSE_NEXT_EDIT, ItemParams, None, "It was refused: it is not offered again in this session."),
    OwnMessage(
        COPILOT_INLINE_EDIT,
        InlineEditParams,
        answers.InlineEditResult,
        "The next edit in the document, for clients of Copilot's language server.",
    ),
    OwnMessage(COPILOT_DID_SHOW_INLINE_EDIT, ShownInlineEditParams, None, "It is shown."),
    OwnMessage(WEFT_STATS, None, answers.StatsResult, "Counters since the server started."),
)


# The parameter type of each method; methods without parameters are absent.
PARAMS_TYPES: dict[str, type[Any]] = {
    **{method: cast("type[Any]", kinds[2]) for method, kinds in types.METHOD_TO_TYPES.items() if kinds[2] is not None},
    types.TEXT_DOCUMENT_INLINE_COMPLETION: InlineCompletionParams,
    **{own.method: own.params for own in OWN_MESSAGES if own.params is not None},
}


@cache
def converter() -> Converter:
    """The library's converter with hooks for Weft's parameter types. Cached, since it generates code."""
    # No detailed validation: its error lists form reference cycles with frames that hold the whole message, which only
    # the cyclic garbage collector would free.
    cattrs_converter = get_converter(Converter(detailed_validation=False))
    for kind in (bool, int, float, str):
        cattrs_converter.register_structure_hook(kind, _strict)
    for params in {InlineCompletionParams, *(own.params for own in OWN_MESSAGES)} - {None}:
        cattrs_converter.register_structure_hook(params, _reader(params, cattrs_converter))
    return cattrs_converter


def json_name(name: str) -> str:
    """A field's name in JSON."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _strict(value: Any, kind: type[Any]) -> Any:
    """A value of a primitive type or an enumeration, without coercion: the library's converter would accept any value
    as a string."""
    if issubclass(kind, Enum):
        if isinstance(value, bool):
            raise TypeError(f"expected {kind.__name__}, found bool")
        return kind(value)
    if kind is int and isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)  # languages with one type of number write 3 as 3.0
    wanted = (int, float) if kind is float else kind
    if not isinstance(value, wanted) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {kind.__name__}, found {type(value).__name__}")
    return value


def _reader(params: Any, cattrs_converter: Converter) -> Callable[..., Any]:
    renamed: dict[str, Any] = {field.name: override(rename=json_name(field.name)) for field in attrs.fields(params)}
    read = make_dict_structure_fn(params, cattrs_converter, **renamed)
    # `params` itself is optional if all of its fields are.
    return lambda given, kind: read({} if given is None else given, kind)
