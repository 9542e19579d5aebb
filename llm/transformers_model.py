"""A local model directory, read with transformers: greedy, token by token.

Owns the loaded weights and the decode loop. Knows no network (nothing is ever downloaded), no index and no editor.
Needs the `local` extra; torch and transformers are imported when a model is opened, not before.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

from .prompts import Prompt, build_prompt, find_fim_tokens
from .protocol import Cancel, CompletionRequest, ModelError, ModelInfo, ModelMissing, Piece
from .streaming import LastPrompts, cut_stream

_PREFILL_TOKENS = 256  # read between two looks at `cancel`
_HALF_CHARACTER = "\ufffd"  # what a tokenizer writes for the first bytes of a character


class TransformersModel:
    """Any causal code model that `AutoModelForCausalLM` reads. A `CodeModel`.

    Fill-in-the-middle tokens are read from the tokenizer. Streams may run at once; each has its own cache.
    """

    def __init__(self, name: str, model: Any, tokenizer: Any, context_tokens: int) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._torch = import_module("torch")
        self._fim = find_fim_tokens(tokenizer.get_vocab())
        self._ends = self._end_ids()
        # Some tokenizers drop the space of a first token; behind these tokens no generated one is the first.
        self._anchor = self._encode(":")
        # Without it the logits of a whole block are made, and all but the last row thrown away.
        keeps_last = "logits_to_keep" in signature(model.forward).parameters
        self._options = {"use_cache": True, **({"logits_to_keep": 1} if keeps_last else {})}
        self._last_prompts = LastPrompts()
        # Prompts are counted line by line, and between two keystrokes nearly all lines are the same.
        self._count = lru_cache(maxsize=16_384)(lambda text: len(self._encode(text)))
        self._info = ModelInfo(
            name=name,
            backend="transformers",
            context_tokens=context_tokens,
            fills_middle=self._fim is not None,
            repository_level=self._fim is not None and self._fim.repository_level,
            local=True,
            notes=() if self._fim else ("the tokenizer has no fill-in-the-middle tokens: the suffix is not used",),
        )

    @classmethod
    def open(cls, directory: str | Path, *, context_tokens: int, device: str = "cpu") -> TransformersModel:
        """Load the model in `directory`, to read at most `context_tokens`.

        Raises ModelMissing when the directory or the `local` extra is not there.
        """
        path = Path(directory).expanduser()
        if not (path / "config.json").is_file():
            raise ModelMissing(f"{path} holds no model (no config.json). Set the path to a downloaded model directory.")
        try:
            transformers = import_module("transformers")
            import_module("torch")
        except ImportError as error:
            raise ModelMissing(f"{error.name} is not installed. Run: pip install 'weft[local]'") from error
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
            model = transformers.AutoModelForCausalLM.from_pretrained(path, local_files_only=True, dtype="auto")
        except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ModelMissing(f"{path} can't be read as a causal model: {reason}. Download it again.") from error
        positions = getattr(model.config, "max_position_embeddings", None) or context_tokens
        if device == "cpu" and str(model.dtype) == "torch.float16":
            model = model.float()  # processors have no fast half precision
        return cls(path.name, model.to(device).eval(), tokenizer, min(context_tokens, positions))

    @property
    def info(self) -> ModelInfo:
        return self._info

    def count_tokens(self, text: str) -> int:
        return self._count(text)

    def stream(self, request: CompletionRequest, cancel: Cancel) -> Iterator[Piece]:
        """Yield the most likely text, a token at a time, each with its probability."""
        previous = self._last_prompts.of(request.path)
        n_start = 0 if self._tokenizer.bos_token_id is None else 1
        prompt = build_prompt(request, self._fim, self._count, self._info.context_tokens - n_start, previous)
        self._last_prompts.remember(request.path, prompt.fragments)
        try:
            yield from cut_stream(self._pieces(self._prompt_ids(prompt), request.max_new_tokens, cancel), request)
        except RuntimeError as error:
            raise ModelError(f"{self._info.name} stopped: {error}. Try a smaller context, or another model.") from error

    def close(self) -> None:
        """Nothing is held open; the weights go with the last reference."""

    def _encode(self, text: str) -> list[int]:
        # Letters of a special token in somebody's code are letters. Lone surrogates have no bytes to encode.
        plain = text.encode("utf-8", "replace").decode("utf-8")
        return list(self._tokenizer.encode(plain, add_special_tokens=False, split_special_tokens=True))

    def _decode(self, ids: list[int]) -> str:
        return str(self._tokenizer.decode(ids, clean_up_tokenization_spaces=False))

    def _prompt_ids(self, prompt: Prompt) -> list[int]:
        start = self._tokenizer.bos_token_id
        ids = [] if start is None else [start]
        for part in prompt.parts:
            ids += [self._tokenizer.convert_tokens_to_ids(part.text)] if part.special else self._encode(part.text)
        return ids

    def _end_ids(self) -> frozenset[int]:
        configured = self._model.generation_config.eos_token_id
        ends = configured if isinstance(configured, list) else [configured, self._tokenizer.eos_token_id]
        special = self._fim.all if self._fim else ()
        return frozenset(
            end for end in [*ends, *map(self._tokenizer.convert_tokens_to_ids, special)] if end is not None
        )

    def _pieces(self, prompt_ids: list[int], max_new_tokens: int, cancel: Cancel) -> Iterator[Piece]:
        tokens: list[int] = []
        written = ""
        n_anchor = len(self._decode(self._anchor))
        for token, probability in self._tokens(prompt_ids, cancel):
            tokens.append(token)
            text = self._decode([*self._anchor, *tokens])[n_anchor:]
            if not text.endswith(_HALF_CHARACTER):
                yield Piece(text[len(written) :], probability)
                written = text
            if len(tokens) == max_new_tokens:
                return

    def _tokens(self, prompt_ids: list[int], cancel: Cancel) -> Iterator[tuple[int, float]]:
        """The most likely tokens and their probabilities, without end, until an end token or `cancel`."""
        torch = self._torch
        cache = None
        unread = prompt_ids
        while not cancel.cancelled:
            with torch.inference_mode():
                block = torch.tensor([unread[:_PREFILL_TOKENS]], device=self._model.device)  # (1, T)
                result = self._model(input_ids=block, past_key_values=cache, **self._options)
                cache = result.past_key_values
                unread = unread[_PREFILL_TOKENS:]
                if unread:
                    continue
                probabilities = result.logits[0, -1].float().softmax(-1)  # (vocabulary,)
                probability, token = (value.item() for value in probabilities.max(-1))
            if token in self._ends:
                return
            yield token, probability
            unread = [token]
