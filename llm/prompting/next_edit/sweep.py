"""Sweep Next-Edit: files in the repository format of Qwen2.5-Coder, edits as their lines before and after.

The window around the cursor comes twice, before the latest edit and now, and the model writes it a third time.

Sources: the model card of sweepai/sweep-next-edit-1.5B, Sweep's description (blog.sweep.dev, "Open sourcing a 1.5B
parameter Next-Edit Autocomplete Model"), and Zed's client for it (crates/edit_prediction/src/sweep_prompt.rs). Its
prompt has no place for the lines around the window or for diagnostics.
"""

from __future__ import annotations

from ...protocol import ChatRequest, CompletionRequest, PromptPart
from ..prompts import file_block
from .values import RecentChange, RewriteFormat, RewriteRequest, ended, prompt_request, same_end

FILE = "<|file_sep|>"
MAX_CHANGES, MAX_CHANGE_LINES = 3, 40
"""So many edits, with so many lines before and after, as Zed's client sends."""


class Sweep(RewriteFormat):
    name = "sweep"
    shows_around = False
    tokens = (FILE,)
    marks = (FILE, "<|endoftext|>")  # an answer ends at both

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        files = [file_block(fragment) for fragment in request.fragments]
        files += map(self.change, request.changes[-MAX_CHANGES:])
        files += [
            f"original/{request.path}\n{ended(request.original)}",
            f"current/{request.path}\n{ended(request.region)}",
            f"updated/{request.path}\n",
        ]
        parts = tuple(part for file in files for part in (PromptPart(FILE, special=True), PromptPart(file)))
        return prompt_request(request, parts, max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        for end in self.marks:
            answer = answer.partition(end)[0]
        return same_end(answer, request.region)

    def change(self, change: RecentChange) -> str:
        before, after = _shortened(change.lines_before), _shortened(change.lines_after)
        return f"{change.path}.diff\noriginal:\n{before}updated:\n{after}"


def _shortened(lines: tuple[str, ...]) -> str:
    """Lines with line breaks; of many the first and the last ones."""
    if len(lines) > MAX_CHANGE_LINES:
        n_first = MAX_CHANGE_LINES // 2
        lines = (*lines[:n_first], "...", *lines[n_first + 1 - MAX_CHANGE_LINES :])
    return "".join(f"{line}\n" for line in lines) or "\n"
