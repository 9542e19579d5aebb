"""A cached, batched client of a server's tokenizer.

Owns the cache of tokenised texts and the batching of the others. Knows no server: it gets a function from a list of
texts and token numbers to tokens, which returns the numbers unchanged.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..prompting.prompts import CountTokens
from ..protocol import Cancel, ModelUnreachable

MAX_CACHED_CHARACTERS = 4_000_000  # of cached texts: most lines and blocks stay the same from one keystroke to the next

Tokenize = Callable[[list[str | int], Cancel], Sequence[int]]
T = TypeVar("T")

_SEPARATOR = -1  # not a token number
_MAX_ROUNDS = 8
_ESTIMATED_CHARACTERS_PER_TOKEN = 4


class ServerTokenizer:
    """The tokens of plain texts in the tokenizer of a server's model. Thread-safe."""

    def __init__(self, tokenize: Tokenize, anchor: str = "") -> None:
        """`anchor` is prepended to every text and its tokens are removed again: for tokenizers that add a space."""
        self._tokenize = tokenize
        self._anchor = anchor
        self._known: OrderedDict[str, tuple[int, ...]] = OrderedDict({"": ()})
        self._n_characters = 0
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], cancel: Cancel) -> list[tuple[int, ...]]:
        """The tokens of each text by itself. Texts outside the cache are sent in one request. Raises ModelError."""
        found = {text: self._lookup(text) for text in texts}
        unknown = [text for text, tokens in found.items() if tokens is None]
        if unknown:
            anchor = [self._anchor] if self._anchor else []
            received = split_tokenize(self._tokenize, [*anchor, *(self._anchor + text for text in unknown)], cancel)
            n_anchor = len(received.pop(0)) if anchor else 0
            for text, tokens in zip(unknown, received, strict=True):
                found[text] = tokens[n_anchor:]
                self._cache(text, tokens[n_anchor:])
        return [found[text] or () for text in texts]

    def build_with_counts(self, build: Callable[[CountTokens], T], cancel: Cancel) -> T:
        """The result of `build` with exact token counts, in few requests.

        Runs `build` with estimates for texts outside the cache, requests their tokens in one batch, and repeats until
        the cache has all of them.
        """
        for _ in range(_MAX_ROUNDS):
            unknown: dict[str, None] = {}

            def count(text: str, unknown: dict[str, None] = unknown) -> int:
                tokens = self._lookup(text)
                if tokens is None:
                    unknown[text] = None
                    return len(text) // _ESTIMATED_CHARACTERS_PER_TOKEN + 1
                return len(tokens)

            built = build(count)
            if not unknown:
                return built
            self.encode(list(unknown), cancel)
        return build(lambda text: len(self.encode([text], cancel)[0]))

    def _lookup(self, text: str) -> tuple[int, ...] | None:
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
            return self._known.get(text)

    def _cache(self, text: str, tokens: tuple[int, ...]) -> None:
        with self._lock:
            if text not in self._known:
                self._known[text] = tokens
                self._n_characters += len(text)
            while self._n_characters > MAX_CACHED_CHARACTERS:
                self._n_characters -= len(self._known.popitem(last=False)[0])


def split_tokenize(tokenize: Tokenize, texts: Sequence[str], cancel: Cancel) -> list[tuple[int, ...]]:
    """The tokens of each text, in one request."""
    mixed: list[str | int] = []
    for text in texts:
        mixed += (text, _SEPARATOR)
    split: list[tuple[int, ...]] = []
    tokens: list[int] = []
    for token in tokenize(mixed, cancel):
        if token == _SEPARATOR:
            split.append(tuple(tokens))
            tokens = []
        else:
            tokens.append(token)
    if len(split) != len(texts):
        raise ModelUnreachable(
            "The server's /tokenize returned tokens of other texts than were sent. Update the server."
        )
    return split
