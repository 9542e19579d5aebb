"""Token budgets from measured speed: how long prompt and completion may be to meet the target latency.

Pure functions. Knows no model and no clock.
"""

from __future__ import annotations

from ...llm.protocol import Speed

# Share of `completion.target_ms` for the prefill of an uncached prompt. Most prompts are cached up to a few tokens,
# which leaves more time for decoding.
READING_SHARE = 2 / 3
MIN_NEW_TOKENS = 16  # a line of code has about ten tokens; a shorter limit is not worth a prefill


def prompt_ms(target_ms: int) -> int:
    """The maximum prefill time of an uncached prompt. A model shortens its prompts to it (`llm/throughput.py`)."""
    return round(target_ms * READING_SHARE)


def new_tokens(speed: Speed, target_ms: int, limit: int) -> int:
    """The maximum number of new tokens, at most `limit`; `limit` while the speed is unknown.

    A power of two: a number that changes with every measurement would cut each prompt at another place.
    """
    if not speed.decode:
        return limit
    in_time = int(speed.decode * (target_ms - prompt_ms(target_ms)) / 1e3)
    return min(limit, max(MIN_NEW_TOKENS, 1 << in_time.bit_length() >> 1))
