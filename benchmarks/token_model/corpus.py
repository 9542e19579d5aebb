"""Corpus of the token model: the encoded tokens of files of many trees.

Owns the choice of the files and of the known words. Knows no network.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...languages import language_of
from ...llm.workspace_model.token_model import (
    LANGUAGES,
    N_LINES,
    N_PARTS,
    N_STARTS,
    N_WINDOW,
    PADDING,
    TokenEncoder,
    line_break_identity,
)
from ...llm.workspace_model.tokens import split_tokens
from ...server.config import IndexOptions
from ...server.workspace.files import SourceText, read_source
from ..fit_trees import SEED, shuffled_files
from ..scorer.samples import MAX_FILE_BYTES


@dataclass(frozen=True, slots=True, eq=False)
class Corpus:
    """The tokens of some files, each behind N_WINDOW tokens of padding."""

    identity: NDArray[np.int16]  # (n,)
    parts: NDArray[np.int16]  # (n, N_PARTS), 0 for none
    is_spaced: NDArray[np.bool_]  # (n,)
    starts: NDArray[np.int32]  # (n, N_LINES * N_STARTS): the tokens that begin the last lines, -1 for none
    language: NDArray[np.int8]  # (n,)

    def __len__(self) -> int:
        return len(self.identity)


def read_files(tree: Path, most_tokens: int) -> Iterator[tuple[str, list[str]]]:
    """Language and tokens of random files of a tree, up to a number of tokens."""
    options = IndexOptions(max_file_bytes=MAX_FILE_BYTES)
    n_tokens = 0
    for each in shuffled_files(tree, options, lambda path: language_of(path).name in LANGUAGES):
        if n_tokens >= most_tokens:
            return
        source = read_source(tree, each, options)
        if isinstance(source, SourceText):
            tokens = split_tokens(source.text)[: most_tokens // 8]
            n_tokens += len(tokens)
            yield language_of(each.path).name, tokens


def known_words(trees: Iterable[Sequence[tuple[str, list[str]]]], n_words: int) -> list[str]:
    """The words and signs that are frequent in many trees."""
    scores: Counter[str] = Counter()
    for files in trees:
        counts = Counter(
            token[1:] if len(token) > 1 and token[0] == " " else token
            for _, tokens in files
            for token in tokens
            if token[0] != "\n" and len(token) <= 24
        )
        total = sum(counts.values())
        for word, count in counts.items():
            scores[word] += (count / total) ** 0.5
    return [word for word, _ in sorted(scores.items(), key=lambda each: (-each[1], each[0]))[:n_words]]


def encode_files(files: Iterable[tuple[str, list[str]]], encoder: TokenEncoder) -> Corpus:
    """The files one behind the other, in random order."""
    arrays = [_encoded(language, tokens, encoder) for language, tokens in files]
    order = np.random.default_rng(SEED).permutation(len(arrays))
    offsets = np.cumsum([0, *(len(arrays[at].identity) for at in order)])
    return Corpus(
        np.concatenate([arrays[at].identity for at in order]),
        np.concatenate([arrays[at].parts for at in order]),
        np.concatenate([arrays[at].is_spaced for at in order]),
        np.concatenate(
            [
                np.where(arrays[at].starts >= 0, arrays[at].starts + offset, -1)
                for at, offset in zip(order, offsets[:-1], strict=True)
            ]
        ),
        np.concatenate([arrays[at].language for at in order]),
    )


def _encoded(language: str, tokens: Sequence[str], encoder: TokenEncoder) -> Corpus:
    n = len(tokens) + N_WINDOW
    identity, is_spaced = np.full(n, PADDING, np.int16), np.zeros(n, np.bool_)
    parts = np.zeros((n, N_PARTS), np.int16)
    starts = np.full((n, N_LINES * N_STARTS), -1, np.int32)
    indent, pending_indent = 0, None
    begun: list[int] = []
    row = starts[0]
    for at, token in enumerate(tokens, N_WINDOW):
        if token[0] == "\n":
            pending_indent = len(token) - 1
            identity[at] = line_break_identity(indent, pending_indent)
        else:
            identity[at], rows, is_spaced[at] = encoder.encoded(token)
            parts[at, : len(rows)] = rows
            if pending_indent is not None:
                begun, indent, pending_indent = [at, *begun[: N_LINES - 1]], pending_indent, None
                row = np.full(N_LINES * N_STARTS, -1, np.int32)
                for number, begin in enumerate(begun):
                    row[number * N_STARTS : (number + 1) * N_STARTS] = range(begin, begin + N_STARTS)
        starts[at] = row
    starts[starts > np.arange(n)[:, None]] = -1  # the token after the first one of a line, before it is there
    return Corpus(identity, parts, is_spaced, starts, np.full(n, LANGUAGES.index(language), np.int8))
