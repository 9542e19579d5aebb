"""Infilling by chat, for chat models without fill-in-the-middle tokens.

Owns the prompt, and the extraction of the completion from an answer. Knows no server and no tokenizer: it needs only a
`chat` function.

**Prompt order.** What a keystroke does not change comes first: the instruction, fragments of other files, the code
after the cursor. The code before the cursor comes last, so that a prefix cache computes only the typed text.

**Answers are untrusted.** The code is in a fence, after any other text. Models repeat parts of the prompt: lines before
the cursor, the half-typed word, lines after the cursor. All of that is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from ..protocol import Cancel, ChatRequest, CompletionRequest, Message, Piece, PromptFragment
from ..streaming import closed_at_end, cut_stream
from ..text import normalise_line_breaks
from .prompts import CountTokens, FittedRequest, fit_request

Chat = Callable[[ChatRequest, Cancel], Iterator[Piece]]

# For `ModelInfo.notes`, of a model without infilling by chat.
PREFIX_ONLY = "no fill-in-the-middle tokens are known: the code after the cursor is not used"

# For `ModelInfo.notes`.
INFILLED_BY_CHAT = (
    "the model has no fill-in-the-middle tokens: completions use chat, which is slower and less exact. "
    "A model trained for code completion does better."
)

FENCE_TOKENS = 64  # tokens of an answer besides the code: its fence and repeated lines
REPEATED_LINES = 20  # a repetition of the code before the cursor begins at most this many lines before it
FEWEST_LETTERS = 4  # a line after the cursor with fewer letters (a bracket, an `end`) may occur in the completion too


@dataclass(frozen=True, slots=True)
class InfillingChat:
    """A chat request for a completion, and the fragments in its prompt, in order."""

    chat: ChatRequest
    fragments: tuple[PromptFragment, ...]


def build_infilling_chat(
    request: CompletionRequest, count_tokens: CountTokens, context_tokens: int, previous: Sequence[PromptFragment] = ()
) -> InfillingChat:
    """The chat for one request. It and its answer fit into `context_tokens`.

    `previous` are the fragments of the last prompt for this file, in its order.
    """
    max_new_tokens = request.max_new_tokens + FENCE_TOKENS
    frame = _user_message(request, FittedRequest((), [], "", ""))
    budget = max(0, context_tokens - max_new_tokens - count_tokens(_INSTRUCTION) - count_tokens(frame))
    fitted = fit_request(request, count_tokens, budget, other_file, previous)
    messages = (Message("system", _INSTRUCTION), Message("user", _user_message(request, fitted)))
    return InfillingChat(ChatRequest(messages, max_new_tokens), fitted.fragments)


def infill_by_chat(chat: Chat, prompt: InfillingChat, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
    """Stream the completion of a chat. Stops the model at its end."""
    with closed_at_end(chat(prompt.chat, cancel)) as answer:
        yield from extract_infill(answer, request)


def extract_infill(answer: Iterable[Piece], request: CompletionRequest) -> Iterator[Piece]:
    """The completion in an answer: the content of its fence, without repetitions of the code around the cursor.

    Indentation stays as in the answer. An answer without a fence is used as a whole, unless it repeats the prompt.
    """
    prefix, suffix = normalise_line_breaks(request.prefix), normalise_line_breaks(request.suffix)
    lines = replace(request, single_line=False, stop=())
    code = _without_repetition(_fenced(without_reasoning(answer), lines), prefix)
    half_line = prefix[prefix.rfind("\n") + 1 :]
    # With a line break before and after, a stop text for a whole line matches the first and the last line too.
    lead = "" if half_line.strip() else "\n" + half_line
    code = chain([Piece(lead)], code, [Piece("\n")])
    code = _drop(len(lead), cut_stream(code, lines, _next_line(suffix)))
    return _without_trailing_space(cut_stream(code, request))


_INSTRUCTION = """\
You complete code in an editor. The user shows a file with a hole: first the code after the hole, then the code \
before it. Answer with the text that fills the hole and nothing else, in one fenced code block. Begin exactly where \
the code before the hole ends, in the middle of a line where it ends there. Repeat nothing of the code before or \
after the hole. Explain nothing."""

_ONE_LINE = "Fill the hole with the rest of this one line."
_LINES = "Fill the hole. Stop where the code after it goes on, or sooner."

_MARKS = ("<after_hole>", "<before_hole>", "</before_hole>")
_REASONING, _END_OF_REASONING = "<think>", "</think>"
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*(?=\n)", re.MULTILINE)


def _user_message(request: CompletionRequest, fitted: FittedRequest) -> str:
    task = _ONE_LINE if request.single_line else _LINES
    return (
        "".join(fitted.texts)
        + f"The file is {request.path} ({request.language}).\n"
        + f"<after_hole>{fitted.suffix}</after_hole>\n<before_hole>{fitted.prefix}</before_hole>\n{task}\n"
    )


def other_file(fragment: PromptFragment) -> str:
    """A fragment as a file of its own in a message."""
    text = normalise_line_breaks(fragment.text).removesuffix("\n")
    return f'<other_file path="{fragment.paths[0]}">\n{text}\n</other_file>\n'


def without_reasoning(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces` without the reasoning in `<think>` that some models write first."""
    buffered, thinking = "", None
    for piece in pieces:
        buffered += piece.text
        if thinking is None:
            start = buffered.lstrip()
            if len(start) < len(_REASONING) and _REASONING.startswith(start):
                continue
            thinking = start.startswith(_REASONING)
        if thinking:
            _, ended, buffered = buffered.rpartition(_END_OF_REASONING)
            if not ended:
                buffered = buffered[1 - len(_END_OF_REASONING) :]  # what may be the beginning of its end
                continue
            thinking = False
        yield replace(piece, text=buffered)
        buffered = ""
    if buffered and not thinking:
        yield Piece(buffered)


def _fenced(pieces: Iterable[Piece], lines: CompletionRequest) -> Iterator[Piece]:
    """The content of the first fence; without a fence all of the text, unless it repeats the prompt."""
    source = iter(pieces)
    buffered = ""
    for piece in source:
        buffered += piece.text
        if opening := _FENCE.search(buffered):
            # The line break after the opening stays, so that an empty fence closes at once.
            rest = chain([replace(piece, text=buffered[opening.end() :])], source)
            yield from _drop(1, cut_stream(rest, lines, ("\n" + opening[1],)))
            return
    # An incomplete opening has no content, and small models may repeat the prompt.
    if buffered.strip("`~ \n") and not any(mark in buffered for mark in _MARKS):
        yield Piece(buffered)


def _without_repetition(pieces: Iterable[Piece], prefix: str) -> Iterator[Piece]:
    """`pieces` without a repetition of the end of `prefix`: whole lines, or the half-typed word."""
    ends = _ends_of(prefix)
    source = iter(pieces)
    buffered = ""
    for piece in source:
        buffered += piece.text
        ends = [end for end in ends if end.startswith(buffered) or buffered.startswith(end)]
        if all(len(end) <= len(buffered) for end in ends):
            yield replace(piece, text=buffered[max(map(len, ends), default=0) :])
            yield from source
            return
    if buffered:
        yield Piece(buffered[max((len(end) for end in ends if buffered.startswith(end)), default=0) :])


def _ends_of(prefix: str) -> list[str]:
    """The ends of `prefix` that an answer may repeat: from a line, its first word, or a word of the last line."""
    lines = prefix.split("\n")[-REPEATED_LINES:]
    ends: list[str] = []
    end = ""
    for i, line in enumerate(reversed(lines)):
        end = line + ("\n" + end if i else "")
        ends += [end, end.lstrip(" \t")]
    # A single letter is too short to be a repetition.
    ends += [lines[-1][word.start() :] for word in re.finditer(r"\b\w", lines[-1]) if word.end() < len(lines[-1])]
    return [end for end in dict.fromkeys(ends) if end.strip() or end == lines[-1]]


def _next_line(suffix: str) -> tuple[str, ...]:
    """The stop text for an answer that repeats the code after the cursor: its next non-trivial line."""
    _, _, following = suffix.partition("\n")
    line = next((line for line in following.split("\n") if line.strip()), "")
    return (f"\n{line}\n",) if len(re.findall(r"\w", line)) >= FEWEST_LETTERS else ()


def _drop(n_characters: int, pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        dropped = min(n_characters, len(piece.text))
        n_characters -= dropped
        if text := piece.text[dropped:]:
            yield replace(piece, text=text)


def _without_trailing_space(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces` without trailing white space."""
    blanks = ""
    for piece in pieces:
        text = blanks + piece.text
        kept = text.rstrip()
        blanks = text[len(kept) :]
        if kept:
            yield replace(piece, text=kept)
