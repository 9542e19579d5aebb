"""How many raw tokens does each memory token of a window stand for?

Owns the ratio policies, their notation and how long a text each ratio can hold. Knows no model. Source: MemoRAG,
section 4.2 and its published training scripts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Protocol

from ....llm.protocol import ModelError

RatioOf = Callable[[int], int]
"""The ratio of the window with this number, from 0. The same number always gives the same ratio."""

RATIOS = (2, 4, 8, 16)
"""Of the released models."""

WIDEST_RATIOS = (2, 4, 8, 16, 32)
"""Of stage 1 of the training; what a message about a text that is too long can propose."""


class BeaconError(ModelError):
    """The beacon memory can't do what was asked. The message says the next step."""


class TextTooLong(BeaconError):
    """The text needs more positions than the base model has, with the memory of all its windows."""


class RatioPolicy(Protocol):
    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        """The ratios of one text of `n_tokens`. What is random is drawn from `random`, when it is first asked for."""


@dataclass(frozen=True, slots=True)
class FixedRatio:
    """One ratio for everything."""

    ratio: int

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        return lambda number: self.ratio


@dataclass(frozen=True, slots=True)
class InstanceRandom:
    """One ratio for each text."""

    ratios: tuple[int, ...]

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        ratio = random.choice(self.ratios)
        return lambda number: ratio


@dataclass(frozen=True, slots=True)
class StepRandom:
    """Each window has its own; the policy of the training."""

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
    """Given window by window; the last one repeats."""

    ratios: tuple[int, ...]

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        return lambda number: self.ratios[min(number, len(self.ratios) - 1)]


@dataclass(frozen=True, slots=True)
class AdaptiveRatio:
    """The smallest ratio that can hold the text and `extra_tokens` for what is asked and answered."""

    extra_tokens: int
    ratios: tuple[int, ...]
    window: int
    max_positions: int

    def for_text(self, n_tokens: int, random: Random) -> RatioOf:
        """Raises TextTooLong when no ratio is enough."""
        total = n_tokens + self.extra_tokens
        ratio = smallest_ratio(total, self.ratios, self.window, self.max_positions)
        if ratio is None:
            most = longest_text(self.max_positions, self.window, max(self.ratios))
            raise TextTooLong(
                f"The text has {n_tokens} tokens and {self.extra_tokens} are kept free; ratio {max(self.ratios)} holds "
                f"{most}. Shorten the text, allow a larger ratio, or take a model with more positions."
            )
        return lambda number: ratio


def parse_policy(
    text: str, *, window: int, max_positions: int, ratios: Sequence[int] = RATIOS
) -> FixedRatio | InstanceRandom | StepRandom | RatioSequence | AdaptiveRatio:
    """The policy written as "4", "step-random", "instance-random", "sequence:4,8,16" or "adapt-1024".

    `ratios` are those to draw or choose from. Raises BeaconError for another word, and for a ratio that does not
    divide the window.
    """
    try:
        policy = _parse(text.strip(), tuple(ratios), window, max_positions)
    except ValueError:
        raise BeaconError(
            f'"{text}" is no ratio policy. Write a ratio such as "4", "step-random", "instance-random", '
            '"sequence:4,8,16", or "adapt-1024" with the number of tokens to keep free.'
        ) from None
    for ratio in (policy.ratio,) if isinstance(policy, FixedRatio) else policy.ratios:
        check_ratio(ratio, window)
    return policy


def _parse(
    text: str, ratios: tuple[int, ...], window: int, max_positions: int
) -> FixedRatio | InstanceRandom | StepRandom | RatioSequence | AdaptiveRatio:
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
    return FixedRatio(int(text))


def check_ratio(ratio: int, window: int) -> None:
    """Raises BeaconError when a window can't be split into parts of `ratio` raw tokens."""
    if ratio < 1 or window % ratio:
        raise BeaconError(f"A window of {window} tokens can't have ratio {ratio}. Choose a ratio that divides it.")


def capacity(max_positions: int, window: int, ratio: int) -> int:
    """How many tokens a text can have (MemoRAG, 4.2): all but the last window are kept with `ratio`."""
    return (max_positions - window) * ratio + window


def longest_text(max_positions: int, window: int, ratio: int) -> int:
    """What of the capacity can be read here: each full window needs room for its memory tokens beside it."""
    n_full = (max_positions - window) * ratio // window
    return (n_full + 1) * window - 1


def smallest_ratio(n_tokens: int, ratios: Sequence[int], window: int, max_positions: int) -> int | None:
    """The smallest of the ratios with which a text of this length can be read; None when there is none."""
    return min((ratio for ratio in ratios if longest_text(max_positions, window, ratio) >= n_tokens), default=None)
