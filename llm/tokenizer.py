"""Text into a model's tokens and back, byte by byte.

Owns the protocol and its implementation over `tokenizer.json`. A token is bytes, not text: half a character is half
a character, and what is written so far never changes when more comes.
Knows no model, no prompt and no network.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class CodeTokenizer(Protocol):
    """What the decode loop and the prompts need of a tokenizer. Safe from several threads."""

    @property
    def n_vocabulary(self) -> int: ...

    @property
    def start(self) -> int | None:
        """The token that every prompt begins with; None when the model wants none."""
        ...

    @property
    def ends(self) -> frozenset[int]:
        """Tokens after which nothing follows, as the model's own files say."""
        ...

    @property
    def special_tokens(self) -> frozenset[str]:
        """Letters of every special or added token: what `find_fim_tokens` looks at."""
        ...

    def special(self, text: str) -> int | None:
        """The number of a special token; None when there is none of these letters."""
        ...

    def encode(self, text: str) -> list[int]:
        """Tokens of plain text: letters of a special token in it are letters, and no start token is added."""
        ...

    def bytes_of(self, token: int) -> bytes:
        """What the token writes; nothing for a special one."""
        ...

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of these tokens, as the middle of a text: no space of a first token is dropped."""
        ...
