"""Token budget of a prompt within the context window.

Owns the subtraction. `budgets` decides what is dropped; `metered_model` raises an error if a call is still too long.
"""

from __future__ import annotations

from ..llm.prompting.conversation import FRAME_TOKENS
from .metered_model import MeteredModel


def window_of(model: MeteredModel | None, most: int) -> int:
    """Context window in tokens: `most`, or the model's if that is smaller."""
    return most if model is None else min(most, model.window_tokens)


def room_beside(window_tokens: int, prompt_tokens: int, answer_tokens: int) -> int:
    """Tokens that can be added to a prompt of `prompt_tokens`; at least 0.

    Reserves one message frame more than needed: concatenated texts can have more tokens than the sum of both.
    """
    return max(0, window_tokens - prompt_tokens - answer_tokens - 2 * FRAME_TOKENS)
