"""Zeta 2 and 2.1: fill-in-the-middle tokens of Seed-Coder, with the code after the region first.

Zeta 2 marks the region as a side of a merge conflict and answers with the other side. Zeta 2.1 marks blocks of the
region by numbers and answers with the text between two of them.

Sources: the model cards of zed-industries/zeta-2 and zeta-2.1, and Zed's sources (crates/zeta_prompt: the module
`seed_coder`, formats V0211SeedCoder and V0318SeedMultiRegions). Its prompt has no place for diagnostics.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...protocol import ChatRequest, CompletionRequest, PromptPart
from ..prompts import file_block
from .values import RewriteFormat, RewriteRequest, ended, prompt_request, same_end, unified_diff

SUFFIX, PREFIX, MIDDLE, FILE = "<[fim-suffix]>", "<[fim-prefix]>", "<[fim-middle]>", "<filename>"
CURSOR = "<|user_cursor|>"
CURRENT, SIDES, UPDATED, NO_EDITS = "<<<<<<< CURRENT\n", "=======\n", ">>>>>>> UPDATED", "NO_EDITS"

MIN_BLOCK_LINES, MAX_BLOCK_LINES, MAX_SKIPPED_LINES = 6, 16, 5
"""The blocks of Zeta 2.1, in lines: a block ends at a blank line, or where it is longest. The next one begins with code
that closes nothing, at most so many lines later."""

_CLOSES = re.compile(r"[)\]}]|(break|continue|return|throw|end)?;*$")
_MARKER = re.compile(r"<\|marker_(\d{1,4})\|>")


class Zeta2(RewriteFormat):
    name = "zeta-2"
    tokens = (SUFFIX, PREFIX, MIDDLE, FILE)
    marks = (CURSOR, CURRENT, f"\n{SIDES}", UPDATED)
    end = UPDATED

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        region = f"{request.before_cursor}{CURSOR}{request.after_cursor}"
        return _request(request, f"{CURRENT}{ended(region)}{SIDES}", max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        answer = answer.replace(CURSOR, "")
        text, found, _ = answer.partition(UPDATED)
        if not found or "<<<<<<< " in text:
            return None
        return request.region if text.strip() == NO_EDITS else same_end(text, request.region)


class Zeta21(RewriteFormat):
    name = "zeta-2.1"
    tokens = Zeta2.tokens
    marks = (CURSOR, "<|marker_")

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        starts = block_starts(request.region)
        text, is_placed = "", False
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(request.region)], strict=True), 1):
            block = request.region[start:end]
            if not is_placed and start <= request.cursor <= end:
                at, is_placed = request.cursor - start, True
                block = f"{block[:at]}{CURSOR}{block[at:]}"
            text += f"<|marker_{number}|>{block}"
        return _request(request, f"{text}<|marker_{len(starts) + 1}|>\n", max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        answer = answer.replace(CURSOR, "")
        found = list(_MARKER.finditer(answer))
        bounds = [*block_starts(request.region), len(request.region)]
        numbers = [int(each[1]) - 1 for each in found]
        if len(found) < 2 or answer[: found[0].start()].strip() or not set(numbers) <= set(range(len(bounds))):
            return None
        first, last = numbers[0], numbers[-1]
        if first == last:
            return request.region  # the same number twice: no edit
        if numbers != sorted(set(numbers)):
            return None
        old = request.region[bounds[first] : bounds[last]]
        new = _MARKER.sub("", answer[found[0].end() : found[-1].start()])
        if not old.startswith("\n"):
            new = new.removeprefix("\n")
        return f"{request.region[: bounds[first]]}{same_end(new, old)}{request.region[bounds[last] :]}"


def block_starts(region: str) -> list[int]:
    """The offsets at which the blocks of a region begin, the first one 0."""
    lines = region.splitlines(keepends=True)
    starts, offset, offsets = [0], 0, []
    for line in lines:
        offsets.append(offset)
        offset += len(line)
    first = 0
    for at in _ends_of_blocks(lines):
        if at > first:
            starts.append(offsets[at])
            first = at
    return starts


def _ends_of_blocks(lines: list[str]) -> Iterator[int]:
    """The lines that begin another block."""
    first = number = 0
    while number < len(lines):
        is_after_blank = number > 0 and bool(lines[number].strip()) and not lines[number - 1].strip()
        n_lines = number - first
        begins = None
        if n_lines >= MIN_BLOCK_LINES and is_after_blank:
            at = _next_begin(lines, number)
            begins = at if len(lines) - at >= MIN_BLOCK_LINES else None
        if begins is None and n_lines >= MAX_BLOCK_LINES:
            begins = _next_begin(lines, number)
        if begins is not None:
            yield begins
            first = number = begins
        number += 1


def _next_begin(lines: list[str], number: int) -> int:
    """The first line from `number` on that begins code; `number` if none is near."""
    near = range(number, min(len(lines), number + MAX_SKIPPED_LINES))
    return next((at for at in near if not _CLOSES.match(lines[at].strip())), number)


def _request(request: RewriteRequest, region: str, max_new_tokens: int) -> CompletionRequest:
    """The prompt with the marked region."""
    parts = [
        PromptPart(SUFFIX, special=True),
        PromptPart(ended(request.below) or "\n"),
        PromptPart(PREFIX, special=True),
    ]
    for fragment in request.fragments:
        parts += [PromptPart(FILE, special=True), PromptPart(file_block(fragment))]
    if request.fragments:
        parts.append(PromptPart("\n"))
    if request.changes:
        history = "".join(f"--- a/{each.path}\n+++ b/{each.path}\n{unified_diff(each)}" for each in request.changes)
        parts += [PromptPart(FILE, special=True), PromptPart(f"edit_history\n{history}\n")]
    code = f"{request.path}\n{request.above}{region}"
    parts += [PromptPart(FILE, special=True), PromptPart(code), PromptPart(MIDDLE, special=True)]
    return prompt_request(request, tuple(parts), max_new_tokens)
