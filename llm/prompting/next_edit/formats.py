"""The known formats of next-edit models, how the format of a model is found, and what fits into its context.

A next-edit model has the tokens and the chat template of its base model, so its format can't be read from them: it is
found by the published name of the model, or set by `next_edit`. An answer in another form is not used.
"""

from __future__ import annotations

import re
from dataclasses import replace

from ..prompts import CountTokens, choose_blocks, file_block, fit_suffix
from .instruct import INSTRUCTION, Instruct
from .sweep import Sweep, SweepV2
from .values import RecentChange, RewriteFormat, RewriteRequest
from .zeta import Zeta
from .zeta2 import Zeta2, Zeta21

CHAT = Instruct()

REWRITE_FORMATS: dict[str, RewriteFormat] = {
    each.name: each for each in (Sweep(), SweepV2(), Zeta(), Zeta2(), Zeta21(), CHAT)
}

# Published names: sweepai/sweep-next-edit-1.5B and -v2-7B, zed-industries/zeta, zeta-2 and zeta-2.1, with what
# conversions and servers put before and after them.
_NAMES = (
    (re.compile(r"sweep[-_.]?next[-_.]?edit[-_.]?v2", re.IGNORECASE), "sweep-2"),
    (re.compile(r"sweep[-_.]?next[-_.]?edit", re.IGNORECASE), "sweep"),
    (re.compile(r"(?<![a-z])zeta[-_.]?2[._]1(?!\d)", re.IGNORECASE), "zeta-2.1"),
    (re.compile(r"(?<![a-z])zeta[-_.]?2(?![\d])", re.IGNORECASE), "zeta-2"),
    (re.compile(r"(?<![a-z])zeta(?![-_.]?\d|[a-z])", re.IGNORECASE), "zeta"),
)

CHANGES_SHARE, AROUND_SHARE = 0.3, 0.5
"""Of the tokens that the region leaves: those of recent edits, and of the rest those of the lines around the region.
Related code gets what is left. Not tuned: without such a model nothing was measured."""

FRAME_TOKENS = 200
"""Tokens of a prompt besides its texts: paths, marks, and the instruction of `zeta`."""


def find_rewrite_format(model_name: str) -> RewriteFormat | None:
    """The format of a next-edit model with this name; None for any other model."""
    return next((REWRITE_FORMATS[name] for pattern, name in _NAMES if pattern.search(model_name)), None)


def answer_tokens(request: RewriteRequest, count_tokens: CountTokens) -> int:
    """The most tokens of an answer: the region with half as much again, and what stands around it."""
    return count_tokens(request.region) * 3 // 2 + 64


def fit_rewrite(
    request: RewriteRequest, rewrite_format: RewriteFormat, count_tokens: CountTokens, context_tokens: int
) -> RewriteRequest | None:
    """The request that fits with its answer into `context_tokens`; None if its region does not, or can't be shown.

    The latest recent edits, the nearest lines and the best fragments stay, without those that look like a part of the
    format.
    """
    if not rewrite_format.can_show(request):
        return None
    frame = FRAME_TOKENS + (count_tokens(INSTRUCTION) if rewrite_format is CHAT else 0)
    left = context_tokens - frame - answer_tokens(request, count_tokens) - count_tokens(request.region)
    left -= (rewrite_format.n_regions - 1) * count_tokens(request.original)
    if left < 0:
        return None
    lines = filter(rewrite_format.is_plain, request.diagnostics)
    diagnostics = fit_suffix("\n".join(lines), count_tokens, left // 8)
    left -= count_tokens(diagnostics)
    changes: list[RecentChange] = []
    budget = int(left * CHANGES_SHARE)
    for change in reversed(request.changes):
        if not rewrite_format.is_plain(change.path, *change.lines_before, *change.after):
            continue
        n_tokens = count_tokens(rewrite_format.change(change))
        if n_tokens > budget:
            break
        changes.insert(0, change)
        budget -= n_tokens
        left -= n_tokens
    above = below = ""
    if rewrite_format.shows_around:
        room = int(left * AROUND_SHARE) // 2
        above, below = _fit_above(request.above, count_tokens, room), _fit_below(request.below, count_tokens, room)
        left -= count_tokens(above) + count_tokens(below)
    plain = [each for each in request.fragments if rewrite_format.is_plain(each.text)]
    fragments = choose_blocks(plain, lambda fragment: count_tokens(file_block(fragment)), left)
    return replace(
        request,
        above=above,
        below=below,
        starts_file=request.starts_file and above == request.above,
        changes=tuple(changes),
        fragments=tuple(reversed(fragments)),  # the best one next to the code
        diagnostics=tuple(diagnostics.split("\n")) if diagnostics else (),
    )


def _fit_below(text: str, count_tokens: CountTokens, budget: int) -> str:
    """The first lines that fit."""
    lines = fit_suffix(text, count_tokens, budget)
    return lines if lines == text or not lines else f"{lines}\n"


def _fit_above(text: str, count_tokens: CountTokens, budget: int) -> str:
    """The last lines that fit."""
    lines = text.splitlines(keepends=True)
    first = len(lines)
    while first and (budget := budget - count_tokens(lines[first - 1])) >= 0:
        first -= 1
    return "".join(lines[first:])
