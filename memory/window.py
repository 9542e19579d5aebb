"""What a model's window leaves for evidence, beside the words of a prompt and the answer.

Owns the subtraction. What goes when there is too much is in `budgets`; a call that is too long after all is the
accountant's error.
"""

from __future__ import annotations

from ..llm.prompting.conversation import FRAME_TOKENS
from .metered_model import MeteredModel


def window_of(model: MeteredModel | None, most: int) -> int:
    """Tokens of one call with its answer: `most`, or what the model holds where that is less."""
    return most if model is None else min(most, model.window_tokens)


def room_beside(window_tokens: int, prompt_tokens: int, answer_tokens: int) -> int:
    """Tokens that may be put into a prompt which has `prompt_tokens` without them; at least 0.

    Besides the frame of its message one more is left free: texts side by side may have more tokens than each alone.
    """
    return max(0, window_tokens - prompt_tokens - answer_tokens - 2 * FRAME_TOKENS)
