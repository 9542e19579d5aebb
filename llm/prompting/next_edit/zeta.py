"""Zeta, the first version: an instruction, the recent edits as diffs, and an excerpt with a marked region.

Source: the model card of zed-industries/zeta, and Zed's sources (crates/edit_prediction/src/zeta1.rs and the module
`zeta1` of crates/zeta_prompt). Its prompt has no place for other files or diagnostics.
"""

from __future__ import annotations

from ...protocol import ChatRequest, CompletionRequest, PromptPart
from .values import RecentChange, RewriteFormat, RewriteRequest, prompt_request, same_end, unified_diff

START, END = "<|editable_region_start|>", "<|editable_region_end|>"
CURSOR, FILE_START = "<|user_cursor_is_here|>", "<|start_of_file|>"

_INSTRUCTION = (
    "### Instruction:\nYou are a code completion assistant and your task is to analyze user edits and then rewrite an "
    "excerpt that the user provides, suggesting the appropriate edits within the excerpt, taking into account the "
    "cursor location.\n\n### User Edits:\n\n"
)


class Zeta(RewriteFormat):
    name = "zeta"
    marks = (START, END, CURSOR, FILE_START)
    end = END

    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        edits = "\n\n".join(map(self.change, request.changes))
        # The last line break of the region is behind its end mark.
        body, rest = request.after_cursor.removesuffix("\n"), request.below
        if body != request.after_cursor:
            rest = f"\n{rest}"
        excerpt = (
            f"```{request.path}\n"
            + (f"{FILE_START}\n" if request.starts_file else "")
            + f"{request.above}{START}\n{request.before_cursor}{CURSOR}{body}\n{END}{rest.removesuffix(chr(10))}\n```"
        )
        text = f"{_INSTRUCTION}{edits}\n\n### User Excerpt:\n\n{excerpt}\n\n### Response:\n"
        return prompt_request(request, (PromptPart(text),), max_new_tokens)

    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        answer = answer.replace(CURSOR, "")
        start, end = answer.find(START), answer.find(END)
        if end < 0 or start > end or answer.count(START) > 1 or answer.count(END) > 1:
            return None
        text = answer[start + len(START) if start >= 0 else 0 : end].removeprefix("\n")
        return same_end(text, request.region)

    def change(self, change: RecentChange) -> str:
        return f'User edited "{change.path}":\n```diff\n{unified_diff(change)}```'
