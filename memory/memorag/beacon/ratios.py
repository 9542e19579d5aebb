"""Compression ratios of the beacon memory, and the layout of raw tokens and memory tokens in windows.

Owns the ratio policies, their notation, the longest text of a ratio, the placement of memory tokens in a full window,
and the number of positions that a text needs. Knows no model. Source: MemoRAG, section 2.1 and its published training
scripts. The paper appends the memory tokens to a window (Eq. 5); the published code and weights interleave them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal, get_args

from ....errors import ModelError

Placement = Literal["interleaved", "appended"]
"""Where the memory tokens of a full window are: one after each `ratio` raw tokens, or all after the last one (Eq. 5).

In both cases the raw tokens before a memory token are all that it sees of the window. Interleaved ones are seen by the
raw tokens after them, appended ones by later windows alone.
"""

RatioOf = Callable[[int], int]  # the ratio of the window with this number, from 0; deterministic
RATIOS = (2, 4, 8, 16)  # ratios of the released models
WIDEST_RATIOS = (2, 4, 8, 16, 32)  # ratios of training stage 1; error messages propose them for texts that are too long


class BeaconError(ModelError):
    """An operation of the beacon memory failed. The message says the next step."""


class TextTooLong(BeaconError):
    """The text and its memory need more positions than the base model has."""


@dataclass(frozen=True, slots=True)
class InstanceRandom:
    """One random ratio for each text."""

    ratios: tuple[int, ...]

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        ratio = random.choice(self.ratios)
        return lambda number: ratio


@dataclass(frozen=True, slots=True)
class StepRandom:
    """A random ratio for each window; the policy of the training."""

    ratios: tuple[int, ...]

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        drawn = list[int]()

        def ratio_of(number: int) -> int:
            while len(drawn) <= number:
                drawn.append(random.choice(self.ratios))
            return drawn[number]

        return ratio_of


@dataclass(frozen=True, slots=True)
class RatioSequence:
    """A list of ratios, one for each window; the last one repeats, so a list of one is a fixed ratio."""

    ratios: tuple[int, ...]

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        return lambda number: self.ratios[min(number, len(self.ratios) - 1)]


@dataclass(frozen=True, slots=True)
class AdaptiveRatio:
    """The smallest ratio that holds the text and `extra_tokens` for question and answer."""

    extra_tokens: int
    ratios: tuple[int, ...]
    window: int
    max_positions: int

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        """Raises TextTooLong if no ratio suffices."""
        total = n_tokens + self.extra_tokens
        ratio = smallest_ratio(total, self.ratios, self.window, self.max_positions)
        if ratio is None:
            most = longest_text(self.max_positions, self.window, max(self.ratios))
            raise TextTooLong(
                f"The text has {n_tokens} tokens and {self.extra_tokens} are reserved; ratio {max(self.ratios)} holds "
                f"{most}. Shorten the text, allow a larger ratio, or use a model with more positions."
            )
        return lambda number: ratio


RatioPolicy = InstanceRandom | StepRandom | RatioSequence | AdaptiveRatio


def parse_policy(text: str, *, window: int, max_positions: int, ratios: Sequence[int] = RATIOS) -> RatioPolicy:
    """The policy for "4", "step-random", "instance-random", "sequence:4,8,16" or "adapt-1024".

    `ratios` are the allowed ratios. Raises BeaconError for an invalid policy, and for a ratio that does not divide the
    window.
    """
    try:
        policy = _parse(text.strip(), tuple(ratios), window, max_positions)
    except ValueError:
        raise BeaconError(
            f'"{text}" is not a ratio policy. Use a ratio such as "4", "step-random", "instance-random", '
            '"sequence:4,8,16", or "adapt-1024" with the number of reserved tokens.'
        ) from None
    for ratio in policy.ratios:
        check_ratio(ratio, window)
    return policy


def _parse(text: str, ratios: tuple[int, ...], window: int, max_positions: int) -> RatioPolicy:
    kind, _, rest = text.partition(":")
    if kind == "sequence":
        return RatioSequence(tuple(int(part) for part in rest.split(",")))
    if text == "step-random":
        return StepRandom(ratios)
    if text == "instance-random":
        return InstanceRandom(ratios)
    kind, dash, rest = text.partition("-")
    if kind == "adapt" and dash:
        return AdaptiveRatio(int(rest), ratios, window, max_positions)
    return RatioSequence((int(text),))


def check_ratio(ratio: int, window: int) -> None:
    """Raises BeaconError if the ratio does not divide the window."""
    if ratio < 1 or window % ratio:
        raise BeaconError(f"The ratio {ratio} does not divide the window of {window} tokens. Use a ratio that does.")


def longest_text(max_positions: int, window: int, ratio: int) -> int:
    """The longest text: a full window needs positions for its own memory tokens beside those of earlier windows."""
    n_full = (max_positions - window) * ratio // window
    return (n_full + 1) * window - 1


def smallest_ratio(n_tokens: int, ratios: Sequence[int], window: int, max_positions: int) -> int | None:
    """The smallest of the ratios that holds a text of this length; None if there is none."""
    return min((ratio for ratio in ratios if longest_text(max_positions, window, ratio) >= n_tokens), default=None)


def windows(n_tokens: int, window: int) -> Iterator[tuple[int, int]]:
    """Start and end of each window; the last one can be partial."""
    for start in range(0, n_tokens, window):
        yield start, min(start + window, n_tokens)


def check_placement(placement: str) -> None:
    """Raises BeaconError for an unknown placement."""
    if placement not in get_args(Placement):
        raise BeaconError(f"The placement {placement!r} is unknown. Use one of {', '.join(get_args(Placement))}.")


def memory_places(window: int, ratio: int, placement: Placement = "interleaved") -> list[int]:
    """Positions of the memory tokens in a full window. Raises BeaconError, see check_ratio."""
    check_ratio(ratio, window)
    if placement == "appended":
        return list(range(window, window + window // ratio))
    return list(range(ratio, window + window // ratio, ratio + 1))


def raw_places(window: int, ratio: int, placement: Placement = "interleaved") -> list[int]:
    """Positions of the raw tokens of a full window, in order."""
    of_memory = set(memory_places(window, ratio, placement))
    return [place for place in range(window + window // ratio) if place not in of_memory]


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
