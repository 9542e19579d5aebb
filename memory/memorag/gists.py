"""Gists of a long text: each piece is compressed, recursively until all of them fit.

Owns the pieces and the end of the recursion. Knows no memory and no question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ...llm.protocol import Cancel
from ..budgets import room_beside, truncate
from ..metered_model import Call, MeteredModel
from ..prompting import fill
from ..splitters import by_stable_tokens, most_pieces
from ..values import Cost, Item
from .prompts import PROMPTS, Language

PROMPT_TOKENS = 128  # upper bound of the template around a piece

MIN_SHRINKING = 0.8
"""If gists are longer than this share of their input, recursion ends and the middle is truncated instead."""


@dataclass(frozen=True, slots=True)
class GistPlan:
    """Settings of gists; the defaults are those of the paper's code (papers' spec 4.4, lite mode)."""

    piece_tokens: int = 4096
    gist_tokens: int = 512
    repetition_penalty: float = 1.2

    def fitted(self, window_tokens: int) -> GistPlan:
        """The settings for a model with a small context window."""
        gist_tokens = max(1, min(self.gist_tokens, window_tokens // 4))
        room = room_beside(window_tokens, PROMPT_TOKENS, gist_tokens)
        return GistPlan(max(1, min(self.piece_tokens, room)), gist_tokens, self.repetition_penalty)

    def cost(self, n_tokens: int, room: int) -> Cost:
        """An upper bound for a text of `n_tokens` whose gists must fit into `room` tokens."""
        cost = Cost()
        while True:
            n_pieces = min(n_tokens, most_pieces(n_tokens, self.piece_tokens))
            cost += Cost(n_pieces, n_tokens + n_pieces * PROMPT_TOKENS, n_pieces * self.gist_tokens)
            n_shorter = n_pieces * self.gist_tokens
            if n_shorter <= room or n_shorter > MIN_SHRINKING * n_tokens:
                return cost
            n_tokens = n_shorter


def write_gists(
    model: MeteredModel, text: str, language: Language, room: int, plan: GistPlan, cancel: Cancel
) -> list[str]:
    """The gists of a text in order, at most `room` tokens together. Empty when cancelled. Raises ModelError."""
    count = model.count_tokens
    plan = plan.fitted(model.window_tokens)
    split = by_stable_tokens(plan.piece_tokens, count)  # a changed text costs the gists of its changed pieces
    while True:
        pieces = [segment.text for segment in split(Item("", text)) if segment.text.strip()]
        tasks = [partial(_gist, model, piece, language, plan, cancel) for piece in pieces]
        gists = model.ask_all(tasks)
        if cancel.cancelled:
            return []
        shorter = "\n".join(gists)
        if (n_tokens := count(shorter)) <= room:
            return gists
        if n_tokens > MIN_SHRINKING * count(text):
            return [truncate(shorter, room, count)]
        text = shorter


def _gist(model: MeteredModel, piece: str, language: Language, plan: GistPlan, cancel: Cancel) -> str:
    if cancel.cancelled:
        return ""
    prompt = fill(PROMPTS[language].gist, text=piece)
    call = Call.of("gist", prompt, plan.gist_tokens, repetition_penalty=plan.repetition_penalty)
    gist = " ".join(model.ask(call, cancel).split())
    # After an empty response the beginning of the piece replaces the gist.
    return gist or truncate(" ".join(piece.split()), plan.gist_tokens, model.count_tokens, "left").rstrip()
