"""How does a model want its middle filled? The formats by their special tokens, and what a user chose of them.

Owns the known formats, how one is found in a vocabulary, and the user's word on it. Knows no prompt and no tokenizer:
`prompts` writes what is described here.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from .protocol import ModelMissing


@dataclass(frozen=True, slots=True)
class FimTokens:
    """The special tokens of a fill-in-the-middle format, as text. An empty one is not part of the format."""

    prefix: str
    suffix: str
    middle: str = ""
    suffix_first: bool = False
    repository: str = ""  # before the name of the repository
    file: str = ""  # before the path of each file
    # Whether the last path stands between the prefix token and the code (StarCoder 2) or before both (Qwen).
    path_in_prefix: bool = False
    ends: tuple[str, ...] = ()  # where generation stops, besides the tokens above

    @property
    def frame(self) -> tuple[str, ...]:
        """The tokens around the code before and after the cursor, without which nothing is filled."""
        return tuple(part for part in (self.prefix, self.suffix, self.middle) if part)

    @property
    def repository_level(self) -> bool:
        return bool(self.repository and self.file)

    @property
    def all(self) -> tuple[str, ...]:
        parts = (self.prefix, self.suffix, self.middle, self.repository, self.file, *self.ends)
        return tuple(part for part in parts if part)


# Richer formats first: the first whose tokens are all in a vocabulary is taken.
FIM_FORMATS: dict[str, FimTokens] = {
    "qwen": FimTokens(
        "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
        repository="<|repo_name|>", file="<|file_sep|>", ends=("<|endoftext|>", "<|fim_pad|>"),
    ),
    "starcoder2": FimTokens(
        "<fim_prefix>", "<fim_suffix>", "<fim_middle>",
        repository="<repo_name>", file="<file_sep>", path_in_prefix=True, ends=("<|endoftext|>",),
    ),
    "codegemma": FimTokens("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", ends=("<|file_separator|>",)),
    "granite": FimTokens("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "starcoder": FimTokens("<fim_prefix>", "<fim_suffix>", "<fim_middle>", ends=("<|endoftext|>",)),
    "santacoder": FimTokens("<fim-prefix>", "<fim-suffix>", "<fim-middle>", ends=("<|endoftext|>",)),
    "deepseek": FimTokens("<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", ends=("<｜end▁of▁sentence｜>",)),
    "codellama": FimTokens("▁<PRE>", "▁<SUF>", "▁<MID>", ends=("▁<EOT>",)),
    "seed-coder": FimTokens("<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", suffix_first=True),
    "codestral": FimTokens("[PREFIX]", "[SUFFIX]", suffix_first=True, ends=("[MIDDLE]",)),
}  # fmt: skip


def find_fim_tokens(vocabulary: Container[str]) -> FimTokens | None:
    """The fill-in-the-middle format whose tokens a tokenizer has; None when it has none that is known."""
    for tokens in FIM_FORMATS.values():
        if all(token in vocabulary for token in tokens.all):
            return tokens
    return None


@dataclass(frozen=True, slots=True)
class FimChoice:
    """How the middle shall be filled, as the user said it. The default asks the model."""

    # probe: by the tokens that the model is found to have, if any; tokens: by `tokens`; suffix: the server's own
    # parameter; chat: by instruction; none: the code after the cursor is not shown.
    way: Literal["probe", "tokens", "suffix", "chat", "none"] = "probe"
    tokens: FimTokens | None = None

    def tokens_in(self, vocabulary: Container[str]) -> FimTokens | None:
        """The format to use with a model that has these special tokens; None for every way but by tokens.

        Raises ModelMissing when the model lacks a token of the format that the user named.
        """
        if self.way == "probe":
            return find_fim_tokens(vocabulary)
        if self.tokens is None:
            return None
        missing = [token for token in self.tokens.frame if token not in vocabulary]
        if missing:
            raise ModelMissing(
                f"The model has no token {missing[0]} of the format in `fim`. Leave `fim` empty to take what it has."
            )
        return self.tokens


PROBE = FimChoice()
