"""Values of a rewrite: the region around the cursor with what a model reads beside it, and the format of a model.

Knows no model. Texts have "\\n" line breaks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from ...protocol import ChatRequest, CompletionRequest, PromptFragment, PromptPart


@dataclass(frozen=True, slots=True)
class RecentChange:
    """A recent edit of a file with the unchanged lines beside it. Line numbers are 1-based, of the first line above."""

    path: str
    start_before: int
    start_now: int
    above: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    below: tuple[str, ...]

    @property
    def lines_before(self) -> tuple[str, ...]:
        return (*self.above, *self.before, *self.below)

    @property
    def lines_after(self) -> tuple[str, ...]:
        return (*self.above, *self.after, *self.below)


@dataclass(frozen=True, slots=True)
class RewriteRequest:
    """Rewrite the lines of `region`, with the cursor at the offset `cursor` of it.

    `above`, `region` and `below` are whole lines, one after the other, which may be less than the file. `original` is
    the region before the latest recent edit. `changes` are oldest first. `fragments` are best first; after
    `fit_rewrite` in the order of the prompt. `diagnostics` are lines of text for a person.
    """

    path: str
    language: str
    above: str
    region: str
    below: str
    cursor: int
    original: str
    starts_file: bool = False
    changes: tuple[RecentChange, ...] = ()
    fragments: tuple[PromptFragment, ...] = ()
    diagnostics: tuple[str, ...] = ()

    @property
    def before_cursor(self) -> str:
        return self.region[: self.cursor]

    @property
    def after_cursor(self) -> str:
        return self.region[self.cursor :]


class RewriteFormat(ABC):
    """The prompt of a kind of model, and how its answer is read."""

    name: str
    shows_around: bool = True  # whether the lines around the region are in the prompt
    n_regions: int = 1  # how often the region is in the prompt, before the latest edit or now
    tokens: tuple[str, ...] = ()  # special tokens of the prompt, which are never parsed in a text
    marks: tuple[str, ...] = ()  # texts with a meaning in a prompt or an answer
    end: str = ""  # the text after which an answer has nothing more to say; "" if only the model's end ends it

    @abstractmethod
    def build(self, request: RewriteRequest, max_new_tokens: int) -> CompletionRequest | ChatRequest:
        """What the model is asked."""

    @abstractmethod
    def parse(self, answer: str, request: RewriteRequest) -> str | None:
        """The new text of the region in a complete answer; None for an answer in another form."""

    def change(self, change: RecentChange) -> str:
        """A recent edit as it is in the prompt, to count its tokens."""
        return unified_diff(change)

    def is_plain(self, *texts: str) -> bool:
        """Whether no text looks like a part of the format, as in the code of a client of such a model."""
        return not any(mark in text for mark in self.marks for text in texts)

    def can_show(self, request: RewriteRequest) -> bool:
        """Whether the lines of a request can be in a prompt."""
        return self.is_plain(request.path, request.above, request.region, request.below, request.original)


def prompt_request(request: RewriteRequest, parts: tuple[PromptPart, ...], max_new_tokens: int) -> CompletionRequest:
    """A whole prompt for the model that takes `parts`."""
    return CompletionRequest(
        request.path, request.language, "", "", max_new_tokens=max_new_tokens, single_line=False, prompt=parts
    )


def unified_diff(change: RecentChange) -> str:
    """A recent edit as one hunk of a unified diff, without file names. Ends with a line break."""
    n_before, n_after = len(change.lines_before), len(change.lines_after)
    lines = [
        f"@@ -{change.start_before},{n_before} +{change.start_now},{n_after} @@",
        *(f" {line}" for line in change.above),
        *(f"-{line}" for line in change.before),
        *(f"+{line}" for line in change.after),
        *(f" {line}" for line in change.below),
    ]
    return "".join(f"{line}\n" for line in lines)


def ended(text: str) -> str:
    """The text with a line break at its end; "" stays empty."""
    return text if not text or text.endswith("\n") else f"{text}\n"


def same_end(text: str, region: str) -> str:
    """The text with or without a last line break, as the region has it: answers are not exact there."""
    body = text.removesuffix("\n")
    return f"{body}\n" if region.endswith("\n") and body else body
