"""Fill-in-the-middle (FIM) formats: the special tokens of known models, detection, and the setting `fim`.

Owns the known formats and their detection in a vocabulary. Knows no prompt and no tokenizer: `prompts` applies a
format.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from typing import Literal

from ..protocol import ModelMissing


@dataclass(frozen=True, slots=True)
class FimTokens:
    """A FIM format: its special tokens as text, "" for missing ones, and the text between them."""

    prefix: str  # before the code before the cursor
    suffix: str  # before the code after the cursor
    middle: str = ""  # after both
    suffix_first: bool = False
    repository: str = ""  # before the name of the repository
    file: str = ""  # before the path of each file; with this token fragments are files of their own
    # Whether the last path is between the prefix token and the code (StarCoder 2) or before both (Qwen).
    path_in_prefix: bool = False
    ends: tuple[str, ...] = ()  # further tokens that end the answer
    signs: tuple[str, ...] = ()  # further tokens that distinguish the model family
    after_repository: str = "\n"  # text between the name of the repository and the first file
    # Text between the prefix token and the code: SentencePiece begins every text with a space, and models that were
    # trained on separately encoded texts expect it.
    opening: str = ""

    @property
    def frame(self) -> tuple[str, ...]:
        """The required tokens, around the code before and after the cursor."""
        return tuple(part for part in (self.prefix, self.suffix, self.middle) if part)

    @property
    def repository_level(self) -> bool:
        return bool(self.file)

    @property
    def all(self) -> tuple[str, ...]:
        """Every token that ends the middle."""
        parts = (self.prefix, self.suffix, self.middle, self.repository, self.file, *self.ends)
        return tuple(part for part in parts if part)


# The first format with all tokens and signs in the vocabulary is used, so richer formats come first. The source of
# each, a model card or paper, is on its right.
FIM_FORMATS: dict[str, FimTokens] = {
    "qwen": FimTokens(  # Qwen2.5-Coder and Qwen3-Coder: README of Qwen3-Coder, "Repository level"
        "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>",
        repository="<|repo_name|>", file="<|file_sep|>", ends=("<|endoftext|>", "<|fim_pad|>"),
    ),
    "codegemma": FimTokens(  # ai.google.dev, CodeGemma formatting
        "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", ends=("<|file_separator|>",),
    ),
    "granite": FimTokens(  # Granite 4: IBM's prompt engineering guide
        "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>", ends=("<|end_of_text|>",),
    ),
    "fim": FimTokens("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),  # others with the same three
    "starcoder2": FimTokens(  # arXiv 2402.19173, section 5.1: no line break after the name of the repository
        "<fim_prefix>", "<fim_suffix>", "<fim_middle>", repository="<repo_name>", file="<file_sep>",
        path_in_prefix=True, after_repository="", ends=("<|endoftext|>",),
    ),
    "mellum": FimTokens(  # card of Mellum-4b-base, "Fill in the middle with additional files"
        "<fim_prefix>", "<fim_suffix>", "<fim_middle>", suffix_first=True, file="<filename>",
        signs=("<system>", "<user>", "<assistant>"), ends=("<|endoftext|>",),
    ),
    "granite3": FimTokens(  # Granite 3.3: tokenizer_config.json of granite-3.3-8b-base
        "<fim_prefix>", "<fim_suffix>", "<fim_middle>", ends=("<|end_of_text|>",),
    ),
    "starcoder": FimTokens(  # cards of StarCoder, Granite Code and Stable Code
        "<fim_prefix>", "<fim_suffix>", "<fim_middle>", ends=("<|endoftext|>",),
    ),
    "santacoder": FimTokens(  # card of SantaCoder
        "<fim-prefix>", "<fim-suffix>", "<fim-middle>", ends=("<|endoftext|>",),
    ),
    "deepseek": FimTokens(  # README of DeepSeek-Coder, "Code insertion"; V2 Lite has the same
        "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>", ends=("<｜end▁of▁sentence｜>",),
    ),
    "codellama": FimTokens(  # arXiv 2308.12950, section 2.3: no space of SentencePiece but before the prefix
        "▁<PRE>", "▁<SUF>", "▁<MID>", ends=("▁<EOT>",), opening=" ",
    ),
    "seed-coder": FimTokens(  # arXiv 2506.03524, "Fill-in-the-middle"
        "<[fim-prefix]>", "<[fim-suffix]>", "<[fim-middle]>", suffix_first=True,
    ),
    "codestral": FimTokens(  # mistral-common, `encode_fim`: the very same tokens with its third tokenizer
        "[PREFIX]", "[SUFFIX]", suffix_first=True, ends=("[MIDDLE]",), opening=" ",
    ),
}  # fmt: skip


def find_fim_tokens(vocabulary: Container[str]) -> FimTokens | None:
    """The known FIM format whose tokens a tokenizer has; None without one."""
    for tokens in FIM_FORMATS.values():
        if all(token in vocabulary for token in (*tokens.all, *tokens.signs)):
            return tokens
    return None


@dataclass(frozen=True, slots=True)
class FimChoice:
    """The setting for infilling. The default detects the format of the model."""

    # probe: with the FIM tokens of the model, if any; tokens: with `tokens`; suffix: by a parameter of the server;
    # chat: infilling by chat; none: without the code after the cursor.
    way: Literal["probe", "tokens", "suffix", "chat", "none"] = "probe"
    tokens: FimTokens | None = None

    def tokens_in(self, vocabulary: Container[str]) -> FimTokens | None:
        """The format for a model with these special tokens; None for infilling without tokens.

        Raises ModelMissing when the model lacks a token of the format in the setting.
        """
        if self.way == "probe":
            return find_fim_tokens(vocabulary)
        if self.tokens is None:
            return None
        missing = [token for token in self.tokens.frame if token not in vocabulary]
        if missing:
            raise ModelMissing(
                f"The model has no token {missing[0]} of the format in `fim`. Leave `fim` empty to detect its format."
            )
        return self.tokens


PROBE = FimChoice()
