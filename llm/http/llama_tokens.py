"""How many tokens, and which? The tokenizer of a server, asked as seldom as possible.

Owns the texts that were asked for already and the batching of those that were not. Knows no server: it gets a
function that turns one list of texts and numbers into tokens, numbers being passed through.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..prompting.prompts import CountTokens
from ..protocol import Cancel, ModelUnreachable

MOST_CHARACTERS = 4_000_000
"""Of the texts whose tokens are kept: lines and blocks are the same from one keystroke to the next."""

Tokenize = Callable[[list[str | int], Cancel], Sequence[int]]
T = TypeVar("T")

_SEPARATOR = -1  # no token has this number
_MOST_ROUNDS = 8
_GUESSED_CHARACTERS_PER_TOKEN = 4


class ServerTokens:
    """Tokens of plain texts as a server's model reads them. For several threads."""

    def __init__(self, tokenize: Tokenize, anchor: str = "") -> None:
        """`anchor` is put before every text and its tokens are taken off again, where a tokenizer adds a space."""
        self._tokenize = tokenize
        self._anchor = anchor
        self._known: OrderedDict[str, tuple[int, ...]] = OrderedDict({"": ()})
        self._n_characters = 0
        self._lock = threading.Lock()

    def encode(self, texts: Sequence[str], cancel: Cancel) -> list[tuple[int, ...]]:
        """The tokens of each text, each alone. Unknown ones are asked for together. Raises ModelError."""
        found = {text: self._look(text) for text in texts}
        unknown = [text for text, tokens in found.items() if tokens is None]
        if unknown:
            anchor = [self._anchor] if self._anchor else []
            asked = split_tokenize(self._tokenize, [*anchor, *(self._anchor + text for text in unknown)], cancel)
            n_anchor = len(asked.pop(0)) if anchor else 0
            for text, tokens in zip(unknown, asked, strict=True):
                found[text] = tokens[n_anchor:]
                self._keep(text, tokens[n_anchor:])
        return [found[text] or () for text in texts]

    def counting(self, build: Callable[[CountTokens], T], cancel: Cancel) -> T:
        """What `build` returns when it counts in the server's tokens, with few questions whatever it counts.

        It is run with guesses for texts that are not known yet, and again when those were asked for together.
        """
        for _ in range(_MOST_ROUNDS):
            unknown: dict[str, None] = {}

            def count(text: str, unknown: dict[str, None] = unknown) -> int:
                tokens = self._look(text)
                if tokens is None:
                    unknown[text] = None
                    return len(text) // _GUESSED_CHARACTERS_PER_TOKEN + 1
                return len(tokens)

            built = build(count)
            if not unknown:
                return built
            self.encode(list(unknown), cancel)
        return build(lambda text: len(self.encode([text], cancel)[0]))

    def _look(self, text: str) -> tuple[int, ...] | None:
        with self._lock:
            if text in self._known:
                self._known.move_to_end(text)
            return self._known.get(text)

    def _keep(self, text: str, tokens: tuple[int, ...]) -> None:
        with self._lock:
            if text not in self._known:
                self._known[text] = tokens
                self._n_characters += len(text)
            while self._n_characters > MOST_CHARACTERS:
                self._n_characters -= len(self._known.popitem(last=False)[0])


def split_tokenize(tokenize: Tokenize, texts: Sequence[str], cancel: Cancel) -> list[tuple[int, ...]]:
    """The tokens of each text, in one question."""
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
        raise ModelUnreachable("The server's /tokenize gives other tokens than were asked for. Update the server.")
    return split
