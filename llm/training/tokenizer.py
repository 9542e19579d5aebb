"""Byte-level BPE tokenizer with the same tokens in transformers and llama.cpp.

Owns its training and its special tokens. The pre-tokenizer is llama.cpp's `starcoder`: single digits, then GPT-2's
words. Knows no sources and no model.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from ..prompting.formats import FIM_FORMATS
from ..protocol import PromptPart

FORMAT = FIM_FORMATS["qwen"]
END = "<|endoftext|>"
PAD = "<|fim_pad|>"
SPECIAL_TOKENS = (END, FORMAT.prefix, FORMAT.suffix, FORMAT.middle, PAD, FORMAT.repository, FORMAT.file)
LLAMA_CPP_PRE = "starcoder"


def train_tokenizer(texts: Iterable[str], n_vocabulary: int) -> TrainingTokenizer:
    """A tokenizer of `n_vocabulary` tokens (fewer for little text), special tokens first."""
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
    """The tokenizer for samples and checks. The text of a special token in code stays plain text."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        tokenizer.encode_special_tokens = True
        self.end = self.special(END)
        self.pad = self.special(PAD)
        self.ends = frozenset(map(self.special, SPECIAL_TOKENS))  # the tokens that end a middle
        self.n_vocabulary = int(tokenizer.get_vocab_size())

    @classmethod
    def load(cls, path: Path) -> TrainingTokenizer:
        return cls(import_module("tokenizers").Tokenizer.from_file(str(path)))

    def save(self, path: Path) -> None:
        self._tokenizer.save(str(path))

    def special(self, token: str) -> int:
        return int(self._tokenizer.token_to_id(token))

    def encode(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def count(self, text: str) -> int:
        return len(self.encode(text))

    def encode_part(self, part: PromptPart) -> list[int]:
        """The tokens of one prompt part by itself, as in serving."""
        return [self.special(part.text)] if part.special else self.encode(part.text)

    def decode(self, tokens: Iterable[int]) -> str:
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=False))
