"""Layout of raw tokens and memory tokens in windows.

Owns windows, the interleaving of memory tokens in a full window, and the number of positions that a text needs. Knows
ratios and no model. The placement "append" of the paper's code is unused there and not implemented here.
"""

from __future__ import annotations

from collections.abc import Iterator

from .ratios import WIDEST_RATIOS, RatioOf, TextTooLong, check_ratio, longest_text, smallest_ratio


def windows(n_tokens: int, window: int) -> Iterator[tuple[int, int]]:
    """Start and end of each window; the last one can be partial."""
    for start in range(0, n_tokens, window):
        yield start, min(start + window, n_tokens)


def memory_places(window: int, ratio: int) -> list[int]:
    """Positions of the memory tokens: one after each `ratio` raw tokens. Raises BeaconError, see check_ratio."""
    check_ratio(ratio, window)
    return list(range(ratio, window + window // ratio, ratio + 1))


def raw_places(window: int, ratio: int) -> list[int]:
    """Positions of the raw tokens of a full window, in order."""
    check_ratio(ratio, window)
    return [place for place in range(window + window // ratio) if (place + 1) % (ratio + 1)]


def positions_needed(
    n_memory: int, n_read: int, n_new: int, *, window: int, ratio_of: RatioOf, last_stays_open: bool = False
) -> int:
    """The largest number of positions in use while `n_new` tokens are read.

    `n_read` tokens were read before; their full windows are `n_memory` memory tokens. With `last_stays_open` a full
    last window gets no memory tokens.
    """
    number, end = n_read // window, n_read + n_new
    most = n_memory
    while (number + 1) * window <= end - last_stays_open:
        ratio = ratio_of(number)
        check_ratio(ratio, window)
        n_memory += window // ratio
        most = n_memory + window
        number += 1
    return max(most, n_memory + end - number * window)


def check_length(
    n_memory: int,
    n_read: int,
    n_new: int,
    *,
    window: int,
    max_positions: int,
    ratio_of: RatioOf,
    last_stays_open: bool = False,
) -> None:
    """Raises TextTooLong, with a ratio that suffices, if the base model has too few positions."""
    needed = positions_needed(
        n_memory, n_read, n_new, window=window, ratio_of=ratio_of, last_stays_open=last_stays_open
    )
    if needed <= max_positions:
        return
    ratio, total = ratio_of(n_read // window), n_read + n_new
    wider = smallest_ratio(
        total, [wide for wide in WIDEST_RATIOS if wide > ratio and not window % wide], window, max_positions
    )
    step = f"Read it with ratio {wider}" if wider else "Shorten it, or take a model with more positions"
    raise TextTooLong(
        f"A text of {total} tokens needs {needed} positions with ratio {ratio}, and the model has {max_positions}: "
        f"room for {longest_text(max_positions, window, ratio)} tokens. {step}."
    )
