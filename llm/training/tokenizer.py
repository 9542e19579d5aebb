"""Byte-level BPE tokenizer that transformers, onnxruntime's users and llama.cpp read alike.

Owns its training and its special tokens. Text is split as llama.cpp's `starcoder` pre-tokenizer does: every digit
alone, then GPT-2's words. Knows no sources and no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..prompting.formats import FIM_FORMATS
from ..prompting.prompts import PromptPart

FORMAT = FIM_FORMATS["qwen"]
END = "<|endoftext|>"
PAD = "<|fim_pad|>"
SPECIAL_TOKENS = (END, FORMAT.prefix, FORMAT.suffix, FORMAT.middle, PAD, FORMAT.repository, FORMAT.file)
LLAMA_CPP_PRE = "starcoder"


def train_tokenizer(texts: Iterable[str], n_vocabulary: int) -> TrainingTokenizer:
    """A tokenizer of `n_vocabulary` tokens (fewer when the texts are few), special tokens first."""
    tokenizers: Any = import_module("tokenizers")
    pre, decoders = tokenizers.pre_tokenizers, tokenizers.decoders
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE())
    words = pre.ByteLevel(add_prefix_space=False, use_regex=True)
    tokenizer.pre_tokenizer = pre.Sequence([pre.Digits(individual_digits=True), words])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=n_vocabulary,
        special_tokens=list(SPECIAL_TOKENS),
        initial_alphabet=pre.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return TrainingTokenizer(tokenizer)


class TrainingTokenizer:
    """The tokenizer as sample making and checks need it. Letters of special tokens in code stay letters."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        tokenizer.encode_special_tokens = True
        self.end = self.special(END)
        self.pad = self.special(PAD)

    @classmethod
    def load(cls, path: Path) -> TrainingTokenizer:
        return cls(import_module("tokenizers").Tokenizer.from_file(str(path)))

    def save(self, path: Path) -> None:
        self._tokenizer.save(str(path))

    @property
    def n_vocabulary(self) -> int:
        return int(self._tokenizer.get_vocab_size())

    @property
    def ends(self) -> frozenset[int]:
        """Tokens after which a middle is over."""
        return frozenset(self.special(token) for token in SPECIAL_TOKENS)

    def special(self, token: str) -> int:
        return int(self._tokenizer.token_to_id(token))

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def encode_part(self, part: PromptPart) -> list[int]:
        """One part of a prompt, by itself: so it is read when it is served, too."""
        return [self.special(part.text)] if part.special else self.encode(part.text)

    def decode(self, tokens: Iterable[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))
