"""Token model: a small neural language model over tokens, which knows what code looks like in any repository.

Owns the encoding of tokens (known words, parts of names, changes of indentation), the network and its weights in
`token_model.npz`, fitted by `weft bench token-model` on repositories that are in no other benchmark. A token that no
repository of the fit has is described by the parts of its name. Knows no index and no candidate but its text.

The network has two hidden layers over the last tokens and the first tokens of the last lines, and scores a candidate
by the product with its embedding. What stands further above is known to the match finder. The arrays are 8-bit integers
with a scale for each row: 1.1 MB.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from .tokens import kind_of, name_parts

Array = NDArray[np.float32]

WEIGHTS_FILE = Path(__file__).with_name("token_model.npz")

N_WINDOW = 12  # last tokens, each with weights of its own
N_LINES, N_STARTS = 4, 2  # the first tokens of this line and of those above
N_CONTEXT = 160  # tokens above, which are enough for the last lines
N_PARTS = 4  # parts of a name that count
_NO_PARTS = (0,) * N_PARTS
N_PART_ROWS = 8192  # parts are hashed to rows from 1 on
LANGUAGES = (
    *("", "python", "typescript", "tsx", "javascript", "go", "java", "kotlin", "scala", "csharp", "rust", "c", "cpp"),
    *("ruby", "php", "swift", "lua", "shellscript", "vue", "svelte"),
)

# Identities of tokens; those of the known words follow.
PADDING, SAME_INDENT, DEEPER, SHALLOWER, NO_INDENT = range(5)
_OTHERS = {2: 5, 4: 6, 6: 7, 8: 8}  # by kind without a space: numbers, CONSTANTS, Types, names
_OTHER_SIGN = 9
FIRST_WORD = 10

_CACHED_TOKENS = 16_384  # whose embedding is cached


class Encoded(NamedTuple):
    """A token as the network sees it."""

    identity: int
    parts: tuple[int, ...]  # at most N_PARTS rows of parts
    is_spaced: bool


class TokenEncoder:
    """Encodes texts of tokens. `words` are the known ones, without a space before them."""

    def __init__(self, words: Sequence[str]) -> None:
        self._identities = {word: FIRST_WORD + number for number, word in enumerate(words)}
        self.encoded = lru_cache(maxsize=65_536)(self._encoded)

    def _encoded(self, token: str) -> Encoded:
        """A token that is no line break; "" is the beginning of a file."""
        if not token:
            return Encoded(PADDING, (), False)
        word = token[1:] if len(token) > 1 and token[0] == " " else token
        kind = kind_of(word)
        identity = self._identities.get(word) or _OTHERS.get(kind, _OTHER_SIGN)
        return Encoded(identity, part_rows(word), word is not token)


def part_rows(word: str) -> tuple[int, ...]:
    """The rows of the first parts of a name."""
    return tuple(1 + crc32(part.encode()) % N_PART_ROWS for part in name_parts(word)[:N_PARTS])


def line_break_identity(indent: int, new_indent: int) -> int:
    """The identity of a line break after a line with this indentation, by the indentation behind it."""
    if new_indent == indent:
        return SAME_INDENT
    if new_indent > indent:
        return DEEPER
    return SHALLOWER if new_indent else NO_INDENT


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The arrays of the network; `d` is the size of an embedding, `h` of a hidden layer."""

    identity: Array  # (n_identities, d)
    part: Array  # (1 + N_PART_ROWS, d), the first row 0
    spaced: Array  # (d,)
    bias: Array  # (n_identities,)
    first: Array  # ((N_WINDOW + N_LINES * N_STARTS) * d, h): the last token first, this line first
    language: Array  # (len(LANGUAGES), h), with the bias of the layer
    second: Array  # (h, h)
    second_bias: Array  # (h,)
    output: Array  # (h, d)
    output_bias: Array  # (d,)


class TokenModel:
    """Scores candidate tokens after a context. Thread-safe; embeddings of recent tokens are cached."""

    def __init__(self, words: Sequence[str], weights: Weights) -> None:
        self.weights = weights
        self.encoder = TokenEncoder(words)
        self._lock = threading.Lock()
        self._clear_cache()
        self._sorted_words = sorted(words)
        self._word_embeddings, self._word_bias = self.embedded(self._sorted_words, 0)
        self._clear_cache()

    def _clear_cache(self) -> None:
        n_special = len(self.weights.identity)
        self._rows: dict[str, int] = {}
        self._embeddings = np.zeros((max(_CACHED_TOKENS // 8, n_special), len(self.weights.spaced)), np.float32)
        self._bias = np.zeros(len(self._embeddings), np.float32)

    def embedded(self, tokens: Sequence[str], indents: Sequence[int] | int) -> tuple[Array, Array]:
        """The embeddings (n, d) and the biases (n,) of tokens; `indents`: of the line before a line break."""
        keys = list(tokens)
        for at, token in enumerate(tokens):
            if token[:1] == "\n":
                indent = indents if isinstance(indents, int) else indents[at]
                keys[at] = _BREAKS[line_break_identity(indent, len(token) - 1)]
        with self._lock:
            rows = self._rows
            try:
                at_rows = [rows[key] for key in keys]
            except KeyError:
                self._cache_embeddings([key for key in dict.fromkeys(keys) if key not in rows])
                at_rows = [rows[key] for key in keys]
                if len(rows) > _CACHED_TOKENS:
                    embeddings, bias = self._embeddings, self._bias
                    self._clear_cache()
                    return embeddings[at_rows], bias[at_rows]
            return self._embeddings[at_rows], self._bias[at_rows]

    def _cache_embeddings(self, keys: Sequence[str]) -> None:
        weights, encoded = self.weights, self.encoder.encoded
        found = [
            Encoded(_BREAK_IDENTITIES[key], (), False) if key in _BREAK_IDENTITIES else encoded(key) for key in keys
        ]
        identities = [each.identity for each in found]
        parts = np.array([(*each.parts, *_NO_PARTS[len(each.parts) :]) for each in found])
        n_parts = np.array([len(each.parts) or 1 for each in found])
        vectors = weights.identity[identities]
        of_parts = (weights.part[parts] * (parts > 0)[:, :, None]).sum(axis=1)
        vectors += of_parts / (n_parts**0.5).astype(np.float32)[:, None]
        vectors[np.array([each.is_spaced for each in found])] += weights.spaced
        first, end = len(self._rows), len(self._rows) + len(keys)
        while end > len(self._embeddings):
            self._embeddings = np.concatenate([self._embeddings, np.zeros_like(self._embeddings)])
            self._bias = np.concatenate([self._bias, np.zeros_like(self._bias)])
        self._embeddings[first:end], self._bias[first:end] = vectors, weights.bias[identities]
        self._rows.update(zip(keys, range(first, end), strict=True))

    def context(self, tokens: Sequence[str], language: str) -> TokenContext:
        """The context after these tokens, in a language by its name. The last N_CONTEXT tokens of a file are enough."""
        number = LANGUAGES.index(language) if language in LANGUAGES else 0
        return self._context(np.zeros((0, len(self.weights.spaced)), np.float32), (), 0, None, number, tokens)

    def extended(self, context: TokenContext, tokens: Sequence[str]) -> TokenContext:
        """The context after some more tokens."""
        return self._context(
            context.embeddings, context.starts, context.indent, context.pending_indent, context.language, tokens
        )

    def _context(
        self,
        before: Array,
        starts: tuple[int, ...],
        indent: int,
        pending_indent: int | None,
        language: int,
        tokens: Sequence[str],
    ) -> TokenContext:
        indents, more_starts, indent, pending_indent = _layout(tokens, indent, pending_indent, len(before))
        starts = (*starts, *more_starts)[-N_LINES:]
        embeddings = np.concatenate([before, self.embedded(tokens, indents)[0]]) if tokens else before
        return TokenContext(
            embeddings, starts, indent, pending_indent, language, self._expected(embeddings, starts, language)
        )

    def scores(self, context: TokenContext, candidates: Sequence[str]) -> Array:
        """The logit of each candidate as the next token, up to a constant; line breaks by their new indentation."""
        embeddings, bias = self.embedded(candidates, context.indent)
        found: Array = embeddings @ context.expected + bias
        return found

    def likely_words(self, context: TokenContext, count: int, begin: str = "") -> list[str]:
        """The most likely known words that begin so, with or without a space before them; the best ones first."""
        is_spaced, word = begin[:1] == " ", begin.removeprefix(" ")
        first, last = 0, len(self._sorted_words)
        if word:
            first, last = bisect_left(self._sorted_words, word), bisect_left(self._sorted_words, word + "\U0010ffff")
        if first == last:
            return []
        expected = context.expected
        logits = self._word_embeddings[first:last] @ expected + self._word_bias[first:last]
        best = _largest(logits, count)
        if not begin:
            is_spaced = bool(self.weights.spaced @ expected > 0.0)
        words = [self._sorted_words[first + at] for at in best[np.argsort(-logits[best])].tolist()]
        return [f" {each}" if is_spaced else each for each in words]

    def _expected(self, x: Array, line_starts: tuple[int, ...], language: int) -> Array:
        """The embedding of the next token that the network expects, (d,)."""
        weights = self.weights
        last = np.zeros((N_WINDOW + N_LINES * N_STARTS, len(weights.spaced)), np.float32)
        n_last = min(N_WINDOW, len(x))
        last[:n_last] = x[::-1][:n_last]
        for back, start in enumerate(reversed(line_starts)):
            first = x[start : start + N_STARTS]
            at = N_WINDOW + back * N_STARTS
            last[at : at + len(first)] = first
        hidden = np.maximum(last.ravel() @ weights.first + weights.language[language], 0.0)
        hidden = hidden + np.maximum(hidden @ weights.second + weights.second_bias, 0.0)
        expected: Array = hidden @ weights.output + weights.output_bias
        return expected


def _largest(values: Array, count: int) -> NDArray[np.int64]:
    """The indices of the largest values, in no order."""
    if len(values) <= count:
        return np.arange(len(values))
    least = np.partition(values, len(values) - count)[len(values) - count]
    found = np.flatnonzero(values >= least)
    # With ties at the end, some of them.
    return found if len(found) == count else np.argpartition(-values, count)[:count]


@dataclass(frozen=True, slots=True, eq=False)
class TokenContext:
    """The tokens before the next one, as far as the network sees them."""

    embeddings: Array  # (n, d)
    starts: tuple[int, ...]  # the first tokens of the last lines that are not empty, by number
    indent: int  # of the last of these lines
    pending_indent: int | None  # the indentation behind the last token, a line break
    language: int
    expected: Array  # (d,): the embedding of the next token


def _layout(
    tokens: Sequence[str], indent: int, pending_indent: int | None, first: int
) -> tuple[list[int], list[int], int, int | None]:
    """The indentation before each token, and the numbers of the tokens that begin a line.

    `indent` and `pending_indent` as in `TokenContext` before the tokens, and, returned, behind them.
    """
    indents, starts = [], []
    for number, token in enumerate(tokens, first):
        if token[:1] == "\n":
            pending_indent = len(token) - 1
        elif pending_indent is not None:
            starts.append(number)
            indent, pending_indent = pending_indent, None
        indents.append(indent)
    return indents, starts, indent, pending_indent


_BREAK_IDENTITIES = {f"\n{identity}": identity for identity in (SAME_INDENT, DEEPER, SHALLOWER, NO_INDENT)}
_BREAKS = {identity: key for key, identity in _BREAK_IDENTITIES.items()}


def packed(words: Sequence[str], weights: Weights) -> dict[str, NDArray[np.generic]]:
    """The arrays of the file: each in 8 bits, with a scale for each row."""
    arrays: dict[str, NDArray[np.generic]] = {
        "words": np.frombuffer("\n".join(words).encode(), np.uint8),
    }
    for name in Weights.__dataclass_fields__:
        array = getattr(weights, name)
        if array.ndim < 2:
            arrays[name] = array.astype(np.float16)
            continue
        scale = np.maximum(np.abs(array).max(axis=1), 1e-6).astype(np.float16)
        arrays[f"{name}.scale"] = scale
        arrays[name] = np.round(array / (scale.astype(np.float32)[:, None] / 127.0)).clip(-127, 127).astype(np.int8)
    return arrays


def unpacked(arrays: Mapping[str, NDArray[np.generic]]) -> TokenModel:
    """The model of the arrays of a file."""
    words = bytes(arrays["words"]).decode().split("\n")
    found = {}
    for name in Weights.__dataclass_fields__:
        array = arrays[name].astype(np.float32)
        if f"{name}.scale" in arrays:
            array *= arrays[f"{name}.scale"].astype(np.float32)[:, None] / np.float32(127.0)
        found[name] = array
    return TokenModel(words, Weights(**found))


@cache
def fitted_token_model() -> TokenModel | None:
    """The model with the weights in `token_model.npz`; None where the file is missing."""
    if not WEIGHTS_FILE.is_file():
        return None
    with np.load(WEIGHTS_FILE, allow_pickle=False) as arrays:
        return unpacked(dict(arrays))
