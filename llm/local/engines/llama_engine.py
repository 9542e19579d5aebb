"""Inference engine over llama.cpp in this process, through the C API of llama-cpp-python.

Owns one model and one context with a fixed number of sequences; a KV cache is a sequence. Knows no text but in the
tokenizer, which is the one of the GGUF file. Redirects the log of llama.cpp from stderr to error messages.
"""

from __future__ import annotations

import ctypes
import re
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ...installation import install_packages_command
from ...protocol import ModelMissing
from . import Arrays, ArrayScores, FloatArray, OutOfMemory
from .threads import Step, fastest_threads

# For the slots between requests and for concurrent requests. Their memory is allocated at the start.
MOST_CACHES = 6
# The threads of ggml spin while they wait: when another process takes one core, all of them stall. Two threads were up
# to 40 times slower than one on two busy cores, so they must gain much while the cores are free.
WORTH_MORE_THREADS = 0.65
FEWEST_CONTEXT_TOKENS = 512  # without memory for this much, opening the model fails
BLOCK_TOKENS = 512  # most tokens of one pass
MOST_SCORED = 64  # rows of logits in one pass: llama.cpp allocates memory for as many, each of the whole vocabulary
TUNED_BLOCK_TOKENS = 16  # the size of a draft or of the end of a line: typical passes between two keystrokes


@dataclass(slots=True)
class LlamaCache:
    """One sequence of the context."""

    sequence: int
    n_tokens: int = 0


class LlamaEngine:
    """`Engine` over a GGUF file."""

    cache_kind = "llama.cpp"

    def __init__(self, path: Path, *, context_tokens: int, cache_bytes: int, threads: int = 0) -> None:
        """Load the model; with `threads` 0 `tune` chooses the number. Raises ModelMissing and OutOfMemory."""
        self._lib = load_library()
        self.model = LlamaModel(path)
        trained = int(self._lib.llama_model_n_ctx_train(self.model.pointer))
        self.n_vocabulary = self.model.n_vocabulary
        self.context_tokens = min(context_tokens, trained) if trained > 0 else context_tokens
        self.cache_bytes_per_token = self.model.cache_bytes_per_token()
        self._context = self._make_context(cache_bytes, threads or 1)
        self._memory = self._lib.llama_get_memory(self._context)
        self._free = list(range(self._lib.llama_n_seq_max(self._context)))
        self._tuned = threads > 0
        self._make_batch()

    def new_cache(self) -> LlamaCache:
        if not self._free:
            raise OutOfMemory("Every sequence of the llama.cpp context is in use.")
        return LlamaCache(self._free.pop())

    def forward(self, cache: LlamaCache, tokens: Sequence[int], n_scored: int = 1) -> ArrayScores:
        if cache.n_tokens + len(tokens) > self.context_tokens:
            raise OutOfMemory(f"A cache holds {self.context_tokens} tokens.")
        first_scored = len(tokens) - n_scored
        rows: list[FloatArray] = []
        start = 0
        while start < len(tokens):
            end = min(start + BLOCK_TOKENS, len(tokens), max(start, first_scored) + MOST_SCORED)
            n_rows = max(0, end - max(start, first_scored))
            self._decode(cache, tokens[start:end], n_rows)
            if n_rows:
                # The next block overwrites these rows.
                rows.append(self._rows(n_rows) if end == len(tokens) else self._rows(n_rows).copy())
            start = end
        return ArrayScores(rows[0] if len(rows) == 1 else np.concatenate(rows))

    def crop(self, cache: LlamaCache, n_tokens: int) -> bool:
        if n_tokens < cache.n_tokens and self._context is not None:
            # llama.cpp reports whether the architecture can remove a part; recurrent ones can't.
            if not self._lib.llama_memory_seq_rm(self._memory, cache.sequence, n_tokens, -1):
                return False
            cache.n_tokens = n_tokens
        return True

    def free(self, cache: LlamaCache) -> None:
        if self._context is None:
            return
        self._lib.llama_memory_seq_rm(self._memory, cache.sequence, -1, -1)
        self._free.append(cache.sequence)

    def export_cache(self, cache: LlamaCache) -> Arrays:
        """One array: the sequence state of llama.cpp, which another version may not accept."""
        size = int(self._lib.llama_state_seq_get_size(self._context, cache.sequence))
        state = np.zeros(size, np.uint8)
        written = self._lib.llama_state_seq_get_data(self._context, _bytes_at(state), size, cache.sequence)
        return {"state": state[: int(written)]}

    def import_cache(self, arrays: Arrays, n_tokens: int) -> LlamaCache:
        state = np.ascontiguousarray(arrays["state"], np.uint8)
        cache = self.new_cache()
        if not self._lib.llama_state_seq_set_data(self._context, _bytes_at(state), len(state), cache.sequence):
            self.free(cache)
            raise ValueError(f"llama.cpp rejects the saved state{_reason()}")
        cache.n_tokens = n_tokens
        return cache

    def tune(self) -> None:
        """One number of threads for single tokens, one for blocks. Does nothing where the settings have a number."""
        if self._tuned:
            return
        self._tuned = True
        cache = self.new_cache()

        def pass_of(n_tokens: int) -> Callable[[int], Step]:
            def use(n_threads: int) -> Step:
                self._lib.llama_set_n_threads(self._context, n_threads, n_threads)
                return lambda: (self.forward(cache, [0] * n_tokens), self.crop(cache, 0))

            return use

        for_one = fastest_threads(pass_of(1), worth=WORTH_MORE_THREADS)
        for_blocks = fastest_threads(pass_of(TUNED_BLOCK_TOKENS), worth=WORTH_MORE_THREADS)
        self._lib.llama_set_n_threads(self._context, for_one, for_blocks)
        self.free(cache)

    def close(self) -> None:
        if self._context is not None:
            self._lib.llama_free(self._context)
            self._context = None  # the last reference frees the weights: the tokenizer may still be in use

    def _decode(self, cache: LlamaCache, tokens: Sequence[int], n_rows: int) -> None:
        if self._context is None:
            raise RuntimeError("The model is closed.")
        n = len(tokens)
        self._tokens[:n] = tokens
        self._positions[:n] = np.arange(cache.n_tokens, cache.n_tokens + n)
        self._wanted[:n] = 0
        self._wanted[n - n_rows : n] = 1
        self._sequence.value = cache.sequence
        self._batch.n_tokens = n
        result = self._lib.llama_decode(self._context, self._batch)
        if result == 0:
            cache.n_tokens += n
            return
        self._lib.llama_memory_seq_rm(self._memory, cache.sequence, cache.n_tokens, -1)
        if result in (1, -2):  # the cache is full, or no memory for the computation
            raise OutOfMemory(f"llama.cpp has no memory for {cache.n_tokens + n} tokens.")
        raise RuntimeError(f"llama.cpp failed on {n} tokens (code {result}){_reason()}")

    def _rows(self, n_rows: int) -> FloatArray:
        """A view of the logits of the last call."""
        start = self._lib.llama_get_logits(self._context)
        return np.ctypeslib.as_array(start, shape=(n_rows, self.model.n_vocabulary))

    def _make_context(self, cache_bytes: int, n_threads: int) -> Any:
        """As many sequences as `cache_bytes` allows; fewer and shorter ones where memory does not suffice."""
        n_caches = cache_bytes // max(1, self.cache_bytes_per_token * self.context_tokens)
        n_caches = max(1, min(MOST_CACHES, n_caches))
        while True:
            params = self._context_params(n_caches, n_threads)
            context = self._lib.llama_init_from_model(self.model.pointer, params)
            if context:
                return context
            if n_caches > 1:
                n_caches //= 2
            elif self.context_tokens // 2 >= FEWEST_CONTEXT_TOKENS:
                self.context_tokens //= 2
            else:
                raise OutOfMemory(f"llama.cpp can't make a context of {self.context_tokens} tokens{_reason()}")

    def _context_params(self, n_caches: int, n_threads: int) -> Any:
        params = self._lib.llama_context_default_params()
        # Separate memory for each sequence, so that attention skips the tokens of others.
        params.kv_unified = False
        params.n_seq_max = n_caches
        params.n_ctx = n_caches * -(-self.context_tokens // 256) * 256
        params.n_batch = params.n_ubatch = BLOCK_TOKENS
        params.n_outputs_max = max(MOST_SCORED, n_caches)
        params.n_threads = params.n_threads_batch = n_threads
        params.no_perf = True
        # On a CPU flash attention computes tokens one by one: 8 tokens after 800 others took 35 ms instead of 8, with 6
        # layers of 256. It also rounds to 16 bits, differently for long and short blocks: logits of up to 10 differed
        # by 0.05 with the split into blocks, and without flash attention by 0.00001.
        if not self._lib.llama_supports_gpu_offload():
            params.flash_attn_type = self._lib.LLAMA_FLASH_ATTN_TYPE_DISABLED
        return params

    def _make_batch(self) -> None:
        """One batch for every call; its arrays are written in place."""
        lib = self._lib
        self._tokens = np.zeros(BLOCK_TOKENS, np.int32)
        self._positions = np.zeros(BLOCK_TOKENS, np.int32)
        self._wanted = np.zeros(BLOCK_TOKENS, np.int8)
        self._ones = np.ones(BLOCK_TOKENS, np.int32)
        self._sequence = ctypes.c_int32()
        pointer = ctypes.POINTER(ctypes.c_int32)
        self._sequences = (pointer * BLOCK_TOKENS)(*[ctypes.pointer(self._sequence)] * BLOCK_TOKENS)
        self._batch = lib.llama_batch(
            token=self._tokens.ctypes.data_as(pointer),
            pos=self._positions.ctypes.data_as(pointer),
            n_seq_id=self._ones.ctypes.data_as(pointer),
            seq_id=self._sequences,
            logits=self._wanted.ctypes.data_as(ctypes.POINTER(ctypes.c_int8)),
        )


class LlamaModel:
    """The weights and the vocabulary of one file; the last reference frees them."""

    def __init__(self, path: Path) -> None:
        lib = load_library()
        self._lib = lib
        self.pointer = _load_model(lib, path)
        # Not at the end of the process: a thread may still be computing.
        weakref.finalize(self, lib.llama_model_free, self.pointer).atexit = False
        if not lib.llama_model_has_decoder(self.pointer):
            raise ModelMissing(f"{path} is not a text generation model. Set `path` to a model for completion.")
        self.vocabulary: Any = lib.llama_model_get_vocab(self.pointer)
        self.n_vocabulary = int(lib.llama_vocab_n_tokens(self.vocabulary))

    def cache_bytes_per_token(self) -> int:
        """Keys and values of all layers in 16 bits."""
        n_layers = int(self._lib.llama_model_n_layer(self.pointer))
        n_heads = max(1, int(self._lib.llama_model_n_head(self.pointer)))
        n_kv_heads = int(self._lib.llama_model_n_head_kv(self.pointer))
        width = int(self._lib.llama_model_n_embd(self.pointer)) // n_heads
        return 2 * 2 * n_layers * n_kv_heads * width


class LlamaTokenizer:
    """`CodeTokenizer` of the vocabulary in a GGUF file."""

    def __init__(self, model: LlamaModel, framing: Iterable[str] = ()) -> None:
        """`framing` are tokens that are special even when the file does not mark them."""
        self._lib = lib = load_library()
        self._model = model  # keeps the vocabulary alive
        self._vocabulary = vocabulary = model.vocabulary
        numbers = range(model.n_vocabulary)
        attributes = [int(lib.llama_vocab_get_attr(vocabulary, number)) for number in numbers]
        letters = [self._letters(number) for number in numbers]
        control = int(lib.LLAMA_TOKEN_ATTR_CONTROL)
        marked = control | int(lib.LLAMA_TOKEN_ATTR_USER_DEFINED)
        framing = set(framing)
        self._special = {letters[n]: n for n in numbers if attributes[n] & marked or letters[n] in framing}
        self.n_vocabulary = model.n_vocabulary
        start = int(lib.llama_vocab_bos(vocabulary))
        self.start = start if start >= 0 and lib.llama_vocab_get_add_bos(vocabulary) else None
        self.ends = frozenset(n for n in numbers if lib.llama_vocab_is_eog(vocabulary, n))
        self.special_tokens = frozenset(self._special)
        # llama.cpp parses all but control tokens in any text. FIM tokens must not be parsed in code.
        found = [text for text in framing & self._special.keys() if not attributes[self._special[text]] & control]
        self._guarded = re.compile("|".join(map(re.escape, sorted(found)))) if found else None
        self._bytes = {self._special[text]: b"" for text in found}

    def special(self, text: str) -> int | None:
        return self._special.get(text)

    def encode(self, text: str) -> list[int]:
        if self._guarded is None:
            return self._encode(text)
        # Split after the first character of each, so that the parts are plain text.
        cuts = [0, *(match.start() + 1 for match in self._guarded.finditer(text)), len(text)]
        return [token for start, end in pairwise(cuts) for token in self._encode(text[start:end])]

    def encode_markup(self, text: str) -> list[int]:
        """Tokens of trusted text, with special tokens parsed."""
        return self._encode(text, parse_special=True)

    def bytes_of(self, token: int) -> bytes:
        if not 0 <= token < self.n_vocabulary:
            return b""
        known = self._bytes.get(token)
        if known is None:
            known = self._bytes[token] = self._piece(token)
        return known

    def decode(self, tokens: Sequence[int]) -> str:
        return b"".join(map(self.bytes_of, tokens)).decode("utf-8", errors="replace")

    def _encode(self, text: str, parse_special: bool = False) -> list[int]:
        if not text:
            return []
        content = text.encode("utf-8", errors="replace")
        size = len(content) + 8  # no token is shorter than a byte
        tokens = (ctypes.c_int32 * size)()
        count = self._lib.llama_tokenize(self._vocabulary, content, len(content), tokens, size, False, parse_special)
        if count < 0:
            raise RuntimeError(f"llama.cpp could not tokenise a text of {len(content)} bytes (code {count}).")
        return tokens[:count]

    def _letters(self, token: int) -> str:
        letters: bytes = self._lib.llama_vocab_get_text(self._vocabulary, token) or b""
        return letters.decode("utf-8", errors="replace")

    def _piece(self, token: int) -> bytes:
        for size in (64, 4096):
            buffer = ctypes.create_string_buffer(size)
            count = int(self._lib.llama_token_to_piece(self._vocabulary, token, buffer, size, 0, False))
            if count >= 0:
                return buffer.raw[:count]
        return b""


def _bytes_at(array: Any) -> Any:
    return array.ctypes.data_as(ctypes.POINTER(ctypes.c_uint8))


@cache
def load_library() -> Any:
    """llama-cpp-python's C functions, silent from now on. Raises ModelMissing."""
    try:
        library = import_module("llama_cpp")
    except ModuleNotFoundError as error:
        raise ModelMissing(
            f"llama.cpp in this process needs llama-cpp-python ({error.name} is missing). "
            f"Start a llama-server and set `url`, or run: {install_packages_command('llama-cpp-python')}"
        ) from error
    except (OSError, RuntimeError) as error:
        raise ModelMissing(
            f"llama-cpp-python is installed, but its library can't be loaded: {error}. "
            "Install it anew, or set LLAMA_CPP_LIB_PATH to the folder of libllama."
        ) from error
    library.llama_log_set(_keep_errors(library), ctypes.c_void_p(0))
    library.llama_backend_init()
    return library


_errors: deque[str] = deque(maxlen=8)  # the last lines that llama.cpp logged as errors, for the message of a failure


@cache  # llama.cpp stores the callback: it must live as long as the process
def _keep_errors(library: Any) -> Any:
    def keep(level: int, text: bytes, _: object) -> None:
        if level == 4:  # error
            _errors.append(text.decode("utf-8", errors="replace").strip())

    return library.llama_log_callback(keep)


def _reason() -> str:
    reason = next((line for line in _errors if line), "")
    _errors.clear()
    return f": {reason.rstrip('.')}." if reason else "."


def _load_model(library: Any, path: Path) -> Any:
    params = library.llama_model_default_params()
    override = (library.llama_model_kv_override * 2)()
    # FIM starts in the middle of a line: no space before the text. The second override ends the list.
    override[0].key = b"tokenizer.ggml.add_space_prefix"
    override[0].tag = library.LLAMA_KV_OVERRIDE_TYPE_BOOL
    override[0].value.val_bool = False
    params.kv_overrides = override
    _errors.clear()
    model = library.llama_model_load_from_file(str(path).encode(), params)
    if not model:
        raise ModelMissing(
            f"llama.cpp can't load {path}{_reason()} Take another file, or a newer release of llama-cpp-python."
        )
    return model
