"""Fragments of one file: overlapping windows of whole lines, with their term frequencies and static vectors.

Owns the definition of a line, the positions of windows, and `FileFragments`, the part of an index that one file
contributes. Knows no other file, no score and no syntax.

`slice_file` runs in worker processes; its result is packed so that pickling is cheap.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..native import compiled
from .static_vectors import N_STORED, Postings, StoredVectors, shipped_vectors
from .terms import LINE_BREAK, encode, shared_vocabulary


@dataclass(frozen=True, slots=True)
class Slicing:
    """How windows are laid over a file of n lines, for l = 0, stride, 2 * stride, … (papers' spec 2.1).

    `centered` (RepoCoder): [max(0, l - n_lines / 2), min(n, l + n_lines / 2)) while l < n, so the first window
    is half as long and the last one short. `plain` (FragRel): [l, min(n, l + n_lines)) until one reaches the end.
    """

    kind: str = "centered"
    """One of the two kinds above."""
    n_lines: int = 20
    """Lines of a window."""
    stride: int = 10
    """Lines between two windows."""

    def __post_init__(self) -> None:
        if self.kind not in ("centered", "plain"):
            raise ValueError(f"slicing kind {self.kind!r} is neither 'centered' nor 'plain'")
        if not 1 <= self.stride <= (self.n_lines // 2 if self.kind == "centered" else self.n_lines):
            raise ValueError(f"{self.kind} windows of {self.n_lines} lines every {self.stride} lines leave lines out")

    def windows(self, n_lines: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """First lines and ends (half-open) of the windows over a file of `n_lines`, in order; both ascend."""
        at = np.arange(0, n_lines, self.stride, dtype=np.int32)
        if self.kind == "centered":
            half = self.n_lines // 2
            starts, ends = np.maximum(at - half, 0), at + half
        else:
            reached_end = at + self.n_lines - self.stride >= n_lines
            reached_end[:1] = False
            starts = at[~reached_end]
            ends = starts + self.n_lines
        return starts, np.minimum(ends, n_lines)


@dataclass(frozen=True, eq=False)
class FileFragments:
    """The fragments of one file, how often each term occurs in each, and their vectors. Immutable.

    n fragments in file order; m distinct terms in the order of their keys; p postings, grouped by term.
    """

    path: str
    text: bytes  # the whole file as UTF-8, every line break a "\n"
    starts: NDArray[np.int32]  # (n,) first lines, 0-based
    ends: NDArray[np.int32]  # (n,) lines after the last
    hashes: NDArray[np.uint64]  # (n,) of the text: equal for identical windows
    lengths: NDArray[np.int32]  # (n,) terms, repeats included
    n_distinct: NDArray[np.int32]  # (n,) distinct terms
    keys: NDArray[np.uint64]  # (m,) term keys
    indptr: NDArray[np.int32]  # (m + 1,) where a term's postings begin
    windows: NDArray[np.int32]  # (p,) index of the fragment
    counts: NDArray[np.uint16]  # (p,) occurrences, at most 65535
    vectors: StoredVectors  # (n, N_STORED); zeros without words of the table of static vectors

    def __len__(self) -> int:
        return len(self.starts)

    def __reduce__(self) -> tuple[object, ...]:
        sizes = (len(self.starts), len(self.keys), len(self.windows))
        arrays = (getattr(self, name) for name, _ in FRAGMENT_ARRAYS)
        return _unpack, (self.path, self.text, sizes, b"".join(array.tobytes() for array in arrays))


def slice_file(path: str, text: str, slicing: Slicing = Slicing(), first: int = 0) -> FileFragments:
    """The fragments of `text`, from number `first` on; none for an empty file."""
    part = slice_terms(path, text, slicing, first)
    return replace(part, vectors=vectors_of(part))


def vectors_of(part: FileFragments) -> StoredVectors:
    """The vector of each fragment: the sum of the vectors of its words; zeros without the shipped table."""
    table = shipped_vectors()
    if table is None:
        return part.vectors
    return table.of_postings(Postings(part.keys, part.indptr, part.windows, part.counts), len(part))


def slice_terms(path: str, text: str, slicing: Slicing = Slicing(), first: int = 0) -> FileFragments:
    """As `slice_file`, without vectors: they are zeros."""
    data = encode(normalise(text))
    starts, ends = (edges[first:] for edges in slicing.windows(count_lines(data)))
    arrays = window_terms(data, starts, ends) if len(starts) else {"indptr": [0]}
    return _file_fragments(path, data, starts=starts, ends=ends, **arrays)


def plain_window_terms(data: bytes, starts: NDArray[np.int32], ends: NDArray[np.int32]) -> dict[str, ArrayLike]:
    """The hashes and terms of at least one window of a normalised text, as arrays of `FileFragments` by name."""
    line_starts = _line_starts(data)
    # The text of a window excludes its last line break, so a missing break at the end of a file changes nothing.
    froms, tos = line_starts[starts].tolist(), (line_starts[ends] - 1).tolist()
    hashes = [_hash(data[begin:end]) for begin, end in zip(froms, tos, strict=True)]
    vocabulary = shared_vocabulary()
    numbers = vocabulary.numbers(data[froms[0] :])
    lines = np.cumsum(numbers == LINE_BREAK) + starts[0]
    is_term = np.flatnonzero(numbers != LINE_BREAK)
    terms, ranks = np.unique(numbers[is_term], return_inverse=True)
    keys = vocabulary.keys(terms.tolist())
    order = np.argsort(keys)
    rank_of = np.empty(len(keys), np.int64)
    rank_of[order] = np.arange(len(keys))
    n_windows = len(starts)
    codes, counts = np.unique(_pairs(rank_of[ranks], lines[is_term], starts, ends), return_counts=True)
    ranks, windows = np.divmod(codes, n_windows)
    return {
        "hashes": hashes,
        "lengths": np.bincount(windows, counts, n_windows),
        "n_distinct": np.bincount(windows, minlength=n_windows),
        "keys": keys[order],
        "indptr": np.searchsorted(ranks, np.arange(len(keys) + 1)),
        "windows": windows,
        "counts": np.minimum(counts, np.iinfo(np.uint16).max),
    }


def _compiled_window_terms(data: bytes, starts: NDArray[np.int32], ends: NDArray[np.int32]) -> dict[str, ArrayLike]:
    """As `plain_window_terms`, by the C kernel."""
    assert compiled is not None
    hashes, lengths, n_distinct, (keys, indptr, windows, counts) = compiled.window_terms(
        data, starts.tobytes(), ends.tobytes()
    )
    return {
        "hashes": np.frombuffer(hashes, np.uint64),
        "lengths": np.frombuffer(lengths, np.int32),
        "n_distinct": np.frombuffer(n_distinct, np.int32),
        "keys": np.frombuffer(keys, np.uint64),
        "indptr": np.frombuffer(indptr, np.int32),
        "windows": np.frombuffer(windows, np.int32),
        "counts": np.frombuffer(counts, np.uint16),
    }


window_terms = plain_window_terms if compiled is None else _compiled_window_terms


def normalise(text: str) -> str:
    """`text` with every line break (\\n, \\r\\n or a lone \\r) written \\n."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def split_lines(text: str) -> list[str]:
    """The lines of `text` without their breaks; a break at the very end adds no empty line."""
    lines = normalise(text).split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def count_lines(text: bytes) -> int:
    """How many lines a normalised text has."""
    return len(_line_starts(text)) - 1


def lines_between(text: bytes, start_line: int, end_line: int) -> str:
    """Lines [start_line, end_line) of a normalised text, joined by \\n, without a break at the end."""
    line_starts = _line_starts(text)
    begin, end = line_starts[start_line], line_starts[end_line]
    return text[begin : max(begin, end - 1)].decode("utf-8", "surrogatepass")


@lru_cache(maxsize=128)
def _line_starts(text: bytes) -> NDArray[np.int64]:
    """The offset of each line, and of the line after the last one as if a break ended the last line."""
    breaks = np.flatnonzero(np.frombuffer(text, np.uint8) == ord("\n"))
    last = [] if not text or text.endswith(b"\n") else [len(text) + 1]
    return np.concatenate(([0], breaks + 1, last)).astype(np.int64, copy=False)


def _pairs(
    terms: NDArray[np.int64], lines: NDArray[np.int64], starts: NDArray[np.int32], ends: NDArray[np.int32]
) -> NDArray[np.int64]:
    """`term * n_windows + window` for every term and every window that its line lies in."""
    first = np.searchsorted(ends, lines, side="right")
    n_covering = np.searchsorted(starts, lines, side="right") - first
    pairs = terms * len(starts) + first
    return np.concatenate([pairs[n_covering > k] + k for k in range(int(n_covering.max(initial=1)))])


def _hash(text: bytes) -> int:
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "little")


FRAGMENT_ARRAYS: tuple[tuple[str, type[np.generic]], ...] = (
    ("hashes", np.uint64),
    ("keys", np.uint64),
    ("starts", np.int32),
    ("ends", np.int32),
    ("lengths", np.int32),
    ("n_distinct", np.int32),
    ("indptr", np.int32),
    ("windows", np.int32),
    ("counts", np.uint16),
    ("vectors", np.int8),
)
"""Arrays of a `FileFragments` with their types, wide ones first so that each is aligned in one buffer."""


def _file_fragments(path: str, text: bytes, **arrays: object) -> FileFragments:
    typed: dict[str, Any] = {name: np.array(arrays.get(name, ()), dtype) for name, dtype in FRAGMENT_ARRAYS}
    typed["vectors"] = np.zeros((len(typed["starts"]), N_STORED), np.int8)
    return FileFragments(path, text, **typed)


def _unpack(path: str, text: bytes, sizes: tuple[int, int, int], packed: bytes) -> FileFragments:
    n, m, p = sizes
    lengths = {"keys": m, "indptr": m + 1, "windows": p, "counts": p, "vectors": n * N_STORED}
    arrays: dict[str, Any] = {}
    offset = 0
    for name, dtype in FRAGMENT_ARRAYS:
        arrays[name] = np.frombuffer(packed, dtype, lengths.get(name, n), offset)
        offset += arrays[name].nbytes
    arrays["vectors"] = arrays["vectors"].reshape(n, N_STORED)
    return FileFragments(path, text, **arrays)
