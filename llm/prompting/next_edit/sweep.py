"""Sweep Next-Edit: files in the repository format of Qwen2.5-Coder, edits as their lines before and after.

The window around the cursor comes twice, before the latest edit and now, and the model writes it a third time. The
prompt of the first models (0.5B and 1.5B) has no place for the lines around it; that of version 2 (7B) begins with
them, marks the cursor and numbers lines. Neither has one for diagnostics.

Sources: the model card of sweepai/sweep-next-edit-1.5B, Sweep's description (blog.sweep.dev, "Open sourcing a 1.5B
parameter Next-Edit Autocomplete Model"), and Zed's client for it (crates/edit_prediction/src/sweep_prompt.rs). For
version 2 `inference.py` of sweepai/sweep-next-edit-v2-7B, as clients describe it; used without a prefilled answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...protocol import ChatRequest, CompletionRequest, PromptPart
from ..prompts import file_block
from .values import RecentChange, RewriteFormat, RewriteRequest, ended, prompt_request, same_end

FILE, CURSOR = "<|file_sep|>", "<|cursor|>"
MAX_CHANGES, MAX_CHANGE_LINES = 3, 40
"""So many edits, with so many lines before and after, as Zed's client sends."""

MAX_CHANGES_V2 = 6


class Sweep(RewriteFormat):
    name = "sweep"
    shows_around = False
    n_regions = 2
    tokens = (FILE,)
    marks: tuple[str, ...] = (FILE, "<|endoftext|>")  # an answer ends at both

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        files = [file_block(fragment) for fragment in request.fragments]
        files += map(self.change, request.changes[-MAX_CHANGES:])
        files += [
            f"original/{request.path}\n{ended(request.original)}",
            f"current/{request.path}\n{ended(request.region)}",
            f"updated/{request.path}\n",
        ]
        return _of_files(request, files, max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        for end in self.marks:
            answer = answer.partition(end)[0]
        return same_end(answer, request.region)

    def change(self, change: RecentChange) -> str:
        before, after = _shortened(change.lines_before), _shortened(change.lines_after)
        return f"{change.path}.diff\noriginal:\n{before}updated:\n{after}"


class SweepV2(Sweep):
    name = "sweep-2"
    shows_around = True
    n_regions = 3
    marks = (*Sweep.marks, CURSOR)

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        # Line numbers are relative to the cursor, as in the client of the model.
        number = request.before_cursor.count("\n") + 1
        lines = f":{number}:{number + len(request.region.splitlines())}"
        current = f"{request.before_cursor}{CURSOR}{request.after_cursor}"
        around = f"{request.path}\n{request.above}{request.original}{request.below}"
        files = [
            ended(around),
            *(f"{file_block(fragment)}\n" for fragment in request.fragments),
            *map(self.change, request.changes[-MAX_CHANGES_V2:]),
            f"original/{request.path}{lines}\n{ended(request.original)}",
            f"current/{request.path}{lines}\n{ended(current)}",
            f"updated/{request.path}{lines}\n",
        ]
        return _of_files(request, files, max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        return super().parse(answer.replace(CURSOR, ""), request)

    def change(self, change: RecentChange) -> str:
        before, after = "\n".join(change.lines_before).strip("\n"), "\n".join(change.lines_after).strip("\n")
        last = change.start_now + len(change.lines_after) - 1
        return f"{change.path}:{change.start_now}:{last}\noriginal:\n{before}\nupdated:\n{after}\n"


def _of_files(request: RewriteRequest, files: Sequence[str], max_new_tokens: int) -> CompletionRequest:
    """The prompt of the repository format: each file after its special token."""
    parts = tuple(part for file in files for part in (PromptPart(FILE, special=True), PromptPart(file)))
    return prompt_request(request, parts, max_new_tokens)


def _shortened(lines: tuple[str, ...]) -> str:
    """Lines with line breaks; of many the first and the last ones."""
    if len(lines) > MAX_CHANGE_LINES:
        n_first = MAX_CHANGE_LINES // 2
        lines = (*lines[:n_first], "...", *lines[n_first + 1 - MAX_CHANGE_LINES :])
    return "".join(f"{line}\n" for line in lines) or "\n"
