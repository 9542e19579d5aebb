"""How much a model may read and write so that a completion is there in time.

Owns the share of the time that each gets. Pure functions of what was measured. Knows no model and no clock.
"""

from __future__ import annotations

from ...llm.protocol import Speed

READING_SHARE = 2 / 3
"""Of `completion.target_ms`, for a prompt that nothing is known of. Most prompts are known but for a few tokens, so
there is time left for writing more often than not."""

FEWEST_NEW_TOKENS = 16
"""A line of code has about ten; less is not worth reading a prompt for."""


def prompt_ms(target_ms: int) -> int:
    """How long reading an unknown prompt may take. A model makes its prompts so short (`llm/throughput.py`)."""
    return round(target_ms * READING_SHARE)


def new_tokens(speed: Speed, target_ms: int, limit: int) -> int:
    """How many tokens may be written, at most `limit`; that many while the speed is unknown.

    A power of two: a number that moves with every measurement would cut each prompt elsewhere.
    """
    if not speed.decode:
        return limit
    in_time = int(speed.decode * (target_ms - prompt_ms(target_ms)) / 1e3)
    return min(limit, max(FEWEST_NEW_TOKENS, 1 << in_time.bit_length() >> 1))
