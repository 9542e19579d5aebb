"""Filling a hole by asking for it: for models that hold conversations but have no tokens for a middle.

Owns the instruction and the way back from an answer to the text that belongs at the cursor. Knows no server and no
tokenizer: whoever has a `chat` can fill holes.

**The order of the question.** What a keystroke leaves alone comes first: the instruction, fragments of other files,
the code after the cursor. The code before it comes last, so that a server that remembers what it read reads only what
was typed.

**The answer is not trusted.** It stands in a fence, after whatever the model wanted to say first. Models like to repeat
what they were shown: the lines before the cursor, the word that was begun, the lines after it. All of that is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain

from .lexer import plain_line_breaks
from .prompts import BLOCK_SHARE, SUFFIX_SHARE, CountTokens, choose_blocks, fit_prefix, fit_suffix, stable_order
from .protocol import Cancel, ChatRequest, CompletionRequest, Message, Piece, PromptFragment
from .streaming import cut_stream

Chat = Callable[[ChatRequest, Cancel], Iterator[Piece]]

PREFIX_ONLY = "no fill-in-the-middle tokens are known: the code after the cursor is not read"
"""For `ModelInfo.notes`, of a model that can't be asked in words either."""

FILLED_BY_INSTRUCTION = (
    "the model has no fill-in-the-middle tokens: it is asked in words, which is slower and less exact. "
    "A model made for code completion does better."
)
"""For `ModelInfo.notes`."""

FENCE_TOKENS = 64
"""What an answer needs besides the code: its fence and the lines that it repeats."""

REPEATED_LINES = 20
"""A repetition of what is before the cursor begins at most so many lines before it."""

FEWEST_LETTERS = 4
"""A line after the cursor with fewer letters (a bracket, an `end`) may well be written once more."""


@dataclass(frozen=True, slots=True)
class HoleQuestion:
    """What to ask, and the fragments it shows, in its order."""

    chat: ChatRequest
    fragments: tuple[PromptFragment, ...]


def ask_for_hole(
    request: CompletionRequest,
    count_tokens: CountTokens,
    context_tokens: int,
    previous: Sequence[PromptFragment] = (),
) -> HoleQuestion:
    """The question for one request, so that it and its answer fit into `context_tokens`.

    `previous` are the fragments of the last question about this file, in its order.
    """
    max_new_tokens = request.max_new_tokens + FENCE_TOKENS
    frame = _question(request, (), "", "")
    budget = max(0, context_tokens - max_new_tokens - count_tokens(_INSTRUCTION) - count_tokens(frame))
    blocks = choose_blocks(
        request.fragments, lambda fragment: count_tokens(_fragment(fragment)), int(budget * BLOCK_SHARE)
    )
    blocks = stable_order(blocks, previous)
    left = budget - sum(count_tokens(_fragment(fragment)) for fragment in blocks)
    suffix = fit_suffix(plain_line_breaks(request.suffix), count_tokens, int(left * SUFFIX_SHARE))
    prefix = fit_prefix(plain_line_breaks(request.prefix), count_tokens, left - count_tokens(suffix))
    question = _question(request, blocks, prefix, suffix)
    messages = (Message("system", _INSTRUCTION), Message("user", question))
    return HoleQuestion(ChatRequest(messages, max_new_tokens), blocks)


def fill_hole(chat: Chat, question: HoleQuestion, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
    """What belongs at the cursor, as it is written. The answer is read no further than that."""
    with closing(_closable(chat(question.chat, cancel))) as answer:
        yield from read_answer(answer, request)


def read_answer(answer: Iterable[Piece], request: CompletionRequest) -> Iterator[Piece]:
    """The text for the cursor out of an answer: from its fence, without what repeats the file around the cursor.

    Indentation stays as the answer has it. An answer without a fence is taken whole when it has ended, but not one
    that repeats the question.
    """
    prefix, suffix = plain_line_breaks(request.prefix), plain_line_breaks(request.suffix)
    lines = replace(request, single_line=False, stop=())
    code = _without_repetition(_fenced(without_thoughts(answer), lines), prefix)
    begun = prefix[prefix.rfind("\n") + 1 :]
    # A line break before and after, so that a stop at a whole line also holds for the first one and the last.
    lead = "" if begun.strip() else "\n" + begun
    code = chain([Piece(lead)], code, [Piece("\n")])
    code = _drop(len(lead), cut_stream(code, lines, _next_line(suffix)))
    return _without_last_blanks(cut_stream(code, request))


_INSTRUCTION = """\
You complete code in an editor. The user shows a file with a hole: first the code after the hole, then the code \
before it. Answer with the text that fills the hole and nothing else, in one fenced code block. Begin exactly where \
the code before the hole ends, in the middle of a line where it ends there. Repeat nothing of the code before or \
after the hole. Explain nothing."""

_ONE_LINE = "Fill the hole with the rest of this one line."
_LINES = "Fill the hole. Stop where the code after it goes on, or sooner."

_MARKS = ("<after_hole>", "<before_hole>", "</before_hole>")
_THOUGHTS, _END_OF_THOUGHTS = "<think>", "</think>"
_FENCE = re.compile(r"^[ \t]*(```+|~~~+)[^\n`]*(?=\n)", re.MULTILINE)


def _question(request: CompletionRequest, blocks: Sequence[PromptFragment], prefix: str, suffix: str) -> str:
    task = _ONE_LINE if request.single_line else _LINES
    return (
        "".join(map(_fragment, blocks))
        + f"The file is {request.path} ({request.language}).\n"
        + f"<after_hole>{suffix}</after_hole>\n<before_hole>{prefix}</before_hole>\n{task}\n"
    )


def _fragment(fragment: PromptFragment) -> str:
    text = plain_line_breaks(fragment.text).removesuffix("\n")
    return f'<other_file path="{fragment.paths[0]}">\n{text}\n</other_file>\n'


def _closable(pieces: Iterator[Piece]) -> Generator[Piece, None, None]:
    """`pieces` as a generator, whose end closes them too."""
    try:
        yield from pieces
    finally:
        if close := getattr(pieces, "close", None):
            close()


def without_thoughts(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces` without the thoughts that some models write first."""
    held, thinking = "", None
    for piece in pieces:
        held += piece.text
        if thinking is None:
            start = held.lstrip()
            if len(start) < len(_THOUGHTS) and _THOUGHTS.startswith(start):
                continue
            thinking = start.startswith(_THOUGHTS)
        if thinking:
            _, ended, held = held.rpartition(_END_OF_THOUGHTS)
            if not ended:
                held = held[1 - len(_END_OF_THOUGHTS) :]  # what may be the beginning of their end
                continue
            thinking = False
        yield replace(piece, text=held)
        held = ""
    if held and not thinking:
        yield Piece(held)


def _fenced(pieces: Iterable[Piece], lines: CompletionRequest) -> Iterator[Piece]:
    """What stands in the first fence; all of it when there is none, unless it is the question."""
    source = iter(pieces)
    held = ""
    for piece in source:
        held += piece.text
        if opening := _FENCE.search(held):
            # The line break that ends the opening is kept for the cut: an empty fence closes at once.
            rest = chain([replace(piece, text=held[opening.end() :])], source)
            yield from _drop(1, cut_stream(rest, lines, ("\n" + opening[1],)))
            return
    # A fence that never got to its first line holds nothing, and small models write the question once more.
    if held.strip("`~ \n") and not any(mark in held for mark in _MARKS):
        yield Piece(held)


def _without_repetition(pieces: Iterable[Piece], prefix: str) -> Iterator[Piece]:
    """`pieces` without the end of `prefix`, where they begin with it: whole lines, or the begun word."""
    ends = _ends_of(prefix)
    source = iter(pieces)
    held = ""
    for piece in source:
        held += piece.text
        ends = [end for end in ends if end.startswith(held) or held.startswith(end)]
        if all(len(end) <= len(held) for end in ends):
            yield replace(piece, text=held[max(map(len, ends), default=0) :])
            yield from source
            return
    if held:
        yield Piece(held[max((len(end) for end in ends if held.startswith(end)), default=0) :])


def _ends_of(prefix: str) -> list[str]:
    """The ends of `prefix` that an answer may begin with: from a line, from its first word, from a word of the last."""
    lines = prefix.split("\n")[-REPEATED_LINES:]
    ends: list[str] = []
    end = ""
    for i, line in enumerate(reversed(lines)):
        end = line + ("\n" + end if i else "")
        ends += [end, end.lstrip(" \t")]
    # One letter is too little to know that the word was begun again.
    ends += [lines[-1][word.start() :] for word in re.finditer(r"\b\w", lines[-1]) if word.end() < len(lines[-1])]
    return [end for end in dict.fromkeys(ends) if end.strip() or end == lines[-1]]


def _next_line(suffix: str) -> tuple[str, ...]:
    """The stop text for an answer that runs into the code after the cursor: its next line that says something."""
    _, _, following = suffix.partition("\n")
    line = next((line for line in following.split("\n") if line.strip()), "")
    return (f"\n{line}\n",) if len(re.findall(r"\w", line)) >= FEWEST_LETTERS else ()


def _drop(n_characters: int, pieces: Iterable[Piece]) -> Iterator[Piece]:
    for piece in pieces:
        dropped = min(n_characters, len(piece.text))
        n_characters -= dropped
        if text := piece.text[dropped:]:
            yield replace(piece, text=text)


def _without_last_blanks(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """`pieces` without blank lines, or blanks, at their end."""
    blanks = ""
    for piece in pieces:
        text = blanks + piece.text
        kept = text.rstrip()
        blanks = text[len(kept) :]
        if kept:
            yield replace(piece, text=kept)
