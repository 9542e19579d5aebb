"""The next edit by any chat model: an instruction, recent edits, related code, diagnostics, and a marked region.

What an edit does not change comes first, for a prefix cache: the instruction and the related code.
"""

from __future__ import annotations

import re

from ...protocol import ChatRequest, CompletionRequest, Message, Piece
from ..infilling_chat import other_file, without_reasoning
from .values import RewriteFormat, RewriteRequest, ended, same_end, unified_diff

START, END, CURSOR = "<region>", "</region>", "<cursor/>"
NO_CHANGE = "NO CHANGE"

INSTRUCTION = f"""\
You predict the next edit of a programmer in an editor. The user shows the programmer's recent edits, oldest first, \
and the file around the cursor. Rewrite the lines between {START} and {END} as the programmer will have them after \
the next edit: finish what the recent edits began, and keep every other line exactly as it is. Do not undo a recent \
edit. Answer with all lines of the region and nothing else, in one fenced code block, without {CURSOR}. If nothing \
needs a change, answer {NO_CHANGE}. Explain nothing."""

_FENCE = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+)[^\n`]*\n(?P<text>.*?)^[ \t]*(?P=fence)[ \t]*$", re.MULTILINE | re.DOTALL
)

_FENCE_LINE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)


class Instruct(RewriteFormat):
    name = "chat"
    marks = (START, END, CURSOR)

    def can_show(self, request: RewriteRequest) -> bool:
        return super().can_show(request) and not _FENCE_LINE.search(request.region)

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        parts = list(map(other_file, request.fragments))
        for change in request.changes:
            parts.append(f'<edit path="{change.path}">\n{unified_diff(change)}</edit>\n')
        if request.diagnostics:
            lines = "".join(f"{line}\n" for line in request.diagnostics)
            parts.append(f"<diagnostics>\n{lines}</diagnostics>\n")
        region = ended(f"{request.before_cursor}{CURSOR}{request.after_cursor}")
        parts.append(f"The file is {request.path} ({request.language}).\n")
        parts.append(f"{ended(request.above)}{START}\n{region}{END}\n{ended(request.below)}")
        messages = (Message("system", INSTRUCTION), Message("user", "".join(parts)))
        return ChatRequest(messages, max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        answer = "".join(piece.text for piece in without_reasoning([Piece(answer)]))
        found = _FENCE.search(answer)
        if found is None:
            return request.region if answer.strip(" \n.`*").upper() == NO_CHANGE else None
        text = found["text"].replace(CURSOR, "")
        lines = [line for line in text.splitlines(keepends=True) if line.strip() not in (START, END)]
        return same_end("".join(lines), request.region)
