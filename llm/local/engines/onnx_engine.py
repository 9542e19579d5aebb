"""Inference engine over onnxruntime: keys and values are inputs and outputs of every call.

Owns the session, the inputs of the file and the caches. Knows no text and no directory. Expects the names of optimum:
`past_key_values.0.key` as input, `present.0.key` as output.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ...installation import install_command
from ...protocol import ModelMissing
from . import Arrays, ArrayScores, OutOfMemory
from .threads import Step, available_cores, fastest_threads

# A session can't change its number of threads. Larger files are not opened repeatedly for a measurement.
QUICK_TO_OPEN_BYTES = 300_000_000
LARGEST_DIFFERENCE = 1e-3  # between logits that differ by the order of summation only; logits reach 10 and more
_SOME_TOKENS = range(1, 9)
_PAST = re.compile(r"past_key_values\.(\d+)\.(key|value)")
_OTHERS = {"input_ids", "attention_mask", "position_ids", "num_logits_to_keep"}
_TYPES = {"tensor(float)": np.float32, "tensor(float16)": np.float16}


@dataclass(slots=True)
class OnnxCache:
    """Keys and values of onnxruntime in the order of the inputs; none before the first call."""

    n_tokens: int = 0
    past: list[Any] = field(default_factory=list)


class OnnxEngine:
    """`Engine` over one ONNX file."""

    cache_kind = "onnx"

    def __init__(self, path: Path, *, context_tokens: int, threads: int = 0) -> None:
        """Open the file; with `threads` 0 `tune` chooses the number. Raises ModelMissing."""
        try:
            self._library = import_module("onnxruntime")
        except ImportError as error:
            raise ModelMissing(f"ONNX models need onnxruntime. Run: {install_command('onnx')}") from error
        self._path = path
        self.context_tokens = context_tokens
        self._tuned = threads > 0
        self._session = self._open(threads or 1)
        inputs = {each.name: each for each in self._session.get_inputs()}
        past = {name: each for name, each in inputs.items() if _PAST.fullmatch(name)}
        self._past_names = list(past)
        self._present_names = [name.replace("past_key_values", "present") for name in past]
        self._shapes = [self._shape(each) for each in past.values()]
        self.cache_bytes_per_token = sum(heads * width * np.dtype(kind).itemsize for heads, width, kind in self._shapes)
        outputs = {each.name: each for each in self._session.get_outputs()}
        self._check(inputs, outputs)
        self._takes = _OTHERS & inputs.keys()
        size = outputs["logits"].shape[-1]
        self.n_vocabulary = size if isinstance(size, int) else self.forward(self.new_cache(), [0]).logits().shape[1]

    def new_cache(self) -> OnnxCache:
        return OnnxCache()

    def forward(self, cache: OnnxCache, tokens: Sequence[int], n_scored: int = 1) -> ArrayScores:
        total = cache.n_tokens + len(tokens)
        if total > self.context_tokens:
            raise OutOfMemory(f"A cache holds {self.context_tokens} tokens.")
        feeds = dict(zip(self._past_names, cache.past or self._empty_past(), strict=True))
        feeds["input_ids"] = self._value(np.array([tokens], np.int64))
        if "attention_mask" in self._takes:
            feeds["attention_mask"] = self._value(np.ones((1, total), np.int64))
        if "position_ids" in self._takes:
            feeds["position_ids"] = self._value(np.arange(cache.n_tokens, total)[None])
        if "num_logits_to_keep" in self._takes:
            feeds["num_logits_to_keep"] = self._value(np.array(n_scored))
        try:
            # Outputs become inputs of the next call without a copy.
            logits, *past = self._session.run_with_ort_values(["logits", *self._present_names], feeds)
        except Exception as error:  # the library's own errors have no common class
            if "alloc" in str(error).lower():
                raise OutOfMemory(f"onnxruntime has no memory for {total} tokens.") from error
            raise RuntimeError(f"onnxruntime failed on {len(tokens)} tokens: {error}") from error
        cache.past, cache.n_tokens = past, total
        return ArrayScores(logits.numpy()[0, -n_scored:].astype(np.float32, copy=False))

    def crop(self, cache: OnnxCache, n_tokens: int) -> bool:
        if n_tokens < cache.n_tokens:
            cache.past = [self._value(np.ascontiguousarray(value.numpy()[:, :, :n_tokens])) for value in cache.past]
            cache.n_tokens = n_tokens
        return True

    def free(self, cache: OnnxCache) -> None:
        cache.past, cache.n_tokens = [], 0

    def export_cache(self, cache: OnnxCache) -> Arrays:
        return {name: value.numpy() for name, value in zip(self._past_names, cache.past, strict=False)}

    def import_cache(self, arrays: Arrays, n_tokens: int) -> OnnxCache:
        wanted = [(1, n_heads, n_tokens, width) for n_heads, width, _ in self._shapes]
        kinds = [np.dtype(kind) for _, _, kind in self._shapes]
        if [(array.shape, array.dtype) for array in arrays.values()] != list(zip(wanted, kinds, strict=True)):
            raise ValueError("keys and values have another shape")
        values = [self._value(np.ascontiguousarray(arrays[name])) for name in self._past_names]
        return OnnxCache(n_tokens, values)

    def tune(self) -> None:
        """Choose the number of threads for a token; a large file is opened for all cores without a measurement.

        Does nothing where the settings have a number.
        """
        if self._tuned:
            return
        self._tuned = True
        if self._size_bytes() > QUICK_TO_OPEN_BYTES:
            self._session = self._open(available_cores())
            return
        sessions = {1: self._session}

        def use(n_threads: int) -> Step:
            self._session = sessions.get(n_threads) or self._open(n_threads)
            sessions[n_threads] = self._session
            return lambda: self.forward(self.new_cache(), [0])

        self._session = sessions[fastest_threads(use)]

    def is_exact(self) -> bool:
        """Whether scores do not depend on how tokens are split into calls.

        They do where activations are rounded to 8 bits with one scale for all tokens of a call.
        """
        whole, parts = self.new_cache(), self.new_cache()
        self.forward(parts, _SOME_TOKENS[:1])
        difference = self.forward(whole, _SOME_TOKENS).logits() - self.forward(parts, _SOME_TOKENS[1:]).logits()
        return float(np.abs(difference).max()) < LARGEST_DIFFERENCE

    def close(self) -> None:
        self._session = None

    def _open(self, n_threads: int) -> Any:
        options = self._library.SessionOptions()
        options.intra_op_num_threads = n_threads
        options.inter_op_num_threads = 1
        # Spinning threads take the cores from the editor, and from each other.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.log_severity_level = 3  # errors
        try:
            return self._library.InferenceSession(str(self._path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # the library's own errors have no common class
            reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise ModelMissing(
                f"onnxruntime can't open {self._path}: {reason}. Check that the file and the data files beside it "
                "are complete, or export the model again."
            ) from error

    def _value(self, array: Any) -> Any:
        return self._library.OrtValue.ortvalue_from_numpy(array)

    def _empty_past(self) -> list[Any]:
        return [self._value(np.zeros((1, n_heads, 0, width), kind)) for n_heads, width, kind in self._shapes]

    def _shape(self, past: Any) -> tuple[int, int, Any]:
        """Heads, width and type of one input of keys or values."""
        kind = _TYPES.get(past.type)
        match past.shape:
            case [_, int(n_heads), _, int(width)] if kind is not None:
                return n_heads, width, kind
        raise ModelMissing(
            f"{self._path} takes {past.name} as {past.type} {past.shape}, not a supported layout of keys and values. "
            "Export it again with `optimum-cli export onnx --task text-generation-with-past`."
        )

    def _check(self, inputs: dict[str, Any], outputs: dict[str, Any]) -> None:
        missing = [name for name in ("input_ids",) if name not in inputs]
        missing += [name for name in ("logits", *self._present_names) if name not in outputs]
        unknown = inputs.keys() - _OTHERS - set(self._past_names)
        if self._past_names and not missing and not unknown:
            return
        if not self._past_names:
            why = "no keys and values as inputs"
        else:
            why = f"no {missing[0]}" if missing else f"the input {min(unknown)}"
        raise ModelMissing(
            f"{self._path} has {why}: it is not a causal model with a KV cache. "
            "Export it with `optimum-cli export onnx --task text-generation-with-past`."
        )

    def _size_bytes(self) -> int:
        """The size of the file with its external data files."""
        return sum(file.stat().st_size for file in self._path.parent.glob(f"{self._path.name}*"))
