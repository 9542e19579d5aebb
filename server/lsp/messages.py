"""Weft's own messages, and those with fields that the protocol's library does not know.

Owns their names, their parameters with what they mean, and the table of all of them; the answers are in `answers.py`.
`docs/protocol.md` and the types of the VS Code extension are generated from both. Knows no handler.
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
WEFT_COMPLETE = "weft/complete"
WEFT_CONVERSATIONS = "weft/conversations"
WEFT_DOCTOR = "weft/doctor"
WEFT_EXPLAIN = "weft/explain"
WEFT_PAUSE = "weft/pause"
WEFT_STATUS = "weft/status"
WEFT_STATS = "weft/stats"
WEFT_DID_CHANGE_STATUS = "weft/didChangeStatus"
WEFT_DID_SHOW = "weft/didShow"
WEFT_DID_ACCEPT = "weft/didAccept"
WEFT_DID_PARTIALLY_ACCEPT = "weft/didPartiallyAccept"
WEFT_DID_REJECT = "weft/didReject"

COMMAND_DID_ACCEPT = "weft.didAccept"
"""What an editor runs that takes an item; so acceptance is known without any plugin."""


_POSITIVE = attrs.validators.ge(1)


def _token(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | str)):
        raise TypeError(f"{attribute.name} is a string or an integer")


@attrs.define
class AskParams:
    """A question or a command, where it goes on, and what is selected."""

    question: Annotated[str, "The text, of at most 100,000 characters."] = attrs.field(
        validator=attrs.validators.max_len(100_000)
    )
    conversation_id: Annotated[str, "Where it goes on; without it a new conversation begins."] = ""
    text_document: Annotated[types.TextDocumentIdentifier | None, "An open document that is asked about."] = None
    selection: Annotated[types.Range | None, "The selected range there: what is asked is about it."] = None
    position: Annotated[types.Position | None, "The cursor there, for `/explain` without a selection."] = None
    strategy: Annotated[str, "Have a memory strategy answer from the documents."] = ""
    remember: Annotated[bool, "False keeps nothing."] = True
    partial_result_token: Annotated[
        types.ProgressToken | None, "Where the answer is streamed to: `AskProgress` by `$/progress`."
    ] = attrs.field(default=None, validator=_token)
    work_done_token: Annotated[
        types.ProgressToken | None,
        "Begin and end, and in reports what was really asked when a question leans on another, and what a costly "
        "answer may cost.",
    ] = attrs.field(default=None, validator=_token)


@attrs.define
class ConversationsParams:
    """What to do with what was asked and answered in this workspace."""

    action: Annotated[str, "`list`, `get`, `search`, `delete` or `export`."] = "list"
    id: Annotated[str, "`get`, `delete`: the conversation."] = ""
    text: Annotated[str, "`list`, `search`: words that must be in it, at most 10,000 characters."] = attrs.field(
        default="", validator=attrs.validators.max_len(10_000)
    )
    file: Annotated[str, "`export`: the name of the file to write in Weft's folder of exports; not a path."] = ""
    overwrite: Annotated[bool, "`export`: replace a file that is there."] = False
    all: Annotated[bool, "`delete`: all conversations."] = False
    limit: Annotated[int, "`list`, `search`: at most so many, 1 to 10,000."] = attrs.field(
        default=100, validator=[attrs.validators.ge(1), attrs.validators.le(10_000)]
    )


@attrs.define
class CompleteParams:
    """An invoked completion with everything that can be asked for."""

    text_document: Annotated[types.TextDocumentIdentifier, "An open document."]
    position: Annotated[types.Position, "The cursor."]
    multi_line: Annotated[bool | None, "Whether there may be several lines; null leaves it to the settings."] = None
    candidates: Annotated[int, "So many different texts, up to 10."] = attrs.field(default=1, validator=_POSITIVE)
    iterations: Annotated[int, "Rounds of RepoCoder's loop, up to 4: slower, better."] = attrs.field(
        default=1, validator=_POSITIVE
    )


@attrs.define
class ExplainParams:
    """`TextDocumentPositionParams`."""

    text_document: Annotated[types.TextDocumentIdentifier, "An open document."]
    position: Annotated[types.Position, "The cursor."]


@attrs.define
class InlineCompletionParams:
    """Of `textDocument/inlineCompletion`, with what some editors send beyond the standard."""

    text_document: types.TextDocumentIdentifier
    position: types.Position
    context: types.InlineCompletionContext
    formatting_options: types.FormattingOptions | None = None


@attrs.define
class ItemParams:
    """Which completion."""

    id: Annotated[str, "Of an inline completion item, from its command's argument, or of a `CompleteItem`."]


@attrs.define
class PartlyAcceptedParams:
    """Which completion, and how much of it."""

    id: Annotated[str, "Of the completion."]
    accepted_length: Annotated[int, "So many UTF-16 units from its beginning were taken by now, in all."] = attrs.field(
        validator=attrs.validators.ge(0)
    )


@attrs.define
class PauseParams:
    """Whether Weft shall rest."""

    paused: Annotated[bool, "True pauses, false resumes."]


@dataclass(frozen=True, slots=True)
class OwnMessage:
    """One of Weft's own. `result` is a type of `answers.py`, or None where null may come; None for a notification.

    A server's notification has its content as `result`: it is an answer that nobody asked for.
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
    OwnMessage(WEFT_STATUS, None, answers.StatusResult, "How Weft is, and why."),
    OwnMessage(WEFT_DID_CHANGE_STATUS, None, answers.StatusResult, "That is something else now.", "server"),
    OwnMessage(WEFT_PAUSE, PauseParams, answers.StatusResult, "Rest, or go on."),
    OwnMessage(WEFT_DOCTOR, None, answers.DoctorResult | None, "Look for what is wrong on this machine."),
    OwnMessage(WEFT_EXPLAIN, ExplainParams, answers.ExplainResult | None, "Why this completion."),
    OwnMessage(WEFT_COMPLETE, CompleteParams, answers.CompleteResult | None, "Several candidates."),
    OwnMessage(WEFT_ASK, AskParams, answers.AskResult | None, "Answer a question about the repository."),
    OwnMessage(
        WEFT_CONVERSATIONS, ConversationsParams, answers.ConversationsResult, "What was asked and answered before."
    ),
    OwnMessage(WEFT_DID_SHOW, ItemParams, None, "A person sees a completion."),
    OwnMessage(WEFT_DID_ACCEPT, ItemParams, None, "It was taken, or what was left of it."),
    OwnMessage(WEFT_DID_PARTIALLY_ACCEPT, PartlyAcceptedParams, None, "A part of it was taken."),
    OwnMessage(WEFT_DID_REJECT, ItemParams, None, "It was refused."),
    OwnMessage(WEFT_STATS, None, answers.StatsResult, "What was counted since the server started."),
)


PARAMS_TYPES: dict[str, type[Any]] = {
    **{method: cast("type[Any]", kinds[2]) for method, kinds in types.METHOD_TO_TYPES.items() if kinds[2] is not None},
    types.TEXT_DOCUMENT_INLINE_COMPLETION: InlineCompletionParams,
    **{own.method: own.params for own in OWN_MESSAGES if own.params is not None},
}
"""What the parameters of a message are read into, by method; methods without parameters are not in it."""


@cache
def converter() -> Converter:
    """The library's converter, which also reads our parameters. One for all: it keeps the code that it generates."""
    # Without details: their lists of errors refer to the frames that refer to them, with the whole message, and only
    # the collector of cycles would free those.
    made = get_converter(Converter(detailed_validation=False))
    for kind in (bool, int, float, str):
        made.register_structure_hook(kind, _strict)
    for params in {InlineCompletionParams, *(own.params for own in OWN_MESSAGES)} - {None}:
        made.register_structure_hook(params, _reader(params, made))
    return made


def json_name(name: str) -> str:
    """A field's name in JSON."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _strict(value: Any, kind: type[Any]) -> Any:
    """A value of a plain type, as JSON has it. The library's converter would make a text of anything.

    It is also asked for enumerations of numbers and texts.
    """
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


def _reader(params: Any, made: Converter) -> Callable[..., Any]:
    renamed: dict[str, Any] = {field.name: override(rename=json_name(field.name)) for field in attrs.fields(params)}
    read = make_dict_structure_fn(params, made, **renamed)
    # Parameters may be left out where all of them may be.
    return lambda given, kind: read({} if given is None else given, kind)
