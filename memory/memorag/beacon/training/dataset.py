"""Memory-mapped dataset of token rows with loss masks, and batches with equal numbers of windows.

Owns the dataset files and the order of batches. Knows no tokenizer and no model.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..ratios import BeaconError

IGNORED_LABEL = -100  # the label of a token without a loss, as in transformers


class UnusableData(BeaconError):
    """Unusable training data. The message names it and the next step."""


@dataclass(frozen=True, slots=True)
class TrainingText:
    """One training text, read with an empty memory."""

    tokens: NDArray[np.int32]  # (T,)
    learnt: NDArray[np.bool_]  # (T,), whether the model should write the token; the first one is never learnt


class TextDataset:
    """Texts of a folder, concatenated in two files."""

    def __init__(self, tokens: NDArray[np.int32], learnt: NDArray[np.bool_], lengths: Sequence[int], key: int) -> None:
        self._tokens = tokens
        self._learnt = learnt
        self._starts = [0, *np.cumsum(lengths).tolist()]
        self.lengths = tuple(lengths)
        self.key = key  # checksum of the texts

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, number: int) -> TrainingText:
        place = slice(self._starts[number], self._starts[number + 1])
        return TrainingText(self._tokens[place], self._learnt[place])

    def batch(self, numbers: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Padded tokens and labels of some texts, each (B, T)."""
        longest = max(self.lengths[number] for number in numbers)
        tokens = np.zeros((len(numbers), longest), np.int64)
        labels = np.full((len(numbers), longest), IGNORED_LABEL, np.int64)
        for row, number in enumerate(numbers):
            text, length = self[number], self.lengths[number]
            tokens[row, :length] = text.tokens
            labels[row, :length] = np.where(text.learnt, text.tokens, IGNORED_LABEL)
        return tokens, labels


def write_texts(folder: Path, texts: Iterable[TrainingText]) -> TextDataset:
    """Write texts to a folder and open them. Replaces its content."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "texts.json").unlink(missing_ok=True)
    lengths, key = list[int](), 0
    with (folder / "tokens.bin").open("wb") as tokens, (folder / "learnt.bin").open("wb") as learnt:
        for text in texts:
            for file, array in ((tokens, text.tokens.astype("<i4")), (learnt, text.learnt.astype("|b1"))):
                content = array.tobytes()
                key = zlib.crc32(content, key)
                file.write(content)
            lengths.append(len(text.tokens))
    (folder / "texts.json").write_text(json.dumps({"lengths": lengths, "key": key}), encoding="utf-8")
    return open_texts(folder)


def open_texts(folder: Path) -> TextDataset:
    """What `write_texts` wrote. Raises UnusableData if it is incomplete."""
    try:
        about = json.loads((folder / "texts.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnusableData(f"{folder} has no complete dataset ({error}). Make it again.") from error
    lengths, key = about["lengths"], about["key"]
    if not lengths:
        return TextDataset(np.zeros(0, np.int32), np.zeros(0, np.bool_), (), key)
    return TextDataset(
        np.memmap(folder / "tokens.bin", "<i4", "r"), np.memmap(folder / "learnt.bin", "|b1", "r"), lengths, key
    )


def n_windows(n_tokens: int, window: int) -> int:
    """The number of windows of a text; the last one can be partial, and has no memory tokens in training."""
    return -(-n_tokens // window)


def group_strictly(
    lengths: Sequence[int], window: int, n_of_batch: int, random: np.random.Generator, batch_tokens: int = 0
) -> list[list[int]]:
    """Text numbers in batches with equal numbers of windows, in random order.

    `batch_tokens` above 0 replace the number of texts: as many whole windows as they hold, at least one text.
    Remainders form smaller batches; the paper's code drops them.
    """

    def n_texts(windows_of_text: int) -> int:
        return max(1, batch_tokens // (windows_of_text * window)) if batch_tokens else n_of_batch

    by_windows: dict[int, list[int]] = {}
    for number in random.permutation(len(lengths)).tolist():
        by_windows.setdefault(n_windows(lengths[number], window), []).append(number)
    batches = [
        numbers[start : start + n_texts(windows_of_text)]
        for windows_of_text, numbers in sorted(by_windows.items())
        for start in range(0, len(numbers), n_texts(windows_of_text))
    ]
    return [batches[place] for place in random.permutation(len(batches)).tolist()]


class BatchSampler:
    """Endless batches, shuffled in each epoch. Deterministic for a seed."""

    def __init__(self, lengths: Sequence[int], window: int, n_of_batch: int, seed: int, batch_tokens: int = 0) -> None:
        self._lengths = lengths
        self._window = window
        self._n_of_batch, self._batch_tokens = n_of_batch, batch_tokens
        self._seed = seed
        self._epoch, self._batches = 0, self._order(0)
        self.batches_of_epoch = len(self._batches)

    def batch(self, number: int) -> list[int]:
        """The text numbers of the `number`-th batch."""
        epoch, place = divmod(number, self.batches_of_epoch)
        if epoch != self._epoch:
            self._epoch, self._batches = epoch, self._order(epoch)
        return self._batches[place]

    def _order(self, epoch: int) -> list[list[int]]:
        random = np.random.default_rng((self._seed, epoch))
        return group_strictly(self._lengths, self._window, self._n_of_batch, random, self._batch_tokens)
